"""Scores as tables: for a terminal, and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from ..calls import canonical
from ..exams import kind
from ..protocol import Protocol
from ..scoring import Standing
from .console import console, escape

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
)


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
        out.print(_table(rows, protocol))
        for note in notes(rows):
            out.print(f"[dim]{escape(note)}[/dim]")
        for standing in rows:
            for tag in standing.by:
                out.print(_breakdown(standing, tag, protocol))


def _table(rows: Sequence[Standing], protocol: Protocol[Any]) -> Any:
    from rich.table import Table

    first = rows[0]
    title = f"{first.exam} · judge {first.judge} · reading {first.reading}"
    table = Table(title=escape(title), title_justify="left")
    table.add_column("painter")
    table.add_column("n", justify="right")
    table.add_column("coverage", justify="right")
    abstains = any(row.bounds for row in rows)
    if abstains:
        table.add_column("decided", justify="right")
        table.add_column("met of decided", justify="right")
    columns = [score for score in protocol.scored if score.main]
    for score in columns:
        table.add_column(score.name, justify="right")
    table.add_column("failed", justify="right")
    for row in rows:
        view = _view(row)
        cells = [escape(_name(row)), str(view["n"]), f"{row.coverage:.0%}"]
        if abstains:
            cells += [_percent(view["decided"].get("share")), _percent(view["decided"].get("met"))]
        for score in columns:
            cells.append(_cell(view["scores"].get(score.name), view["bounds"].get(score.name), score.digits))
        table.add_row(*cells, ", ".join(f"{count} {what}" for what, count in row.failures.items()) or "0")
    return table


def _view(row: Standing) -> dict[str, Any]:
    """What is compared: the common questions where there are several painters, else all of them."""
    if row.common is not None and row.common["n"]:
        return dict(row.common)
    plain = row.to_json()
    return {name: plain[name] for name in ("n", "scores", "bounds", "decided")}


def _name(row: Standing) -> str:
    return row.painter if row.strategy == "direct" else f"{row.painter} ({row.strategy})"


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
    for remark in dict.fromkeys(remark for row in rows for remark in row.remarks):
        named = [_name(row) for row in rows if remark in row.remarks]
        found.append(remark if len(named) == len(rows) else f"{', '.join(named)}: {remark}")
    setup = rows[0].setup
    shown = {k: setup[k] for k in ("variant", "options", "args", "templates") if setup.get(k)}
    if shown:
        found.append("asked: " + ", ".join(f"{key} {_words(value)}" for key, value in shown.items()))
    return found


def _words(value: Any) -> str:
    return " ".join(f"{key}={item}" for key, item in value.items()) if isinstance(value, Mapping) else str(value)


def _breakdown(standing: Standing, tag: str, protocol: Protocol[Any]) -> Any:
    from rich.table import Table

    title = f"{_name(standing)} by {tag}"
    if _view(standing)["n"] != standing.n:
        title += f" · all {standing.n} questions it has a score for"
    table = Table(title=escape(title), title_justify="left")
    table.add_column(escape(tag))
    table.add_column("n", justify="right")
    dimension = tag == "dimension"
    abstains = bool(standing.bounds) and not dimension
    if abstains:
        table.add_column("decided", justify="right")
        table.add_column("met of decided", justify="right")
    columns = [] if dimension else [score.name for score in protocol.scored if score.main]
    bounds = standing.to_json()["bounds"] if dimension else {}
    digits = {score.name: score.digits for score in protocol.scored}
    for name in columns or ["value"]:
        table.add_column(name, justify="right")
    for category, body in standing.by[tag].items():
        names = columns or [category]
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
        head = {key: getattr(row, key) for key in ("exam", "reading", "painter", "strategy", "judge", "coverage")}
        plain = row.to_json()
        views = [("", "", {"n": row.n, "scores": plain["scores"]})]
        views += [(tag, value, body) for tag, values in row.by.items() for value, body in values.items()]
        for tag, value, body in views:
            for score, interval in body["scores"].items():
                line = head | {"by": tag, "category": value, "score": score, **interval}
                writer.writerow(line)
    return buffer.getvalue()
