"""Markings read into marks and scores: drawings of a question that are marked alike are scored once. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any

from ..core.asks import Reply
from ..core.exam import Question
from ..core.marks import Mark
from ..core.protocol import Evidence, Protocol, Reading

SAID = ("criterion", "value", "source", "verdict")
"""What of a mark goes into numbers; the reason only where the exam says so."""
MOST = 200_000
"""So many different markings are remembered at a time."""

_stored, _stored_whole = itemgetter(*SAID), itemgetter(*SAID, "reason")
_read, _read_whole = attrgetter(*SAID), attrgetter(*SAID, "reason")


class Alike:
    """What is the same for all markings that say the same of a question, with the same evidence.

    Attributes:
        marks: Those of the first of them.
        scores: What the protocol makes of them.
        unread: Whether no mark could be read.
        memo: What others work out from these, so that it is worked out once.
    """

    __slots__ = ("marks", "memo", "scores", "unread")

    def __init__(self, marks: tuple[Mark, ...], scores: Mapping[str, float | None], unread: bool) -> None:
        self.marks, self.scores, self.unread = marks, scores, unread
        self.memo: dict[str, Any] = {}


class MarkReader:
    """Reads the markings of one exam.

    Args:
        protocol: The exam's.
        reading: How replies are read.
        brief: Marks need no reasons, unless the exam's numbers are made of them.
    """

    def __init__(self, protocol: Protocol[Any], reading: Reading, brief: bool = False) -> None:
        self.protocol, self.reading, self.brief = protocol, reading, brief
        self._known: dict[tuple[Any, ...], Alike] = {}

    def replied(self, question: Question[Any], replies: Sequence[Reply]) -> list[Mark]:
        """The marks behind a judge's replies."""
        return self.protocol.marks(question, replies, self.reading)

    def read(
        self,
        question: Question[Any],
        given: Sequence[Mapping[str, Any]] | Sequence[Mark],
        evidence: Evidence,
        about: tuple[Any, ...],
        whole: bool = False,
    ) -> tuple[tuple[Mark, ...], Alike]:
        """A marking's marks, and what it shares with all that are like it.

        Args:
            question: What was drawn.
            given: The marks, or their JSON as the store has it.
            evidence: What was measured on the drawing.
            about: What tells drawings apart where numbers are concerned: the question's hash, and evidence and size.
            whole: The reasons of these marks count, whatever the exam says.
        """
        whole = whole or self.protocol.reasons
        key = (about, whole, _said(given, whole))
        alike = self._known.get(key)
        if alike is not None and self.brief and not alike.unread:
            return alike.marks, alike
        own = tuple(_mark(mark) for mark in given)
        if alike is None:
            unread = bool(own) and all(mark.verdict == "unread" for mark in own)
            scores = {} if unread else self.protocol.scores(question, own, evidence)
            kept = own if whole else tuple(Mark(m.criterion, m.value, "", m.source, m.verdict) for m in own)
            if len(self._known) >= MOST:
                self._known.clear()
            alike = self._known[key] = Alike(kept, scores, unread)
        # Why nothing could be read is told of each marking by itself.
        return (alike.marks if self.brief and not alike.unread else own), alike


def _said(given: Sequence[Any], whole: bool) -> tuple[Any, ...]:
    """What marks say, as a key."""
    try:
        return tuple(map(_stored_whole if whole else _stored, given))
    except (KeyError, TypeError):  # They are marks already, or JSON that leaves out what is usual.
        return tuple(map(_read_whole if whole else _read, map(_mark, given)))


def _mark(given: Mapping[str, Any] | Mark) -> Mark:
    return given if isinstance(given, Mark) else Mark.from_json(given)
