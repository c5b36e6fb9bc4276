"""Marks as numbers need them: those that say the same are one object, however many markings have them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any

from pydantic_core import from_json, to_json

from ..core.asks import Reply
from ..core.exam import Question
from ..core.marks import Mark
from ..core.protocol import Protocol, Reading

SAID = ("criterion", "value", "source", "verdict")
"""What a mark says without its reason."""
MOST = 200_000
"""So many different marks are remembered."""

_stored, _read = itemgetter(*SAID), attrgetter(*SAID)


def read_replies(
    question: Question[Any],
    keys: Iterable[Sequence[str]],
    texts: Mapping[str, str],
    protocol: Protocol[Any],
    reading: Reading,
) -> list[Mark]:
    """The marks in a judge's replies: the names of its asks with the keys of their calls, and the texts by key."""
    replies = [Reply(ask, texts[key], key) for ask, key in keys if key in texts]
    return protocol.marks(question, replies, reading)


def brief_text(marks: Sequence[Mark]) -> str | None:
    """Marks without reasons, for `MarkReader.brief`; nothing where one could not be read: why not is in its reason."""
    if any(mark.verdict == "unread" for mark in marks):
        return None
    said = ((mark.criterion, mark.value, mark.source) for mark in marks)
    return to_json([one if one[2] else one[:2] for one in said]).decode()


class _Shared(dict[tuple[Any, ...], Mark]):
    """What a mark says -> the one mark that says it."""

    def __missing__(self, said: tuple[Any, ...]) -> Mark:
        criterion, value, source, verdict = said
        if len(self) >= MOST:
            self.clear()
        mark = self[said] = Mark(criterion, value, "", source, verdict)
        return mark


class MarkReader:
    """Reads marks of one exam; without reasons they are shared."""

    def __init__(self, reasons: bool = True) -> None:
        self.reasons, self._shared = reasons, _Shared()
        self._brief: dict[str, tuple[Mark, ...]] = {}

    def read(self, given: Sequence[Mapping[str, Any]] | Sequence[Mark], reasons: bool = False) -> tuple[Mark, ...]:
        """The marks behind their JSON, or behind marks; with `reasons` whatever the reader is for."""
        if self.reasons or reasons or not given:
            return tuple(mark if isinstance(mark, Mark) else Mark.from_json(mark) for mark in given)
        shared: Any = self._shared.__getitem__
        said: Any = _read if isinstance(given[0], Mark) else _stored
        try:
            return tuple(map(shared, map(said, given)))
        except KeyError:  # Marks from elsewhere may leave out what is usual.
            return tuple(shared(_read(Mark.from_json(mark))) for mark in given if not isinstance(mark, Mark))

    def brief(self, text: str) -> tuple[Mark, ...]:
        """The marks behind `brief_text`; of one text they are one object."""
        if (known := self._brief.get(text)) is None:
            if len(self._brief) >= MOST:
                self._brief.clear()
            known = self._brief[text] = tuple(self._said(*one) for one in from_json(text))
        return known

    def _said(self, criterion: str, value: int | None, source: str = "") -> Mark:
        return self._shared[criterion, value, source, "abstain" if value is None else "answer"]
