"""The look of all plots: column widths, type, and colours and markers for colour-blind readers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ...core.errors import UsageError
from ...core.evaluator import short_row_name

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

WIDTHS = {"single": 3.3, "double": 7.0}
"""The widths of plots in inches: one column of a paper, or both."""
PAGE = 9.6
"""The largest height of a plot, in inches: one page."""
MARGIN = 0.12
"""The free inches to the left and right of full-width text, in total."""
SMALL, NORMAL = 6.5, 7.0
"""Font sizes in points, the smallest and the usual one."""
FONT = "DejaVu Sans"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
"""The colours of Okabe and Ito, the palest last."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")
GREY, PALE, INK = "#777777", "#C8C8C8", "#222222"
SEQUENTIAL, DIVERGING = "cividis", "PuOr"
DPI = 200
FORMATS = ("svg", "pdf", "png")
LOOK: dict[str, Any] = {
    "font.family": FONT,
    "axes.edgecolor": GREY,
    **dict.fromkeys(("font.size", "axes.labelsize"), NORMAL),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize", "figure.labelsize"), SMALL),
    **dict.fromkeys(("axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("figure.dpi", "savefig.dpi"), DPI),
}
"""What drawing also uses; the rest of the look is in ``limner.mplstyle``."""


@dataclass(frozen=True)
class Sketch:
    """A plot that is ready to be drawn.

    Attributes:
        height: Its height in inches, without the caption.
        paint: Draws it; may return a function to call after the layout, such as for placing labels.
        caption: The caption below it.
        label: The label of the horizontal axis of all its panels.
        scales: Which axes are linear, for the caption; empty if there is no numeric axis.
    """

    height: float
    paint: Callable[[FigureBase], Callable[[], None] | None]
    caption: str
    label: str | None = None
    scales: str = "axes linear"

    @property
    def said(self) -> str:
        """The caption with the scales."""
        return f"{self.caption} · {self.scales}" if self.scales else self.caption


@contextmanager
def look() -> Iterator[None]:
    """Make matplotlib draw in the look of all plots, regardless of the user's own settings.

    Raises:
        UsageError: matplotlib is missing.
    """
    try:
        from matplotlib import style
    except ImportError as error:
        raise UsageError("plots need matplotlib; install it with: pip install 'limner[plots]'") from error
    with style.context([Path(__file__).parent / "limner.mplstyle", LOOK], after_reset=True):
        yield


def wide(text: str, size: float) -> float:
    """Return the inches that a line of text takes, without kerning."""
    return sum(map(_advance, text)) * size / 72


@lru_cache(maxsize=4096)
def _advance(letter: str) -> float:
    """Return the width of a letter, as a share of the type's size."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font: Any = get_font(findfont(FontProperties(family=FONT)))
    font.set_size(SMALL, 72)
    return float(font.load_char(ord(letter)).linearHoriAdvance) / 65536 / SMALL


def readable(red: float, green: float, blue: float) -> str:
    """Return black on light colours and white on dark ones."""
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


def inches_high(figure: Any) -> float:
    """Return the height of a figure or subfigure in inches."""
    return float(figure.bbox.height / figure.get_figure(root=True).dpi)


def fit(name: str, inches: float, size: float) -> str:
    """Shorten a name to this width by cutting its middle, since the end often says more."""
    if wide(name, size) <= inches:
        return name
    for kept in range(len(name) - 1, 3, -1):
        head = (kept * 3 + 4) // 5
        short = f"{name[:head].rstrip()}…{name[len(name) - (kept - head) :].lstrip()}"
        if wide(short, size) <= inches:
            return short
    return f"{name[:2]}…{name[-1:]}"


BREAKS = re.compile(r"[^\s/\-_+,\[\]=?&.:]*[\s/\-_+,\[\]=?&.:]*")
"""A piece of a name with the following punctuation, after which a line may end."""
SPACING = 1.05
LINE = SMALL * SPACING / 72
"""The inches from one line of a name to the next."""


def broken(name: str, inches: float, size: float = SMALL) -> str:
    """Return the full name in lines of at most this width, broken after punctuation if possible."""
    lines = [""]
    for piece in BREAKS.findall(name):
        if lines[-1] and wide((lines[-1] + piece).rstrip(), size) > inches:
            lines.append("")
        for letter in piece:
            if lines[-1] and wide(lines[-1] + letter, size) > inches and not letter.isspace():
                lines.append("")
            lines[-1] += letter
    return "\n".join(line.strip() for line in lines if line.strip())


def whole(names: Sequence[str], inches: float, size: float = SMALL) -> list[str]:
    """Return full names, long ones in several lines; a provider before the slash is dropped if names stay unique."""
    bare = [short_row_name(name) for name in names]
    used = bare if len(set(bare)) == len(set(names)) else list(names)
    return [broken(name, inches, size) for name in used]


def lines_of(names: Sequence[str]) -> int:
    """Return the number of lines of the longest name."""
    return max((name.count("\n") + 1 for name in names), default=1)


def wrapped(text: str, inches: float, size: float = SMALL) -> str:
    """Wrap a text into lines of at most this width; only words longer than a line are broken."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and wide(longer, size) > inches:
            lines.append(word)
        else:
            lines[-1] = longer
    return "\n".join(line if wide(line, size) <= inches else broken(line, inches, size) for line in lines)


def words_height(sketch: Sketch, width: str) -> float:
    """Return the height in inches of a sketch's caption and of all lines of its label except the first."""
    caption = (lines_of([wrapped(sketch.said, WIDTHS[width] - MARGIN)])) * SMALL * 1.25 / 72 + 0.05
    return caption + (lines_of([_label(sketch, width)]) - 1) * NORMAL * 1.2 / 72


def _label(sketch: Sketch, width: str) -> str:
    return wrapped(sketch.label or "", WIDTHS[width] - MARGIN, NORMAL)


def checked_format(path: Path) -> str:
    """Return the format that a file's suffix requests.

    Raises:
        UsageError: The format is not one of `FORMATS`.
    """
    form = path.suffix.lower().lstrip(".")
    if form not in FORMATS:
        raise UsageError(f"{path}: the file name must end in one of {', '.join(FORMATS)}")
    return form


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure to a file; the same numbers give the same bytes.

    Raises:
        UsageError: The file's name does not end in one of `FORMATS`.
    """
    form = checked_format(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_figure(figure, path, form)


def write_figure(figure: Any, place: Path | IO[bytes], form: str) -> None:
    """Write a figure in one of `FORMATS`, without dates or anything else that changes between runs."""
    nothing = {"svg": {"Date": None, "Creator": "limner"}, "pdf": {"CreationDate": None, "Creator": "limner"}}
    with look():
        figure.savefig(place, format=form, metadata=nothing.get(form, {"Software": "limner"}))


def compose(sketches: Sequence[Sketch], width: str) -> Any:
    """Return a matplotlib figure with the sketches one below the other, each with its caption."""
    inches = WIDTHS[width]
    with look():
        from matplotlib.figure import Figure

        captions = [wrapped(sketch.said, inches - MARGIN) for sketch in sketches]
        heights = [sketch.height + words_height(sketch, width) for sketch in sketches]
        if sum(heights) > PAGE:
            wider = "--width double, " if width == "single" else ""
            raise UsageError(
                f"the plot would be {sum(heights):.1f} inches high, more than a page ({PAGE}): "
                f"use {wider}one --score, fewer painters with --painter, fewer exams, or the plot heatmap"
            )
        figure = Figure(figsize=(inches, sum(heights)), layout="constrained")
        parts = list(figure.subfigures(len(sketches), 1, height_ratios=heights, squeeze=False)[:, 0])
        last = []
        for part, sketch, caption in zip(parts, sketches, captions, strict=True):
            inner = part
            if sketch.label is not None:
                inner = part.subfigures()
                inner.supxlabel(_label(sketch, width), fontsize=NORMAL)
            last.append(sketch.paint(inner))
            part.supxlabel(caption, x=MARGIN / 2 / inches, ha="left", fontsize=SMALL, color=GREY, linespacing=1.15)
        figure.draw_without_rendering()
        # The layout is final: later additions must not change it.
        figure.set_layout_engine("none")
        for finish in last:
            if finish is not None:
                finish()
    return figure


def save_sketch(sketch: Callable[[], Sketch], width: str, path: Path) -> None:
    """Draw a sketch into a file; see `save_figure`."""
    with look():
        made = sketch()
    save_figure(compose([made], width), path)
