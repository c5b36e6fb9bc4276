"""Replies in the form that a release asks for in its own wording, and in which its result files have them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...core.asks import Unreadable
from ...core.json_text import ReplyReader, check_length, loads
from ...core.marks import Mark
from .criteria import RubricCriterion
from .definition import ReleasedForm

_WORD = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\**\s*(\d+)\s*\**")


def read_released_reply(form: ReleasedForm, criteria: Sequence[RubricCriterion], text: str) -> list[Mark]:
    """Return the marks in a reply of the release's form.

    Raises:
        Unreadable: The reply does not have the form; the message says how.
    """
    check_length(text)
    if form.key:
        body = loads(text)
        values = [body.get(form.key.replace("*", each.family.name)) for each in criteria]
    elif form.entries:
        values = _entries(form.entries, text, len(criteria))
    elif len(criteria) != 1:
        raise Unreadable(f"a single answer cannot decide {len(criteria)} criteria")
    else:
        values = [_yes_or_no(text) if form.word else _labelled(form.label, text)]
    return [_mark(each, value) for each, value in zip(criteria, values, strict=True)]


def _entries(key: str, text: str, count: int) -> list[Any]:
    start = text.find("[")
    entries = ReplyReader(text).read(start) if start >= 0 else None
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise Unreadable(f'expected a list of objects with "{key}"')
    if len(entries) != count:
        raise Unreadable(f"the list has {len(entries)} entries; there are {count} criteria")
    return [entry.get(key) for entry in entries]


def _yes_or_no(text: str) -> int:
    words = {word.casefold() for word in _WORD.findall(text)}
    if not words:
        raise Unreadable("neither yes nor no is said")
    return int("yes" in words)


def _labelled(label: str, text: str) -> int:
    labelled = re.search(rf"{re.escape(label)}s?[\s*:\uff1a]*(\d+)", text, re.IGNORECASE)
    match = labelled or _NUMBER.fullmatch(text.strip())
    if match is None:
        raise Unreadable(f"no number follows {label!r}")
    return int(match[1])


def _mark(each: RubricCriterion, value: Any) -> Mark:
    criterion = each.criterion
    if isinstance(value, str):
        value = _yes_or_no(value) if _WORD.search(value) else _labelled(criterion.id, value)
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value == int(value)
    if not whole or not criterion.low <= value <= criterion.top:
        wanted = f"a whole number from {criterion.low} to {criterion.top}"
        raise Unreadable(f"{criterion.id}: {str(value)[:80]!r} is not {wanted}")
    return Mark(criterion.id, int(value))
