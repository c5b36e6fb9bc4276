"""Answers as rows that other programs read and write: CSV in two shapes, and JSON lines."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.data_files import Problems, json_lines, read_lines
from ..core.errors import DataError
from .answers import RANK, listed_marks
from .forms import CHOICE
from .open import OpenStudy, places_of
from .records import load_answers, load_raters

COLUMNS = ("rater", "exam", "id", "painter", "strategy", "seed", "criterion", "value", "reason", "seconds")
PAIRS = ("rater", "exam", "id", "first", "second", "choice", "shown_first")
MORE = ("reason", "seconds")
"""Columns that pairs have besides, where something stands in them."""
REPEAT = "repeat"
"""A further column, where something was asked a second time: 1 for the second time."""
THING = re.compile(r"(.*\S)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)", re.DOTALL)
"""A listed thing as its mark tells it: what it is, and its place in brackets."""
Row = dict[str, Any]


def answer_rows(study: OpenStudy) -> list[Row]:
    """Everything answered in a study: a row for each drawing and criterion, or for each pair."""
    places = {
        (rater.rater, place.item, place.repeat): place
        for rater in load_raters(study.store, study.name)
        for place in places_of(rater)
    }
    found: list[Row] = []
    for answer in load_answers(study.store, study.name):
        if answer.value is None or answer.item < 0:
            continue
        item = study.items[answer.item]
        about = {"rater": answer.rater, "exam": study.study.exam, "id": item.question_id}
        more = {"reason": answer.reason, "seconds": answer.seconds, REPEAT: answer.repeat}
        if study.design.unit == "pair":
            place = places.get((answer.rater, answer.item, answer.repeat))
            order = place.order if place else ()
            names = {"first": drawing_name(study, item.drawings[0]), "second": drawing_name(study, item.drawings[1])}
            shown = None if not order else "first" if order[0] == 0 else "second"
            choice = answer.value if answer.field == CHOICE else None
            found.append(about | names | {"choice": choice, "shown_first": shown} | more)
            continue
        for drawing, criterion, value, reason in _told(study, item.n, answer.field, answer.value, answer.reason):
            one = study.drawings[drawing]
            slot = {"painter": one.label, "strategy": one.strategy, "seed": one.seed}
            found.append(about | slot | {"criterion": criterion, "value": value} | more | {"reason": reason})
    return found


def _told(
    study: OpenStudy, item: int, name: str, value: Any, reason: str | None
) -> Iterator[tuple[str, str, Any, str | None]]:
    """Drawing, criterion, value and reason of every row that one answer becomes."""
    drawings = study.items[item].drawings
    if name.startswith(f"{RANK}/"):
        yield drawings[int(name.partition("/")[2]) - 1], RANK, value, reason
        return
    field = next((one for one in study.item_form(item) if one.name == name), None)
    if field is not None and field.kind == "listing":
        for mark in listed_marks(field, value["items"]):
            thing = mark.criterion.count("/") > 1
            # That there is nothing of a sort is said once the rater has said that the list is whole.
            if thing or value["done"]:
                yield drawings[0], mark.criterion, mark.value, mark.reason or None
        return
    yield drawings[0], name, value, reason


def drawing_name(study: OpenStudy, drawing: str) -> str:
    """What a drawing is called among those of its question: its painter's row, with the seed where it is not 0."""
    seed = study.drawings[drawing].seed
    return study.row(drawing) + (f" #{seed}" if seed else "")


def write_answers(rows: Sequence[Row], pairs: bool, form: str) -> str:
    """Return the rows as ``csv`` or ``jsonl``."""
    if form == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    columns = [*PAIRS, *(name for name in MORE if any(row[name] is not None for row in rows))] if pairs else [*COLUMNS]
    if any(row[REPEAT] for row in rows):
        columns.append(REPEAT)
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: "" if value is None else value for name, value in row.items()} for row in rows)
    return buffer.getvalue()


def read_rows(file: Path) -> list[tuple[int, Row]]:
    """Return the rows of a CSV or a file of JSON lines, with their lines; columns that are absent or empty are None.

    Raises:
        DataError: It is neither, or a column that every row needs is not there.
    """
    text = read_lines(file)
    if text and text[0].lstrip().startswith("{"):
        problems = Problems()
        found = [(line, {key: _plain(value) for key, value in row.items()}) for line, row in json_lines(file, problems)]
        problems.settle()
    else:
        reader = csv.DictReader(io.StringIO("\n".join(text)), restkey="", strict=True)
        try:
            found = [(reader.line_num, {k.strip(): _plain(v) for k, v in row.items()}) for row in reader]
        except csv.Error as error:
            raise DataError(f"not a CSV: {error}", file=file, line=reader.line_num) from error
    if not found:
        raise DataError("there is no row in it", file=file)
    needed = PAIRS[:6] if "choice" in found[0][1] else ("rater", "exam", "id", "painter", "criterion", "value")
    for line, row in found:
        if missing := [name for name in needed if name not in row]:
            raise DataError(f"the column {missing[0]} is missing; it has: {', '.join(row)[:200]}", file=file, line=line)
        if "" in row:
            raise DataError("there are more cells than columns", file=file, line=line)
    return found


def _plain(value: Any) -> Any:
    return (value.strip() or None) if isinstance(value, str) else value


def read_thing(words: str) -> tuple[str, str]:
    """Return a listed thing and its place, as its reason tells them.

    >>> read_thing("a second sun (upper left)")
    ('a second sun', 'upper left')
    """
    found = THING.fullmatch(words.strip())
    return (found[1], found[2] or "not said") if found else (words.strip(), "not said")


def shown_order(row: Mapping[str, Any], turned: bool) -> tuple[int, ...]:
    """Where a pair's drawings stood, by the item's own order; `turned` where the row names them the other way round."""
    shown = row.get("shown_first")
    if shown not in ("first", "second"):
        return ()
    return (0, 1) if (shown == "first") != turned else (1, 0)
