"""A folder with every table and figure of a paper: published numbers, the store's numbers, what is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from string import Template
from typing import Any

from ... import exams
from ...core.errors import LimnerError
from ...core.redaction import without_keys
from ...scoring.deviations import deviations
from ...store.store import hide_password
from ..paper.schema import specs
from ..plots import find_plot, plot
from ..site import build as build_site
from ..tables.html import escape, fragment, fragments
from ..tables.model import MISSING, Table, simple_table
from ..tables.render import rendered
from .checklist import Checklist
from .items import STATES, CellCount, Figure, ItemState, categories_table, figures_of
from .request import PaperRow
from .steps import StepState

MAX_INTERVAL_COLUMNS = 12
"""Tables with more columns than this are shown without intervals, to fit a page."""
SITE, TABLES, FIGURES = "site", "tables", "figures"
"""The parts of the folder."""
PAGE = Path(__file__).parent / "page.html"


def write_folder(checklist: Checklist, folder: Path) -> Path:
    """Write the tables, the figures and the site's pages of the exam into a folder, and return its index."""
    for name in (TABLES, FIGURES):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    if checklist.there:
        build_site(folder / SITE, [checklist.asked.name], store=checklist.planner.store, reading=checklist.reading)
    sections = [*_about(checklist), *_contents(checklist)]
    made: dict[tuple[Any, ...], str] = {}
    for item in checklist.items:
        sections += _item(checklist, item, folder, made)
    sections += [*_differences(checklist), *_missing(checklist)]
    path = folder / "index.html"
    title = escape(f"Reproduction of {checklist.cite.partition(' ')[0]}")
    page = Template(PAGE.read_text(encoding="utf-8"))
    path.write_text(page.substitute(title=title, body="\n".join(sections)), encoding="utf-8")
    return path


def _about(checklist: Checklist) -> Iterator[str]:
    exam, cells = checklist.exam, checklist.cells.to_json()
    questions = f", {len(exam.questions):,} questions" if exam is not None else ""
    counts = ", ".join(f"{cells[state]:,} {words}" for state, words in STATES.items())
    place = f"exam {checklist.asked.name}{questions}, from the store {hide_password(checklist.asked.store)}"
    yield f"<p>{escape(f'The tables and figures of {checklist.cite}, with {place}, reading {checklist.reading}.')}"
    yield f"The paper's numbers are grey, yours are black. {cells['paper']:,} cells and rows: {counts}.</p>"
    if checklist.there:
        yield f'<p><a href="{SITE}/index.html">All questions with drawings, marks and graphs</a></p>'


def _contents(checklist: Checklist) -> Iterator[str]:
    yield "<ul>"
    for item in checklist.items:
        name, words = item.item.name, f"{item.title}: {state_of(item)}"
        yield f'<li><a href="#{_slug(name)}">{escape(name)}</a> {escape(words)}</li>'
    yield '<li><a href="#differences">Differences from the paper</a></li>'
    yield '<li><a href="#missing">What is missing, and what it costs</a></li></ul>'


def state_of(item: ItemState) -> str:
    """Describe how much of an item is there."""
    if item.cells is None:
        return f"cannot be reproduced: {item.item.cannot}"
    if not item.cells.total():
        return "none of the chosen rows is in it"
    counts = item.cells.to_json()
    unit = "cells" if item.layout else "rows" if item.wants else ""
    parts = [f"{counts[state]:,} {words}" for state, words in STATES.items() if counts[state]]
    return f"{item.cells.total():,} {unit}: {', '.join(parts)}" if unit else ", ".join(parts).removeprefix("1 ")


def _item(checklist: Checklist, item: ItemState, folder: Path, made: dict[tuple[Any, ...], str]) -> Iterator[str]:
    written = item.item
    yield f'<h2 id="{_slug(written.name)}">{escape(written.called)}</h2>'
    yield f"<p><strong>{escape(item.title)}.</strong> {escape(state_of(item))}. {escape(written.note)}</p>"
    if written.page is not None and checklist.there:
        yield f'<p><a href="{SITE}/index.html">{escape(written.page)}</a></p>'
    if item.layout is not None or written.categories is not None:
        table = _table(checklist, item)
        file = f"{TABLES}/{_slug(written.name)}.html"
        (folder / file).write_text(rendered(table, "html", page=True), encoding="utf-8")
        html = fragment(table)
        yield f'<p><a href="{file}">{escape(written.name)}</a></p>'
        yield re.sub(r'id="[^"]*"', f'id="of-{_slug(written.name)}"', html, count=1)
    if written.plots:
        yield from _figures(checklist, item, folder, made)
    if lacking := [step.step.row.name for step in item.steps.values() if step.step.cannot is None and step.to_do != 0]:
        yield f"<p>Not run yet: {escape(', '.join(dict.fromkeys(lacking)))}.</p>"
    if item.by_hand:
        yield f"<p>Commands to run by hand:</p>{_commands(item.by_hand)}"


def _table(checklist: Checklist, item: ItemState) -> Table:
    layout = item.layout
    if layout is None:
        return categories_table(checklist, item.item)
    columns = 1 if layout.turn in ("columns", "values", "scores") else len(specs(layout, item.sections[0], []))
    return checklist.table(item, layout, intervals=columns <= MAX_INTERVAL_COLUMNS)


def _figures(checklist: Checklist, item: ItemState, folder: Path, made: dict[tuple[Any, ...], str]) -> Iterator[str]:
    if not item.wants or any(map(checklist.groups_of, item.steps.values())):
        for figure in figures_of(checklist, item):
            yield f"<p>{_figure(checklist, item, figure, folder, made)}</p>"
    elif item.not_made is not None:
        yield f"<p>Not drawn: {escape(item.not_made)}.</p>"


