"""Drawing with Janus, Janus-Pro and Emu3 of transformers. It imports torch, so it runs in a worker process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import torch

from ...core.images import BadImage
from . import BatchItem


class _GuidedChoice:
    """A logits processor that combines scores with and without the prompt, then draws a token."""

    def __init__(self, guidance: float, noise: SeededNoise) -> None:
        self._guidance, self._noise = guidance, noise

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        with_prompt, without = scores.float().chunk(2)
        return self._noise(without + self._guidance * (with_prompt - without))


def open_janus(
    device: str,
    weights: Sequence[str],
    dtype: str = "bfloat16",
    guidance: float = 5.0,
    temperature: float = 1.0,
    top_k: int | None = None,
) -> Callable[[list[BatchItem]], list[Any]]:
    """Return the function that draws a batch; see `limner.painters.worker`."""
    transformers: Any = import_module("transformers")
    processor, model = load_model("JanusForConditionalGeneration", weights, dtype, device)
    if not hasattr(model.generation_config, "generation_kwargs"):
        # Some versions of transformers lose it when a model is saved.
        model.generation_config.generation_kwargs = {"boi_token_id": processor.tokenizer.boi_token_id}

    def draw(batch: list[BatchItem]) -> list[Any]:
        messages = [[{"role": "user", "content": [{"type": "text", "text": item.prompt}]}] for item in batch]
        words = [processor.apply_chat_template(each, add_generation_prompt=True) for each in messages]
        given = processor(text=words, generation_mode="image", padding=True, return_tensors="pt").to(device)
        choice = _GuidedChoice(guidance, SeededNoise([item.seed for item in batch], temperature, top_k))
        with torch.inference_mode():
            # With a guidance of 1, the model itself adds no guidance.
            tokens = model.generate(
                **given, generation_mode="image", do_sample=False, guidance_scale=1.0,
                logits_processor=transformers.LogitsProcessorList([choice]),
            )  # fmt: skip
            return pixels(model.decode_image_tokens(tokens), processor.image_processor)

    return draw


TOKEN_PIXELS = 8
"""Width and height of one token in pixels."""
END_TOKENS = 3
"""The number of tokens that end a picture."""


class _TokenGrid:
    """A logits processor that draws a picture's tokens row by row, adding the end of each row and of the picture.

    Args:
        guide: Combines scores with and without the prompt; called at every token, since it keeps state.
        start: The number of tokens before the picture.
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


def open_emu3(
    device: str,
    weights: Sequence[str],
    dtype: str = "bfloat16",
    guidance: float = 3.0,
    temperature: float = 1.0,
    top_k: int = 2048,
    negative_prompt: str = "",
) -> Callable[[list[BatchItem]], list[Any]]:
    """Return the function that draws a batch; see `limner.painters.worker`."""
    transformers: Any = import_module("transformers")
    processor, model = load_model("Emu3ForConditionalGeneration", weights, dtype, device)
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
        # A whole number of tokens, since the processor would round by area.
        width, height = (
            max(TOKEN_PIXELS, (side or 0) // TOKEN_PIXELS * TOKEN_PIXELS) for side in (batch[0].width, batch[0].height)
        )
        columns, rows = width // TOKEN_PIXELS, height // TOKEN_PIXELS
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
            tokens = model.generate(
                **given, do_sample=False, guidance_scale=1.0, max_new_tokens=rows * (columns + 1) + END_TOKENS,
                logits_processor=transformers.LogitsProcessorList([choice]),
            )  # fmt: skip
            decoded = model.decode_image_tokens(image_tokens=tokens[:, start:], height=rows, width=columns)
            return pixels(decoded.permute(0, 2, 3, 1), processor.image_processor)

    return draw


def load_model(sort: str, weights: Sequence[str], dtype: str, device: str) -> tuple[Any, Any]:
    """Load the processor and the model of this class of transformers from a folder."""
    transformers: Any = import_module("transformers")
    (folder,) = weights
    model = getattr(transformers, sort).from_pretrained(folder, dtype=getattr(torch, dtype))
    return transformers.AutoProcessor.from_pretrained(folder), model.to(device).eval()


class SeededNoise:
    """Random noise on scores: the token with the largest noisy score is a random draw.

    Args:
        seeds: One for each drawing of a batch.
        temperature: Below 1 favours likelier tokens, above 1 less likely ones.
        top_k: The number of likeliest tokens to draw from; None for all.
    """

    def __init__(self, seeds: Sequence[int], temperature: float, top_k: int | None) -> None:
        self._sources = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
        self._temperature, self._top_k = temperature, top_k

    def __call__(self, scores: Any) -> Any:
        """Return the scores with noise."""
        scores = scores.float() / self._temperature
        count = scores.shape[-1]
        if self._top_k is not None and self._top_k < count:
            least = scores.topk(self._top_k, dim=-1).values[..., -1:]
            scores = scores.masked_fill(scores < least, -torch.inf)
        drawn = [torch.rand(count, generator=source, dtype=torch.float64) for source in self._sources]
        noise = -torch.log(-torch.log(torch.stack(drawn).clamp_min(1e-300)))
        return scores + noise.to(scores)


def pixels(values: Any, processor: Any) -> list[Any]:
    """Convert a batch of decoded pictures to byte arrays by height, width and colour.

    Raises:
        BadImage: Some values are not finite.
    """
    if not torch.isfinite(values).all():
        raise BadImage("this dtype overflowed; try dtype=float32")
    mean, spread = (torch.tensor(each) for each in (processor.image_mean, processor.image_std))
    shades = (values.float().cpu() * spread + mean).clamp(0, 1) * 255
    return list(shades.round().to(torch.uint8).numpy())
