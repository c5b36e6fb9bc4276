"""A plot that is drawn: to be shown in a notebook, changed with matplotlib, or written to a file."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .style import checked_format, write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class PlotFigure:
    """A plot of one exam, or of several below each other.

    Attributes:
        name: Which plot.
        exams: Whose scores.
        figure: The matplotlib figure.
    """

    name: str
    exams: tuple[str, ...]
    figure: Figure

    def save(self, path: Path | str) -> None:
        """Write it to a file, the same bytes for the same numbers.

        Raises:
            UsageError: The file's name ends in something else than ``.svg``, ``.pdf`` or ``.png``.
        """
        path = Path(path)
        form = checked_format(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_figure(self.figure, path, form)

    def to_bytes(self, form: str = "svg") -> bytes:
        """What `save` would write as ``svg``, ``pdf`` or ``png``."""
        buffer = io.BytesIO()
        write_figure(self.figure, buffer, checked_format(Path(f"plot.{form}")))
        return buffer.getvalue()

    def __repr__(self) -> str:
        """Which plot of which exams."""
        return f"<PlotFigure: {self.name} of {', '.join(self.exams)}>"

    def _repr_svg_(self) -> str:
        return self.to_bytes("svg").decode()