def _figure(
    checklist: Checklist, item: ItemState, figure: Figure, folder: Path, made: dict[tuple[Any, ...], str]
) -> str:
    if figure.key not in made:
        file = f"{FIGURES}/{_slug(f'{item.item.name} {figure.part}')}.svg"
        try:
            plot(figure.plot.plot, [checklist.asked.exam], folder / file, figure.choice)
        except LimnerError as error:
            return f"{escape(figure.part)} Not drawn: {escape(str(error))}."
        made[figure.key] = file
    words = f"{figure.part} {find_plot(figure.plot.plot).about}".strip()
    return f'<a href="{made[figure.key]}"><img alt="{escape(words)}" src="{made[figure.key]}"></a>'


def _differences(checklist: Checklist) -> Iterator[str]:
    yield '<h2 id="differences">Differences from the paper</h2>'
    if not (listed := differences(checklist)):
        yield "<p>The store has no row of the paper yet.</p>" if not checklist.groups else "<p>None are known.</p>"
    else:
        yield "<p>The rows of the store, and how each differs from the paper's settings.</p><dl>"
        for name, differing in listed.items():
            yield f"<dt>{escape(name)}</dt><dd>{escape('; '.join(differing))}</dd>"
        yield "</dl>"


def _missing(checklist: Checklist) -> Iterator[str]:
    yield '<h2 id="missing">What is missing, and what it costs</h2>'
    yield fragments(checklist_tables(checklist))
    if checklist.runnable:
        yield f"<p>The commands below do the rest for about {escape(money(*checklist.dollars))}.</p>"
        yield _commands(commands(checklist))


def _commands(lines: Iterable[str]) -> str:
    return "<pre>" + "\n".join(map(escape, lines)) + "</pre>"


def _slug(name: str) -> str:
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
    if steps := checklist.runnable:
        rows = []
        for each in steps:
            numbers = count(each.to_do), count(each.calls), money(each.dollars)
            rows.append([each.step.row.name, each.judge or MISSING, *numbers])
        heads, total = ["row", "judge", "steps", "calls", "price"], f"total: about {money(*checklist.dollars)}"
        tables.append(simple_table("to run", heads, rows, [total], names=2))
    if lacking := [step for step in checklist.steps if step.step.cannot is not None]:
        rows = [[step.step.row.name, step.judge or MISSING, step.step.cannot or ""] for step in lacking]
        heads = ["row", "judge", "why"]
        tables.append(simple_table("rows that cannot be reproduced", heads, rows, prose=["why"], names=2))
    return tables


def items_table(checklist: Checklist) -> Table:
    """Return a table with a row for every table and figure."""
    rows = []
    for item in checklist.items:
        cells = [MISSING] * (1 + len(STATES)) if item.cells is None else _cells(item.cells)
        price = [count(item.calls), money(item.dollars)] if item.cells is not None and item.runnable else [MISSING] * 2
        rows.append([item.item.called, *cells, *price])
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


def _cells(cells: CellCount) -> list[str]:
    body = cells.to_json()
    return [f"{body[name]:,}" for name in ("paper", *STATES)]


def commands(checklist: Checklist) -> list[str]:
    """Return the commands that remain, ready to paste: those of the steps, then those to run by hand."""
    run = [step.command for step in checklist.runnable]
    by_hand = list(dict.fromkeys(word for item in checklist.items for word in item.by_hand))
    return [*run, *(["# to run by hand:", *by_hand] if by_hand else [])]


def differences(checklist: Checklist) -> dict[str, list[str]]:
    """Return the differences from the paper's settings, by row, for the rows in the store."""
    kind = exams.kind(checklist.asked.kind)
    questions = next((item.layout.paper.questions for item in checklist.items if item.layout), None)
    listed: dict[str, dict[str, None]] = {}
    for step in checklist.steps:
        for group in checklist.groups_of(step):
            name = group.name + (f" · {group.evaluator.name}" if len(checklist.evaluators) > 1 else "")
            name += "" if step.step.row.own else f" (the paper's {step.step.row.name})"
            differing = [*_replacements(checklist, step), *deviations(kind, group, checklist.reading, questions)]
            differing += [step.step.row.note] if step.step.row.note else []
            listed.setdefault(name, {}).update(dict.fromkeys(differing))
    return {name: list(differing) for name, differing in listed.items() if differing}


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
    """A failure to print the index; the folder is complete."""


def find_browser() -> str | None:
    """Return a browser that can print: the one named in the environment, one on the path, or playwright's."""
    if named := os.environ.get(BROWSER):
        return shutil.which(named)
    if on_path := next((path for path in map(shutil.which, NAMES) if path), None):
        return on_path
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
        made = Path(folder) / "printed.pdf"
        words = ["--headless", "--disable-gpu", "--no-pdf-header-footer", "--disable-extensions", "--no-first-run"]
        # Chromium refuses its sandbox as root; it prints only our own page, in which everything is escaped.
        words += ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        words += [f"--user-data-dir={folder}/profile", f"--print-to-pdf={made}", page.resolve().as_uri()]
        try:
            how: dict[str, Any] = {"capture_output": True, "timeout": PRINT_TIMEOUT_S, "env": without_keys(os.environ)}
            ended = subprocess.run([browser, *words], check=False, **how)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoPdf(f"{failed}: {browser} did not print it: {error}; {HELP}") from error
        if not made.is_file() or not made.stat().st_size:
            lines = ended.stderr.decode(errors="replace").strip().splitlines()[-1:]
            why = lines[0] if lines else f"exit code {ended.returncode}"
            raise NoPdf(f"{failed}: {browser} did not print it: {why}; {HELP}")
        shutil.move(made, path)
