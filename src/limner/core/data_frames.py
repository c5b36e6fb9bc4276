"""What is shown of an exam's data set, as numbers: bars, maps, spreads and words. Pure."""

from __future__ import annotations

from dataclasses import dataclass


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
