"""The plan of a run: painters with their strategies, judges, probes, and the slots for their drawings."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..calls import Calls, Fault, Limits, digest
from ..core.asks import Prompts
from ..core.errors import UsageError
from ..core.exam import Exam, Question
from ..core.images import Preparer
from ..core.settings import parse_value
from ..evidence.probe import Probe
from ..judges import Judge
from ..judges import setup_id as setup_id
from ..painters import Painter, Painting, PaintRequest
from ..painters.base import FinishedImages, FreePainter
from ..store.records import Drawing
from ..strategies import DIRECT_STRATEGY, Strategy, known_options, open_strategy
from ..strategies.base import OpenModel


@dataclass(frozen=True)
class Arm:
    """A painter with the strategy that it draws with."""

    painter: Painter
    strategy: Strategy = DIRECT_STRATEGY


@dataclass(frozen=True)
class Shard:
    """The i-th of n parts of a plan, from 1.

    Every slot is in exactly one part. Adding questions, painters or seeds to the plan moves no slot to another part.
    """

    i: int
    n: int

    @classmethod
    def parse(cls, word: str) -> Shard:
        """Parse ``i/n``.

        Raises:
            UsageError: It is not of this form.
        """
        match = re.fullmatch(r"([0-9]{1,7})/([0-9]{1,7})", word.strip())
        if match is None or not 1 <= int(match[1]) <= int(match[2]) <= MAX_SHARDS:
            raise UsageError(
                f"--shard takes i/n, such as 1/4 for the first of four (n up to {MAX_SHARDS:,}), not {word!r}"
            )
        return cls(int(match[1]), int(match[2]))

    def has(self, slot: str) -> bool:
        """Return whether the slot of this id belongs to this part."""
        return int.from_bytes(hashlib.sha256(slot.encode()).digest()[:8]) % self.n == self.i - 1

    def __str__(self) -> str:
        """Return ``i/n``."""
        return f"{self.i}/{self.n}"


@dataclass(frozen=True)
class Plan:
    """What to draw, measure and mark.

    Attributes:
        exam: The questions to run.
        whole: The exam they were chosen from; all of it is stored, so that later runs need no data folder.
        painters: The painters; with `draw` off, their stored drawings are used.
        chosen_arms: Painters with their strategies, if not all draw directly.
        judges: The judges.
        probes: The measurements made on every drawing before it is marked.
        remeasured: Evidence that is measured even if imported results have a value.
        seeds: Drawings per question and painter.
        repeats: Markings per drawing and judge.
        require_all: Whether a question without an image in a folder is a failure; otherwise it is left out.
        draw: Whether to draw at all, or mark what the store has.
        only_painters: The painters whose stored drawings are used; None for all.
        only_drawings: The ids of the only drawings to make and mark; None for all.
        first_seed: The seed of the first drawing; the others follow.
        options: The exam's drawing options.
        drawing_prompts: The templates of the prompts for painters, if they are not the shipped ones.
        least_side: The least width and height of a drawing, in pixels; a smaller one is a fault. Controls are exempt.
        budget: Dollars that this run may spend; with a purse, that all runs sharing it may spend.
        purse: The purse in the store that this run spends from; see `limner.calls.budget`.
        change_purse: Whether `budget` replaces a different limit of the purse.
        limits: The limits of each service, by name.
        shard: The part of the plan to run; None for all of it.
        batch: Whether to use batches, which cost less.
        batch_wait: The most seconds to wait for batches; None for no limit.
        notes: What the user should know before the run starts.
        images: Prepares the pictures that are sent, with a cache shared by all participants.
    """

    exam: Exam[Any]
    painters: Sequence[Painter] = ()
    judges: Sequence[Judge] = ()
    seeds: int = 1
    repeats: int = 1
    concurrency: int = 64
    retry_failed: bool = False
    draw: bool = True
    require_all: bool = False
    first_seed: int = 0
    options: Mapping[str, str] = field(default_factory=dict)
    drawing_prompts: Prompts | None = None
    least_side: int = 0
    budget: float | None = None
    limits: Mapping[str, Limits] = field(default_factory=dict)
    only_painters: frozenset[str] | None = None
    only_drawings: frozenset[str] | None = None
    whole: Exam[Any] | None = None
    chosen_arms: Sequence[Arm] = ()
    probes: Sequence[Probe] = ()
    remeasured: frozenset[str] = frozenset()
    purse: str | None = None
    change_purse: bool = False
    shard: Shard | None = None
    batch: bool = False
    batch_wait: float | None = None
    images: Preparer | None = None
    notes: tuple[str, ...] = ()

    @property
    def arms(self) -> Sequence[Arm]:
        """Every painter with every strategy that it uses."""
        return self.chosen_arms or [Arm(painter) for painter in self.painters]

    def without_image(self, painter: Painter) -> list[str]:
        """Return the questions for which a painter that hands in finished images has none."""
        if not isinstance(painter, FinishedImages):
            return []
        return [question.id for question in self.exam.questions if painter.lacks(question.id)]

    def check_painters(self) -> None:
        """Check that every painter can start from the pictures of at least some of the questions that have any.

        Raises:
            UsageError: One cannot; a question with more pictures than a painter takes is a fault of that question.
        """
        given = [len(question.inputs) for question in self.exam.questions if question.inputs]
        for arm in self.arms if self.draw else ():
            arm.strategy.fits(arm.painter, min(given, default=0))


@dataclass(frozen=True)
class Slot:
    """A place for one drawing: how to make it, and what the store already has."""

    question: Question[Any]
    arm: Arm | None
    seed: int
    stored: Drawing | None

    @property
    def painter(self) -> Painter | None:
        """The painter, if it is to be drawn."""
        return self.arm.painter if self.arm else None

    @property
    def drawn(self) -> Drawing | None:
        """The finished drawing in it, if any."""
        return self.stored if self.stored is not None and self.stored.status == "done" else None


def slot_id(exam: str, question_hash: str, painter: str, strategy: str, options: Any, seed: int) -> str:
    """Return the id of a drawing's slot."""
    return digest("drawing-1", exam, question_hash, painter, strategy, options, seed)


