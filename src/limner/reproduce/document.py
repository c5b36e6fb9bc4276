"""One document with every table and figure of a paper: published figures, the store's beside them, what is missing."""

from __future__ import annotations

import base64
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..core.errors import LimnerError
from ..exams import paper
from ..report.paper.schema import specs
from ..report.plots import PlotChoice, find, plot
from ..report.tables.model import MISSING, Table, simple_table
from ..report.tables.paper import build
from ..report.tables.render.html import STYLE, escape, fragment
from ..store import Store
from ..store.store import shown
from .checklist import Checklist, ItemState
from .differences import differences
from .schema import PaperPlot
from .told import commands, items_table, money, steps_table

STYLES, FIT = (Path(__file__).parent / name for name in ("document.css", "fit.js"))
WIDE = 12
"""Tables with more columns than this have no intervals: they would not fit a page."""
Drawn = dict[tuple[str, ...], str]


def write_html(found: Checklist, store: Store, folder: Path) -> Path:
    """Write ``document.html``, which needs no other file; returns where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "document.html"
    path.write_text("\n".join(_page(found, store)) + "\n", encoding="utf-8")
    return path


def _page(found: Checklist, store: Store) -> Iterator[str]:
    title = f"{found.cite.partition(' ')[0]} made anew"
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(title)}</title>\n<style>\n{STYLE}\n{STYLES.read_text('utf-8')}</style>\n</head>\n<body>"
    yield f"<header><h1>{escape(title)}</h1>"
    yield f"<p>{escape(_about(found))}</p>{_bar(found)}</header>"
    yield "<nav><h2>Contents</h2><ol>"
    for item in found.items:
        name, words = item.wants.item.name, item.wants.title
        yield f'<li class="{_state(item)}"><a href="#{_anchor(name)}">{escape(name)}</a> {escape(words)}</li>'
    yield '<li><a href="#differences">Differences from the paper</a></li>'
    yield '<li><a href="#missing">What is missing, and what it costs</a></li></ol></nav>'
    drawn: Drawn = {}
    for item in found.items:
        yield from _item(found, item, store, drawn)
    yield from _differences(found)
    yield from _missing(found)
    yield f"<script>\n{FIT.read_text('utf-8')}</script>\n</body>\n</html>"


def _about(found: Checklist) -> str:
    exam = found.exam
    questions = f", {len(exam.questions):,} questions" if exam is not None else ""
    return (
        f"{found.cite}, its tables and figures made with exam {found.asked.name}{questions}, from the store "
        f"{shown(found.asked.store)}, reading {found.reading}. Figures of the paper are grey; yours are black."
    )


def _bar(found: Checklist) -> str:
    cells = found.cells
    parts = [("filled", cells.filled), ("partial", cells.partial), ("missing", cells.missing)]
    parts += [("by-hand", cells.by_hand), ("out", cells.out_of_reach)]
    words = {
        "filled": "filled",
        "partial": "in part",
        "missing": "missing",
        "by-hand": "by hand",
        "out": "out of reach",
    }
    strips = "".join(f'<i class="{name}" style="flex:{number}"></i>' for name, number in parts if number)
    told = ", ".join(f'<b class="{name}">■</b> {number:,} {words.get(name, name)}' for name, number in parts)
    return f'<p class="bar">{strips}</p><p>{cells.paper:,} cells and rows: {told}.</p>'


def _state(item: ItemState) -> str:
    cells = item.cells
    if cells is None:
        return "out"
    return "filled" if not (cells.missing or cells.by_hand or cells.partial) and cells.filled else "missing"


def _item(found: Checklist, item: ItemState, store: Store, drawn: Drawn) -> Iterator[str]:
    written = item.wants.item
    chip = ' <span class="chip">ablation</span>' if written.ablation else ""
    yield f'<section id="{_anchor(written.name)}"><h2>{escape(written.name)}{chip}</h2>'
    # A table's own caption says what it shows.
    words = "" if item.wants.layout else f"<strong>{escape(item.wants.title)}.</strong>"
    if told := f"{words} {escape(_status(item))}".strip():
        yield f"<p>{told}</p>"
    if written.note:
        yield f"<p>{escape(written.note)}</p>"
    if written.cannot is not None:
        yield f'<p class="lacking">Not made: {escape(written.cannot)}.</p>'
        if (table := _published(found, written.name)) is not None:
            yield _plain(fragment(table), written.name)
    elif item.wants.layout is not None:
        yield _plain(fragment(_table(found, item, store)), written.name)
    for one in written.plots:
        yield from _figure(found, item, one, drawn)
    if lacking := [step.step.row.name for step in item.steps.values() if step.step.cannot is None and step.to_do != 0]:
        yield f'<p class="lacking">Not run yet: {escape(", ".join(dict.fromkeys(lacking)))}.</p>'
    if item.by_hand:
        yield f"<p>No run makes these:</p>{_commands(item.by_hand)}"
    yield "</section>"


def _status(item: ItemState) -> str:
    cells = item.cells
    if cells is None or not cells.paper:
        return ""
    unit = "cells" if item.wants.layout else "rows"
    words = {"filled": "filled", "partial": "in part", "missing": "missing", "by_hand": "by hand"}
    words["out_of_reach"] = "out of reach"
    told = [f"{number:,} {words[name]}" for name, number in cells.to_json().items() if name in words and number]
    return f"{cells.paper:,} {unit}: {', '.join(told)}." if item.wants.wants or item.wants.layout else ""


def _table(found: Checklist, item: ItemState, store: Store) -> Table:
    layout = item.wants.layout
    assert layout is not None
    columns = 1 if layout.turn in ("columns", "values", "scores") else len(specs(layout, item.wants.sections[0], []))
    choice = found.choice(item.wants, item.steps, intervals=columns <= WIDE)
    there = store if found.there and choice.which.get("judges") != [] else None
    return build(layout, there, choice, found.exam)


def _published(found: Checklist, name: str) -> Table | None:
    """What the paper prints in a table that no layout shows."""
    rows = [row for row in paper.rows(found.asked.kind) if row["table"] == name]
    if not rows:
        return None
    key = "model" if len({row["model"] for row in rows}) > 1 else "category"
    heads = list(dict.fromkeys(row["metric"] for row in rows))
    lines: dict[str, dict[str, str]] = {}
    for row in rows:
        lines.setdefault(row[key], {})[row["metric"]] = row["value"]
    cells = [[line, *(values.get(head, MISSING) for head in heads)] for line, values in lines.items()]
    return simple_table("As published", ["", *(head.replace("_", " ") for head in heads)], cells)


def _figure(found: Checklist, item: ItemState, one: PaperPlot, drawn: Drawn) -> Iterator[str]:
    choice = _choice(found, item, one)
    key = (one.plot, one.by or "", one.score or "", *choice.judges, *choice.painters)
    if key in drawn:
        place = drawn[key]
        yield f'<p>{escape(one.part)} The same plot as under <a href="#{_anchor(place)}">{escape(place)}</a>.</p>'
        return
    try:
        if not found.there and find(one.plot).name != "data":
            raise LimnerError("the store has no drawing yet")
        with tempfile.TemporaryDirectory(prefix="limner-") as folder:
            path = Path(folder) / "plot.svg"
            plot(one.plot, [found.asked.exam], path, choice)
            drawing = path.read_bytes()
    except LimnerError as error:
        yield f'<p class="lacking">{escape(one.part)} Not drawn: {escape(str(error))}.</p>'
        return
    drawn[key] = item.wants.item.name
    picture = base64.b64encode(drawing).decode()
    words = f"{one.part} {find(one.plot).about}".strip()
    yield f'<figure{_upright(drawing)}><img alt="{escape(words)}" src="data:image/svg+xml;base64,{picture}">'
    yield f"<figcaption>{escape(words)}</figcaption></figure>"


def _upright(drawing: bytes) -> str:
    """High plots go on upright pages."""
    size = re.search(rb'<svg[^>]* viewBox="0 0 ([\d.]+) ([\d.]+)"', drawing)
    return ' class="upright"' if size and float(size[2]) > 0.8 * float(size[1]) else ""


def _choice(found: Checklist, item: ItemState, one: PaperPlot) -> PlotChoice:
    """The rows of a figure under the judge of the paper, where the store has them."""
    groups = [group for step in item.steps.values() for group in found.groups_of(step)]
    judges: tuple[str, ...] = ()
    if not find(one.plot).compared and groups:
        judges = (groups[0].evaluator.id,)
        groups = [group for group in groups if group.evaluator.id == judges[0]]
    painters = tuple(dict.fromkeys(group.painter for group in groups))
    data = found.asked.data if one.plot == "data" and not found.there else None
    named = painters if item.wants.wants and one.plot not in ("data", "people") else ()
    store = found.planner.store if found.there else found.asked.store
    return PlotChoice(store, judges, found.reading, one.score, named, one.by, data=data)


def _differences(found: Checklist) -> Iterator[str]:
    yield '<section id="differences"><h2>Differences from the paper</h2>'
    listed = differences(found)
    if not listed:
        yield "<p>The store has no row of the paper yet.</p>" if not found.groups else "<p>None is known.</p>"
    else:
        yield "<p>Every row of the store, and in what it differs from the paper's settings.</p><dl>"
        for name, said in listed.items():
            yield f"<dt>{escape(name)}</dt><dd>{escape('; '.join(said))}</dd>"
        yield "</dl>"
    yield "</section>"


def _missing(found: Checklist) -> Iterator[str]:
    yield '<section id="missing"><h2>What is missing, and what it costs</h2>'
    yield _plain(fragment(items_table(found)), "checklist")
    if found.runnable:
        yield _plain(fragment(steps_table(found)), "steps")
        dollars, unknown = found.dollars
        yield f"<p>The commands below do the rest for about {escape(money(dollars, unknown))}.</p>"
        yield _commands(commands(found))
    lacking = [step for step in found.steps if step.step.cannot is not None]
    if lacking:
        yield "<h3>Rows that no command can make</h3><dl>"
        for step in lacking:
            yield f"<dt>{escape(step.step.row.name)}</dt><dd>{escape(step.step.cannot or '')}</dd>"
        yield "</dl>"
    yield "</section>"


def _commands(lines: Iterable[str]) -> str:
    return "<pre>" + "\n".join(map(escape, lines)) + "</pre>"


def _plain(html: str, name: str) -> str:
    """A table's fragment without its style, which stands in the head, and with an id of its own."""
    html = html.replace(f"<style>\n{STYLE}\n</style>\n", "")
    return re.sub(r'id="[^"]*"', f'id="of-{_anchor(name)}"', html, count=1)


def _anchor(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")
