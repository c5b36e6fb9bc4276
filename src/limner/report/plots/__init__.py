"""Plots for papers: frames (numbers) are separate from drawing; matplotlib is loaded only when something is drawn."""

from typing import Any

from .catalogue import PlotFigure, PlotKind, find, known, make_figure, plot
from .source import PlotChoice

__all__ = ["PLOTS", "PlotChoice", "PlotFigure", "PlotKind", "find", "known", "make_figure", "plot"]

PLOTS: dict[str, PlotKind]
"""The same as `known`, read when it is asked for: no exam is loaded before."""


def __getattr__(name: str) -> Any:
    if name == "PLOTS":
        return known()
    raise AttributeError(name)
