"""Settings of FLUX-Reason's training: the paper's numbers, Limner's choice of the others, and picture sizes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, fields
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, ValidationError
from pydantic.dataclasses import dataclass

from ..core.errors import UsageError
from ..core.exam import Question
from ..core.training import TrainSample, normalize_words
from ..painters.diffusers.text_encoding import MAX_TOKENS

PAPER = ("steps", "size", "tokens", "seed", "guidance")
"""Settings that MMMG gives (3.4, D); guidance and seed are those it draws with. All others are Limner's choice."""
MODULES = (
    "attn.to_k", "attn.to_q", "attn.to_v", "attn.to_out.0",
    "attn.add_k_proj", "attn.add_q_proj", "attn.add_v_proj", "attn.to_add_out",
    "ff.net.0.proj", "ff.net.2", "ff_context.net.0.proj", "ff_context.net.2", "proj_mlp", "proj_out",
)  # fmt: skip
"""The linear layers of FLUX's blocks, for text and for the picture."""
FAST = {"compiled": "true", "recompute": "0.2"}
"""The settings of ``--fast``: more speed for more memory."""


@dataclass(frozen=True)
class TrainSettings:
    """Everything that determines the trained weights, besides the base and the samples.

    Attributes:
        steps: Updates of the weights.
        size: A picture has about size x size pixels, in the nearest aspect bucket.
        tokens: Tokens that T5 reads: trace, separator and final prompt; the end of the trace is cut first.
        rank: The rank of the LoRA matrices; `alpha` is their scale times the rank.
        modules: The endings of the names of layers with LoRA matrices, in the blocks if the blocks have such layers.
        batch: Pictures in one pass, all of one bucket.
        accumulate: Passes in one update.
        warmup: Updates over which the learning rate rises to its value.
        schedule: The learning rate after the warm-up: ``constant``, or ``cosine`` down to 0 at the last step.
        clip: The largest norm of the gradient.
        guidance: The guidance given to the transformer during training.
        time_sampling: The distribution of noise levels before the shift: ``uniform`` or ``logit-normal``.
        shift: ``resolution`` shifts noise levels towards noise as drawing does at the picture's size; or ``none``.
        held_out: The share of samples that are not trained on, rounded down to whole samples; the loss on them chooses
            the best checkpoint.
        precision: ``bf16`` or ``no``; the LoRA matrices are always float32.
        recompute: The share of blocks whose activations are recomputed instead of stored: 1 needs the least memory.
        compiled: Whether the transformer's blocks are compiled.
    """

    steps: PositiveInt = 10_000
    size: PositiveInt = 1024
    tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS)] = 2048
    seed: int = 42
    guidance: float = 3.5
    rank: PositiveInt = 64
    alpha: PositiveInt = 64
    modules: tuple[str, ...] = MODULES
    batch: PositiveInt = 1
    accumulate: PositiveInt = 4
    learning_rate: PositiveFloat = 1e-4
    weight_decay: NonNegativeFloat = 1e-4
    warmup: NonNegativeInt = 100
    schedule: Literal["constant", "cosine"] = "constant"
    clip: PositiveFloat = 1.0
    time_sampling: Literal["uniform", "logit-normal"] = "uniform"
    shift: Literal["resolution", "none"] = "resolution"
    held_out: Annotated[float, Field(ge=0, lt=1)] = 0.02
    precision: Literal["bf16", "no"] = "bf16"
    recompute: Annotated[float, Field(ge=0, le=1)] = 1.0
    compiled: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, with the names of the paper's settings."""
        return {**asdict(self), "modules": list(self.modules), "paper": list(PAPER)}


def parse(given: dict[str, str]) -> TrainSettings:
    """Parse settings from words such as ``rank=16``.

    Raises:
        UsageError: There is no such setting, or its value is not valid.
    """
    names = [field.name for field in fields(TrainSettings)]
    for name in given:
        if name not in names:
            raise UsageError(f"--set {name}: no such setting; available: {', '.join(names)}")
    modules = {"modules": given["modules"].split(",")} if "modules" in given else {}
    try:
        return TrainSettings(**{**given, **modules})  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"--set {first['loc'][0]}={first['input']}: {first['msg']}") from error


def hold_out(
    samples: Sequence[Question[TrainSample]], share: float, seed: int
) -> tuple[Sequence[Question[TrainSample]], Sequence[Question[TrainSample]]]:
    """Split samples into those to train on and those held out.

    Whole concepts are held out, except that the last one may be divided to reach the share. The choice depends on
    seed, concepts and ids, not on the order of the samples.
    """

    def place(sample: Question[TrainSample]) -> tuple[str, str]:
        concept = normalize_words(sample.rubric.concept)
        return hashlib.sha256(f"{seed}/{concept}".encode()).hexdigest(), sample.id

    chosen = {sample.id for sample in sorted(samples, key=place)[: int(share * len(samples))]}
    return [s for s in samples if s.id not in chosen], [s for s in samples if s.id in chosen]


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
