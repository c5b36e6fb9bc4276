"""Small helpers to read a model's object strictly: what is missing or wrong is told to the model."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..core.asks import Unreadable


def a_text(found: Mapping[str, Any], name: str) -> str:
    """Return the text under a name.

    Raises:
        Unreadable: There is none.
    """
    value = found.get(name)
    if not (isinstance(value, str) and value.strip()):
        raise Unreadable(f'"{name}" must be a text')
    return " ".join(value.split())


def a_word(found: Mapping[str, Any], name: str, among: Collection[str]) -> str:
    """Return the text under a name, which is one of these.

    Raises:
        Unreadable: It is not.
    """
    value = a_text(found, name)
    for word in among:
        if word.casefold() == value.casefold():
            return word
    raise Unreadable(f'"{name}" is {value[:80]!r}; it must be one of: {", ".join(list(among)[:20])}')


def a_whole(found: Mapping[str, Any], name: str, low: int, high: int) -> int:
    """Return the whole number under a name.

    Raises:
        Unreadable: It is none, or out of range.
    """
    value = found.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise Unreadable(f'"{name}" must be a whole number')
    if not low <= value <= high:
        raise Unreadable(f'"{name}" is {int(value)}; it must be from {low} to {high}')
    return int(value)


def an_object(found: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the object under a name.

    Raises:
        Unreadable: There is none.
    """
    value = found.get(name)
    if not isinstance(value, Mapping):
        raise Unreadable(f'"{name}" must be an object')
    return value


def texts(found: Mapping[str, Any], name: str, least: int = 1, most: int = 1000) -> list[str]:
    """Return the list of texts under a name, each once.

    Raises:
        Unreadable: It is none, or too short or too long.
    """
    value = found.get(name)
    if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
        raise Unreadable(f'"{name}" must be a list of texts')
    kept = list(dict.fromkeys(" ".join(one.split()) for one in value))
    if not least <= len(kept) <= most:
        raise Unreadable(f'"{name}" has {len(kept)} entries; it must have {least} to {most}')
    return kept
