"""Review without a server: waiting items are written to a file, which the reviewer fills in and returns."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..core.data_rows import Problems, json_lines, plain_cell, write_csv
from ..core.errors import UsageError
from ..core.images import SUFFIXES, inspect
from .base import BuildItem
from .engine import Builder
from .recipe import RecipeStep
from .records import add_review, load_reviews
from .reviews import (
    ACTIONS,
    KEPT,
    Review,
    ReviewSettings,
    ReviewStanding,
    added_items,
    review_standing,
    reviews_of,
    state_id,
)

COLUMNS = ("item", "step", "action", "change", "comment", "base", "state", "others", "picture", "warnings")
NESTED = ("change", "state", "others", "warnings")
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
        added = {id: BuildItem(id, {}, place.step.makes) for id in added_items(place.name, reviews)}
        for id, item in (added | {id: item for id, item in items.items() if item.sort == place.step.takes}).items():
            done = reviews_of(place.name, reviews.get(id, ()))
            if how.takes(item, done):
                by_item[id] = item, replace(review_standing(how.shown(item), done, how.reviewers), step=place.name)
    return by_item


def warnings_of(item: BuildItem, standing: ReviewStanding) -> list[str]:
    """Return what reviewers should look at: changes, the warnings of steps, and points that another model denied."""
    changed = [f"changed since it was judged: {', '.join(standing.changed)}"] if standing.changed else []
    denied = [f"denied on the picture: {point}" for point in item.body.get("denied") or ()]
    kept = [f"an earlier step would now drop it: {why}" for why in item.body.get(KEPT) or ()]
    return [*changed, *kept, *map(str, item.body.get("warnings") or ()), *denied]


def write_review(builder: Builder, file: Path, reviewer: str) -> int:
    """Write a line for every item that this reviewer has not judged, and return the number of lines.

    Each has ``action``, ``change`` and ``comment`` to be filled in.
    """
    lines = list[dict[str, Any]]()
    for id, (item, standing) in review_standings(builder).items():
        settled = standing.verdict in ("accepted", "rejected")
        judged = reviewer in standing.votes and standing.verdict != "disputed"
        outdated = bool(standing.changed) and standing.votes.get(reviewer) != standing.arrived
        if (settled or judged) and not outdated:
            continue
        others = [
            {"base": state, "by": sorted(who for who, vote in standing.votes.items() if vote == state), "state": body}
            for state, body in standing.states.items()
            if body != standing.body
        ]
        row: dict[str, Any] = {"item": id, "step": standing.step, "action": "", "change": {}, "comment": ""}
        row["base"] = state_id(standing.body)
        row |= {"picture": _save_picture(builder, item, file), "warnings": warnings_of(item, standing)}
        lines.append({**row, "state": standing.body, "others": others})
    _write_rows(file, lines)
    return len(lines)


def _save_picture(builder: Builder, item: BuildItem, file: Path) -> str:
    """Save an item's picture in a folder beside the file, and return its path from there; empty without one."""
    sha256 = item.body.get("image")
    if not sha256:
        return ""
    data = builder.store.blobs.get(str(sha256))
    path = Path(f"{file.stem}-pictures") / f"{str(sha256)[:16]}.{SUFFIXES[inspect(data).format]}"
    (file.parent / path.parent).mkdir(exist_ok=True)
    (file.parent / path).write_bytes(data)
    return path.as_posix()


def read_review(builder: Builder, file: Path, reviewer: str) -> int:
    """Store the reviews in a file, except lines without an action, and return their number.

    Raises:
        DataError: The file has errors; the message gives the line of each, and nothing is stored.
    """
    problems, reviews, standings = Problems(), list[Review](), review_standings(builder)
    steps = [place.name for place in review_places(builder)]
    for number, row in _read_rows(file, problems):
        action, item, change = row.get("action"), row.get("item"), row.get("change") or {}
        base = row.get("base") if action != "settle" or row.get("base") else None
        if not action:
            continue
        if action not in ACTIONS or not isinstance(item, str) or not isinstance(change, dict):
            problems.add(f"action is one of {', '.join(ACTIONS)}, item a text, change an object", file, number)
        elif action in ("edit", "add") and not change:
            problems.add(f"{action}: change says nothing", file, number, item)
        elif not item.strip():
            problems.add("item is empty: it must be an item of the review", file, number)
        elif item not in standings and not (action == "add" and not base):
            problems.add("the review has no such item", file, number, item)
        else:
            state = standings[item][1].states.get(base or "") if item in standings else None
            step = standings[item][1].step if item in standings else row.get("step") or steps[-1]
            if step not in steps:
                problems.add(f"step {step!r}: the recipe's reviews are: {', '.join(steps)}", file, number, item)
                continue
            review = Review(builder.build.name, item, reviewer, action, base or None, change or None, step=step)
            kept = None if state is None else dict(state)
            reviews.append(replace(review, comment=row.get("comment") or None, state=kept))
    problems.settle()
    for review in reviews:
        add_review(builder.store, review)
    return len(reviews)


def _write_rows(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write one JSON line for each row; for a name ending in .csv, a table whose nested cells are JSON."""
    if file.suffix.lower() != ".csv":
        text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        file.write_text(text, encoding="utf-8")
        return

    def cells(row: Mapping[str, Any]) -> dict[str, Any]:
        return {**row, **{name: json.dumps(row[name], ensure_ascii=False, indent=1) for name in NESTED}}

    file.write_text(write_csv(COLUMNS, map(cells, rows), "\r\n"), encoding="utf-8-sig", newline="")


def _read_rows(file: Path, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    if file.suffix.lower() != ".csv":
        yield from json_lines(file, problems)
        return
    with file.open(encoding="utf-8-sig", newline="") as stream:
        table = csv.DictReader(stream)
        if lacking := [name for name in ("item", "action", "base") if name not in (table.fieldnames or ())]:
            problems.add(f"has no column {', '.join(lacking)}", file)
            return
        for cells in table:
            row = {name: plain_cell(value) for name, value in cells.items()}
            try:
                change = json.loads(row.get("change") or "{}")
            except ValueError as error:
                problems.add(f"change is not valid JSON: {error}", file, table.line_num, row["item"])
                continue
            yield table.line_num, {**row, "change": change}
