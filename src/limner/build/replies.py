"""Strict readers of a model's JSON object; their errors are sent back to the model."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..core.asks import Unreadable


def read_text_field(reply: Mapping[str, Any], name: str) -> str:
    """Return the text under a name.

    Raises:
        Unreadable: There is none.
    """
    value = reply.get(name)
    if not (isinstance(value, str) and value.strip()):
        raise Unreadable(f'"{name}" must be a text')
    return " ".join(value.split())


def read_choice(reply: Mapping[str, Any], name: str, among: Collection[str]) -> str:
    """Return the text under a name, which must be one of these words.

    Raises:
        Unreadable: It is not.
    """
    value = read_text_field(reply, name)
    for word in among:
        if word.casefold() == value.casefold():
            return word
    raise Unreadable(f'"{name}" is {value[:80]!r}; it must be one of: {", ".join(list(among)[:20])}')


def read_whole_number(reply: Mapping[str, Any], name: str, low: int, high: int) -> int:
    """Return the whole number under a name.

    Raises:
        Unreadable: It is not a whole number, or out of range.
    """
    value = reply.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise Unreadable(f'"{name}" must be a whole number')
    if not low <= value <= high:
        raise Unreadable(f'"{name}" is {int(value)}; it must be from {low} to {high}')
    return int(value)


def read_object(reply: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the object under a name.

    Raises:
        Unreadable: There is none.
    """
    value = reply.get(name)
    if not isinstance(value, Mapping):
        raise Unreadable(f'"{name}" must be an object')
    return value


def read_texts(reply: Mapping[str, Any], name: str, least: int = 1, most: int = 1000) -> list[str]:
    """Return the list of texts under a name, each once.

    Raises:
        Unreadable: It is not a list of texts, or too short or too long.
    """
    value = reply.get(name)
    if not isinstance(value, list) or not all(isinstance(text, str) and text.strip() for text in value):
        raise Unreadable(f'"{name}" must be a list of texts')
    kept = list(dict.fromkeys(" ".join(text.split()) for text in value))
    if not least <= len(kept) <= most:
        raise Unreadable(f'"{name}" has {len(kept)} entries; it must have {least} to {most}')
    return kept
