"""Scores as tables: for a terminal, and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..core.evaluator import by_evaluator
from ..core.protocol import Protocol, Score
from ..exams import kind
from ..scoring import FLAGGED, Standing, columns
from ..scoring.stats import LEAST, Interval
from .console import console, escape

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Build = Callable[[Sequence[Score], bool], "Table"]
"""Makes a table with some scores; the second word says whether all cells stay whole."""
WIDE = 130
"""Terminals narrower than this get the two leading scores only."""
UNLIMITED = 10_000
"""Wider than any table."""
COLUMNS = (
    "exam",
    "reading",
    "painter",
    "strategy",
    "judge",
    "by",
    "category",
    "n",
    "coverage",
    "score",
    "value",
    "low",
    "high",
    "least",
    "most",
    "flagged",
    "unscreened",
    "evaluator",
    "on",
    "place",
)
HEAD = ("exam", "reading", "painter", "strategy", "judge", "coverage", "flagged", "unscreened", "on", "place")
"""The columns that are the same for all numbers of a painter under a judge."""


def print_standings(standings: Sequence[Standing], exam_kind: str) -> None:
    """One table per evaluator, with what a reader must know above and below it."""

    out = console()
    if not standings:
        out.print("nothing is marked yet; `limner run` draws and marks")
        return
    protocol = kind(exam_kind).protocol
    for rows in by_evaluator(standings):
        _print_one(out, rows, protocol)


def _print_one(out: Console, rows: Sequence[Standing], protocol: Protocol[Any]) -> None:
    shown, unknown = _known(rows, protocol)
    wide = out.width >= WIDE
    leading = shown if wide else shown[:2]
    first = rows[0]
    title = f"{first.exam} · judge {first.evaluator.name} · reading {first.reading}"
    out.print(escape(title), style="italic", soft_wrap=True)
    for note in first.compared.first:
        out.print(escape(note))
    table, count = _fitting(out, leading, lambda scores, whole: _table(rows, scores, wide, whole))
    out.print(table)
    told = notes(rows)
    if unknown:
        told.append(f"no score for {', '.join(score.name for score in unknown)}: this judge decides too few criteria")
    if count < len(shown):
        told.append("more scores on a wider screen, or with --format csv")
    for note in told:
        out.print(f"[dim]{escape(note)}[/dim]")
    for standing in rows:
        for tag in (tag for tag, values in standing.by.items() if values):
            title = f"{standing.name} by {tag}"
            if standing.numbers.n != standing.n:
                title += f" · on the {standing.numbers.n} common questions"
            out.print(escape(title), style="italic", soft_wrap=True)
            build = partial(_breakdown, standing, tag, protocol, wide)
            out.print(_fitting(out, leading, build)[0])


def _fitting(out: Console, scores: Sequence[Score], build: Build) -> tuple[Table, int]:
    """The table with as many scores as fit without breaking a cell, and how many these are; two at the least."""
    least = min(2, len(scores))
    for count in range(len(scores), least - 1, -1):
        table = build(scores[:count], True)
        if out.measure(table, options=out.options.update(max_width=UNLIMITED)).maximum <= out.width:
            return table, count
    return build(scores[:least], False), least


def _known(rows: Sequence[Standing], protocol: Protocol[Any]) -> tuple[list[Score], list[Score]]:
    """The scores of which something is known for some row, and the others."""
    known, main = [], [score for score in columns(protocol) if score.main]
    for score in main:
        valued = any(row.numbers.value(score.name) is not None for row in rows)
        bounds = [row.bounds.get(score.name) for row in rows]
        if valued or any(b and (b[0] > 0 or b[1] < score.top) for b in bounds):
            known.append(score)
    if not known:
        return main, []
    return known, [score for score in main if score not in known]


def _sheet(wide: bool, words: int, whole: bool, *columns: str) -> Table:
    """An empty table; its first columns are words and stay whole, as all others do where `whole` says so."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.HEAVY_HEAD if wide else box.SIMPLE_HEAD)
    for place, name in enumerate(columns):
        table.add_column(escape(name), justify="left" if place < words else "right", no_wrap=whole or place < words)
    return table


def _table(rows: Sequence[Standing], scores: Sequence[Score], wide: bool, whole: bool) -> Table:
    abstains = any(row.all.bounds for row in rows)
    failed = any(row.failures for row in rows)
    placed = any(row.place is not None for row in rows)
    heads = [*(["place"] if placed else []), "painter", "n", "coverage"]
    heads += ["decided", "met of decided" if wide else "met"] if abstains else []
    heads += [score.name for score in scores] + (["failed"] if failed else [])
    table = _sheet(wide, 1 + placed, whole, *heads)
    for row, after in zip(rows, [*rows[1:], None], strict=True):
        view = row.numbers
        cells = [*([_place(row, rows)] if placed else []), escape(row.name), str(view.n), f"{row.coverage:.0%}"]
        if abstains:
            cells += [_percent(view.decided.get("share")), _percent(view.decided.get("met"))]
        for score in scores:
            cells.append(_cell(view.scores.get(score.name), view.bounds.get(score.name), score.digits))
        if failed:
            cells.append(", ".join(f"{count} {what}" for what, count in row.failures.items()) or "0")
        # Controls stand apart: they are no rivals.
        table.add_row(*cells, end_section=after is not None and after.control and not row.control)
    return table


