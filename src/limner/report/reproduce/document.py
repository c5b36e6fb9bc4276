"""One document with every table and figure of a paper: published figures, the store's beside them, what is missing."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ... import exams
from ...core.errors import LimnerError
from ...exams import paper
from ...scoring.deviations import deviations
from ...store import Store
from ...store.store import shown
from ..paper import build
from ..paper.schema import specs
from ..plots import PlotChoice, find, plot
from ..tables.model import MISSING, Table, simple_table
from ..tables.render.html import STYLE, escape, fragment
from .cells import CellCount
from .checklist import Checklist, ItemState
from .request import PaperPlot, PaperRow
from .steps import StepState

STYLES, FIT = (Path(__file__).parent / name for name in ("document.css", "fit.js"))
WIDE = 12
"""Tables with more columns than this have no intervals: they would not fit a page."""
STATES = {
    "filled": "filled", "partial": "in part", "missing": "missing", "by_hand": "by hand",
    "out_of_reach": "out of reach",
}  # fmt: skip
"""The states of a paper's cells, fields of `CellCount`, and the words for them."""
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
    cells = found.cells.to_json()
    strips = "".join(f'<i class="{state}" style="flex:{cells[state]}"></i>' for state in STATES if cells[state])
    counts = ", ".join(f'<b class="{state}">■</b> {cells[state]:,} {words}' for state, words in STATES.items())
    return f'<p class="bar">{strips}</p><p>{cells["paper"]:,} cells and rows: {counts}.</p>'


def _state(item: ItemState) -> str:
    cells = item.cells
    if cells is None:
        return "out_of_reach"
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
    unit, counts = "cells" if item.wants.layout else "rows", cells.to_json()
    parts = [f"{counts[state]:,} {words}" for state, words in STATES.items() if counts[state]]
    return f"{cells.paper:,} {unit}: {', '.join(parts)}." if item.wants.wants or item.wants.layout else ""


def _table(found: Checklist, item: ItemState, store: Store) -> Table:
    layout = item.wants.layout
    assert layout is not None
    columns = 1 if layout.turn in ("columns", "values", "scores") else len(specs(layout, item.wants.sections[0], []))
    choice = found.choice(item.wants, item.steps, intervals=columns <= WIDE)
    there = store if found.there and choice.which.get("judges") != [] else None
    return build(layout, there, choice, found.exam)


def _published(found: Checklist, name: str) -> Table | None:
    """Return what the paper prints in a table that no layout shows."""
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
    """Return the rows of a figure under the judge of the paper, where the store has them."""
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
    """Return a table's fragment without its style, which stands in the head, and with an id of its own."""
    html = html.replace(f"<style>\n{STYLE}\n</style>\n", "")
    return re.sub(r'id="[^"]*"', f'id="of-{_anchor(name)}"', html, count=1)


