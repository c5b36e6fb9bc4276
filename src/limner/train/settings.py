"""How FLUX-Reason is trained: the paper's numbers, ours where the paper is silent, and the sizes of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, get_type_hints

from ..core.errors import UsageError

PAPER = ("steps", "size", "tokens", "seed", "guidance")
"""Settings that MMMG states (3.4, D); guidance and seed are those it draws with. All others are Limner's own."""
MODULES = (
    "attn.to_k", "attn.to_q", "attn.to_v", "attn.to_out.0",
    "attn.add_k_proj", "attn.add_q_proj", "attn.add_v_proj", "attn.to_add_out",
    "ff.net.0.proj", "ff.net.2", "ff_context.net.0.proj", "ff_context.net.2", "proj_mlp", "proj_out",
)  # fmt: skip
"""The linear layers of FLUX's blocks, those for words and those for the picture."""


@dataclass(frozen=True)
class TrainSettings:
    """Everything that decides the trained weights, beside the base and the samples.

    Attributes:
        steps: Updates of the weights.
        size: A picture has about size x size pixels, in the nearest of the aspect buckets.
        tokens: What T5 reads: trace, separator and final prompt, cut from the trace's end.
        rank: Of the LoRA matrices; `alpha` is their scale times the rank.
        modules: Which layers get LoRA matrices, as names end.
        batch: Pictures in one pass; all of one bucket.
        accumulate: Passes summed up to one update.
        warmup: Updates over which the learning rate rises to its value, where it stays.
        clip: The gradient's length is cut to this.
        guidance: The guidance the transformer is told while it learns.
        precision: ``bf16`` or ``no``; the LoRA matrices are float32 in any case.
        recompute: The share of blocks whose activations are computed twice instead of kept: all for the least memory.
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
        """Plain JSON, and which of the numbers are the paper's."""
        return {**asdict(self), "modules": list(self.modules), "paper": list(PAPER)}


def parse(given: dict[str, str]) -> TrainSettings:
    """Settings from words such as ``rank=16``.

    Raises:
        UsageError: There is no such setting, or its value does not fit.
    """
    kinds = get_type_hints(TrainSettings)
    found: dict[str, Any] = {}
    for name, text in given.items():
        if name not in kinds:
            raise UsageError(f"--set {name}: there is: {', '.join(kinds)}")
        try:
            found[name] = _value(kinds[name], text)
        except ValueError as error:
            raise UsageError(f"--set {name}={text}: {error}") from error
    made = TrainSettings(**found)
    for name in ("steps", "size", "tokens", "rank", "alpha", "batch", "accumulate"):
        if getattr(made, name) < 1:
            raise UsageError(f"--set {name}: at least 1")
    if not 0 <= made.recompute <= 1:
        raise UsageError(f"--set recompute={made.recompute}: from 0 to 1")
    if made.precision not in ("bf16", "no"):
        raise UsageError(f"--set precision={made.precision}: there is: bf16, no")
    return made


def _value(kind: Any, text: str) -> Any:
    if kind is bool:
        if text not in ("true", "false"):
            raise ValueError("true or false")
        return text == "true"
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError as error:
            raise ValueError("a number is wanted") from error
    return tuple(text.split(",")) if kind is not str else text


WIDEST = 2.0
"""The longest side by the shortest, at most."""


@cache
def buckets(size: int, step: int) -> tuple[tuple[int, int], ...]:
    """Widths and heights, multiples of `step`, that have about size x size pixels but never more.

    >>> buckets(1024, 64)[0], len(buckets(1024, 64))
    ((768, 1344), 9)
    """
    area, found = size * size, set()
    for width in range(step, 2 * size + 1, step):
        height = area // width // step * step
        if height and 1 / WIDEST <= width / height <= WIDEST:
            found.add((width, height))
    return tuple(sorted(found)) or ((step, step),)


def bucket(width: int, height: int, size: int, step: int) -> tuple[int, int]:
    """Return the bucket whose shape is nearest to the picture's; the larger of two alike.

    >>> bucket(1600, 900, 1024, 64)
    (1344, 768)
    """
    aspect = width / height
    return min(buckets(size, step), key=lambda one: (abs(_ratio(one[0] / one[1], aspect)), -one[0] * one[1]))


def order(groups: Sequence[tuple[int, int]], batch: int, seed: int, epoch: int) -> list[list[int]]:
    """Which samples go together in one epoch, in an order of its own: batches of one bucket each.

    Args:
        groups: The bucket of each sample.
        batch: Samples in a batch; the last of a bucket may be filled up with its first.
        seed: Another one gives another order.
        epoch: So does another epoch.
    """
    import random

    dice = random.Random(f"{seed}/{epoch}")
    by_bucket: dict[tuple[int, int], list[int]] = {}
    for place, group in enumerate(groups):
        by_bucket.setdefault(group, []).append(place)
    found = []
    for members in by_bucket.values():
        dice.shuffle(members)
        filled = members + (members * batch)[: -len(members) % batch]
        found += [filled[start : start + batch] for start in range(0, len(filled), batch)]
    dice.shuffle(found)
    return found


def _ratio(one: float, other: float) -> float:
    return max(one / other, other / one) - 1
