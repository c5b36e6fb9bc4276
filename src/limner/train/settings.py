"""Settings of FLUX-Reason's training: the paper's numbers, Limner's choice of the others, and picture sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, get_type_hints

from ..core.errors import UsageError

PAPER = ("steps", "size", "tokens", "seed", "guidance")
"""Settings that MMMG gives (3.4, D); guidance and seed are those it draws with. All others are Limner's choice."""
MODULES = (
    "attn.to_k", "attn.to_q", "attn.to_v", "attn.to_out.0",
    "attn.add_k_proj", "attn.add_q_proj", "attn.add_v_proj", "attn.to_add_out",
    "ff.net.0.proj", "ff.net.2", "ff_context.net.0.proj", "ff_context.net.2", "proj_mlp", "proj_out",
)  # fmt: skip
"""The linear layers of FLUX's blocks, for text and for the picture."""


@dataclass(frozen=True)
class TrainSettings:
    """Everything that determines the trained weights, besides the base and the samples.

    Attributes:
        steps: Updates of the weights.
        size: A picture has about size x size pixels, in the nearest aspect bucket.
        tokens: Tokens that T5 reads: trace, separator and final prompt; the end of the trace is cut first.
        rank: The rank of the LoRA matrices; `alpha` is their scale times the rank.
        modules: The endings of the names of layers with LoRA matrices.
        batch: Pictures in one pass, all of one bucket.
        accumulate: Passes in one update.
        warmup: Updates over which the learning rate rises to its value.
        clip: The largest norm of the gradient.
        guidance: The guidance given to the transformer during training.
        precision: ``bf16`` or ``no``; the LoRA matrices are always float32.
        recompute: The share of blocks whose activations are recomputed instead of stored: 1 needs the least memory.
        compiled: Whether the transformer's blocks are compiled.
    """

    steps: int = 10_000
    size: int = 1024
    tokens: int = 2048
    seed: int = 42
    guidance: float = 3.5
    rank: int = 64
    alpha: int = 64
    modules: tuple[str, ...] = MODULES
    batch: int = 1
    accumulate: int = 4
    learning_rate: float = 1e-4
    weight_decay: float = 1e-4
    warmup: int = 100
    clip: float = 1.0
    precision: str = "bf16"
    recompute: float = 1.0
    compiled: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, with the names of the paper's settings."""
        return {**asdict(self), "modules": list(self.modules), "paper": list(PAPER)}


def parse(given: dict[str, str]) -> TrainSettings:
    """Parse settings from words such as ``rank=16``.

    Raises:
        UsageError: There is no such setting, or its value is not valid.
    """
    kinds = get_type_hints(TrainSettings)
    values: dict[str, Any] = {}
    for name, text in given.items():
        if name not in kinds:
            raise UsageError(f"--set {name}: no such setting; available: {', '.join(kinds)}")
        try:
            values[name] = _value(kinds[name], text)
        except ValueError as error:
            raise UsageError(f"--set {name}={text}: {error}") from error
    settings = TrainSettings(**values)
    for name in ("steps", "size", "tokens", "rank", "alpha", "batch", "accumulate"):
        if getattr(settings, name) < 1:
            raise UsageError(f"--set {name}: must be at least 1")
    if not 0 <= settings.recompute <= 1:
        raise UsageError(f"--set recompute={settings.recompute}: must be from 0 to 1")
    if settings.precision not in ("bf16", "no"):
        raise UsageError(f"--set precision={settings.precision}: must be bf16 or no")
    return settings


def _value(kind: Any, text: str) -> Any:
    if kind is bool:
        if text not in ("true", "false"):
            raise ValueError("must be true or false")
        return text == "true"
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError as error:
            raise ValueError("must be a number") from error
    return tuple(text.split(",")) if kind is not str else text


MAX_ASPECT = 2.0
"""The largest ratio of the longer to the shorter side."""


@cache
def buckets(size: int, step: int) -> tuple[tuple[int, int], ...]:
    """Return widths and heights, multiples of `step`, with about but never more than size x size pixels.

    >>> buckets(1024, 64)[0], len(buckets(1024, 64))
    ((768, 1344), 11)
    """
    area, sizes = size * size, set()
    for width in range(step, 2 * size + 1, step):
        height = area // width // step * step
        if height and 1 / MAX_ASPECT <= width / height <= MAX_ASPECT:
            sizes.add((width, height))
    return tuple(sorted(sizes)) or ((step, step),)


def bucket(width: int, height: int, size: int, step: int) -> tuple[int, int]:
    """Return the bucket with the aspect ratio nearest to the picture's; of two equally near, the larger.

    >>> bucket(1600, 900, 1024, 64)
    (1344, 768)
    """
    aspect = width / height
    return min(
        buckets(size, step),
        key=lambda size_pair: (abs(_ratio(size_pair[0] / size_pair[1], aspect)), -size_pair[0] * size_pair[1]),
    )


def order(groups: Sequence[tuple[int, int]], batch: int, seed: int, epoch: int) -> list[list[int]]:
    """Return the batches of one epoch in a shuffled order, each batch from one bucket.

    Args:
        groups: The bucket of each sample.
        batch: Samples in a batch; a bucket's last batch may be completed with its first samples.
        seed: The seed of the order, together with the epoch.
        epoch: The number of the epoch.
    """
    import random

    dice = random.Random(f"{seed}/{epoch}")
    by_bucket: dict[tuple[int, int], list[int]] = {}
    for place, group in enumerate(groups):
        by_bucket.setdefault(group, []).append(place)
    batches = []
    for members in by_bucket.values():
        dice.shuffle(members)
        filled = members + (members * batch)[: -len(members) % batch]
        batches += [filled[start : start + batch] for start in range(0, len(filled), batch)]
    dice.shuffle(batches)
    return batches


def _ratio(first: float, second: float) -> float:
    return max(first / second, second / first) - 1
