"""All plots by name: what each shows, where its numbers come from, what draws them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import UsageError
from . import draw, frames
from .source import Choice, load
from .style import FORMATS, WIDTHS, Sketch, look, save


@dataclass(frozen=True)
class Plot:
    """A plot.

    Attributes:
        about: One line on what it shows.
        frame: Its numbers, from an exam in a store.
        draw: What draws them at a width.
        only: The kind of exam it is for; None for all.
    """

    name: str
    about: str
    frame: Callable[[str, Choice], Any]
    draw: Callable[[Any, str], Sketch]
    only: str | None = None


def _from(make: Callable[..., Any]) -> Callable[[str, Choice], Any]:
    return lambda exam, choice: make(load(exam, choice))


PLOTS = {
    plot.name: plot
    for plot in (
        Plot("categories", "score by category: dots with intervals", _from(frames.categories), draw.dots),
        Plot("heatmap", "score by category as a map of painters by subjects", _from(frames.heatmap), draw.scores),
        Plot("profile", "each painter's profile over the exam's dimensions", _from(frames.profile), draw.profiles),
        Plot("levels", "how scores fall from level to level", _from(frames.levels), draw.profiles),
        Plot("distribution", "how scores of single drawings spread", _from(frames.distribution), draw.violins),
        Plot("failures", "kinds of failure", _from(frames.failures), draw.kinds),
        Plot("cost", "score against dollars for one drawing", _from(frames.cost), draw.points),
        Plot("judges", "how far judges agree, two by two", frames.judges, draw.matrices),
        Plot("atoms", "scores against the number of atoms", _from(frames.atoms), draw.atoms, "fepbench"),
        Plot("if-re", "IF against RE, coloured by SP", _from(frames.if_re), draw.points, "fepbench"),
        Plot("panels", "several panels less one, score by score", _from(frames.panels), draw.differences, "fepbench"),
        Plot("regimes", "structured prompts less free", _from(frames.regimes), draw.differences, "fepbench"),
        Plot("logic-aesthetics", "looks against logic", _from(frames.logic_aesthetics), draw.points, "aibench"),
        Plot("regions", "histograms of region counts", _from(frames.regions), draw.histograms, "mmmg"),
    )
}


def find(name: str) -> Plot:
    """The plot of this name.

    Raises:
        UsageError: There is none.
    """
    if name not in PLOTS:
        raise UsageError(f"no plot {name!r}; there is: {', '.join(PLOTS)}")
    return PLOTS[name]


def plot(
    name: str, exams: Sequence[str], path: Path | str, choice: Choice | None = None, width: str = "double"
) -> None:
    """Draw a plot of one exam, or of several below each other, into a file.

    Args:
        name: One of `PLOTS`.
        exams: Their names in the store.
        path: Ends in ``.svg``, ``.pdf`` or ``.png``.
        choice: Which marks, from which store.
        width: ``single`` or ``double``: one column of a paper, or both.

    Raises:
        UsageError: There is nothing to show, with what to run; or matplotlib is missing.
    """
    found, path = find(name), Path(path)
    if width not in WIDTHS:
        raise UsageError(f"no width {width!r}; there is: {', '.join(WIDTHS)}")
    if path.suffix.lower().lstrip(".") not in FORMATS:
        raise UsageError(f"{path}: plots are written as {', '.join(FORMATS)}; end the name in one of them")
    with look():  # Says at once if matplotlib is missing.
        sketches = [found.draw(found.frame(exam, choice or Choice()), width) for exam in exams]
    save(sketches, path, width)
