"""The data behind plots, and the input of an exam's own plots. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any, Literal, get_args

from .protocol import Protocol, Row, Score

Draw = Literal[
    "bands", "differences", "dispersion", "dots", "gallery", "histograms", "kinds", "matrices", "pairs", "points",
    "profiles", "raters", "scores", "violins",
]  # fmt: skip
"""Ways to draw plot data; a `Grid` can be drawn as ``dots``, ``scores`` (a map), ``profiles``, ``kinds``, ``raters``
and ``differences``."""
DRAW_NAMES: tuple[str, ...] = get_args(Draw)


@dataclass(frozen=True)
class Quantity:
    """A number with its 95% interval; if the judge abstained, only the range of possible values."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    least: float | None = None
    most: float | None = None

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the error bar: those of the interval, or of the possible range."""
        low, high = (self.low, self.high) if self.value is not None else (self.least, self.most)
        return None if low is None or high is None else (low, high)

    def scaled(self, by: float) -> Quantity:
        """Return the quantity with all numbers multiplied by `by`."""
        numbers = {name: getattr(self, name) for name in ("value", "low", "high", "least", "most")}
        return replace(self, **{name: number * by for name, number in numbers.items() if number is not None})


@dataclass(frozen=True)
class Grid:
    """A table of numbers with a row for each painter.

    Attributes:
        cells: A row of cells for each painter.
        label: The meaning of the numbers.
        top: The best possible number.
        caption: The text below the plot.
        controls: The names of rows that are controls, which are not ranked.
        notes: A few words at the end of each row, if the plot has room.
        published: The paper's number for each row, if it has one.
        printed: The source of the published numbers.
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
        """Return a description of the number of questions behind a column.

        >>> Grid(("a", "b"), ("x",), ((Quantity(1, n=3),), (Quantity(2, n=5),)), "", 1, "").counted(0)
        'n = 3 to 5'
        """
        return f"n = {least_to_most(row[column].n for row in self.cells)}"

    def scaled(self, by: float) -> Grid:
        """Return the grid with all numbers, including `top`, multiplied by `by`."""
        cells = tuple(tuple(cell.scaled(by) for cell in row) for row in self.cells)
        return replace(self, cells=cells, top=self.top * by)


@dataclass(frozen=True)
class Point:
    """A painter's position, two numbers with intervals, and a third number shown as colour."""

    name: str
    x: Quantity
    y: Quantity
    colour: float | None = None
    control: bool = False


@dataclass(frozen=True)
class Points:
    """Painters in a scatter plot.

    Attributes:
        front: Names of the painters on the Pareto front, from left to right, without controls.
        money: Whether x is in dollars, so that less is better.
    """

    points: tuple[Point, ...]
    x: str
    y: str
    caption: str
    colour: str | None = None
    front: tuple[str, ...] = ()
    money: bool = False

    def with_front(self) -> Points:
        """Return a copy with `front` computed."""
        rivals = [point for point in self.points if not point.control]
        places = front([(point.x.value or 0.0, point.y.value or 0.0) for point in rivals], less=self.money)
        return replace(self, front=tuple(rivals[place].name for place in places))


@dataclass(frozen=True)
class Spread:
    """The values of some scores for each painter's drawings."""

    rows: tuple[str, ...]
    scores: tuple[str, ...]
    tops: tuple[float, ...]
    values: tuple[tuple[tuple[float, ...], ...], ...]
    caption: str
    controls: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Histograms:
    """Counts of `unit` in each painter's drawings, and the shares of drawings above two limits."""

    rows: tuple[str, ...]
    counts: tuple[tuple[float, ...], ...]
    marks: tuple[float, float]
    above: tuple[tuple[float, float], ...]
    caption: str
    unit: str


@dataclass(frozen=True)
class Bin:
    """A summary of the drawings of questions of similar size."""

    size: tuple[int, int]
    n: int
    mean: float
    q1: float
    q3: float