@lru_cache(maxsize=4096)  # Called several times per drawing.
def marking_id(drawing: str, question_hash: str, image: str | None, setup: str, repeat: int) -> str:
    """Return the id of a marking."""
    return digest("marking-1", drawing, question_hash, image, setup, repeat)


class NoPainter(FreePainter):
    """The placeholder for strategies that draw without a painter, such as a model that writes SVG."""

    changeable = False

    def __init__(self, name: str) -> None:
        self.name = self.spec = name

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        """Refuse: the strategy draws without a painter."""
        raise Fault("bad_request", f"{self.name} does not draw")


def make_arms(
    painters: Sequence[Painter],
    strategies: Sequence[str],
    given: Mapping[str, str],
    open_chat_model: Callable[[str, dict[str, Any]], OpenModel],
    open_editor: Callable[[str, Mapping[str, Any]], Painter],
) -> list[Arm]:
    """Return every painter with every strategy; a strategy without a painter is named after its model.

    Raises:
        UsageError: A strategy or option is unknown, or a painter is missing.
    """
    words = list(dict.fromkeys(strategies)) or ["direct"]
    _check(words, given)
    arms: list[Arm] = []
    for word in words:
        strategy = open_strategy(
            word,
            given,
            lambda spec, args: open_chat_model(spec, _typed(args)),
            lambda spec, args: open_editor(spec, _typed(args)),
        )
        if not strategy.paints:
            arms.append(Arm(_no_painter(strategy), strategy))
        elif not painters:
            raise UsageError(f"--strategy {word} needs a painter: name one with --painter")
        else:
            arms += [Arm(painter, strategy) for painter in painters]
    if painters and not any(arm.painter is painters[0] for arm in arms):
        raise UsageError(f"--strategy {words[0]} draws without a painter: leave --painter out, or use svg-prior")
    return arms


def _no_painter(strategy: Strategy) -> NoPainter:
    """Return a placeholder named after the stage that draws and its model."""
    stage = next(stage for stage in strategy.stages if not stage.paints)
    return NoPainter("/".join([stage.name, *(strategy.models[role].name for role in stage.roles[:1])]))


def _check(words: Sequence[str], given: Mapping[str, str]) -> None:
    allowed = known_options(list(words), given)
    for name in given:
        if name.partition(".")[0] not in allowed:
            options_text = ", ".join(sorted(allowed)) if words != ["direct"] else "none without a --strategy"
            raise UsageError(f"-S {name}: no such option; options are: {options_text}")


def _typed(words: Mapping[str, str]) -> dict[str, Any]:
    return {name: parse_value(value) for name, value in words.items()}


MAX_SHARDS = 100_000
"""The most shards that a plan can have."""
