"""FEPBench's own plots: its three scores by complexity, against each other, and between conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.errors import UsageError
from ...core.plot_data import Bands, Bin, Grid, Plot, Point, Points, Quantity, Source, abstained, left_out
from .analysis import SCORES
from .figures import FIGURES

HUNDRED = 100.0


def atoms(source: Source) -> Bands:
    """The three scores by the number of semantic atoms, as the exam's analysis bins them.

    Raises:
        UsageError: The judge settles none of the scores.
    """
    bins, drawings = [], []
    for rows in source.rows:
        found: list[dict[str, Any]] = source.protocol.analyses(rows)["complexity"]
        bins.append(tuple(() if abstained(rows, name) else _bins(found, name) for name in SCORES))
        drawings.append(
            tuple(
                tuple((row.question.rubric.count, value) for row in rows if (value := row.scores.get(name)) is not None)
                for name in SCORES
            )
        )
    if not any(row for painter in bins for row in painter):
        raise UsageError(f"{source.exam}: this judge decides none of if, re, sp; mark with a model, not with ocr")
    count = sum(any(abstained(rows, name) for name in SCORES) for rows in source.rows)
    caption = source.caption + (f" · {count} without lines: the judge abstained" if count else "")
    return Bands(source.names, SCORES, tuple(bins), tuple(drawings), caption, "semantic atoms of a question")


def _bins(found: Sequence[Mapping[str, Any]], name: str) -> tuple[Bin, ...]:
    return tuple(
        Bin((each["atoms"][0], each["atoms"][1]), each["n"], each[name]["mean"], each[name]["q1"], each[name]["q3"])
        for each in found
        if each[name]
    )


def if_re(source: Source) -> Points:
    """Reasoning enrichment against instruction faithfulness, coloured by semantic precision.

    Raises:
        UsageError: The judge settles neither.
    """
    x, y, colour = (source.cells(name) for name in SCORES)
    found = [
        Point(name, a, b, c.value, name in source.controls)
        for name, a, b, c in zip(source.names, x, y, colour, strict=True)
        if a.value is not None and b.value is not None
    ]
    if not found:
        raise UsageError(f"{source.exam}: this judge decides neither if nor re; mark with a model, not with ocr")
    caption = source.caption + left_out(len(source.names) - len(found), "the judge abstained")
    return Points(tuple(found), "instruction faithfulness, IF (of 1)",
                  "reasoning enrichment, RE (of 1)", caption, "semantic precision, SP (of 1)")  # fmt: skip


def panels(source: Source) -> Grid:
    """How much every score differs between pictures of several panels and of one."""
    return _gaps(source, "multi - single", "several panels less one")


def regimes(source: Source) -> Grid:
    """The same between structured and free prompts."""
    return _gaps(source, "structured - free", "structured prompts less free ones")


def _gaps(source: Source, key: str, words: str) -> Grid:
    found = []
    for rows in source.rows:
        undecided = any(mark.verdict == "abstain" for row in rows for mark in row.marks)
        # Where the judge abstained, the drawings left are no fair sample of either condition.
        found.append({} if undecided else source.protocol.analyses(rows)["gaps"][key])
    if not any(found):
        first, second = key.split(" - ")
        raise UsageError(
            f"{source.exam}: among the questions that all painters have, none are of both {first} and {second}; "
            "draw and mark more, or pick painters with --painter"
        )
    names = [name for name in source.protocol.dimensions if any(name in gaps for gaps in found)]
    cells = tuple(tuple(Quantity(_points(gaps.get(name))) for name in names) for gaps in found)
    label = f"{words}, hundredths of a score"
    caption = source.caption + (" · –: the judge abstained" if not all(found) else "")
    columns = tuple(map(source.protocol.called, names))
    return Grid(source.names, columns, cells, label, HUNDRED, caption, source.controls)


def _points(gap: float | None) -> float | None:
    return None if gap is None else HUNDRED * gap


PLOTS: Mapping[str, Plot] = {
    **FIGURES,
    "atoms": Plot("scores against the number of atoms", atoms, "bands"),
    "if-re": Plot("IF against RE, coloured by SP", if_re, "points"),
    "panels": Plot("several panels less one, score by score", panels, "differences"),
    "regimes": Plot("structured prompts less free", regimes, "differences"),
}