@dataclass(frozen=True)
class Bands:
    """Bins for each painter and score.

    Attributes:
        sizes: The size of each drawing's question, by painter.
        label: The meaning of a question's size.
    """

    rows: tuple[str, ...]
    scores: tuple[str, ...]
    bins: tuple[tuple[tuple[Bin, ...], ...], ...]
    sizes: tuple[tuple[int, ...], ...]
    caption: str
    label: str


@dataclass(frozen=True)
class PlotSource(ABC):
    """The input of an exam's plot: painters as marked by one judge, on the questions that all of them have.

    Painters are ordered from best to worst, controls last.

    Attributes:
        exam: The exam's name in the store.
        score: The score that painters are ordered by.
        names: The painters' row names.
        controls: The names of controls.
        caption: The text below every plot, which names the evaluator and the number of questions.
        protocol: The exam's protocol.
        rows: The drawings of each painter.
        wanted: The id of the requested question, if any.
    """

    exam: str
    score: Score
    names: tuple[str, ...]
    controls: frozenset[str]
    caption: str
    protocol: Protocol[Any]
    rows: tuple[tuple[Row, ...], ...]
    wanted: str | None

    @abstractmethod
    def cells(self, score: str) -> list[Quantity]:
        """Return each painter's value of a score."""

    @abstractmethod
    def mean(self, scores: Sequence[str]) -> list[Quantity]:
        """Return each painter's mean of several scores; no value for painters that lack one of them."""

    @abstractmethod
    def shares(self, scores: Sequence[str]) -> Grid:
        """Return a grid with a column for each score, as a share of its best value."""

    @abstractmethod
    def access(self) -> list[str | None]:
        """Return ``closed`` or ``open`` for each painter; None if unknown."""

    @abstractmethod
    def pictures(self, questions: Sequence[str]) -> list[dict[str, bytes]]:
        """Return the stored images of these questions, by id: first the references, then each painter's drawings."""

    @abstractmethod
    def measured(self, evidence: str) -> list[tuple[float, ...]]:
        """Return the numbers measured on each painter's drawings, one per drawing."""


@dataclass(frozen=True)
class Plot:
    """A plot that belongs to one exam.

    Attributes:
        about: A one-line description.
        frame: Computes the data; raises a `limner.core.errors.UsageError` that says what to run if there is none.
        draw: The way the data is drawn.
    """

    about: str
    frame: Callable[[PlotSource], Any]
    draw: Draw


def front(points: Sequence[tuple[float, float]], less: bool = False) -> list[int]:
    """Return the indices of points on the Pareto front, from left to right; with `less`, smaller x is better.

    >>> front([(1, 3), (2, 2), (2, 1), (0, 0)]), front([(1, 3), (2, 5), (3, 4)], less=True)
    ([0, 1], [0, 1])
    """
    way = -1 if less else 1

    def beaten(n: int) -> bool:
        x, y = points[n]
        return any(way * a >= way * x and b >= y and (a, b) != (x, y) for m, (a, b) in enumerate(points) if m != n)

    return sorted((n for n in range(len(points)) if not beaten(n)), key=lambda n: points[n])


def has_abstentions(rows: Sequence[Row], score: str) -> bool:
    """Return whether a score is missing because the judge abstained; the other drawings are then not a fair sample."""
    open_ = (row for row in rows if row.scores.get(score) is None)
    return any(mark.verdict == "abstain" for row in open_ for mark in row.marks)


def least_to_most(counts: Iterable[int]) -> str:
    """Return the smallest and the largest number in words, or the number if they are the same.

    >>> least_to_most([5, 3, 4]), least_to_most([2, 2]), least_to_most([])
    ('3 to 5', '2', '0')
    """
    listed = sorted(counts) or [0]
    return " to ".join(dict.fromkeys(map(str, (listed[0], listed[-1]))))


