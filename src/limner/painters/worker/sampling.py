"""A model of transformers, and tokens drawn at random by each drawing's own seed, the same in any batch and device.

A token is the largest of the scores with Gumbel noise added, which is a draw from their softmax; `generate` then only
has to take the largest. The noise is made on the CPU, for each drawing separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import torch

from ...core.images import BadImage


def loaded(sort: str, weights: Sequence[str], dtype: str, device: str) -> tuple[Any, Any]:
    """The processor and the model, of this class of transformers, whose weights lie in a folder."""
    transformers: Any = import_module("transformers")
    (folder,) = weights
    model = getattr(transformers, sort).from_pretrained(folder, dtype=getattr(torch, dtype))
    return transformers.AutoProcessor.from_pretrained(folder), model.to(device).eval()


class SeededNoise:
    """Makes scores whose largest is a token drawn at random.

    Args:
        seeds: One for each drawing of a batch.
        temperature: Below 1 likelier tokens are favoured, above 1 less likely ones.
        top_k: Only so many of the likeliest are drawn from; None for all.
    """

    def __init__(self, seeds: Sequence[int], temperature: float, top_k: int | None) -> None:
        self._sources = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
        self._temperature, self._top_k = temperature, top_k

    def __call__(self, scores: Any) -> Any:
        """The scores with noise."""
        scores = scores.float() / self._temperature
        count = scores.shape[-1]
        if self._top_k is not None and self._top_k < count:
            least = scores.topk(self._top_k, dim=-1).values[..., -1:]
            scores = scores.masked_fill(scores < least, -torch.inf)
        drawn = [torch.rand(count, generator=source, dtype=torch.float64) for source in self._sources]
        noise = -torch.log(-torch.log(torch.stack(drawn).clamp_min(1e-300)))
        return scores + noise.to(scores)


def pixels(values: Any, processor: Any) -> list[Any]:
    """Pictures of bytes out of a batch of decoded ones, by batch, height, width and colour.

    Raises:
        BadImage: There are numbers among them that are none.
    """
    if not torch.isfinite(values).all():
        raise BadImage("the numbers of this dtype did not suffice; try dtype=float32")
    mean, spread = (torch.tensor(each) for each in (processor.image_mean, processor.image_std))
    shades = (values.float().cpu() * spread + mean).clamp(0, 1) * 255
    return list(shades.round().to(torch.uint8).numpy())
