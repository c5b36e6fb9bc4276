"""Numbers of single drawings: how scores and region counts spread, and scores against complexity. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....errors import UsageError
from ....protocol import Score
from ....scoring import MET, Entry
from ....scoring.parts import shares
from ..source import Source
from .cells import shown
from .only import only

MOST_SCORES = 3
FEW = 5
"""A score that takes no more values than this has no distribution worth a look."""


@dataclass(frozen=True)
class Spread:
    """For each of some scores and each painter, the numbers of its drawings."""

    rows: tuple[str, ...]
    scores: tuple[str, ...]
    tops: tuple[float, ...]
    values: tuple[tuple[tuple[float, ...], ...], ...]
    caption: str
    controls: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Regions:
    """For each painter the region counts of its drawings, and the share above each of the two marks."""

    rows: tuple[str, ...]
    counts: tuple[tuple[float, ...], ...]
    marks: tuple[float, float]
    above: tuple[tuple[float, float], ...]
    caption: str


@dataclass(frozen=True)
class Bin:
    """Drawings of questions with about as many atoms."""

    atoms: tuple[int, int]
    n: int
    mean: float
    q1: float
    q3: float

    @property
    def middle(self) -> float:
        """Where it stands on the axis."""
        return sum(self.atoms) / 2


@dataclass(frozen=True)
class Atoms:
    """For each painter and each of three scores the bins, and the drawings themselves as (atoms, number)."""

    rows: tuple[str, ...]
    scores: tuple[str, ...]
    bins: tuple[tuple[tuple[Bin, ...], ...], ...]
    drawings: tuple[tuple[tuple[tuple[int, float], ...], ...], ...]
    caption: str


def distribution(source: Source) -> Spread:
    """Numbers of single drawings: of the score asked for, or of up to three leading ones that take many values."""
    protocol = source.field.protocol
    if source.choice.score or source.score is MET:
        chosen = [source.score]
    else:
        main = [score for score in protocol.scored if score.main]
        columns = {score.name: [_values(source, entries, score) for entries in source.field.inside] for score in main}
        many = [score for score in main if len({value for row in columns[score.name] for value in row}) > FEW]
        chosen = (many or [source.score])[:MOST_SCORES]
    values = tuple(tuple(_values(source, entries, score) for entries in source.field.inside) for score in chosen)
    if not any(row for score in values for row in score):
        raise UsageError(f"{source.exam}: no drawing has the score {chosen[0].name}; pick another with --score")
    caption = source.caption + _abstained(source, chosen)
    return Spread(
        source.names, tuple(map(shown, chosen)), tuple(score.top for score in chosen), values, caption, source.controls
    )


def _values(source: Source, entries: tuple[Entry, ...], score: Score) -> tuple[float, ...]:
    if score is MET:
        met = [list(shares(entry, source.field.protocol).values()) for entry in entries]
        return tuple(100 * sum(each) / len(each) for each in met if each)
    if _unfair(entries, score.name):
        return ()
    return tuple(value for entry in entries if (value := entry.scores.get(score.name)) is not None)


def _unfair(entries: Sequence[Entry], score: str) -> bool:
    """Whether the judge abstained on some: then those that have the score are no fair sample of the drawings."""
    open_ = (entry for entry in entries if entry.scores.get(score) is None)
    return any(mark.verdict == "abstain" for entry in open_ for mark in entry.marks)


def _abstained(source: Source, chosen: Sequence[Score]) -> str:
    count = sum(any(_unfair(entries, score.name) for score in chosen) for entries in source.field.inside)
    return f" · {count} left out: the judge abstained" if count and MET not in chosen else ""


def regions(source: Source) -> Regions:
    """MMMG: how many regions were counted in each drawing, and the two numbers that readability is computed with.

    Raises:
        UsageError: Nobody has counted.
    """
    only(source, "regions", "mmmg")
    numbers = source.field.protocol.constants
    marks = (numbers["n_min"], numbers["n_max"])
    counts = []
    for entries in source.field.inside:
        once = {entry.drawing.id: entry.evidence.get("regions", {}).get("value") for entry in entries}
        counts.append(tuple(float(value) for value in once.values() if value is not None))
    if not any(counts):
        raise UsageError(f"{source.exam} has no region counts; `limner evidence {source.exam} --probe regions` counts")
    above = tuple(
        (sum(v > marks[0] for v in row) / len(row), sum(v > marks[1] for v in row) / len(row)) if row else (0.0, 0.0)
        for row in counts
    )
    missing = sum(not row for row in counts)
    caption = source.caption + (f" · {missing} painters without counts" if missing else "")
    return Regions(source.names, tuple(counts), marks, above, caption)


def atoms(source: Source) -> Atoms:
    """FEPBench: the three scores by the number of semantic atoms, as the exam's analysis bins them."""
    only(source, "atoms", "fepbench")
    names = ("if", "re", "sp")
    bins, drawings = [], []
    for entries in source.field.inside:
        rows = [entry.row for entry in entries]
        found: list[dict[str, Any]] = source.field.protocol.analyses(rows)["complexity"]
        bins.append(tuple(() if _unfair(entries, name) else _bins(found, name) for name in names))
        drawings.append(
            tuple(
                tuple((row.question.rubric.count, value) for row in rows if (value := row.scores.get(name)) is not None)
                for name in names
            )
        )
    if not any(row for painter in bins for row in painter):
        raise UsageError(f"{source.exam}: this judge settles none of if, re, sp; mark with a model, not with ocr")
    scores = [score for score in source.field.protocol.scored if score.name in names]
    caption = source.caption + _abstained(source, scores).replace("left out", "without lines")
    return Atoms(source.names, names, tuple(bins), tuple(drawings), caption)


def _bins(found: list[dict[str, Any]], name: str) -> tuple[Bin, ...]:
    return tuple(
        Bin((each["atoms"][0], each["atoms"][1]), each["n"], each[name]["mean"], each[name]["q1"], each[name]["q3"])
        for each in found
        if each[name]
    )
