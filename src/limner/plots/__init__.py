"""Plots for papers: frames (numbers) apart from drawing; matplotlib is loaded only when something is drawn."""

from typing import Any

from .catalogue import Plot, find, known, plot
from .source import Choice

__all__ = ["PLOTS", "Choice", "Plot", "find", "known", "plot"]

PLOTS: dict[str, Plot]
"""The same as `known`, read when it is asked for: no exam is loaded before."""


def __getattr__(name: str) -> Any:
    if name == "PLOTS":
        return known()
    raise AttributeError(name)
