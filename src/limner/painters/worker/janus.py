"""Draws with Janus and Janus-Pro of transformers. Imports torch, and so runs in a worker process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import torch

from .sampling import SeededNoise, loaded, pixels
from .server import BatchItem


class _GuidedChoice:
    """Weighs scores with and without the prompt against each other, then draws a token."""

    def __init__(self, guidance: float, noise: SeededNoise) -> None:
        self._guidance, self._noise = guidance, noise

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        with_prompt, without = scores.float().chunk(2)
        return self._noise(without + self._guidance * (with_prompt - without))


def open_model(
    device: str,
    weights: Sequence[str],
    dtype: str = "bfloat16",
    guidance: float = 5.0,
    temperature: float = 1.0,
    top_k: int | None = None,
) -> Callable[[list[BatchItem]], list[Any]]:
    """What draws a batch; see `limner.painters.worker.server`."""
    transformers: Any = import_module("transformers")
    processor, model = loaded("JanusForConditionalGeneration", weights, dtype, device)
    if not hasattr(model.generation_config, "generation_kwargs"):
        # Not every version of transformers keeps it when a model is saved.
        model.generation_config.generation_kwargs = {"boi_token_id": processor.tokenizer.boi_token_id}

    def draw(batch: list[BatchItem]) -> list[Any]:
        said = [[{"role": "user", "content": [{"type": "text", "text": item.prompt}]}] for item in batch]
        words = [processor.apply_chat_template(each, add_generation_prompt=True) for each in said]
        given = processor(text=words, generation_mode="image", padding=True, return_tensors="pt").to(device)
        choice = _GuidedChoice(guidance, SeededNoise([item.seed for item in batch], temperature, top_k))
        with torch.inference_mode():
            # With guidance of 1 the model adds none of its own to what is done here.
            tokens = model.generate(
                **given, generation_mode="image", do_sample=False, guidance_scale=1.0,
                logits_processor=transformers.LogitsProcessorList([choice]),
            )  # fmt: skip
            return pixels(model.decode_image_tokens(tokens), processor.image_processor)

    return draw
