"""Plots for papers: frames (numbers) apart from drawing; matplotlib is loaded only when something is drawn."""

from .catalogue import PLOTS, Plot, find, plot
from .source import Choice

__all__ = ["PLOTS", "Choice", "Plot", "find", "plot"]
