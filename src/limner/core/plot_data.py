"""What plots show, as numbers: the frames that plots draw, and what an exam's own plots are made from. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any, Literal, get_args

from .protocol import Protocol, Row, Score

Draw = Literal[
    "bands", "differences", "dispersion", "dots", "gallery", "histograms", "kinds", "matrices", "pairs", "points",
    "profiles", "raters", "scores", "violins",
]  # fmt: skip
"""Ways to draw a frame. Of a `Grid`: ``dots``, ``scores`` (a map), ``profiles``, ``kinds``, ``raters``,
``differences``. Further frames stand in `limner.core.plot_data`."""
WAYS: tuple[str, ...] = get_args(Draw)


@dataclass(frozen=True)
class Quantity:
    """A number with its 95% interval; or, where the judge abstained, the least and the most it could be."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    least: float | None = None
    most: float | None = None

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the line that is drawn: of the interval, or of what is possible."""
        low, high = (self.low, self.high) if self.value is not None else (self.least, self.most)
        return None if low is None or high is None else (low, high)

    def scaled(self, by: float) -> Quantity:
        """All numbers times `by`."""
        numbers = {name: getattr(self, name) for name in ("value", "low", "high", "least", "most")}
        return replace(self, **{name: number * by for name, number in numbers.items() if number is not None})


@dataclass(frozen=True)
class Grid:
    """Painters by columns.

    Attributes:
        cells: A row of cells for each painter.
        label: What the numbers are.
        top: The best possible number.
        caption: What stands below the plot.
        controls: Rows that are no rivals of the others.
        notes: For each row a few words at its end, where a plot has room for them.
        published: For each row the paper's own number, where it has one.
        printed: Whose numbers these are.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Quantity, ...], ...]
    label: str
    top: float
    caption: str
    controls: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    published: tuple[float | None, ...] = ()
    printed: str = ""

    def counted(self, column: int) -> str:
        """How many questions stand behind a column's numbers.

        >>> Grid(("a", "b"), ("x",), ((Quantity(1, n=3),), (Quantity(2, n=5),)), "", 1, "").counted(0)
        'n = 3 to 5'
        """
        counts = sorted({row[column].n for row in self.cells})
        return f"n = {' to '.join(dict.fromkeys(str(end) for end in (counts[0], counts[-1])))}" if counts else "n = 0"

    def scaled(self, by: float) -> Grid:
        """All numbers and the best possible one times `by`."""
        cells = tuple(tuple(cell.scaled(by) for cell in row) for row in self.cells)
        return replace(self, cells=cells, top=self.top * by)


@dataclass(frozen=True)
class Point:
    """A painter: two numbers with their intervals, perhaps a third as its colour."""

    name: str
    x: Quantity
    y: Quantity
    colour: float | None = None
    control: bool = False


@dataclass(frozen=True)
class Points:
    """Painters in a plane.

    Attributes:
        front: Names of those that no other beats in both directions, from left to right; controls never count.
        money: Whether x is in dollars, of which less is better.
    """

    points: tuple[Point, ...]
    x: str
    y: str
    caption: str
    colour: str | None = None
    front: tuple[str, ...] = ()
    money: bool = False

    def with_front(self) -> Points:
        """Return the same with its front."""
        rivals = [point for point in self.points if not point.control]
        places = front([(point.x.value or 0.0, point.y.value or 0.0) for point in rivals], less=self.money)
        return replace(self, front=tuple(rivals[place].name for place in places))


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
class Histograms:
    """For each painter the counts in its drawings of what `unit` names, and the share above each of two marks."""

    rows: tuple[str, ...]
    counts: tuple[tuple[float, ...], ...]
    marks: tuple[float, float]
    above: tuple[tuple[float, float], ...]
    caption: str
    unit: str


@dataclass(frozen=True)
class Bin:
    """Drawings of questions of about the same size, from the least to the most."""

    size: tuple[int, int]
    n: int
    mean: float
    q1: float
    q3: float


@dataclass(frozen=True)
class Bands:
    """For each painter and each of some scores the bins, and the drawings themselves as (size, number).

    Attributes:
        label: What the size of a question is.
    """

    rows: tuple[str, ...]
    scores: tuple[str, ...]
    bins: tuple[tuple[tuple[Bin, ...], ...], ...]
    drawings: tuple[tuple[tuple[tuple[int, float], ...], ...], ...]
    caption: str
    label: str


