"""Plots for papers: frames (numbers) are separate from drawing; matplotlib is loaded only when something is drawn."""

from typing import Any

from .catalogue import PlotFigure, PlotKind, find_plot, load_plots, make_figure, plot
from .source import PlotChoice

PLOTS: dict[str, PlotKind]
"""The result of `load_plots`, loaded on first use."""


def __getattr__(name: str) -> Any:
    if name == "PLOTS":
        return load_plots()
    raise AttributeError(name)
