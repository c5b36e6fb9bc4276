"""Differences between conditions, and agreement between judges. Pure, but for reading the store."""

from __future__ import annotations

from ....compare import judges as compared
from ....errors import UsageError
from ..source import Choice, Source
from .cells import Cell, Grid, plain
from .only import only

HUNDRED = 100.0


def panels(source: Source) -> Grid:
    """How much every score of FEPBench differs between pictures of several panels and of one."""
    return _gaps(source, "panels", "multi - single", "several panels less one")


def regimes(source: Source) -> Grid:
    """The same between structured and free prompts."""
    return _gaps(source, "regimes", "structured - free", "structured prompts less free ones")


def _gaps(source: Source, plot: str, key: str, words: str) -> Grid:
    only(source, plot, "fepbench")
    protocol = source.field.protocol
    found = []
    for entries in source.field.inside:
        rows = [entry.row for entry in entries]
        undecided = any(mark.verdict == "abstain" for row in rows for mark in row.marks)
        # Where the judge abstained, the drawings left are no fair sample of either condition.
        found.append({} if undecided else protocol.analyses(rows)["gaps"][key])
    if not any(found):
        first, second = key.split(" - ")
        raise UsageError(
            f"{source.exam}: among the questions that all painters have, none are of both {first} and {second}; "
            "draw and mark more, or pick painters with --painter"
        )
    names = [name for name in protocol.dimensions if any(name in gaps for gaps in found)]
    cells = tuple(tuple(Cell(_points(gaps.get(name))) for name in names) for gaps in found)
    label = f"{words}, hundredths of a score"
    caption = source.caption + (" · –: the judge abstained" if not all(found) else "")
    return Grid(source.names, tuple(map(plain, names)), cells, label, HUNDRED, caption, source.controls)


def _points(gap: float | None) -> float | None:
    return None if gap is None else HUNDRED * gap


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
