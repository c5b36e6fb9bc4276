"""One question as every painter drew it: in a gallery, or with the question's graph beside each drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from ... import exams
from ...core.errors import UsageError
from ...core.evaluator import short_row_name
from ...core.evidence import REGIONS
from ...core.exam import Question
from ...core.images import BadImage, decode
from ...core.plot_data import Gallery, Tile
from ...core.protocol import Row
from . import style as st
from .source import StoreSource
from .style import Sketch, fit, inches_high, lines_of, whole, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

ACROSS = {"single": 3, "double": 6}
CAPTION_LINE = 0.115
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
    room = (st.WIDTHS[width] - left - 0.06) / across - GAP
    titles = whole(frame.columns, room)
    pictures = [[small_picture(tile.image, room) for tile in line] for line in frame.tiles]
    lines = max(len(tile.words) for line in frame.tiles for tile in line)
    title = wrapped(frame.title, st.WIDTHS[width] - 0.2, st.NORMAL)
    places: list[tuple[int, int, float, float, float]] = []
    top = 0.12 * (title.count("\n") + 1) + 0.06
    for start in range(0, len(titles), across):
        part = range(start, min(start + across, len(titles)))
        top += CAPTION_LINE * lines_of([titles[n] for n in part]) + 0.04
        for row, line in enumerate(pictures):
            shapes = [image.height / image.width for n in part if (image := line[n]) is not None]
            tall = min(TALLEST, max(shapes, default=0.6)) * room
            places += [(row, n, left + (n - start) * (room + GAP), top, tall) for n in part]
            top += tall + lines * CAPTION_LINE + 0.1

    def paint(figure: FigureBase) -> None:
        wide_, high = st.WIDTHS[width], inches_high(figure)
        figure.text(0.06 / wide_, 1 - 0.02 / high, title, fontsize=st.NORMAL, ha="left", va="top")
        for row, column, x, y, tall in places:
            image, words = pictures[row][column], [fit(word, room, st.SMALL) for word in frame.tiles[row][column].words]
            used = tall if image is None else min(tall, room * image.height / image.width)
            panel = figure.add_axes((x / wide_, 1 - (y + used) / high, room / wide_, used / high))
            show_tile(panel, image, "" if row else titles[column], words)
            if column % across == 0 and frame.rows[row]:
                place = 0.1 / wide_, 1 - (y + tall / 2) / high
                figure.text(*place, frame.rows[row], rotation=90, ha="center", va="center", fontsize=st.SMALL)

    return Sketch(top, paint, frame.caption, scales="")


def small_picture(data: bytes | None, room: float) -> Any:
    """Return the picture, no larger than printed; None if there is none or it cannot be read."""
    if data is None:
        return None
    try:
        image = decode(data)
    except BadImage:
        return None
    side = round(room * st.DPI)
    image.thumbnail((side, round(side * TALLEST)))
    return image


def show_tile(panel: Any, image: Any, head: str = "", words: Sequence[str] = ()) -> None:
    """Draw a picture in a frame, with a title above and a few lines below."""
    panel.set_title(head, fontsize=st.SMALL)
    panel.set_xticks([])
    panel.set_yticks([])
    panel.grid(visible=False)
    for side in panel.spines.values():
        side.set(visible=True, color=st.PALE, lw=0.5)
    if image is None:
        panel.text(
            0.5, 0.5, "no image", ha="center", va="center", fontsize=st.SMALL, color=st.GREY, transform=panel.transAxes
        )
    else:
        panel.imshow(image, aspect="auto", interpolation="antialiased")
    panel.annotate("\n".join(words), (0.5, 0), (0, -2), xycoords="axes fraction", textcoords="offset points",
                   ha="center", va="top", fontsize=st.SMALL, linespacing=1.15)  # fmt: skip


ENTITY = "entity"
"""The kind of criteria that are nodes of a graph; all others are edges."""
SIGNS = {True: "✓", False: "✗", None: "?"}
COLUMNS = {"single": (0.9, 1.0, 0.0, 0.0, 1.3), "double": (1.0, 1.4, 1.15, 1.95, 1.4)}
"""The inches of picture, graph, entities, dependencies and scores; a width of zero leaves them out."""
LEAST_ROW, CAPTION_ROOM, HEAD = 0.75, 0.5, 0.13
BOLD = 1.2
"""How much wider bold letters are."""


@dataclass(frozen=True)
class GraphRow:
    """A drawing with what it shows: criterion -> whether; None if undecided, absent if it was not asked."""

    name: str
    image: bytes | None
    shown: Mapping[str, bool | None]
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class GraphRows:
    """The rows of a plot of graphs.

    Attributes:
        layout: Positions of nodes, and the edges between them, as the exam's page has them.
        entities: The criteria that are nodes, with their names; `dependencies` are the others.
    """

    rows: tuple[GraphRow, ...]
    layout: Mapping[str, Any]
    entities: tuple[tuple[str, str], ...]
    dependencies: tuple[tuple[str, str], ...]
    title: str
    caption: str


def graphs(source: StoreSource) -> GraphRows:
    """Return one question's graph for the reference and for every painter.

    Raises:
        UsageError: The exam's questions have no graph, or the question is not among those that are compared.
    """
    question, chosen = one_question(source)
    view = exams.kind(source.kind).view
    layout = view(question).get("graph") if view else None
    if not layout:
        raise UsageError(f"{source.exam}: its questions have no graphs; `limner plot drawings` shows the drawings")
    criteria = source.protocol.criteria(question)
    entities, dependencies = (
        tuple((each.id, each.text) for each in criteria if (each.kind == ENTITY) is node) for node in (True, False)
    )
    images = [each.get(question.id) for each in source.pictures([question.id])]
    rows = [GraphRow("reference", images[0], {})] if images[0] else []
    for name, image, row in zip(source.names, images[1:], chosen, strict=True):
        marks = row.marks if row is not None else ()
        shown = {mark.criterion: None if mark.value is None else mark.value > 0 for mark in marks}
        regions = row.evidence.get(REGIONS, {}).get("value") if row is not None else None
        words = [*describe_scores(source, row), *([f"regions {regions:g}"] if regions is not None else [])]
        rows.append(GraphRow(name, image, shown, tuple(words)))
    return GraphRows(tuple(rows), layout, entities, dependencies, question.id, source.caption)


def graph_rows(frame: GraphRows, width: str) -> Sketch:
    """Sketch a row for each painter; numbers in the graph are those of the entities beside it."""
    parts = COLUMNS[width]
    starts = [*accumulate(parts, initial=0.06)]
    title = wrapped(frame.title, st.WIDTHS[width] - 0.2, st.NORMAL)
    head = 0.12 * (title.count("\n") + 1) + 0.04
    lines = max(len(row.words) for row in frame.rows)
    lines = max(lines, len(frame.entities), len(frame.dependencies)) if parts[2] else lines
    room = (st.PAGE - CAPTION_ROOM - head) / len(frame.rows) - HEAD
    tall = max(LEAST_ROW, min(max(parts[0], lines * st.LINE + 0.06), room))
    most = int((tall - 0.04) / st.LINE)

    def paint(figure: FigureBase) -> None:
        wide_, high = st.WIDTHS[width], inches_high(figure)

        def write(left: float, top: float, words: Sequence[str], inches: float, **how: Any) -> None:
            more = [f"… {len(words) - most + 1} more"] if len(words) > most else []
            lines_shown = [fit(word, inches, st.SMALL) for word in [*words[: most - len(more)], *more]]
            style = {"ha": "left", "va": "top", "fontsize": st.SMALL, "linespacing": 1.05, **how}
            figure.text(left / wide_, 1 - top / high, "\n".join(lines_shown), **style)

        def place(left: float, top: float, inches: float, down: float) -> Any:
            return figure.add_axes((left / wide_, 1 - (top + down) / high, inches / wide_, down / high))

        figure.text(0.06 / wide_, 1 - 0.02 / high, title, fontsize=st.NORMAL, ha="left", va="top")
        for n, row in enumerate(frame.rows):
            top = head + n * (tall + HEAD)
            write(starts[0], top, [short_row_name(row.name)], (wide_ - 0.1) / BOLD, fontweight="bold")
            top += HEAD - 0.02
            image = small_picture(row.image, parts[0])
            side = min(parts[0] - 0.06, tall - 0.04)
            shape = 1.0 if image is None else min(image.height / image.width, tall / side)
            show_tile(place(starts[0], top, side, side * shape), image)
            _draw_graph(place(starts[1], top, parts[1] - 0.1, tall - 0.04), frame, row.shown)
            if parts[2]:
                numbers = _numbers(frame.layout)
                named = [f"{numbers[at]} {_sign(row, id)}{name}" for at, (id, name) in enumerate(frame.entities)]
                write(starts[2], top, named, parts[2] - 0.1)
                write(starts[3], top, [f"{_sign(row, id)}{name}" for id, name in frame.dependencies], parts[3] - 0.1)
            write(starts[4], top, row.words, parts[4])

    return Sketch(head + len(frame.rows) * (tall + HEAD), paint, f"{frame.caption} · ✓ shown, ✗ missing, ? undecided",
                  scales="")  # fmt: skip


def _sign(row: GraphRow, criterion: str) -> str:
    return f"{SIGNS[row.shown.get(criterion)]} " if row.shown else ""


def _numbers(layout: Mapping[str, Any]) -> dict[int, int]:
    """Return the number of each entity's node, from 1."""
    return {entity: number for number, node in enumerate(layout["nodes"], 1) for entity in node["entities"]}


