"""The plot of two painters' difference, question by question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from ...core.errors import UsageError
from ...core.plot_data import Quantity, score_with_scale
from ...scoring import Entry
from ...scoring.compare.pairs import side_pairs
from .rows import drawing_values
from .source import StoreSource
from .style import GREY, INK, PALETTE, SMALL, WIDTHS, Sketch, broken, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

HEIGHT = 1.9


@dataclass(frozen=True)
class Gaps:
    """Two painters' difference on every question that both have, the largest first.

    Attributes:
        mean: The mean difference with its interval.
        label: The score, with its scale.
    """

    first: str
    second: str
    gaps: tuple[float, ...]
    mean: Quantity
    label: str
    caption: str


def question_gaps(source: StoreSource) -> Gaps:
    """Return the differences between the best two painters.

    Raises:
        UsageError: There are fewer than two painters with the score.
    """
    pairs = side_pairs(source.field, source.score)
    if not pairs:
        raise UsageError(f"{source.exam}: two painters with {source.score.name} are needed")
    pair = pairs[0]
    one, other = (_by_question(source, source.field.names.index(name)) for name in (pair.first, pair.second))
    gaps = sorted((one[id] - other[id] for id in one.keys() & other.keys()), reverse=True)
    mean = Quantity(pair.difference.value, pair.difference.low, pair.difference.high, len(gaps))
    caption = f"{source.caption} · bars: one per question · line and band: mean with 95% interval"
    return Gaps(pair.first, pair.second, tuple(gaps), mean, score_with_scale(source.score), caption)


def _by_question(source: StoreSource, place: int) -> dict[str, float]:
    """Return a painter's mean value on each question; questions without a value are left out."""
    entries: dict[str, list[Entry]] = {}
    for entry in source.field.inside[place]:
        entries.setdefault(entry.question.id, []).append(entry)
    values = {id: drawing_values(source, tuple(some), source.score) for id, some in entries.items()}
    return {id: fmean(some) for id, some in values.items() if some}


def gap_bars(frame: Gaps, width: str) -> Sketch:
    """Sketch one bar per question, with the mean difference as a line and its interval as a band."""

    def paint(figure: FigureBase) -> None:
        panel = figure.subplots()
        colours = [PALETTE[0] if gap > 0 else PALETTE[1] for gap in frame.gaps]
        panel.bar(range(1, len(frame.gaps) + 1), frame.gaps, width=0.9, color=colours)
        panel.axhline(0, color=GREY, lw=0.6)
        if frame.mean.ends is not None:
            panel.axhspan(*frame.mean.ends, color=INK, alpha=0.12, lw=0)
        if frame.mean.value is not None:
            panel.axhline(frame.mean.value, color=INK, lw=0.9)
        panel.set_xlim(0.4, len(frame.gaps) + 0.6)
        panel.set_ylabel(wrapped(frame.label, HEIGHT - 0.5))
        panel.set_xlabel(_counts(frame.gaps))
        panel.set_title(broken(f"{frame.first} minus {frame.second}", WIDTHS[width] - 0.8), fontsize=SMALL, loc="left")

    return Sketch(HEIGHT, paint, frame.caption)


def _counts(gaps: Sequence[float]) -> str:
    better, worse = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    return f"questions: first better on {better}, second on {worse}, equal on {len(gaps) - better - worse}"
