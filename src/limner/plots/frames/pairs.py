"""Agreement between judges. Pure, but for reading the store."""

from __future__ import annotations

from ...core.errors import UsageError
from ...core.plot_data import Cell, Grid
from ...scoring.compare import judges as compared
from ..source import Choice


def judges(exam: str, choice: Choice) -> tuple[Grid, Grid]:
    """Two matrices: Cohen's kappa of single marks, and Spearman's coefficient of the painters' order.

    Raises:
        UsageError: Only one judge has marked.
    """
    found = compared(exam, score=choice.score, reading=choice.reading, store=choice.store, **choice.which)
    if found.reason:
        raise UsageError(f"{exam}: {found.reason}; `limner mark {exam} --judge NAME` adds a judge")
    names = tuple(rater.name for rater in found.raters)
    kappa: dict[tuple[str, str], Cell] = {}
    order: dict[tuple[str, str], Cell] = {}
    for pair in found.pairs:
        marks = pair.marks["all"]
        kappa[pair.second, pair.first] = Cell(marks.kappa.value, marks.kappa.low, marks.kappa.high, marks.n)
        other = pair.order
        order[pair.second, pair.first] = Cell(other.spearman.value, other.low, other.high, other.spearman.n)
    drawings = {len(rater.clusters) for rater in found.raters}
    drawn = " to ".join(str(end) for end in sorted({min(drawings), max(drawings)}))
    caption = (
        f"{found.exam} · {len(names)} judges · reading {found.reading} · {drawn} drawings marked by each"
        f" · order of painters by {found.score.name} · {_shared(order)}"
    )
    return (
        _matrix(names, kappa, "single marks: Cohen's kappa", caption),
        _matrix(names, order, "order of painters: Spearman's coefficient", caption),
    )


def _shared(order: dict[tuple[str, str], Cell]) -> str:
    counts = [cell.n for cell in order.values()]
    ends = dict.fromkeys((min(counts), max(counts)))
    return f"coverage: {' to '.join(map(str, ends))} painters in common"


def _matrix(names: tuple[str, ...], found: dict[tuple[str, str], Cell], label: str, caption: str) -> Grid:
    """The lower triangle: each pair stands once."""
    rows, columns = names[1:], names[:-1]
    cells = tuple(tuple(found.get((row, column), Cell()) for column in columns) for row in rows)
    return Grid(rows, columns, cells, label, 1.0, caption)
