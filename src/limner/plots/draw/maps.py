"""Heat maps: painters by categories, differences between conditions, judges by judges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...core.plot_data import Cell, Grid
from ..frames.grids import OVERALL
from ..style import DIVERGING, NORMAL, PALE, SEQUENTIAL, SMALL, WIDTHS, Sketch, fit, fitted, wide, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

ROW = 0.15
NAMES = {"single": 1.0, "double": 1.75}
TALLEST = 1.3
"""Inches that a column's name, written upwards, may take."""


def scores(grid: Grid, width: str) -> Sketch:
    """Scores, dark is low; the lower end of the colours is nothing, the upper one the best possible."""
    # Two digits fit into the narrowest cell.
    by = 100.0 if grid.top == 1 else 1.0
    cells = tuple(tuple(cell.scaled(by) for cell in row) for row in grid.cells)
    label = grid.label + (", in hundredths" if by != 1 else "")
    scaled = replace(grid, cells=cells, top=grid.top * by, label=label)
    digits = 0 if scaled.top >= 10 else 1
    return _map(scaled, width, (0.0, scaled.top), SEQUENTIAL, lambda value: f"{value:.{digits}f}")


def differences(grid: Grid, width: str) -> Sketch:
    """Differences, with nothing in the middle of the colours."""
    far = max((abs(cell.value) for row in grid.cells for cell in row if cell.value is not None), default=1.0) or 1.0
    return _map(grid, width, (-far, far), DIVERGING, _signed)


def _signed(value: float) -> str:
    """A whole number with its sign; nothing has none.

    >>> _signed(2.6), _signed(-2.6), _signed(-0.4)
    ('+3', '−3', '0')
    """
    return f"{value:+.0f}".replace("-", "−") if round(value) else "0"


def _map(grid: Grid, width: str, ends: tuple[float, float], colours: str, text: Callable[[float], str]) -> Sketch:
    names = fitted(grid.rows, NAMES[width], SMALL)
    columns = [fit(column, TALLEST, SMALL) for column in grid.columns]
    # A map of few columns is no wider than it need be.
    room = min((WIDTHS[width] - NAMES[width] - 0.15) / len(columns), 0.7)
    flat = all(wide(column, SMALL) < room - 0.06 for column in columns)
    above = 0.15 if flat else max(wide(column, SMALL) for column in columns) + 0.1
    told = [text(cell.value) for row in grid.cells for cell in row if cell.value is not None]
    fits = max((wide(each, SMALL) for each in told), default=0.0) < room - 0.03
    label = wrapped(grid.label, WIDTHS[width] - NAMES[width] - 0.1, NORMAL)
    height = above + ROW * len(names) + 0.5 + 0.12 * label.count("\n")

    def paint(figure: FigureBase) -> None:
        panel = figure.subplots()
        image = _cells(panel, grid, ends, colours, text if fits else lambda _: "")
        if grid.columns[0] == OVERALL:
            panel.axvline(0.5, color="white", lw=2)
        panel.set_yticks(range(len(names)), names)
        panel.set_xticks(range(len(columns)), columns, rotation=0 if flat else 90)
        panel.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
        bar = figure.colorbar(image, ax=panel, orientation="horizontal", aspect=40, shrink=0.75, pad=0.02)
        bar.set_label(label)
        _plain(bar)

    return Sketch(height, paint, grid.caption)


def _plain(bar: Any) -> None:
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2, width=0.5)
    from matplotlib.ticker import MaxNLocator

    bar.ax.xaxis.set_major_locator(MaxNLocator(5))


def _cells(panel: Any, grid: Grid, ends: tuple[float, float], colours: str, text: Callable[[float], str] | None) -> Any:
    import numpy as np

    values = np.array([[np.nan if cell.value is None else cell.value for cell in row] for row in grid.cells])
    panel.set_facecolor(PALE)
    image = panel.imshow(values, cmap=colours, vmin=ends[0], vmax=ends[1], aspect="auto")
    panel.grid(visible=False)
    for side in panel.spines.values():
        side.set_visible(False)
    for y, row in enumerate(grid.cells if text else ()):
        for x, cell in enumerate(row):
            word = "–" if cell.value is None or text is None else text(cell.value)
            panel.text(x, y, word, ha="center", va="center", fontsize=SMALL, color=_shade(image, cell))
    return image


def _readable(image: Any, value: float) -> str:
    """Black on light cells, white on dark ones."""
    red, green, blue, _ = image.to_rgba(value)
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


def matrices(grids: tuple[Grid, Grid], width: str) -> Sketch:
    """Two triangles of judges by judges, each number with its interval where there is room."""
    down = 2 if width == "single" else 1
    names = fitted(grids[0].rows, 1.1, SMALL)
    columns = fitted(grids[0].columns, 1.1, SMALL)
    room = (WIDTHS[width] / (3 - down) - 1.25) / len(columns)
    tall = max(0.17, min(0.36, room * 0.6))
    flat = all(wide(column, SMALL) < room - 0.06 for column in columns)
    below = 0.15 if flat else max(wide(column, SMALL) for column in columns) + 0.1
    height = down * (below + tall * len(names) + 0.3)

    def paint(figure: FigureBase) -> None:
        axes = figure.subplots(down, 3 - down, squeeze=False).ravel()
        for panel, grid in zip(axes, grids, strict=True):
            _cells(panel, grid, (-1.0, 1.0), DIVERGING, None)
            panel.set_facecolor("white")
            for y, row in enumerate(grid.cells):
                for x, cell in enumerate(row[: y + 1]):
                    panel.text(x, y, _with_ends(cell, room, tall), ha="center", va="center", fontsize=SMALL,
                               linespacing=1.1, color=_shade(panel.images[0], cell))  # fmt: skip
            panel.set_yticks(range(len(names)), names)
            panel.set_xticks(range(len(columns)), columns, rotation=0 if flat else 90)
            panel.tick_params(length=0)
            panel.set_title(wrapped(grid.label, WIDTHS[width] / (3 - down) - 0.1, NORMAL), fontsize=NORMAL)

    return Sketch(height, paint, grids[0].caption)


def _shade(image: Any, cell: Cell) -> str:
    return "black" if cell.value is None else _readable(image, cell.value)


def _with_ends(cell: Cell, room: float, tall: float) -> str:
    if cell.value is None:
        return "–"
    number = f"{cell.value:.2f}"
    if cell.low is None or cell.high is None:
        return number
    ends = f"{cell.low:.2f} to {cell.high:.2f}"
    return f"{number}\n{ends}" if wide(ends, SMALL) < room - 0.05 and tall > 0.25 else number
