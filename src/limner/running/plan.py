"""What to run: painters with their strategies, judges, probes, and the slots that their drawings stand in."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..calls import Calls, Fault, Limits, digest
from ..core.errors import UsageError
from ..core.exam import Exam, Question
from ..core.images import Preparer
from ..core.settings import parse_value
from ..evidence.probe import Probe
from ..judges import Judge
from ..judges import setup_id as setup_id
from ..painters import Painter, Painting, PaintRequest
from ..painters.base import FreePainter
from ..store.records import Drawing
from ..strategies import DIRECT_STRATEGY, Strategy, known_options, open_strategy
from ..strategies.base import OpenModel


@dataclass(frozen=True)
class Arm:
    """A painter, and the strategy by which it draws."""

    painter: Painter
    strategy: Strategy = DIRECT_STRATEGY


@dataclass(frozen=True)
class Shard:
    """The i-th of n parts of a plan, from 1.

    The parts have no slot in common and together have all. Other questions, painters or seeds in the plan move no slot
    to another part.
    """

    i: int
    n: int

    @classmethod
    def parse(cls, word: str) -> Shard:
        """From ``i/n``.

        Raises:
            UsageError: It is none.
        """
        found = re.fullmatch(r"([0-9]{1,7})/([0-9]{1,7})", word.strip())
        if found is None or not 1 <= int(found[1]) <= int(found[2]) <= MOST:
            raise UsageError(f"--shard takes i/n, such as 1/4 for the first of four (n up to {MOST:,}), not {word!r}")
        return cls(int(found[1]), int(found[2]))

    def has(self, slot: str) -> bool:
        """Whether the slot of this id belongs here."""
        return int.from_bytes(hashlib.sha256(slot.encode()).digest()[:8]) % self.n == self.i - 1

    def __str__(self) -> str:
        """As it is written."""
        return f"{self.i}/{self.n}"


@dataclass(frozen=True)
class Plan:
    """What to run.

    Attributes:
        exam: The questions to be run.
        whole: The exam they were chosen from: all of it is stored, so that later runs need no data folder.
        painters: Who draws; with `draw` off their stored drawings are taken.
        chosen_arms: Painters with their strategies, where not all draw directly.
        judges: Who marks.
        probes: What is measured on every drawing before it is marked.
        anew: Evidence that is measured even where imported results brought a value.
        seeds: Drawings per question and painter.
        repeats: Markings per drawing and judge.
        draw: Whether to draw at all, or mark what the store has.
        first_seed: The seed of the first drawing; the others follow.
        options: The exam's own options of drawing.
        budget: Dollars this run may spend; with a purse, all who share it.
        purse: The purse in the store that this run spends from; see `limner.calls.purse`.
        change_purse: Whether `budget` becomes the purse's limit where it has another.
        limits: What each service allows, by its name.
        shard: The part of the plan to be run; all of it where there is none.
        batch: Whether calls go with batches, at less than the usual price.
        batch_wait: Seconds to wait for them at most; without end by default.
        images: Prepares the pictures that everyone sends; what one has sent is at hand for the next.
    """

    exam: Exam[Any]
    painters: Sequence[Painter] = ()
    judges: Sequence[Judge] = ()
    seeds: int = 1
    repeats: int = 1
    concurrency: int = 64
    retry_failed: bool = False
    draw: bool = True
    first_seed: int = 0
    options: Mapping[str, str] = field(default_factory=dict)
    budget: float | None = None
    limits: Mapping[str, Limits] = field(default_factory=dict)
    only_painters: frozenset[str] | None = None
    whole: Exam[Any] | None = None
    chosen_arms: Sequence[Arm] = ()
    probes: Sequence[Probe] = ()
    anew: frozenset[str] = frozenset()
    purse: str | None = None
    change_purse: bool = False
    shard: Shard | None = None
    batch: bool = False
    batch_wait: float | None = None
    images: Preparer | None = None

    @property
    def arms(self) -> Sequence[Arm]:
        """Every painter with every strategy it is to draw by."""
        return self.chosen_arms or [Arm(painter) for painter in self.painters]

    @property
    def models(self) -> list[str]:
        """The names of all models that would be called: those of painters, editors, strategies and judges."""
        found = [judge.name for judge in self.judges]
        for arm in self.arms:
            painters = [arm.painter, *([arm.strategy.editor] if arm.strategy.editor is not None else [])]
            found += [painter.spec for painter in painters]
            found += [model.name for model in arm.strategy.models.values()]
        return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Slot:
    """One drawing to be: how to make it, and what the store has."""

    question: Question[Any]
    arm: Arm | None
    seed: int
    stored: Drawing | None

    @property
    def painter(self) -> Painter | None:
        """Who draws it."""
        return self.arm.painter if self.arm else None

    @property
    def drawn(self) -> Drawing | None:
        """The finished drawing in it; a folder's is looked at again, most likely still the same."""
        return self.stored if self.stored is not None and self.stored.status == "done" else None


def slot_id(exam: str, question_hash: str, painter: str, strategy: str, options: Any, seed: int) -> str:
    """Identifies a drawing's slot."""
    return digest("drawing-1", exam, question_hash, painter, strategy, options, seed)


@lru_cache(maxsize=4096)  # Asked several times while a drawing is at hand.
def marking_id(drawing: str, question_hash: str, image: str | None, setup: str, repeat: int) -> str:
    """Identifies a marking."""
    return digest("marking-1", drawing, question_hash, image, setup, repeat)


class NoPainter(FreePainter):
    """Stands where a strategy draws by itself, such as a model that writes SVG."""

    changeable = False

    def __init__(self, name: str) -> None:
        self.name = self.spec = name

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        """Never asked to."""
        raise Fault("bad_request", f"{self.name} does not draw")


def make_arms(
    painters: Sequence[Painter],
    strategies: Sequence[str],
    given: Mapping[str, str],
    open_mind: Callable[[str, dict[str, Any]], OpenModel],
    open_editor: Callable[[str, Mapping[str, Any]], Painter],
) -> list[Arm]:
    """Every painter by every strategy; a strategy that needs no painter stands alone, named after its model.

    Raises:
        UsageError: An unknown strategy or option, or nobody to draw.
    """
    words = list(dict.fromkeys(strategies)) or ["direct"]
    _check(words, given)
    arms: list[Arm] = []
    for word in words:
        strategy = open_strategy(
            word,
            given,
            lambda spec, args: open_mind(spec, _typed(args)),
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
    """One named after the stage that draws, and the model it asks."""
    stage = next(stage for stage in strategy.stages if not stage.paints)
    return NoPainter("/".join([stage.name, *(strategy.models[role].name for role in stage.roles[:1])]))


def _check(words: Sequence[str], given: Mapping[str, str]) -> None:
    known = known_options(list(words), given)
    for name in given:
        if name.partition(".")[0] not in known:
            there = ", ".join(sorted(known)) if words != ["direct"] else "none without a --strategy"
            raise UsageError(f"-S {name}: no such option; there is: {there}")


def _typed(words: Mapping[str, str]) -> dict[str, Any]:
    return {name: parse_value(value) for name, value in words.items()}


MOST = 100_000
"""So many shards at most."""