def plural(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> plural(1, "question"), plural(1200, "question")
    ('1 question', '1,200 questions')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def plain_tag(word: str) -> str:
    """Return a tag's value or a dimension in readable form.

    >>> plain_tag("Computer_Science")
    'Computer Science'
    """
    return word.replace("_", " ")


def score_with_scale(score: Score) -> str:
    """Return a score's name with its scale."""
    return f"{score.name} (of {score.top:g})"


def describe_left_out(count: int, why: str) -> str:
    """Return the part of a caption about painters that are not shown."""
    return f" · {count} left out: {why}" if count else ""


@dataclass(frozen=True)
class Dispersion:
    """The spread between painters for some scores, and the lead of closed painters over open ones.

    Attributes:
        columns: The scores' names.
        deviations: The sample standard deviation over painters; None for fewer than two.
        gaps: The mean of closed painters minus that of open ones; None if either group is empty.
        paper: Both numbers from the paper's table for each score; empty if it has none.
    """

    columns: tuple[str, ...]
    deviations: tuple[float | None, ...]
    gaps: tuple[float | None, ...]
    caption: str
    label: str
    paper: tuple[tuple[float | None, float | None], ...] = ()


@dataclass(frozen=True)
class ScorePair:
    """Two scores of the same drawings of all painters, with their correlation coefficients.

    Attributes:
        drawings: Both scores of every drawing that has both.
        means: Each painter's name and means.
    """

    one: str
    other: str
    drawings: tuple[tuple[float, float], ...]
    means: tuple[tuple[str, float, float], ...]
    pearson: float | None
    spearman: float | None


@dataclass(frozen=True)
class ScorePairs:
    """All pairs of some scores."""

    pairs: tuple[ScorePair, ...]
    caption: str
    top: float = 1.0


@dataclass(frozen=True)
class Tile:
    """A stored picture with a line or two of text below it; `image` is None if there is no picture."""

    image: bytes | None
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gallery:
    """Drawings side by side, with a column for each painter; the reference, if any, comes first.

    Attributes:
        rows: Titles of rows, such as the two kinds of prompt; one empty title for a single question.
        tiles: The tiles of each row.
        title: The question.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    tiles: tuple[tuple[Tile, ...], ...]
    title: str
    caption: str


def spread_and_gap(values: Sequence[float | None], access: Sequence[str | None]) -> tuple[float | None, float | None]:
    """Return the standard deviation of the known values, and the mean of closed minus that of open painters.

    >>> spread_and_gap([0.5, 0.75, 0.25, None], ["closed", "closed", "open", "open"])
    (0.25, 0.375)
    >>> spread_and_gap([0.5, 0.75], ["closed", None])[1] is None
    True
    """
    numbers = [value for value in values if value is not None]
    sides = [
        [value for value, word in zip(values, access, strict=True) if word == side and value is not None]
        for side in ("closed", "open")
    ]
    gap = fmean(sides[0]) - fmean(sides[1]) if all(sides) else None
    return (stdev(numbers) if len(numbers) > 1 else None), gap


@dataclass(frozen=True)
class BarPanel:
    """Bars, one per row, optionally stacked.

    Attributes:
        groups: The title above each row; all empty if there are none.
        parts: Names of the parts; one empty name for plain bars.
        values: The length of each part, for each row.
        printed: The paper's number for each row.
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
    """Counts of combinations of two tags' values."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    wide: bool = False


@dataclass(frozen=True)
class HistogramPanel:
    """A histogram of a statistic; wide ranges are binned.

    Attributes:
        edges: Edges of the bins, one more than there are counts.
    """

    title: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    label: str
    unit: str
    wide: bool = False


@dataclass(frozen=True)
class QuartilePanel:
    """A statistic's quartiles and mean for each row, and the mean that the paper reports."""

    title: str
    rows: tuple[str, ...]
    quartiles: tuple[tuple[float, float, float], ...]
    means: tuple[float, ...]
    printed: tuple[float | None, ...]
    label: str
    wide: bool = False


@dataclass(frozen=True)
class WordsPanel:
    """The words that occur in most prompts of each group, with counts, most frequent first."""

    title: str
    groups: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    wide: bool = True


Panel = BarPanel | MapPanel | HistogramPanel | QuartilePanel | WordsPanel


@dataclass(frozen=True)
class DataSheet:
    """All panels of an exam's data set."""

    panels: tuple[Panel, ...]
    caption: str
