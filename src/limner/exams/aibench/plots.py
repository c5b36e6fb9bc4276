"""AIBench's own plots: its four levels, and looks against logic."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.errors import UsageError
from ...core.plot_data import Grid, Plot, Point, Points, Source, left_out, shown
from .protocol import LEVEL_NAMES


def levels(source: Source) -> Grid:
    """The four levels, which are scores of their own."""
    return source.shares(LEVEL_NAMES)


def logic_aesthetics(source: Source) -> Points:
    """The rating of looks against the mean of the four levels.

    Raises:
        UsageError: Nobody has rated the looks, or the judge does not settle the levels.
    """
    looks = next(score for score in source.protocol.scored if score.name == "aesthetics")
    rated = source.cells(looks.name)
    found = [
        Point(name, x, y, None, name in source.controls)
        for name, x, y in zip(source.names, source.mean(LEVEL_NAMES), rated, strict=True)
        if x.value is not None and y.value is not None
    ]
    if not any(cell.value is not None for cell in rated):
        raise UsageError(
            f"{source.exam} has no aesthetics; `limner evidence {source.exam} --aesthetics WORD` measures it"
        )
    if not found:
        raise UsageError(f"{source.exam}: this judge does not decide all four levels; mark with a model, not with ocr")
    caption = source.caption + left_out(len(source.names) - len(found), "without both numbers")
    return Points(tuple(found), "logic, mean of the four levels (of 100)", shown(looks), caption).with_front()


PLOTS: Mapping[str, Plot] = {
    "levels": Plot("the four levels", levels, "profiles"),
    "logic-aesthetics": Plot("looks against logic", logic_aesthetics, "points"),
}
