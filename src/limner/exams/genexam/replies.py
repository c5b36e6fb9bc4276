"""Reads a judge's reply on a GenExam drawing: the release's JSON keys, strict of content."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping
from typing import Any

from ...core.asks import Unreadable, text_in
from ...core.json_text import TooComplex, check_depth, check_length, loads
from ...core.marks import Mark

RATINGS = {
    "spelling": ("Spelling",),
    "readability": ("Clarity and Readability", "Readability"),
    "logic": ("Logical Consistency",),
}
"""Our names of the ratings, and the names replies give them."""


def release_loads(text: str) -> object:
    """A reply as the release takes it: JSON or a Python literal, bare or in the last ``json`` fence."""
    body = text.split("```json")[-1].split("```")[0].strip()
    check_length(body)
    try:
        found: object = json.loads(body)
    except (ValueError, RecursionError):
        try:
            found = ast.literal_eval(body)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError) as error:
            raise Unreadable("neither JSON nor a Python literal") from error
    try:
        check_depth(found)
    except TooComplex as error:
        raise Unreadable(str(error)) from error
    return found


def read_marks(count: int, text: str, parse: Callable[[str], object], both_names: bool) -> list[Mark]:
    """The marks in a reply on `count` scoring points.

    Raises:
        Unreadable: The reply does not keep the contract; says how.
    """
    body = parse(text)
    if not isinstance(body, Mapping):
        raise Unreadable("the reply must be one JSON object")
    answers, ratings = body.get("answers"), body.get("global_evaluation")
    if not isinstance(answers, list | tuple):
        raise Unreadable('"answers" must be a list')
    if len(answers) != count:
        raise Unreadable(f'"answers" has {len(answers)} entries; there are {count} scoring points')
    if not isinstance(ratings, Mapping):
        raise Unreadable('"global_evaluation" must be an object with the three ratings')
    marks = [_mark(f"point/{n}", f"answer {n}", answer, "answer", 1) for n, answer in enumerate(answers, 1)]
    for name, called in RATINGS.items():
        spoken = next((word for word in (called if both_names else called[:1]) if word in ratings), None)
        if spoken is None:
            raise Unreadable(f'the rating "{called[0]}" is missing')
        marks.append(_mark(name, f'the rating "{spoken}"', ratings[spoken], "score", 2))
    return marks


def check(count: int, text: str, *, released: bool) -> list[Mark]:
    """The marks in a reply that keeps the contract; one to the release's own wording may keep to its reader's alone.

    Raises:
        Unreadable: The reply does not keep the contract; says how.
    """
    try:
        return read_marks(count, text, loads, both_names=True)
    except Unreadable:
        if not released:
            raise
        return read_marks(count, text, release_loads, both_names=False)


def _mark(criterion: str, place: str, entry: Any, key: str, top: int) -> Mark:
    if not isinstance(entry, dict) or key not in entry:
        raise Unreadable(f'{place} must be an object with "{key}"')
    value = entry[key]
    if isinstance(value, bool) and top == 1:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in range(top + 1):
        allowed = " or ".join(str(n) for n in range(top + 1))
        raise Unreadable(f"{place} must be {allowed}, not {value!r}"[:200])
    return Mark(criterion, int(value), text_in(entry, "reasoning"))