def _anchor(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")


UNKNOWN = "unknown"


def money(dollars: float | None, unknown: Sequence[str] = ()) -> str:
    """Dollars in words; what is not known is never nothing.

    >>> money(1.5), money(None), money(0.2, ["lab/brush"])
    ('$1.50', 'unknown', '$0.20, and what lab/brush costs')
    """
    if dollars is None:
        return UNKNOWN
    return f"${dollars:.2f}" + (f", and what {', '.join(dict.fromkeys(unknown))} costs" if unknown else "")


def count(number: int | None) -> str:
    """Return a number, or that it is not known."""
    return UNKNOWN if number is None else f"{number:,}"


def checklist_tables(found: Checklist) -> list[Table]:
    """Return what there is of each table and figure, then what is to be run, then what cannot be."""
    tables = [items_table(found)]
    if found.runnable:
        tables.append(steps_table(found))
    if lacking := [step for step in found.steps if step.step.cannot is not None]:
        rows = [[step.step.row.name, step.step.cannot or ""] for step in lacking]
        tables.append(simple_table("rows that no command can make", ["row", "why"], rows, prose=["why"]))
    return tables


def items_table(found: Checklist) -> Table:
    """Return a row for every table and figure."""
    rows = [_checklist_row(item) for item in found.items]
    all_cells, (dollars, unknown) = found.cells, found.dollars
    rows.append(["in all", *_cells(all_cells), count(found.calls), money(dollars) + (" +" if unknown else "")])
    heads = ["item", "cells", *STATES.values(), "calls", "price"]
    notes = [
        "cells: what the paper prints, or the rows of a figure; in part: not over all questions; by hand: people, or "
        "commands that no run makes; out of reach: nothing here can fill them",
        "calls, price: for the rows of the item, which items share; in all each row counts once",
        *found.notes,
    ]
    if unknown:
        notes.append(f"+: and what {', '.join(dict.fromkeys(unknown))} costs: add the price to limner.toml")
    title = f"{found.cite}: exam {found.asked.name}, reading {found.reading}, store {found.asked.store}"
    return simple_table(title, heads, rows, notes, rules=[len(rows) - 1])


def _checklist_row(item: ItemState) -> list[str]:
    name = item.wants.item.name + (" (ablation)" if item.wants.item.ablation else "")
    if item.cells is None:
        return [name, *[MISSING] * 8]
    if not item.runnable:
        return [name, *_cells(item.cells), MISSING, MISSING]
    return [name, *_cells(item.cells), count(item.calls), money(item.dollars)]


def _cells(cells: CellCount) -> list[str]:
    body = cells.to_json()
    return [f"{body[name]:,}" for name in ("paper", *STATES)]


def steps_table(found: Checklist) -> Table:
    """Return a row for every step that is to be run."""
    rows = [
        [
            step.step.row.name,
            ", ".join(step.judges) or MISSING,
            count(step.to_do),
            count(step.calls),
            money(step.dollars),
        ]
        for step in found.runnable
    ]
    dollars, unknown = found.dollars
    notes = [f"in all about {money(dollars, unknown)}"]
    heads = ["row", "judge", "steps", "calls", "price"]
    return simple_table("to be run", heads, rows, notes, names=2)


def commands(found: Checklist) -> list[str]:
    """Return the commands that do the rest, ready to be pasted, and those that no run makes."""
    run = [step.command for step in found.runnable]
    by_hand = list(dict.fromkeys(word for item in found.items for word in item.by_hand))
    return [*run, *(["# no run makes these:", *by_hand] if by_hand else [])]


def differences(found: Checklist) -> dict[str, list[str]]:
    """Row -> each difference from the paper's settings, for the rows that the store has."""
    kind = exams.kind(found.asked.kind)
    questions = next((item.wants.layout.paper.questions for item in found.items if item.wants.layout), None)
    listed: dict[str, list[str]] = {}
    for step in found.steps:
        for group in found.groups_of(step):
            said = [*_stands_in(found, step), *deviations(kind, group, found.reading, questions)]
            said += [step.step.row.note] if step.step.row.note else []
            name = f"{group.name} · {group.evaluator.name}" if len(found.evaluators) > 1 else group.name
            paper = "" if step.step.row.own else f" (the paper's {step.step.row.name})"
            listed.setdefault(name + paper, []).extend(
                word for word in said if word not in listed.get(name + paper, [])
            )
    return {name: said for name, said in listed.items() if said}


def _stands_in(found: Checklist, step: StepState) -> list[str]:
    """Return what draws, thinks or measures in place of what the paper has."""
    row, listing = step.step.row, found.listing
    written = listing.rows.get(row.name, PaperRow())
    usual = found.finder.usual(row.name)
    said = []
    if not row.own and usual is not None and row.spec and usual != row.spec:
        said.append(f"drawn by {row.spec} instead of {usual}")
    for role, spec in row.strategy_options.items():
        if spec != written.strategy_options.get(role, spec):
            said.append(f"{role} {spec} instead of {written.strategy_options[role]}")
    for what in ("regions", "aesthetics"):
        given, paper = getattr(found.asked, what), getattr(listing, what)
        if given is not None and paper is not None and given != paper:
            said.append(f"{what} by {given} instead of {paper}")
    return said


BROWSER = "LIMNER_BROWSER"
"""The variable that names a browser to be used."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
SECONDS = 300
HELP = (
    "install Chromium or Chrome (such as `apt install chromium`, or `pip install 'limner[browser]'` and "
    f"`playwright install chromium`), or name a browser in {BROWSER}"
)


class NoPdf(LimnerError):
    """The document could not be printed; as HTML it is whole."""


def find_browser() -> str | None:
    """Return a browser that prints: the one that is named, one on the path, or playwright's own."""
    if named := os.environ.get(BROWSER):
        return shutil.which(named)
    on_path = next((path for path in map(shutil.which, NAMES) if path), None)
    return on_path or _playwright()


def _playwright() -> str | None:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    with sync_playwright() as play:
        path = str(play.chromium.executable_path)
    return path if Path(path).is_file() else None


def write_pdf(page: Path, path: Path) -> None:
    """Print an HTML file.

    Raises:
        NoPdf: There is no browser, or it does not print; says what to do.
    """
    browser, lost = find_browser(), f"{path} is not written, {page} is whole"
    if browser is None:
        raise NoPdf(f"{lost}: no browser was found to print it; {HELP}")
    with tempfile.TemporaryDirectory(prefix="limner-") as folder:
        made = Path(folder) / "document.pdf"
        words = ["--headless", "--disable-gpu", "--no-pdf-header-footer", "--disable-extensions", "--no-first-run"]
        # As root Chromium refuses its sandbox; what it prints is our own page, in which every word is escaped.
        words += ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        words += [f"--user-data-dir={folder}/profile", f"--print-to-pdf={made}", page.resolve().as_uri()]
        try:
            ended = subprocess.run([browser, *words], capture_output=True, timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoPdf(f"{lost}: {browser} did not print it: {error}; {HELP}") from error
        if not made.is_file() or not made.stat().st_size:
            said = ended.stderr.decode(errors="replace").strip().splitlines()[-1:]
            why = said[0] if said else f"exit code {ended.returncode}"
            raise NoPdf(f"{lost}: {browser} did not print it: {why}; {HELP}")
        shutil.move(made, path)
