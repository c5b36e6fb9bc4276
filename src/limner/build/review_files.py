"""Review without a server: waiting items are written to a file, which the reviewer fills in and returns."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import exams
from ..core.data_files import write_json_lines
from ..core.data_rows import Problems, json_lines, plain_cell, write_csv
from ..core.errors import UsageError
from ..core.images import SUFFIXES, inspect
from ..core.json_text import parse_json
from .base import BuildItem
from .engine import Builder
from .recipe import RecipeStep
from .records import add_review, items_of_sort, load_reviews
from .reviews import (
    ACTIONS,
    KEPT,
    Review,
    ReviewSettings,
    ReviewStanding,
    added_items,
    apply_review,
    review_standing,
    reviews_of,
    state_id,
    why_not_saved,
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


@dataclass(frozen=True)
class ReviewItem:
    """An item in review.

    Attributes:
        item: The item as it came to review; empty for one that a reviewer has added.
        place: The review, as a step of the recipe.
        done: Its reviews, oldest first.
        standing: The result so far.
    """

    item: BuildItem
    place: RecipeStep
    done: Sequence[Review]
    standing: ReviewStanding

    @property
    def is_settled(self) -> bool:
        """Whether it is accepted or rejected."""
        return self.standing.verdict in ("accepted", "rejected")

    @property
    def warnings(self) -> list[str]:
        """What reviewers should look at: changes, the warnings of steps, and points that another model denied."""
        body, changed = self.item.body, ", ".join(self.standing.changed)
        return [
            *([f"changed since it was judged: {changed}"] if changed else []),
            *(f"an earlier step would now drop it: {why}" for why in body.get(KEPT) or ()),
            *map(str, body.get("warnings") or ()),
            *(f"denied on the picture: {point}" for point in body.get("denied") or ()),
        ]

    def is_due(self, reviewer: str) -> bool:
        """Return whether a reviewer has to judge it, or to judge it again."""
        mine, standing = self.standing.votes.get(reviewer), self.standing
        outdated = bool(standing.changed) and mine != standing.arrived
        return outdated or (not self.is_settled and (mine is None or standing.verdict == "disputed"))

    def others(self, shown: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the other versions of it, each with those who voted for it."""
        return [
            {"base": id, "by": self.voters(id), "state": state}
            for id, state in self.standing.states.items()
            if state != shown
        ]

    def voters(self, state: str) -> list[str]:
        """Return those who voted for a state."""
        return sorted(who for who, vote in self.standing.votes.items() if vote == state)


def review_items(builder: Builder) -> dict[str, ReviewItem]:
    """Return every item in review, including those added by reviewers, with the result so far."""
    reviews, in_review = load_reviews(builder.store, builder.build.name), dict[str, ReviewItem]()
    for place in review_places(builder):
        how = place.settings
        assert isinstance(how, ReviewSettings)
        items = {id: BuildItem(id, {}, place.step.makes) for id in added_items(place.name, reviews)}
        items |= {item.id: item for item in items_of_sort(builder.arriving(place.name), place.step.takes)}
        for id, item in items.items():
            done = reviews_of(place.name, reviews.get(id, ()))
            if how.takes(item, done):
                standing = review_standing(how.shown(item), done, how.reviewers)
                in_review[id] = ReviewItem(item, place, done, standing)
    return in_review


def write_review(builder: Builder, file: Path, reviewer: str) -> int:
    """Write a line for every item that this reviewer has not judged, and return the number of lines.

    Each has ``action``, ``change`` and ``comment`` to be filled in.
    """
    lines = list[dict[str, Any]]()
    for id, each in review_items(builder).items():
        if each.is_due(reviewer):
            state = each.standing.body
            row = {
                "item": id,
                "step": each.place.name,
                "action": "",
                "change": {},
                "comment": "",
                "base": state_id(state),
            }
            row |= {"picture": _save_picture(builder, each.item, file), "warnings": each.warnings}
            lines.append({**row, "state": state, "others": each.others(state)})
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
    problems, reviews, in_review = Problems(), list[Review](), review_items(builder)
    steps = [place.name for place in review_places(builder)]
    rubric = exams.kind(builder.recipe.exam).rubric
    for number, row in _read_rows(file, problems):
        action, item, change = row.get("action"), row.get("item"), row.get("change") or {}
        base, step = row.get("base") or None, row.get("step") or steps[-1]
        if not action:
            continue
        if action not in ACTIONS or not isinstance(item, str) or not isinstance(change, dict):
            problems.add(f"action is one of {', '.join(ACTIONS)}, item a text, change an object", file, number)
        elif action in ("edit", "add") and not change:
            problems.add(f"{action}: change says nothing", file, number, item)
        elif not item.strip():
            problems.add("item is empty: it must be an item of the review", file, number)
        elif item not in in_review and (action != "add" or base):
            problems.add("the review has no such item", file, number, item)
        elif item not in in_review and step not in steps:
            problems.add(f"step {step!r}: the recipe's reviews are: {', '.join(steps)}", file, number, item)
        else:
            review = Review(builder.build.name, item, reviewer, action, base, change or None, step=step)
            review = replace(review, comment=row.get("comment") or None)
            if item in in_review:
                review = replace(review, step=in_review[item].place.name, state=_judged(in_review[item], row))
                if why := _why_not_read(review, rubric):
                    problems.add(why, file, number, item)
            reviews.append(review)
    problems.settle()
    for review in reviews:
        add_review(builder.store, review)
    return len(reviews)


def _judged(found: ReviewItem, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the state that a line judges; the build may have changed since the file was written."""
    base, written = row.get("base"), row.get("state")
    state = found.standing.states.get(base or "")
    if state is None and isinstance(written, dict) and state_id(written) == base:
        return written
    return None if state is None else dict(state)


def _why_not_read(review: Review, rubric: type[Any]) -> str | None:
    """Return why a line's review would not count, or its change cannot be saved."""
    if review.action == "comment" or (review.action in ("reject", "settle") and review.base is None):
        return None
    if review.state is None:
        return "base is no version of this item: leave base and state as they were written"
    if review.action == "add" and not all(isinstance(more, list) for more in (review.body or {}).values()):
        return "add: change must have lists of what is missing"
    return why_not_saved(review.state, apply_review(review.state, review), rubric)


def _write_rows(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write one JSON line for each row; for a name ending in .csv, a table whose nested cells are JSON."""
    if file.suffix.lower() != ".csv":
        write_json_lines(file, rows)
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
            nested = dict[str, Any]()
            for name in ("change", "state"):
                try:
                    nested[name] = parse_json(row.get(name) or "{}")
                except ValueError as error:
                    problems.add(f"{name} is not valid JSON: {error}", file, table.line_num, row["item"])
            yield table.line_num, {**row, **nested}