def _place(row: Standing, rows: Sequence[Standing]) -> str:
    if row.place is None:
        return "control" if row.control else "–"
    shared = sum(other.place == row.place for other in rows) > 1
    return f"={row.place}" if shared else str(row.place)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _cell(interval: Interval | None, bounds: tuple[float, float] | None, digits: int) -> str:
    if interval is not None and interval.value is not None:
        text = f"{interval.value:.{digits}f}"
        if interval.low is None or interval.high is None:
            return text if interval.n >= LEAST else f"{text} [dim](n={interval.n})[/dim]"
        return f"{text} [dim]\\[{interval.low:.{digits}f}, {interval.high:.{digits}f}][/dim]"
    if bounds:
        return f"{bounds[0]:.{digits}f} … {bounds[1]:.{digits}f}"
    return "–"


def notes(rows: Sequence[Standing]) -> list[str]:
    """What a reader must know to take the table right."""
    compared = rows[0].compared
    found = [note for note in compared.notes if note not in compared.first]
    known = [interval for row in rows for interval in row.scores.values() if interval.value is not None]
    if any(row.all.bounds for row in rows):
        found.append(
            "decided: share of criteria this judge could decide. Where it abstains, a score is shown as "
            "least … most: its lowest and its highest possible value"
        )
    elif any(interval.low is not None for interval in known):
        found.append("[low, high]: 95% interval over questions")
    if any(interval.low is None for interval in known):
        found.append(f"(n=…): fewer than {LEAST} questions are too few for an interval")
    if any(row.coverage < 1 for row in rows):
        found.append(_coverage(rows))
    found += _screening(rows)
    for remark in dict.fromkeys(remark for row in rows for remark in row.remarks):
        named = [row.name for row in rows if remark in row.remarks]
        found.append(remark if len(named) == len(rows) else f"{', '.join(named)}: {remark}")
    setup = rows[0].setup
    shown = {k: setup[k] for k in ("variant", "options", "args", "templates") if setup.get(k)}
    if shown:
        found.append("asked: " + ", ".join(f"{key} {_words(value)}" for key, value in shown.items()))
    return found


def _coverage(rows: Sequence[Standing]) -> str:
    """Against what coverage is told, and what is missing."""
    expected = max(row.expected for row in rows)
    said = f"coverage: questions with a score of the {expected} in this exam or selection"
    if any(row.undrawn for row in rows):
        said += "; --subset, --where or --ids select those that were drawn"
    return said + ("; failures are left out, never zeros" if any(row.failures for row in rows) else "")


def _screening(rows: Sequence[Standing]) -> list[str]:
    """What is known of words addressed to the examiner; nothing where no drawing's text was read."""
    flagged, left_out = sum(row.flagged for row in rows), sum(row.failures.get(FLAGGED, 0) for row in rows)
    unknown = sum(row.unscreened for row in rows)
    found = []
    if flagged:
        ids = list(dict.fromkeys(id for row in rows for id in row.flagged_ids))
        listed = ", ".join(ids[:3]) + (" …" if len(ids) > 3 else "")
        one = flagged == 1
        found.append(
            f"{flagged} drawing{'' if one else 's'} carr{'ies' if one else 'y'} words addressed to the examiner: "
            f"{listed} (limner show {rows[0].exam} {ids[0]})"
        )
    if left_out:
        found.append("these are left out (--exclude-flagged): they have no score, and coverage falls")
    if unknown and any(row.screened for row in rows):
        found.append(
            f"{unknown} drawing{'' if unknown == 1 else 's'} not screened for such words: OCR has not read their text "
            f"(limner evidence {rows[0].exam} --probe ocr)"
        )
    return found


def _words(value: Any) -> str:
    return " ".join(f"{key}={item}" for key, item in value.items()) if isinstance(value, Mapping) else str(value)


def _breakdown(
    standing: Standing, tag: str, protocol: Protocol[Any], wide: bool, scores: Sequence[Score], whole: bool
) -> Table:
    dimension = tag == "dimension"
    abstains = bool(standing.all.bounds) and not dimension
    names = [] if dimension else [score.name for score in scores]
    digits = {score.name: score.digits for score in columns(protocol)}
    extra = ["decided", "met of decided" if wide else "met"] if abstains else []
    table = _sheet(wide, 1, whole, tag, "n", *extra, *(names or ["value"]))
    for category, body in standing.by[tag].items():
        cells = [_cell(body.scores.get(n), body.bounds.get(n), digits.get(n, 2)) for n in names or [category]]
        if abstains:
            cells = [_percent(body.decided.get("share")), _percent(body.decided.get("met")), *cells]
        table.add_row(escape(category), str(body.n), *cells)
    return table


def standings_csv(standings: Sequence[Standing]) -> str:
    """One line per number, on the questions that painters are compared on."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in standings:
        head = {key: getattr(row, key) for key in HEAD} | {"evaluator": row.evaluator.name}
        views = [("", "", row.numbers)]
        views += [(tag, value, body) for tag, values in row.by.items() for value, body in values.items()]
        for tag, value, body in views:
            for score, interval in body.scores.items():
                low, high = body.bounds.get(score, (None, None))
                line = head | {"by": tag, "category": value, "score": score, **interval.to_json()}
                writer.writerow(line | {"least": low, "most": high})
    return buffer.getvalue()
