"""Galleries: one question as every painter drew it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...core.errors import UsageError
from ...core.exam import Question
from ...core.images import BadImage, decode
from ...core.plot_data import Gallery, Tile
from ...core.protocol import Row
from .source import StoreSource
from .style import DPI, GREY, NORMAL, PALE, SMALL, WIDTHS, Sketch, fit, inches_high, lines_of, whole, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

ACROSS = {"single": 3, "double": 6}
LINE = 0.115
"""The height of a line of words below a drawing, in inches."""
TALLEST = 1.6
"""The largest height of a drawing, relative to its width."""
GAP = 0.08


def drawings(source: StoreSource) -> Gallery:
    """Return one question's reference and drawings, with their scores.

    Raises:
        UsageError: The question is not among those on which painters are compared.
    """
    question, rows = one_question(source)
    wanted, images = question.id, source.pictures([question.id])
    tiles = [Tile(images[0][wanted])] if images[0] else []
    tiles += [Tile(images[n + 1].get(wanted), describe_scores(source, row)) for n, row in enumerate(rows)]
    columns = (*(["reference"] if images[0] else []), *source.names)
    return Gallery(("",), columns, (tuple(tiles),), wanted, source.caption)


def one_question(source: StoreSource) -> tuple[Question[Any], list[Row | None]]:
    """Return the requested question, by default the first, and each painter's row of it.

    Raises:
        UsageError: The question is not among those on which painters are compared.
    """
    questions = {row.question.id: row.question for rows in source.rows for row in rows}
    wanted = source.wanted or next(iter(questions))
    if wanted not in questions:
        some = ", ".join(list(questions)[:5])
        raise UsageError(f"--question {wanted}: {source.exam} has no such question with scores; available: {some}")
    chosen = [next((row for row in rows if row.question.id == wanted), None) for rows in source.rows]
    return questions[wanted], chosen


def describe_scores(source: StoreSource, row: Row | None) -> tuple[str, ...]:
    """Return the score and the exam's dimensions, a line each."""
    if row is None:
        return ("not drawn or not marked",)
    parts = [score for score in source.protocol.scored if score.name in source.protocol.dimensions]
    values = {score: row.scores.get(score.name) for score in dict.fromkeys([source.score, *parts])}
    return tuple(
        f"{source.protocol.called(score.name)} {'–' if value is None else f'{value:.{score.digits}f}'}"
        for score, value in values.items()
    )


def gallery(frame: Gallery, width: str) -> Sketch:
    """Sketch painters side by side, with several rows of tiles each; the rest continues below."""
    across = min(ACROSS[width], len(frame.columns))
    left = 0.2 if any(frame.rows) else 0.06
    room = (WIDTHS[width] - left - 0.06) / across - GAP
    titles = whole(frame.columns, room)
    pictures = [[small_picture(tile.image, room) for tile in line] for line in frame.tiles]
    lines = max(len(tile.words) for line in frame.tiles for tile in line)
    title = wrapped(frame.title, WIDTHS[width] - 0.2, NORMAL)
    places: list[_Place] = []
    top = 0.12 * (title.count("\n") + 1) + 0.06
    for start in range(0, len(titles), across):
        part = range(start, min(start + across, len(titles)))
        top += LINE * lines_of([titles[n] for n in part]) + 0.04
        for row, line in enumerate(pictures):
            shapes = [image.height / image.width for n in part if (image := line[n]) is not None]
            tall = min(TALLEST, max(shapes, default=0.6)) * room
            places += [_Place(row, n, left + (n - start) * (room + GAP), top, tall, n == start) for n in part]
            top += tall + lines * LINE + 0.1

    def paint(figure: FigureBase) -> None:
        wide_, high = WIDTHS[width], inches_high(figure)
        figure.text(0.06 / wide_, 1 - 0.02 / high, title, fontsize=NORMAL, ha="left", va="top")
        for place in places:
            image, tile = pictures[place.row][place.column], frame.tiles[place.row][place.column]
            tall = place.tall if image is None else min(place.tall, room * image.height / image.width)
            box = (place.left / wide_, 1 - (place.top + tall) / high, room / wide_, tall / high)
            panel = figure.add_axes(box)
            show_tile(
                panel, image, titles[place.column] if place.row == 0 else "", [fit(w, room, SMALL) for w in tile.words]
            )
            if place.first and frame.rows[place.row]:
                x, y = 0.1 / wide_, 1 - (place.top + place.tall / 2) / high
                figure.text(x, y, frame.rows[place.row], rotation=90, ha="center", va="center", fontsize=SMALL)

    return Sketch(top, paint, frame.caption, scales="")


@dataclass(frozen=True)
class _Place:
    """The position of a tile, in inches from the left and from the top."""

    row: int
    column: int
    left: float
    top: float
    tall: float
    first: bool


def small_picture(data: bytes | None, room: float) -> Any:
    """Return the picture, no larger than printed; None if there is none or it cannot be read."""
    if data is None:
        return None
    try:
        image = decode(data)
    except BadImage:
        return None
    side = round(room * DPI)
    image.thumbnail((side, round(side * TALLEST)))
    return image


def show_tile(panel: Any, image: Any, head: str = "", words: Sequence[str] = ()) -> None:
    """Draw a picture in a frame, with a title above and a few lines below."""
    panel.set_title(head, fontsize=SMALL)
    panel.set_xticks([])
    panel.set_yticks([])
    panel.grid(visible=False)
    for side in panel.spines.values():
        side.set(visible=True, color=PALE, lw=0.5)
    if image is None:
        panel.text(
            0.5, 0.5, "no image", ha="center", va="center", fontsize=SMALL, color=GREY, transform=panel.transAxes
        )
    else:
        panel.imshow(image, aspect="auto", interpolation="antialiased")
    panel.annotate("\n".join(words), (0.5, 0), (0, -2), xycoords="axes fraction", textcoords="offset points",
                   ha="center", va="top", fontsize=SMALL, linespacing=1.15)  # fmt: skip
