"""All plots by name: those of every exam, and those of single exams."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import LimnerError, UsageError
from ...core.plot_data import Plot
from ...exams import each
from .data_set import data, data_sheet
from .galleries import drawings, gallery, graph_rows, graphs
from .maps import by_judge, differences, judges, matrices, raters, scores
from .multiples import alignment, bands, people, profiles
from .points import cost, dispersion, pairs, points
from .rows import distribution, dots, failures, gap_bars, histograms, kinds, question_gaps, violins
from .source import LEVELS, PlotChoice, categories, heatmap, levels, load_source, overall, profile
from .style import WIDTHS, Sketch, checked_format, compose, look, save_figure, write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DrawFunction = Callable[[Any, str], Sketch]
DRAW_FUNCTIONS: Mapping[str, DrawFunction] = {
    draw.__name__: draw
    for draw in (
        bands, differences, dispersion, dots, gallery, histograms, kinds, matrices, pairs, points, profiles, raters,
        scores, violins,
    )
}  # fmt: skip
"""The functions that draw a frame at a width, by the names that exams use."""


@dataclass(frozen=True)
class PlotKind:
    """A plot by name, for every exam that has it.

    Attributes:
        about: A one-line description.
        draw: The function that draws its numbers at a width.
        usual: The function that returns its numbers from any exam's source; None if only some exams have the plot.
        own: The exams' own versions of the plot, by kind, which take precedence.
        compared: Whether it compares several judges; `usual` then takes the exam and the choice instead of a source,
            since a source has only one judge.
    """

    name: str
    about: str
    draw: DrawFunction
    usual: Callable[..., Any] | None = None
    own: Mapping[str, Plot] = field(default_factory=dict)
    compared: bool = False

    @property
    def only(self) -> str | None:
        """The kinds of exam it is for; None for all."""
        return None if self.usual else ", ".join(self.own)

    @property
    def of_question(self) -> bool:
        """Whether it shows drawings of a single question."""
        return self.draw in (gallery, graph_rows)

    def frame(self, exam: str, choice: PlotChoice) -> Any:
        """Return the plot's numbers, from an exam in a store."""
        return self._framed(exam, choice)[0]

    def sketch(self, exam: str, choice: PlotChoice, width: str) -> Sketch:
        """Return the plot, ready to be drawn at a width."""
        frame, drawing = self._framed(exam, choice)
        return drawing(frame, width)

    def _framed(self, exam: str, choice: PlotChoice) -> tuple[Any, DrawFunction]:
        if self.usual and self.compared:
            return self.usual(exam, choice), self.draw
        source = load_source(exam, choice)
        own = self.own.get(source.kind)
        if own is not None:
            drawing = self.draw if self.usual else DRAW_FUNCTIONS[own.draw]
            named = _name_in_errors(self.name, source.kind)

            def drawn(frame: Any, width: str) -> Sketch:
                sketch = named(drawing)(frame, width)
                return replace(sketch, paint=named(sketch.paint))

            return named(own.frame)(source), drawn
        if self.usual is None:
            only = f"{self.name} is only for exams of the kind {self.only}"
            raise UsageError(f"{only}; {source.exam} is of the kind {source.kind}")
        return self.usual(source), self.draw


@contextmanager
def _name_in_errors(name: str, kind: str) -> Iterator[None]:
    """Turn any error into one that names the plot and its exam."""
    try:
        yield
    except LimnerError:
        raise
    except Exception as error:
        broken = f"the plot {name!r} of the exam {kind!r} is broken"
        raise UsageError(f"{broken}: {type(error).__name__}: {error}") from error


