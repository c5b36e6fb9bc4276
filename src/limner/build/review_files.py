"""Review without a server: waiting items are written to a file, which the reviewer fills in and returns."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.data_files import Problems, json_lines
from ..core.errors import UsageError
from ..store import Store
from .base import BuildItem
from .engine import Builder
from .recipe import RecipeStep
from .records import add_review, load_reviews
from .reviews import ACTIONS, Review, ReviewSettings, ReviewStanding, review_standing, state_id

COLUMNS = ("item", "action", "change", "comment", "base", "state", "others")
NESTED = ("change", "state", "others")
"""Columns of a table whose cells are JSON."""


def review_places(builder: Builder) -> list[RecipeStep]:
    """Return the recipe's review steps.

    Raises:
        UsageError: It has no review step.
    """
    places = [place for place in builder.recipe.places if place.step.reviewed]
    if not places:
        raise UsageError(f"recipe {builder.recipe.name} has no review step")
    return places


def review_standings(builder: Builder) -> dict[str, tuple[BuildItem, ReviewStanding]]:
    """Return every item in review, including those added by reviewers, with the result so far."""
    reviews, by_item = load_reviews(builder.store, builder.build.name), dict[str, tuple[BuildItem, ReviewStanding]]()
    for place in review_places(builder):
        how = place.settings
        assert isinstance(how, ReviewSettings)
        items = builder.arriving(place.name)
        mine = {id: item for id, item in items.items() if item.sort == place.step.takes}
        for id, done in reviews.items():
            if id not in items and how.has_added(id, done):
                mine[id] = BuildItem(id, {}, place.step.makes)
        for id, item in mine.items():
            if how.reviewers or id in reviews:
                by_item[id] = item, review_standing(how.shown(item), reviews.get(id, ()), how.reviewers)
    return by_item


def write_review(builder: Builder, file: Path, reviewer: str) -> int:
    """Write a line for every item that this reviewer has not judged, and return the number of lines.

    Each has ``action``, ``change`` and ``comment`` to be filled in.
    """
    lines = list[dict[str, Any]]()
    for id, (_, standing) in review_standings(builder).items():
        if standing.verdict in ("accepted", "rejected") or (
            reviewer in standing.votes and standing.verdict != "disputed"
        ):
            continue
        others = [
            {"base": state, "by": sorted(who for who, vote in standing.votes.items() if vote == state), "state": body}
            for state, body in standing.states.items()
            if body != standing.body
        ]
        row: dict[str, Any] = {"item": id, "action": "", "change": {}, "comment": "", "base": state_id(standing.body)}
        lines.append({**row, "state": standing.body, "others": others})
    _write_rows(file, lines)
    return len(lines)


def read_review(store: Store, build: str, file: Path, reviewer: str) -> int:
    """Store the reviews in a file, except lines without an action, and return their number.

    Raises:
        DataError: The file has errors; the message gives the line of each, and nothing is stored.
    """
    problems, reviews = Problems(), list[Review]()
    for number, row in _read_rows(file, problems):
        action, item, change = row.get("action"), row.get("item"), row.get("change") or {}
        base = row.get("base") if action != "settle" or row.get("base") else None
        if not action:
            continue
        if action not in ACTIONS or not isinstance(item, str) or not isinstance(change, dict):
            problems.add(f"action is one of {', '.join(ACTIONS)}, item a text, change an object", file, number)
        elif action in ("edit", "add") and not change:
            problems.add(f"{action}: change says nothing", file, number, item)
        else:
            reviews.append(Review(build, item, reviewer, action, base, change or None, row.get("comment") or None))
    problems.settle()
    for review in reviews:
        add_review(store, review)
    return len(reviews)


def _write_rows(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write one JSON line for each row; for a name ending in .csv, a table whose nested cells are JSON."""
    if file.suffix.lower() != ".csv":
        text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        file.write_text(text, encoding="utf-8")
        return
    with file.open("w", encoding="utf-8-sig", newline="") as stream:
        table = csv.DictWriter(stream, COLUMNS)
        table.writeheader()
        for row in rows:
            cells = {name: json.dumps(row[name], ensure_ascii=False, indent=1) for name in NESTED}
            table.writerow({**row, **cells})


def _read_rows(file: Path, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    if file.suffix.lower() != ".csv":
        yield from json_lines(file, problems)
        return
    with file.open(encoding="utf-8-sig", newline="") as stream:
        table = csv.DictReader(stream)
        if lacking := [name for name in ("item", "action", "base") if name not in (table.fieldnames or ())]:
            problems.add(f"has no column {', '.join(lacking)}", file)
            return
        for row in table:
            try:
                change = json.loads(row.get("change") or "{}")
            except ValueError as error:
                problems.add(f"change is not valid JSON: {error}", file, table.line_num, row["item"])
                continue
            yield table.line_num, {**row, "change": change}
