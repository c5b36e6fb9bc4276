"""Marks: the answer to one criterion about one drawing, the common currency of all exams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

Verdict = Literal["answer", "abstain", "unread"]


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing a judge decides.

    Attributes:
        id: Unique within its question, such as ``point/3`` or ``spelling``.
        text: What is asked, in words.
        kind: The protocol's own name for this sort of criterion.
        top: The best value; values run from 0 to ``top`` in whole steps.
        weight: Share in the question's score, where the protocol has one.
        labels: Words whose presence decides it, where the rubric names them; without them `text` is searched for some.
        also: Other words that may stand for the label, where there is one label.
        present_means: The value that the labels' presence proves, 1 (of `top`) or 0; their absence proves the other.
        exact: Whether the labels must stand as they are written: a slip or a further word then proves nothing.
    """

    id: str
    text: str
    kind: str
    top: int = 1
    weight: float | None = None
    labels: tuple[str, ...] = ()
    exact: bool = False
    also: tuple[str, ...] = ()
    present_means: int = 1


@dataclass(frozen=True, slots=True)
class Mark:
    """A judge's answer to one criterion.

    ``value`` is a small whole number when ``verdict`` is ``answer`` and None otherwise: an abstention or an
    unread reply is never a zero.
    """

    criterion: str
    value: int | None
    reason: str = ""
    source: str = ""
    verdict: Verdict = "answer"

    def __post_init__(self) -> None:
        if (self.value is None) == (self.verdict == "answer"):
            raise ValueError(f"mark {self.criterion}: a value goes with an answer and with nothing else")

    @classmethod
    def abstain(cls, criterion: str, reason: str, source: str = "") -> Mark:
        """The judge cannot decide this criterion."""
        return cls(criterion, None, reason, source, "abstain")

    @classmethod
    def unread(cls, criterion: str, reason: str, source: str = "") -> Mark:
        """The judge's reply on this criterion could not be read."""
        return cls(criterion, None, reason, source, "unread")

    def to_json(self) -> dict[str, Any]:
        """A plain mapping that `from_json` reads back."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Mark:
        """The mark behind a mapping made by `to_json`."""
        value, verdict = data["value"], data.get("verdict", "answer")
        if len(data) != FIELDS or (value is None) == (verdict == "answer"):
            return cls(**data)
        # Scores read marks by the million: to set the fields one by one takes half as long as to call the class.
        mark = object.__new__(cls)
        _set_criterion(mark, data["criterion"])
        _set_value(mark, value)
        _set_reason(mark, data["reason"])
        _set_source(mark, data["source"])
        _set_verdict(mark, verdict)
        return mark


FIELDS = len(fields(Mark))
_set_criterion, _set_value, _set_reason, _set_source, _set_verdict = (
    getattr(Mark, field.name).__set__ for field in fields(Mark)
)


def values(marks: Iterable[Mark]) -> dict[str, int]:
    """The answered marks as criterion id -> value; abstentions and unread items are left out."""
    return {m.criterion: m.value for m in marks if m.value is not None}


def fill(marks: Iterable[Mark], criteria: Iterable[Criterion], best: bool) -> list[Mark]:
    """All criteria answered: undecided ones get their best or worst value. The ends of what is possible."""
    known = values(marks)
    return [Mark(c.id, known.get(c.id, c.top if best else 0)) for c in criteria]
