"""Plots for papers: frames (numbers) are separate from drawing; matplotlib is loaded only when something is drawn."""

from .catalogue import PlotFigure, PlotKind, find_plot, load_plots, make_figure, plot
from .source import PlotChoice
