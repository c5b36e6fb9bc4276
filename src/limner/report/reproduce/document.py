"""One document with every table and figure of a paper: published numbers, the store's numbers, what is missing."""

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
from ...store.store import hide_password
from ..paper import build
from ..paper.schema import specs
from ..plots import PlotChoice, find_plot, plot
from ..tables.model import MISSING, Table, simple_table
from ..tables.render.html import STYLE, escape, fragment
from .cells import CellCount
from .checklist import Checklist, ItemState
from .request import PaperPlot, PaperRow
from .steps import StepState

STYLES, FIT = (Path(__file__).parent / name for name in ("document.css", "fit.js"))
MAX_INTERVAL_COLUMNS = 12
"""Tables with more columns than this are shown without intervals, to fit a page."""
STATES = {
    "filled": "filled", "partial": "in part", "missing": "missing", "by_hand": "by hand",
    "out_of_reach": "out of reach",
}  # fmt: skip
"""The states of a paper's cells, fields of `CellCount`, and the words for them."""
Drawn = dict[tuple[str, ...], str]


def write_html(checklist: Checklist, store: Store, folder: Path) -> Path:
    """Write ``document.html``, which needs no other file, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "document.html"
    path.write_text("\n".join(_page(checklist, store)) + "\n", encoding="utf-8")
    return path


def _page(checklist: Checklist, store: Store) -> Iterator[str]:
    title = f"Reproduction of {checklist.cite.partition(' ')[0]}"
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(title)}</title>\n<style>\n{STYLE}\n{STYLES.read_text('utf-8')}</style>\n</head>\n<body>"
    yield f"<header><h1>{escape(title)}</h1>"
    yield f"<p>{escape(_about(checklist))}</p>{_bar(checklist)}</header>"
    yield "<nav><h2>Contents</h2><ol>"
    for item in checklist.items:
        name, words = item.wants.item.name, item.wants.title
        yield f'<li class="{_state(item)}"><a href="#{_anchor(name)}">{escape(name)}</a> {escape(words)}</li>'
    yield '<li><a href="#differences">Differences from the paper</a></li>'
    yield '<li><a href="#missing">What is missing, and what it costs</a></li></ol></nav>'
    drawn: Drawn = {}
    for item in checklist.items:
        yield from _item(checklist, item, store, drawn)
    yield from _differences(checklist)
    yield from _missing(checklist)
    yield f"<script>\n{FIT.read_text('utf-8')}</script>\n</body>\n</html>"


def _about(checklist: Checklist) -> str:
    exam = checklist.exam
    questions = f", {len(exam.questions):,} questions" if exam is not None else ""
    return (
        f"The tables and figures of {checklist.cite}, with exam {checklist.asked.name}{questions}, from the store "
        f"{hide_password(checklist.asked.store)}, reading {checklist.reading}. "
        "The paper's numbers are grey, yours are black."
    )


def _bar(checklist: Checklist) -> str:
    cells = checklist.cells.to_json()
    strips = "".join(f'<i class="{state}" style="flex:{cells[state]}"></i>' for state in STATES if cells[state])
    counts = ", ".join(f'<b class="{state}">■</b> {cells[state]:,} {words}' for state, words in STATES.items())
    return f'<p class="bar">{strips}</p><p>{cells["paper"]:,} cells and rows: {counts}.</p>'


def _state(item: ItemState) -> str:
    cells = item.cells
    if cells is None:
        return "out_of_reach"
    return "filled" if not (cells.missing or cells.by_hand or cells.partial) and cells.filled else "missing"


def _item(checklist: Checklist, item: ItemState, store: Store, drawn: Drawn) -> Iterator[str]:
    written = item.wants.item
    chip = ' <span class="chip">ablation</span>' if written.ablation else ""
    yield f'<section id="{_anchor(written.name)}"><h2>{escape(written.name)}{chip}</h2>'
    # A table's own caption says what it shows.
    words = "" if item.wants.layout else f"<strong>{escape(item.wants.title)}.</strong>"
    if status := f"{words} {escape(_status(item))}".strip():
        yield f"<p>{status}</p>"
    if written.note:
        yield f"<p>{escape(written.note)}</p>"
    if written.cannot is not None:
        yield f'<p class="lacking">Cannot be reproduced: {escape(written.cannot)}.</p>'
        if (table := _published(checklist, written.name)) is not None:
            yield _plain(fragment(table), written.name)
    elif item.wants.layout is not None:
        yield _plain(fragment(_table(checklist, item, store)), written.name)
    for paper_plot in written.plots:
        yield from _figure(checklist, item, paper_plot, drawn)
    if lacking := [step.step.row.name for step in item.steps.values() if step.step.cannot is None and step.to_do != 0]:
        yield f'<p class="lacking">Not run yet: {escape(", ".join(dict.fromkeys(lacking)))}.</p>'
    if item.by_hand:
        yield f"<p>Commands to run by hand:</p>{_commands(item.by_hand)}"
    yield "</section>"


def _status(item: ItemState) -> str:
    cells = item.cells
    if cells is None or not cells.paper:
        return ""
    unit, counts = "cells" if item.wants.layout else "rows", cells.to_json()
    parts = [f"{counts[state]:,} {words}" for state, words in STATES.items() if counts[state]]
    return f"{cells.paper:,} {unit}: {', '.join(parts)}." if item.wants.wants or item.wants.layout else ""


def _table(checklist: Checklist, item: ItemState, store: Store) -> Table:
    layout = item.wants.layout
    assert layout is not None
    columns = 1 if layout.turn in ("columns", "values", "scores") else len(specs(layout, item.wants.sections[0], []))
    choice = checklist.choice(item.wants, item.steps, intervals=columns <= MAX_INTERVAL_COLUMNS)
    source = store if checklist.there and choice.which.get("judges") != [] else None
    return build(layout, source, choice, checklist.exam)


def _published(checklist: Checklist, name: str) -> Table | None:
    """Return the published figures of a table without a layout."""
    rows = [row for row in paper.rows(checklist.asked.kind) if row["table"] == name]
    if not rows:
        return None
    key = "model" if len({row["model"] for row in rows}) > 1 else "category"
    heads = list(dict.fromkeys(row["metric"] for row in rows))
    lines: dict[str, dict[str, str]] = {}
    for row in rows:
        lines.setdefault(row[key], {})[row["metric"]] = row["value"]
    cells = [[line, *(values.get(head, MISSING) for head in heads)] for line, values in lines.items()]
    return simple_table("As published", ["", *(head.replace("_", " ") for head in heads)], cells)


def _figure(checklist: Checklist, item: ItemState, paper_plot: PaperPlot, drawn: Drawn) -> Iterator[str]:
    choice = _choice(checklist, item, paper_plot)
    key = (paper_plot.plot, paper_plot.by or "", paper_plot.score or "", *choice.judges, *choice.painters)
    if key in drawn:
        place = drawn[key]
        same = f'The same plot as <a href="#{_anchor(place)}">{escape(place)}</a>.'
        yield f"<p>{' '.join(filter(None, (escape(paper_plot.part), same)))}</p>"
        return
    try:
        if not checklist.there and find_plot(paper_plot.plot).name != "data":
            raise LimnerError("the store has no drawings yet")
        with tempfile.TemporaryDirectory(prefix="limner-") as folder:
            path = Path(folder) / "plot.svg"
            plot(paper_plot.plot, [checklist.asked.exam], path, choice)
            drawing = path.read_bytes()
    except LimnerError as error:
        yield f'<p class="lacking">{escape(paper_plot.part)} Not drawn: {escape(str(error))}.</p>'
        return
    drawn[key] = item.wants.item.name
    picture = base64.b64encode(drawing).decode()
    words = f"{paper_plot.part} {find_plot(paper_plot.plot).about}".strip()
    yield f'<figure{_upright(drawing)}><img alt="{escape(words)}" src="data:image/svg+xml;base64,{picture}">'
    yield f"<figcaption>{escape(words)}</figcaption></figure>"


def _upright(drawing: bytes) -> str:
    """Return the class attribute of a plot that goes on a portrait page; empty for other plots."""
    size = re.search(rb'<svg[^>]* viewBox="0 0 ([\d.]+) ([\d.]+)"', drawing)
    return ' class="upright"' if size and float(size[2]) > 0.8 * float(size[1]) else ""


def _choice(checklist: Checklist, item: ItemState, paper_plot: PaperPlot) -> PlotChoice:
    """Return the choice of a figure's rows under the paper's judge, if the store has them."""
    groups = [group for step in item.steps.values() for group in checklist.groups_of(step)]
    judges: tuple[str, ...] = ()
    if not find_plot(paper_plot.plot).compared and groups:
        judges = (groups[0].evaluator.id,)
        groups = [group for group in groups if group.evaluator.id == judges[0]]
    painters = tuple(dict.fromkeys(group.painter for group in groups))
    data = checklist.asked.data if paper_plot.plot == "data" and not checklist.there else None
    named = painters if item.wants.wants and paper_plot.plot not in ("data", "people") else ()
    store = checklist.planner.store if checklist.there else checklist.asked.store
    return PlotChoice(store, judges, checklist.reading, paper_plot.score, named, paper_plot.by, data=data)


def _differences(checklist: Checklist) -> Iterator[str]:
    yield '<section id="differences"><h2>Differences from the paper</h2>'
    listed = differences(checklist)
    if not listed:
        yield "<p>The store has no row of the paper yet.</p>" if not checklist.groups else "<p>None are known.</p>"
    else:
        yield "<p>The rows of the store, and how each differs from the paper's settings.</p><dl>"
        for name, differing in listed.items():
            yield f"<dt>{escape(name)}</dt><dd>{escape('; '.join(differing))}</dd>"
        yield "</dl>"
    yield "</section>"


def _missing(checklist: Checklist) -> Iterator[str]:
    yield '<section id="missing"><h2>What is missing, and what it costs</h2>'
    yield _plain(fragment(items_table(checklist)), "checklist")
    if checklist.runnable:
        yield _plain(fragment(steps_table(checklist)), "steps")
        dollars, unknown = checklist.dollars
        yield f"<p>The commands below do the rest for about {escape(money(dollars, unknown))}.</p>"
        yield _commands(commands(checklist))
    lacking = [step for step in checklist.steps if step.step.cannot is not None]
    if lacking:
        yield "<h3>Rows that cannot be reproduced</h3><dl>"
        for step in lacking:
            yield f"<dt>{escape(step.step.row.name)}</dt><dd>{escape(step.step.cannot or '')}</dd>"
        yield "</dl>"
    yield "</section>"


def _commands(lines: Iterable[str]) -> str:
    return "<pre>" + "\n".join(map(escape, lines)) + "</pre>"


def _plain(html: str, name: str) -> str:
    """Return a table's fragment without its style, which is in the head, and with a unique id."""
    html = html.replace(f"<style>\n{STYLE}\n</style>\n", "")
    return re.sub(r'id="[^"]*"', f'id="of-{_anchor(name)}"', html, count=1)


