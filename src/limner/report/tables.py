"""Scores as tables: for a terminal, and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from ..calls import canonical
from ..exams import kind
from ..protocol import Protocol, Score
from ..scoring import FLAGGED, Standing
from ..store.records import row_name
from .console import console, escape

WIDE = 130
"""Terminals narrower than this get the two leading scores only."""
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
)
HEAD = ("exam", "reading", "painter", "strategy", "judge", "coverage", "flagged", "unscreened")
"""The columns that are the same for all numbers of a painter under a judge."""


def print_standings(standings: Sequence[Standing], exam_kind: str) -> None:
    """One table per judge and way of asking, with what a reader must know below it."""

    out = console()
    if not standings:
        out.print("nothing is marked yet; `limner run` draws and marks")
        return
    protocol = kind(exam_kind).protocol
    tables: dict[str, list[Standing]] = {}
    for standing in standings:
        # Painters stand in one table only where the judge was asked alike.
        tables.setdefault(canonical(standing.setup), []).append(standing)
    for rows in tables.values():
        shown, unknown = _known(rows, protocol)
        wide = out.width >= WIDE
        first = rows[0]
        title = f"{first.exam} · judge {first.judge} · reading {first.reading}"
        out.print(escape(title), style="italic", soft_wrap=True)
        out.print(_table(rows, shown if wide else shown[:2], wide))
        told = notes(rows)
        if unknown:
            told.append(
                f"nothing is known of {', '.join(score.name for score in unknown)}: this judge decides none of it"
            )
        if not wide and len(shown) > 2:
            told.append("more scores on a wider screen, or with --format csv")
        for note in told:
            out.print(f"[dim]{escape(note)}[/dim]")
        for standing in rows:
            for tag in standing.by:
                title = f"{_name(standing)} by {tag}"
                if _view(standing)["n"] != standing.n:
                    title += f" · all {standing.n} questions it has a score for"
                out.print(escape(title), style="italic", soft_wrap=True)
                out.print(_breakdown(standing, tag, shown if wide else shown[:2], protocol, wide))


def _known(rows: Sequence[Standing], protocol: Protocol[Any]) -> tuple[list[Score], list[Score]]:
    """The scores of which something is known for some row, and the others."""
    known, main = [], [score for score in protocol.scored if score.main]
    for score in main:
        views = [_view(row) for row in rows]
        valued = any((view["scores"].get(score.name) or {}).get("value") is not None for view in views)
        bounds = [view["bounds"].get(score.name) for view in views]
        if valued or any(b and (b["low"] > 0 or b["high"] < score.top) for b in bounds):
            known.append(score)
    if not known:
        return main, []
    return known, [score for score in main if score not in known]


def _sheet(wide: bool, *columns: str) -> Any:
    """An empty table; the first column keeps its words whole."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.HEAVY_HEAD if wide else box.SIMPLE_HEAD)
    for place, name in enumerate(columns):
        table.add_column(escape(name), justify="right" if place else "left", no_wrap=not place)
    return table


def _table(rows: Sequence[Standing], scores: Sequence[Score], wide: bool) -> Any:
    abstains = any(row.bounds for row in rows)
    failed = any(row.failures for row in rows)
    columns = ["painter", "n", "coverage", *(["decided", "met of decided" if wide else "met"] if abstains else [])]
    columns += [score.name for score in scores] + (["failed"] if failed or wide else [])
    table = _sheet(wide, *columns)
    for row in rows:
        view = _view(row)
        cells = [escape(_name(row)), str(view["n"]), f"{row.coverage:.0%}"]
        if abstains:
            cells += [_percent(view["decided"].get("share")), _percent(view["decided"].get("met"))]
        for score in scores:
            cells.append(_cell(view["scores"].get(score.name), view["bounds"].get(score.name), score.digits))
        if failed or wide:
            cells.append(", ".join(f"{count} {what}" for what, count in row.failures.items()) or "0")
        table.add_row(*cells)
    return table