def _draw_graph(panel: Any, frame: GraphRows, shown: Mapping[str, bool | None]) -> None:
    from matplotlib.patches import FancyArrowPatch

    layout, marked = frame.layout, bool(shown)
    panel.set(xlim=(0, layout["width"]), ylim=(layout["height"], 0), xticks=[], yticks=[])
    panel.grid(visible=False)
    panel.spines[:].set_visible(False)
    spots = [(node["x"], node["y"]) for node in layout["nodes"]]
    for edge in layout["edges"]:
        there = not marked or shown.get(frame.dependencies[edge["dependency"]][0])
        way = "<|-|>" if edge["both"] else "-|>"
        panel.add_patch(FancyArrowPatch(
            spots[edge["from"]], spots[edge["to"]], arrowstyle=way, mutation_scale=4, shrinkA=4.5, shrinkB=4.5,
            connectionstyle="arc3,rad=0.2", lw=0.7, ls="-" if there else ":", color=st.INK if there else st.GREY,
        ))  # fmt: skip
    for number, (node, spot) in enumerate(zip(layout["nodes"], spots, strict=True), 1):
        there = not marked or any(shown.get(frame.entities[entity][0]) for entity in node["entities"])
        colour = st.PALETTE[0] if there else st.GREY
        panel.plot(*spot, marker="o", ms=8.5, mfc=colour if there else "white", mec=colour, mew=0.7)
        panel.annotate(str(number), spot, ha="center", va="center_baseline", fontsize=st.SMALL,
                       color="white" if there else st.INK)  # fmt: skip
