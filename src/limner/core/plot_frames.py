"""Further frames that plots draw: spread of scores over painters, pairs of scores, drawings side by side. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev


@dataclass(frozen=True)
class Dispersion:
    """For each of some scores how far painters differ, and by how much closed ones are ahead of open ones.

    Attributes:
        columns: The scores' names.
        deviations: The standard deviation over painters (n - 1); None with fewer than two.
        gaps: The mean of closed painters less that of open ones; None where one side has nobody.
        paper: The same two numbers from the paper's own table, score by score; nothing where it prints none.
    """

    columns: tuple[str, ...]
    deviations: tuple[float | None, ...]
    gaps: tuple[float | None, ...]
    caption: str
    label: str
    paper: tuple[tuple[float | None, float | None], ...] = ()


@dataclass(frozen=True)
class ScorePair:
    """Two scores of the same drawings, all painters together, with their coefficients.

    Attributes:
        drawings: (one, other) of every drawing that has both.
        means: Each painter's means, with its name.
    """

    one: str
    other: str
    drawings: tuple[tuple[float, float], ...]
    means: tuple[tuple[str, float, float], ...]
    pearson: float | None
    spearman: float | None


@dataclass(frozen=True)
class ScorePairs:
    """Every two of some scores."""

    pairs: tuple[ScorePair, ...]
    caption: str
    top: float = 1.0


@dataclass(frozen=True)
class Tile:
    """A picture as the store has it, with a line or two below it; None where there is none."""

    image: bytes | None
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gallery:
    """Drawings side by side: a column for each painter, the reference first where there is one.

    Attributes:
        rows: What the rows are, such as the two kinds of prompt; one without a name for a single question.
        tiles: A row of tiles for each of them.
        title: The question.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    tiles: tuple[tuple[Tile, ...], ...]
    title: str
    caption: str


def spread_and_gap(values: Sequence[float | None], access: Sequence[str | None]) -> tuple[float | None, float | None]:
    """The standard deviation of all known values, and the mean of closed painters less that of open ones.

    >>> spread_and_gap([0.5, 0.75, 0.25, None], ["closed", "closed", "open", "open"])
    (0.25, 0.375)
    >>> spread_and_gap([0.5, 0.75], ["closed", None])[1] is None
    True
    """
    known = [value for value in values if value is not None]
    sides = [
        [value for value, word in zip(values, access, strict=True) if word == side and value is not None]
        for side in ("closed", "open")
    ]
    gap = fmean(sides[0]) - fmean(sides[1]) if all(sides) else None
    return (stdev(known) if len(known) > 1 else None), gap