def _view(row: Standing) -> dict[str, Any]:
    """What is compared: the common questions where there are several painters, else all of them."""
    if row.common is not None and row.common["n"]:
        return dict(row.common)
    plain = row.to_json()
    return {name: plain[name] for name in ("n", "scores", "bounds", "decided")}


def _name(row: Standing) -> str:
    return row_name(row.painter, row.strategy)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _cell(interval: Mapping[str, Any] | None, bounds: Mapping[str, float] | None, digits: int) -> str:
    if interval and interval["value"] is not None:
        value, low, high = (interval[key] for key in ("value", "low", "high"))
        return f"{value:.{digits}f} [dim]\\[{low:.{digits}f}, {high:.{digits}f}][/dim]"
    if bounds:
        return f"{bounds['low']:.{digits}f} … {bounds['high']:.{digits}f}"
    return "–"


def notes(rows: Sequence[Standing]) -> list[str]:
    """What a reader must know to take the table right."""
    found = []
    compared = [row.common["n"] for row in rows if row.common is not None]
    if compared and any(row.n != compared[0] for row in rows):
        if compared[0]:
            found.append(f"compared on the {compared[0]} questions that all painters have; alone: --painter NAME")
        else:
            found.append("no question is common to all painters: each row stands for itself")
    if any(row.bounds for row in rows):
        found.append(
            "decided: share of criteria this judge could decide. Where it abstains a score is not known: "
            "least … most shows what it could be"
        )
    else:
        found.append("[low, high]: 95% bootstrap interval over questions")
    if any(row.coverage < 1 for row in rows):
        found.append("coverage: questions with a score of those drawn or tried; failures are left out, never zeros")
    found += _screening(rows)
    for remark in dict.fromkeys(remark for row in rows for remark in row.remarks):
        named = [_name(row) for row in rows if remark in row.remarks]
        found.append(remark if len(named) == len(rows) else f"{', '.join(named)}: {remark}")
    setup = rows[0].setup
    shown = {k: setup[k] for k in ("variant", "options", "args", "templates") if setup.get(k)}
    if shown:
        found.append("asked: " + ", ".join(f"{key} {_words(value)}" for key, value in shown.items()))
    return found


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
            f"{unknown} drawing{'' if unknown == 1 else 's'} not screened for such words: nobody has read their text "
            f"(limner evidence {rows[0].exam} --probe ocr)"
        )
    return found


def _words(value: Any) -> str:
    return " ".join(f"{key}={item}" for key, item in value.items()) if isinstance(value, Mapping) else str(value)


def _breakdown(standing: Standing, tag: str, scores: Sequence[Score], protocol: Protocol[Any], wide: bool) -> Any:
    dimension = tag == "dimension"
    abstains = bool(standing.bounds) and not dimension
    columns = [] if dimension else [score.name for score in scores]
    digits = {score.name: score.digits for score in protocol.scored}
    extra = ["decided", "met of decided" if wide else "met"] if abstains else []
    table = _sheet(wide, tag, "n", *extra, *(columns or ["value"]))
    whole = standing.to_json()["bounds"] if dimension else {}
    for category, body in standing.by[tag].items():
        names = columns or [category]
        bounds = whole or body.get("bounds", {})
        cells = [_cell(body["scores"].get(name), bounds.get(name), digits.get(name, 2)) for name in names]
        if abstains:
            cells = [_percent(body["decided"].get("share")), _percent(body["decided"].get("met")), *cells]
        table.add_row(escape(category), str(body["n"]), *cells)
    return table


def standings_csv(standings: Sequence[Standing]) -> str:
    """One line per number."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in standings:
        head = {key: getattr(row, key) for key in HEAD}
        plain = row.to_json()
        views = [("", "", {"n": row.n, "scores": plain["scores"], "bounds": plain["bounds"]})]
        views += [(tag, value, body) for tag, values in row.by.items() for value, body in values.items()]
        for tag, value, body in views:
            for score, interval in body["scores"].items():
                ends = body.get("bounds", {}).get(score, {})
                line = head | {"by": tag, "category": value, "score": score, **interval}
                writer.writerow(line | {"least": ends.get("low"), "most": ends.get("high")})
    return buffer.getvalue()