def _anchor(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")


UNKNOWN = "unknown"


def money(dollars: float | None, unknown: Sequence[str] = ()) -> str:
    """Format an amount in dollars; an unknown price is never shown as zero.

    >>> money(1.5), money(None), money(0.2, ["lab/brush"])
    ('$1.50', 'unknown', '$0.20 plus the unknown price of lab/brush')
    """
    if dollars is None:
        return UNKNOWN
    return f"${dollars:.2f}" + (f" plus the unknown price of {', '.join(dict.fromkeys(unknown))}" if unknown else "")


def count(number: int | None) -> str:
    """Format a number; None is formatted as unknown."""
    return UNKNOWN if number is None else f"{number:,}"


def checklist_tables(checklist: Checklist) -> list[Table]:
    """Return the tables of a checklist: the items, the steps to run, and the rows that cannot be run."""
    tables = [items_table(checklist)]
    if checklist.runnable:
        tables.append(steps_table(checklist))
    if lacking := [step for step in checklist.steps if step.step.cannot is not None]:
        rows = [[step.step.row.name, step.step.cannot or ""] for step in lacking]
        tables.append(simple_table("rows that cannot be reproduced", ["row", "why"], rows, prose=["why"]))
    return tables


def items_table(checklist: Checklist) -> Table:
    """Return a table with a row for every table and figure."""
    rows = [_checklist_row(item) for item in checklist.items]
    all_cells, (dollars, unknown) = checklist.cells, checklist.dollars
    rows.append(["total", *_cells(all_cells), count(checklist.calls), money(dollars) + (" +" if unknown else "")])
    heads = ["item", "cells", *STATES.values(), "calls", "price"]
    notes = [
        "cells: those that the paper prints, or the rows of a figure; in part: not over all questions; by hand: needs "
        "people or further commands; out of reach: cannot be filled here",
        "calls, price: for the rows of the item, which items may share; the total counts each row once",
        *checklist.notes,
    ]
    if unknown:
        names = ", ".join(dict.fromkeys(unknown))
        notes.append(f"+: plus the unknown price of {names}: add it to limner.toml")
    title = f"{checklist.cite}: exam {checklist.asked.name}, reading {checklist.reading}, store {checklist.asked.store}"
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


def steps_table(checklist: Checklist) -> Table:
    """Return a table with a row for every step to run."""
    rows = [
        [
            step.step.row.name,
            ", ".join(step.judges) or MISSING,
            count(step.to_do),
            count(step.calls),
            money(step.dollars),
        ]
        for step in checklist.runnable
    ]
    dollars, unknown = checklist.dollars
    notes = [f"total: about {money(dollars, unknown)}"]
    heads = ["row", "judge", "steps", "calls", "price"]
    return simple_table("to run", heads, rows, notes, names=2)


def commands(checklist: Checklist) -> list[str]:
    """Return the commands that remain, ready to paste: those of the steps, then those to run by hand."""
    run = [step.command for step in checklist.runnable]
    by_hand = list(dict.fromkeys(word for item in checklist.items for word in item.by_hand))
    return [*run, *(["# to run by hand:", *by_hand] if by_hand else [])]


def differences(checklist: Checklist) -> dict[str, list[str]]:
    """Return the differences from the paper's settings, by row, for the rows in the store."""
    kind = exams.kind(checklist.asked.kind)
    questions = next((item.wants.layout.paper.questions for item in checklist.items if item.wants.layout), None)
    listed: dict[str, list[str]] = {}
    for step in checklist.steps:
        for group in checklist.groups_of(step):
            differing = [*_replacements(checklist, step), *deviations(kind, group, checklist.reading, questions)]
            differing += [step.step.row.note] if step.step.row.note else []
            name = f"{group.name} · {group.evaluator.name}" if len(checklist.evaluators) > 1 else group.name
            paper = "" if step.step.row.own else f" (the paper's {step.step.row.name})"
            listed.setdefault(name + paper, []).extend(
                word for word in differing if word not in listed.get(name + paper, [])
            )
    return {name: differing for name, differing in listed.items() if differing}


def _replacements(checklist: Checklist, step: StepState) -> list[str]:
    """Return the painters, planners and probes that replace those of the paper."""
    row, listing = step.step.row, checklist.listing
    written = listing.rows.get(row.name, PaperRow())
    usual = checklist.finder.usual(row.name)
    replaced = []
    if not row.own and usual is not None and row.spec and usual != row.spec:
        replaced.append(f"drawn by {row.spec} instead of {usual}")
    for role, spec in row.strategy_options.items():
        if spec != written.strategy_options.get(role, spec):
            replaced.append(f"{role} {spec} instead of {written.strategy_options[role]}")
    preset = exams.kind(checklist.asked.kind).preset(listing.preset)
    for what in ("regions", "aesthetics"):
        given, paper = getattr(checklist.asked, what), preset.get(what)
        if given is not None and paper is not None and given != paper:
            replaced.append(f"{what} by {given} instead of {paper}")
    return replaced


BROWSER = "LIMNER_BROWSER"
"""The environment variable that names the browser."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
PRINT_TIMEOUT_S = 300
HELP = (
    "install Chromium or Chrome (such as `apt install chromium`, or `pip install 'limner[browser]'` and "
    f"`playwright install chromium`), or name a browser in {BROWSER}"
)


class NoPdf(LimnerError):
    """A failure to print the document; the HTML is complete."""


def find_browser() -> str | None:
    """Return a browser that can print: the one named in the environment, one on the path, or playwright's."""
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
    """Print an HTML file as a PDF.

    Raises:
        NoPdf: There is no browser, or printing failed; the message says what to do.
    """
    browser, failed = find_browser(), f"{path} was not written ({page} is complete)"
    if browser is None:
        raise NoPdf(f"{failed}: no browser was found; {HELP}")
    with tempfile.TemporaryDirectory(prefix="limner-") as folder:
        made = Path(folder) / "document.pdf"
        words = ["--headless", "--disable-gpu", "--no-pdf-header-footer", "--disable-extensions", "--no-first-run"]
        # Chromium refuses its sandbox as root; it prints only our own page, in which everything is escaped.
        words += ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        words += [f"--user-data-dir={folder}/profile", f"--print-to-pdf={made}", page.resolve().as_uri()]
        try:
            ended = subprocess.run([browser, *words], capture_output=True, timeout=PRINT_TIMEOUT_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoPdf(f"{failed}: {browser} did not print it: {error}; {HELP}") from error
        if not made.is_file() or not made.stat().st_size:
            lines = ended.stderr.decode(errors="replace").strip().splitlines()[-1:]
            why = lines[0] if lines else f"exit code {ended.returncode}"
            raise NoPdf(f"{failed}: {browser} did not print it: {why}; {HELP}")
        shutil.move(made, path)