@dataclass(frozen=True)
class Source(ABC):
    """What an exam's plot is made from: its painters under one judge, on the questions that all of them have.

    The best painter stands first, controls last.

    Attributes:
        exam: The exam's name in the store.
        score: The score that painters are ordered by.
        names: The painters' rows.
        controls: Those of them that are controls.
        caption: What stands below every plot: whose marks these are, and on how much they rest.
        protocol: The exam's.
        rows: For each painter its drawings.
    """

    exam: str
    score: Score
    names: tuple[str, ...]
    controls: frozenset[str]
    caption: str
    protocol: Protocol[Any]
    rows: tuple[tuple[Row, ...], ...]

    @abstractmethod
    def cells(self, score: str) -> list[Quantity]:
        """Every painter's number."""

    @abstractmethod
    def mean(self, scores: Sequence[str]) -> list[Quantity]:
        """Return the mean of several scores, where a painter has all of them."""

    @abstractmethod
    def shares(self, scores: Sequence[str]) -> Grid:
        """Return a column for each of the scores, as a share of its best value."""

    @abstractmethod
    def access(self) -> list[str | None]:
        """For each painter ``closed`` or ``open``, where that is known of it."""

    @abstractmethod
    def pictures(self, questions: Sequence[str]) -> list[dict[str, bytes]]:
        """For the reference, and then for each painter, the images of these questions that the store has, by id."""

    @property
    @abstractmethod
    def wanted(self) -> str | None:
        """The question that was asked for."""

    @abstractmethod
    def measured(self, evidence: str) -> list[tuple[float, ...]]:
        """For each painter the numbers that were measured on its drawings, each drawing's once."""


@dataclass(frozen=True)
class Plot:
    """A plot of an exam's own.

    Attributes:
        about: One line on what it shows.
        frame: Its numbers; raises `limner.core.errors.UsageError` where there are none, with what to run.
        draw: How they are drawn.
    """

    about: str
    frame: Callable[[Source], Any]
    draw: Draw


def front(points: Sequence[tuple[float, float]], less: bool = False) -> list[int]:
    """Return the places of the points that no other beats, from left to right; with `less`, a smaller x is better.

    >>> front([(1, 3), (2, 2), (2, 1), (0, 0)]), front([(1, 3), (2, 5), (3, 4)], less=True)
    ([0, 1], [0, 1])
    """
    way = -1 if less else 1

    def beaten(n: int) -> bool:
        x, y = points[n]
        return any(way * a >= way * x and b >= y and (a, b) != (x, y) for m, (a, b) in enumerate(points) if m != n)

    return sorted((n for n in range(len(points)) if not beaten(n)), key=lambda n: points[n])


def abstained(rows: Sequence[Row], score: str) -> bool:
    """Whether the judge abstained on some: then those that have the score are no fair sample of the drawings."""
    open_ = (row for row in rows if row.scores.get(score) is None)
    return any(mark.verdict == "abstain" for row in open_ for mark in row.marks)


def plain(word: str) -> str:
    """Return a tag's value, or a dimension, as people write it.

    >>> plain("Computer_Science")
    'Computer Science'
    """
    return word.replace("_", " ")


def shown(score: Score) -> str:
    """Return a score's name with its scale."""
    return f"{score.name} (of {score.top:g})"


def left_out(count: int, why: str) -> str:
    """Return what a caption says of painters that are not shown."""
    return f" · {count} left out: {why}" if count else ""


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
    """Return the standard deviation of all known values, and the mean of closed painters less that of open ones.

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


@dataclass(frozen=True)
class BarPanel:
    """Bars, one a row, perhaps of several parts.

    Attributes:
        groups: The title each row stands under; all empty where there is none.
        parts: Names of the parts; one without a name for plain bars.
        values: For each row the length of each part.
        printed: What the paper tells for a row.
    """

    title: str
    rows: tuple[str, ...]
    groups: tuple[str, ...]
    parts: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    printed: tuple[float | None, ...]
    unit: str
    wide: bool = False


@dataclass(frozen=True)
class MapPanel:
    """Counts of two tags' values together."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    unit: str
    wide: bool = False


@dataclass(frozen=True)
class HistogramPanel:
    """How often a statistic has each value; wide ranges are binned.

    Attributes:
        edges: Ends of the bins, one more than there are counts.
    """

    title: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    label: str
    unit: str
    wide: bool = False


@dataclass(frozen=True)
class QuartilePanel:
    """A statistic's quartiles and mean for each row, and the mean that the paper tells."""

    title: str
    rows: tuple[str, ...]
    quartiles: tuple[tuple[float, float, float], ...]
    means: tuple[float, ...]
    printed: tuple[float | None, ...]
    label: str
    wide: bool = False


@dataclass(frozen=True)
class WordsPanel:
    """For each group the words that most of its prompts have, with how many have them; the most frequent first."""

    title: str
    groups: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    wide: bool = True


Panel = BarPanel | MapPanel | HistogramPanel | QuartilePanel | WordsPanel


@dataclass(frozen=True)
class DataSheet:
    """All panels of an exam's data set."""

    panels: tuple[Panel, ...]
    caption: str