USUAL = (
    PlotKind("overall", "every painter's score: dots with intervals", dots, overall),
    PlotKind("difference", "two painters' difference on every question", gap_bars, question_gaps),
    PlotKind("categories", "score by category: dots with intervals", dots, categories),
    PlotKind("heatmap", "score by category as a map of painters by subjects", scores, heatmap),
    PlotKind("profile", "each painter's profile over the exam's dimensions", profiles, profile),
    PlotKind(LEVELS, "how scores fall from level to level", profiles, levels),
    PlotKind("distribution", "how scores of single drawings spread", violins, distribution),
    PlotKind("failures", "kinds of failure", kinds, failures),
    PlotKind("cost", "score against dollars for one drawing", points, cost),
    PlotKind("judges", "how far judges agree, two by two", matrices, judges, compared=True),
    PlotKind("by-judge", "each painter's score under every judge", raters, by_judge, compared=True),
    PlotKind("people", "every judge and metric against people, painter by painter", alignment, people, compared=True),
    PlotKind("data", "what the exam's data set looks like, as its paper shows it", data, data_sheet, compared=True),
    PlotKind("drawings", "one question as every painter drew it", gallery, drawings),
    PlotKind("graphs", "one question's graph as every painter drew it", graph_rows, graphs),
)
"""The plots that every exam has."""


def load_plots() -> dict[str, PlotKind]:
    """Return every plot by name: those of all exams, then those of single exams."""
    plots = {plot.name: plot for plot in USUAL}
    for kind in each():
        for name, own in kind.plots.items():
            plot = plots.get(name) or PlotKind(name, own.about, DRAW_FUNCTIONS[own.draw])
            plots[name] = replace(plot, own={**plot.own, kind.name: own})
    return plots


def find_plot(name: str) -> PlotKind:
    """Return the plot of this name.

    Raises:
        UsageError: There is none.
    """
    plots = load_plots()
    if name not in plots:
        raise UsageError(f"no plot {name!r}; available: {', '.join(plots)}")
    return plots[name]


def plot(
    name: str, exams: Sequence[str], path: Path | str, choice: PlotChoice | None = None, width: str = "double"
) -> None:
    """Draw a plot into a file, for one exam or for several, one below the other.

    Args:
        name: The name of one of `load_plots`.
        exams: Their names in the store.
        path: The file, which ends in ``.svg``, ``.pdf`` or ``.png``.
        choice: The store, and the choice of marks.
        width: ``single`` or ``double``: one column of a paper, or both.

    Raises:
        UsageError: There is nothing to show, or matplotlib is missing; the message says what to do.
    """
    path = Path(path)
    checked_format(path)
    make_figure(name, exams, choice, width).save(path)


def make_figure(name: str, exams: Sequence[str], choice: PlotChoice | None = None, width: str = "double") -> PlotFigure:
    """Return a plot as a figure; see `plot`."""
    kind = find_plot(name)
    if width not in WIDTHS:
        raise UsageError(f"no width {width!r}; available: {', '.join(WIDTHS)}")
    with look():  # Fails at once if matplotlib is missing.
        sketches = [kind.sketch(exam, choice or PlotChoice(), width) for exam in exams]
    return PlotFigure(name, tuple(exams), compose(sketches, width))


@dataclass(frozen=True, repr=False)
class PlotFigure:
    """A plot of one exam, or of several, one below the other.

    Attributes:
        name: The plot's name.
        exams: The names of the exams.
        figure: The matplotlib figure.
    """

    name: str
    exams: tuple[str, ...]
    figure: Figure

    def save(self, path: Path | str) -> None:
        """Write the figure to a file; the same numbers give the same bytes.

        Raises:
            UsageError: The file's name does not end in ``.svg``, ``.pdf`` or ``.png``.
        """
        save_figure(self.figure, Path(path))

    def to_bytes(self, form: str = "svg") -> bytes:
        """Return the figure as ``svg``, ``pdf`` or ``png``."""
        buffer = io.BytesIO()
        write_figure(self.figure, buffer, checked_format(Path(f"plot.{form}")))
        return buffer.getvalue()

    def __repr__(self) -> str:
        """Return the plot's name and its exams."""
        return f"<PlotFigure: {self.name} of {', '.join(self.exams)}>"

    def _repr_svg_(self) -> str:
        return self.to_bytes("svg").decode()
