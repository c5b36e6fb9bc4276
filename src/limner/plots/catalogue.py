"""All plots by name: those that every exam has, and those of exams' own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..core.errors import LimnerError, UsageError
from ..core.plot_data import Plot as Own
from ..exams import each
from . import draw, frames
from .source import Choice, load
from .style import FORMATS, WIDTHS, Sketch, look, save

Drawing = Callable[[Any, str], Sketch]
DRAWN: Mapping[str, Drawing] = {name: getattr(draw, name) for name in draw.__all__}
"""What draws a frame at a width, by the words that exams use for it."""


@dataclass(frozen=True)
class Plot:
    """A plot.

    Attributes:
        about: One line on what it shows.
        draw: What draws its numbers at a width.
        usual: Its numbers, from any exam's source; None where only some exams have the plot.
        own: Kinds of exam that have it as a plot of their own, which goes before the usual one.
        compared: Whether it shows all judges: then `usual` takes the exam and the choice, for a source has one.
    """

    name: str
    about: str
    draw: Drawing
    usual: Callable[..., Any] | None = None
    own: Mapping[str, Own] = field(default_factory=dict)
    compared: bool = False

    @property
    def only(self) -> str | None:
        """The kinds of exam it is for; None for all."""
        return None if self.usual else ", ".join(self.own)

    def frame(self, exam: str, choice: Choice) -> Any:
        """Its numbers, from an exam in a store."""
        return self._framed(exam, choice)[0]

    def sketch(self, exam: str, choice: Choice, width: str) -> Sketch:
        """Ready to be drawn at a width."""
        frame, drawing = self._framed(exam, choice)
        return drawing(frame, width)

    def _framed(self, exam: str, choice: Choice) -> tuple[Any, Drawing]:
        if self.usual and self.compared:
            return self.usual(exam, choice), self.draw
        source = load(exam, choice)
        own = self.own.get(source.kind)
        if own is not None:
            drawing = self.draw if self.usual else DRAWN[own.draw]
            with _told(self.name, source.kind):
                return own.frame(frames.given(source)), partial(_drawn, drawing, self.name, source.kind)
        if self.usual is None:
            only = f"{self.name} shows exams of the kind {self.only}"
            raise UsageError(f"{only}; {source.exam} is of the kind {source.kind}")
        return self.usual(source), self.draw


def _drawn(drawing: Drawing, name: str, kind: str, frame: Any, width: str) -> Sketch:
    with _told(name, kind):
        sketch = drawing(frame, width)
    return replace(sketch, paint=_told(name, kind)(sketch.paint))


@contextmanager
def _told(name: str, kind: str) -> Iterator[None]:
    """Says whose plot it is that breaks."""
    try:
        yield
    except LimnerError:
        raise
    except Exception as error:
        broken = f"the plot {name!r} of the exam {kind!r} is broken"
        raise UsageError(f"{broken}: {type(error).__name__}: {error}") from error


USUAL = (
    Plot("categories", "score by category: dots with intervals", draw.dots, frames.categories),
    Plot("heatmap", "score by category as a map of painters by subjects", draw.scores, frames.heatmap),
    Plot("profile", "each painter's profile over the exam's dimensions", draw.profiles, frames.profile),
    Plot(frames.LEVELS, "how scores fall from level to level", draw.profiles, frames.levels),
    Plot("distribution", "how scores of single drawings spread", draw.violins, frames.distribution),
    Plot("failures", "kinds of failure", draw.kinds, frames.failures),
    Plot("cost", "score against dollars for one drawing", draw.points, frames.cost),
    Plot("judges", "how far judges agree, two by two", draw.matrices, frames.judges, compared=True),
)
"""The plots that every exam has."""


def known() -> dict[str, Plot]:
    """Every plot by its name: those of all exams, then the exams' own."""
    found = {plot.name: plot for plot in USUAL}
    for kind in each():
        for name, own in kind.plots.items():
            plot = found.get(name) or Plot(name, own.about, DRAWN[own.draw])
            found[name] = replace(plot, own={**plot.own, kind.name: own})
    return found


def find(name: str) -> Plot:
    """The plot of this name.

    Raises:
        UsageError: There is none.
    """
    plots = known()
    if name not in plots:
        raise UsageError(f"no plot {name!r}; there is: {', '.join(plots)}")
    return plots[name]


def plot(
    name: str, exams: Sequence[str], path: Path | str, choice: Choice | None = None, width: str = "double"
) -> None:
    """Draw a plot of one exam, or of several below each other, into a file.

    Args:
        name: One of `known`.
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
        sketches = [found.sketch(exam, choice or Choice(), width) for exam in exams]
    save(sketches, path, width)
