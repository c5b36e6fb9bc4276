"""Answers as rows for other programs: CSV in two forms, and JSON lines."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.data_rows import Problems, json_lines, plain_cell, read_lines, write_csv
from ..core.errors import DataError
from ..core.evaluator import row_name
from ..store.records import Drawing
from .answers import RANK, counted_answers, listed_marks
from .forms import CHOICE
from .open import OpenStudy, places_of
from .records import load_raters

COLUMNS = ("rater", "exam", "id", "painter", "strategy", "seed", "criterion", "value", "reason", "seconds")
PAIRS = ("rater", "exam", "id", "first", "second", "choice", "shown_first")
PAIR_EXTRAS = ("reason", "seconds")
"""Further columns of pairs, if they are not empty."""
REPEAT = "repeat"
"""A further column if items were repeated: 1 for the second showing."""
THING_PATTERN = re.compile(r"(.*\S)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)", re.DOTALL)
"""A listed thing in a mark's reason: what it is, and its place in brackets."""
Row = dict[str, Any]


def answer_rows(study: OpenStudy) -> list[Row]:
    """Return the answers of a study that count: a row for each drawing and criterion, or for each pair."""
    places = {
        (rater.rater, place.item, place.repeat): place
        for rater in load_raters(study.store, study.name)
        for place in places_of(rater)
    }
    rows: list[Row] = []
    for answer in counted_answers(study.store, study.name):
        if answer.item < 0:
            continue
        item = study.items[answer.item]
        about = {"rater": answer.rater, "exam": study.study.exam, "id": item.question_id}
        more = {"reason": answer.reason, "seconds": answer.seconds, REPEAT: answer.repeat}
        if study.design.unit == "pair":
            place = places.get((answer.rater, answer.item, answer.repeat))
            order = place.order if place else ()
            first, second = (drawing_name(study.drawings[drawing]) for drawing in item.drawings)
            names = {"first": first, "second": second}
            shown = None if not order else "first" if order[0] == 0 else "second"
            choice = answer.value if answer.field == CHOICE else None
            rows.append(about | names | {"choice": choice, "shown_first": shown} | more)
            continue
        parts = _split_answer(study, item.n, answer.field, answer.value, answer.reason)
        for drawing, criterion, value, reason in parts:
            drawn = study.drawings[drawing]
            slot = {"painter": drawn.label, "strategy": drawn.strategy, "seed": drawn.seed}
            rows.append(about | slot | {"criterion": criterion, "value": value} | more | {"reason": reason})
    return rows


def _split_answer(
    study: OpenStudy, item: int, name: str, value: Any, reason: str | None
) -> Iterator[tuple[str, str, Any, str | None]]:
    """Yield drawing, criterion, value and reason of every row of one answer."""
    drawings = study.items[item].drawings
    if name.startswith(f"{RANK}/"):
        yield drawings[int(name.partition("/")[2]) - 1], RANK, value, reason
        return
    field = next((each for each in study.item_form(item) if each.name == name), None)
    if field is not None and field.kind == "listing":
        for mark in listed_marks(field, value["items"]):
            thing = mark.criterion.count("/") > 1
            # Only a closed list shows that nothing of a sort is there.
            if thing or value["done"]:
                yield drawings[0], mark.criterion, mark.value, mark.reason or None
        return
    yield drawings[0], name, value, reason


def drawing_name(drawing: Drawing) -> str:
    """Return a drawing's name among those of its question: its painter's row, with the seed unless it is 0."""
    return row_name(drawing.label, drawing.strategy) + (f" #{drawing.seed}" if drawing.seed else "")


def write_answers(rows: Sequence[Row], pairs: bool, form: str) -> str:
    """Return the rows as ``csv`` or ``jsonl``."""
    if form == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    extras = [name for name in PAIR_EXTRAS if any(row[name] is not None for row in rows)] if pairs else []
    columns = [*(PAIRS if pairs else COLUMNS), *extras]
    if any(row[REPEAT] for row in rows):
        columns.append(REPEAT)
    return write_csv(columns, rows)


def read_rows(file: Path) -> list[tuple[int, Row]]:
    """Read the rows of a CSV or a file of JSON lines, with their line numbers; empty cells are None.

    Raises:
        DataError: The file is neither, or a required column is missing.
    """
    text = read_lines(file)
    if text and text[0].lstrip().startswith("{"):
        problems = Problems()
        rows = [(line, {key: _plain(value) for key, value in row.items()}) for line, row in json_lines(file, problems)]
        problems.settle()
    else:
        reader = csv.DictReader(io.StringIO("\n".join(text)), restkey="", strict=True)
        try:
            rows = [(reader.line_num, {k.strip(): _plain(plain_cell(v)) for k, v in row.items()}) for row in reader]
        except csv.Error as error:
            raise DataError(f"not a CSV: {error}", file=file, line=reader.line_num) from error
    if not rows:
        raise DataError("the file has no rows", file=file)
    needed = PAIRS[:6] if "choice" in rows[0][1] else ("rater", "exam", "id", "painter", "criterion", "value")
    for line, row in rows:
        if missing := [name for name in needed if name not in row]:
            raise DataError(f"the column {missing[0]} is missing; it has: {', '.join(row)[:200]}", file=file, line=line)
        if "" in row:
            raise DataError("the row has more cells than columns", file=file, line=line)
    return rows


def _plain(value: Any) -> Any:
    return (value.strip() or None) if isinstance(value, str) else value


def read_thing(words: str) -> tuple[str, str]:
    """Parse a listed thing and its place from a mark's reason.

    >>> read_thing("a second sun (upper left)")
    ('a second sun', 'upper left')
    """
    match = THING_PATTERN.fullmatch(words.strip())
    return (match[1], match[2] or "not said") if match else (words.strip(), "not said")


def shown_order(row: Mapping[str, Any], turned: bool) -> tuple[int, ...]:
    """Return the order in which a pair was shown; `turned` means that the row names the drawings in reverse."""
    shown = row.get("shown_first")
    if shown not in ("first", "second"):
        return ()
    return (0, 1) if (shown == "first") != turned else (1, 0)
