"""Every evaluator beside people: painters as points, the correlation above, the paper's own beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from .. import exams
from ..exams.paper import rows
from ..scoring.alignment import AlignedPoint, Alignment, alignments
from ..scoring.groups import stored_exam
from ..store.store import open_store
from .multiples import panels, rectangle
from .source import PlotChoice
from .style import GREY, INK, MARKERS, PALETTE, SMALL, WIDTHS, Sketch, lines_of, whole, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

FILE = "alignment"
"""The file of an exam's paper with its correlations: evaluator, name, measure, value, unit, source."""
OWN = "judge"
"""In that file, whoever marks by the exam's own protocol."""
MEASURE = "spearman"
"""What is shown where the paper shows nothing."""
SIGNS = {"spearman": "ρ", "pearson": "r"}


@dataclass(frozen=True)
class AlignmentPanel:
    """One evaluator: its points, its correlation with people, and the paper's."""

    title: str
    points: tuple[AlignedPoint, ...]
    label: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    published: tuple[str, float] | None


@dataclass(frozen=True)
class AlignmentPanels:
    """All evaluators beside people."""

    panels: tuple[AlignmentPanel, ...]
    measure: str
    asked: str
    caption: str


def people(exam: str, choice: PlotChoice) -> AlignmentPanels:
    """The frame of the plot ``people``: one panel for each evaluator; `choice.by` makes a point per value of a tag.

    Raises:
        UsageError: No person, or nobody else, has a number.
    """
    which = {name: value for name, value in choice.which.items() if name != "judges"}
    how: dict[str, Any] = {"judges": choice.judges, "scale": choice.score, "tag": choice.by, "reading": choice.reading}
    found = alignments(exam, store=choice.store, **how, **which)
    with open_store(choice.store) as store:
        kind = stored_exam(exam, store).kind
    printed = rows(kind, FILE)
    measure = printed[0]["measure"] if printed else MEASURE
    made = tuple(_panel(each, measure, printed) for each in found)
    by = f" x {choice.by}" if choice.by else ""
    said = [exams.name_of(exam), f"people: {found[0].asked}", f"each point a painter{by}", f"reading {choice.reading}"]
    if any(panel.low is not None for panel in made):
        said.append("[low, high]: 95% interval over painters")
    if printed:
        said.append(f"paper: {printed[0]['source']}")
    return AlignmentPanels(made, measure, f"people: {found[0].asked}", " · ".join(said))


def _panel(found: Alignment, measure: str, printed: Sequence[dict[str, str]]) -> AlignmentPanel:
    sort = found.judge if found.judge.startswith("metric/") else OWN
    fitting = [row for row in printed if fnmatchcase(sort, row["evaluator"])]
    told = found.measure(measure)
    paper = (fitting[0]["name"], float(fitting[0]["value"])) if fitting else None
    return AlignmentPanel(found.evaluator, found.points, found.scale, told.value, told.low, told.high, told.n, paper)


def alignment(frame: AlignmentPanels, width: str) -> Sketch:
    """Points in a plane for every evaluator; painters by colour and mark, with one legend for all."""
    down, across = rectangle(len(frame.panels), {"single": 2, "double": 4}[width])
    names = sorted({point.painter for panel in frame.panels for point in panel.points})
    legend = whole(names, 1.35)
    room = WIDTHS[width] / across - 0.3
    titles = [_title(panel, frame.measure, room) for panel in frame.panels]
    lines = max(title.count("\n") + 1 for title in titles)
    columns = 2 if width == "single" else 4
    height = down * (1.35 + 0.12 * lines) + 0.14 * lines_of(legend) * -(-len(names) // columns) + 0.3

    def paint(figure: FigureBase) -> None:
        drawn: dict[str, Any] = {}
        for place, panel in panels(figure, titles, down, across, share=False):
            for at, name in enumerate(names):
                mine = [point for point in frame.panels[place].points if point.painter == name]
                if mine:
                    style = {"color": PALETTE[at % len(PALETTE)], "marker": MARKERS[at % len(MARKERS)]}
                    dots = panel.scatter([p.people for p in mine], [p.evaluator for p in mine], s=14, linewidths=0.3,
                                         edgecolors="white", zorder=3, **style)  # fmt: skip
                    drawn.setdefault(name, dots)
            panel.set_ylabel(frame.panels[place].label, color=INK)
            panel.grid(color=GREY, alpha=0.2, lw=0.4)
            panel.margins(0.12)
            # As many ticks whatever the size: numbers that grow longer once all has its place run into the label.
            panel.locator_params(nbins=5)
        shown = [(drawn[name], short) for name, short in zip(names, legend, strict=True) if name in drawn]
        figure.legend([dot for dot, _ in shown], [short for _, short in shown], loc="outside upper left", ncols=columns)

    return Sketch(height, paint, frame.caption, frame.asked)


def _title(panel: AlignmentPanel, measure: str, room: float) -> str:
    sign = SIGNS[measure]
    ends = "" if panel.low is None else f" [{_signed(panel.low, 2)}, {_signed(panel.high, 2)}]"
    lines = [panel.title, f"{sign} = {_signed(panel.value)}{ends}", f"n = {panel.n}"]
    if panel.published is not None:
        name, value = panel.published
        lines.append(f"paper: {_signed(value)} ({name})")
    return "\n".join(wrapped(line, room, SMALL) for line in lines)


def _signed(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")
