"""Draws with Emu3 of transformers. Imports torch, and so runs in a worker process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import torch

from .sampling import SeededNoise, loaded, pixels
from .server import BatchItem

STEP = 8
"""Pixels that one token is wide and high."""
AFTER = 3
"""Tokens that end a picture."""


class _TokenGrid:
    """Draws the tokens of a picture row by row, each row with its end, and then the picture's end.

    Args:
        guide: Weighs scores with and without the prompt against each other; asked at every token, since it remembers.
        start: How many tokens stand before the picture.
        ends: The tokens that end a row, a picture (two) and the text.
    """

    def __init__(
        self, guide: Any, noise: SeededNoise, start: int, rows: int, columns: int, visual: Any, ends: Sequence[int]
    ) -> None:
        self._guide, self._noise, self._start, self._visual = guide, noise, start, visual
        self._columns, self._whole = columns, rows * (columns + 1)
        self._end_of_row, *self._after = ends

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        scores = self._guide(input_ids, scores.float())
        place = input_ids.shape[1] - self._start
        chosen = torch.full_like(scores, -torch.inf)
        if place >= self._whole:
            chosen[:, self._after[place - self._whole]] = 0
        elif (place + 1) % (self._columns + 1) == 0:
            chosen[:, self._end_of_row] = 0
        else:
            chosen[:, self._visual] = self._noise(scores[:, self._visual])
        return chosen


def open_model(
    device: str,
    weights: Sequence[str],
    dtype: str = "bfloat16",
    guidance: float = 3.0,
    temperature: float = 1.0,
    top_k: int = 2048,
    negative_prompt: str = "",
) -> Callable[[list[BatchItem]], list[Any]]:
    """What draws a batch; see `limner.painters.worker.server`."""
    transformers: Any = import_module("transformers")
    processor, model = loaded("Emu3ForConditionalGeneration", weights, dtype, device)
    words, mapping = processor.tokenizer, model.model.vocabulary_mapping
    visual = torch.tensor(mapping.image_tokens, device=device)
    eof, eoi = words.convert_tokens_to_ids([processor.eof_token, processor.image_end_token])
    ends = (mapping.eol_token_id, eof, eoi, words.eos_token_id)

    def read(prompts: list[str], width: int, height: int) -> Any:
        return processor(
            text=prompts, padding=True, padding_side="left", return_tensors="pt", return_for_image_generation=True,
            ratio=f"{width}:{height}", image_area=width * height,
        )  # fmt: skip

    def draw(batch: list[BatchItem]) -> list[Any]:
        # Whole tokens: the processor would round them by their area.
        width, height = (max(STEP, (side or 0) // STEP * STEP) for side in (batch[0].width, batch[0].height))
        columns, rows = width // STEP, height // STEP
        given = read([item.prompt for item in batch], width, height)
        given.pop("image_sizes")
        given = given.to(device)
        without = read([negative_prompt] * len(batch), width, height).to(device)
        guide = transformers.UnbatchedClassifierFreeGuidanceLogitsProcessor(
            guidance, model, without["input_ids"], without["attention_mask"]
        )
        noise = SeededNoise([item.seed for item in batch], temperature, top_k)
        start = given["input_ids"].shape[1]
        choice = _TokenGrid(guide, noise, start, rows, columns, visual, ends)
        with torch.inference_mode():
            found = model.generate(
                **given, do_sample=False, guidance_scale=1.0, max_new_tokens=rows * (columns + 1) + AFTER,
                logits_processor=transformers.LogitsProcessorList([choice]),
            )  # fmt: skip
            decoded = model.decode_image_tokens(image_tokens=found[:, start:], height=rows, width=columns)
            return pixels(decoded.permute(0, 2, 3, 1), processor.image_processor)

    return draw
