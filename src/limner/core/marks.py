"""Marks, each the answer to one criterion about one drawing; and panels, which combine marks of several judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from pydantic import Field, model_validator

from .schema import StrictModel

Verdict = Literal["answer", "abstain", "unread"]


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing for a judge to decide about a drawing.

    Attributes:
        id: An id, unique within the question, such as ``point/3`` or ``spelling``.
        text: The question for the judge.
        kind: The protocol's name for this kind of criterion.
        top: The best value; values are whole numbers from ``low`` to ``top``.
        weight: Its share in the question's score, if the protocol uses weights.
        labels: Words whose presence decides it, if the rubric names them; otherwise they are looked for in `text`.
        also: Alternatives to the label, if there is exactly one.
        low: The worst value.
        present_means: The value that the labels' presence proves, 1 (of `top`) or 0; their absence proves the other.
        exact: Whether the labels must appear exactly as written: a misspelling or an extra word then proves nothing.
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
    low: int = 0

    def share(self, value: float) -> float:
        """Return how far a value is from the worst to the best, from 0 to 1."""
        return (value - self.low) / (self.top - self.low)


@dataclass(frozen=True, slots=True)
class Mark:
    """A judge's answer to one criterion.

    ``value`` is a small whole number if ``verdict`` is ``answer``, otherwise None: an abstention or an unread reply is
    never a zero. In a release's own reading it may be any number that the release scores.
    """

    criterion: str
    value: int | None
    reason: str = ""
    source: str = ""
    verdict: Verdict = "answer"

    def __post_init__(self) -> None:
        if (self.value is None) == (self.verdict == "answer"):
            raise ValueError(f"mark {self.criterion}: only an answer has a value")

    @classmethod
    def abstain(cls, criterion: str, reason: str, source: str = "") -> Mark:
        """Return the mark of a judge that cannot decide a criterion."""
        return cls(criterion, None, reason, source, "abstain")

    @classmethod
    def unread(cls, criterion: str, reason: str, source: str = "") -> Mark:
        """Return the mark for a criterion on which the reply could not be read."""
        return cls(criterion, None, reason, source, "unread")

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON that `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Mark:
        """Return the mark from the result of `to_json`."""
        value, verdict = data["value"], data.get("verdict", "answer")
        if len(data) != FIELD_COUNT or (value is None) == (verdict == "answer"):
            return PanelMark(**data) if "votes" in data else cls(**data)
        # Millions of marks are read for scores; setting fields one by one takes half as long as calling the class.
        mark = object.__new__(cls)
        _set_criterion(mark, data["criterion"])
        _set_value(mark, value)
        _set_reason(mark, data["reason"])
        _set_source(mark, data["source"])
        _set_verdict(mark, verdict)
        return mark


@dataclass(frozen=True, slots=True)
class PanelMark(Mark):
    """A panel's answer to one criterion.

    Attributes:
        votes: Member -> its value, or ``abstain``, ``unread`` or ``nothing`` if it has none.
    """

    votes: Mapping[str, int | str] = field(default_factory=dict, hash=False)


FIELD_COUNT = len(fields(Mark))
_set_criterion, _set_value, _set_reason, _set_source, _set_verdict = (
    getattr(Mark, field.name).__set__ for field in fields(Mark)
)


def values(marks: Iterable[Mark]) -> dict[str, int]:
    """Return criterion id -> value for all answered marks; abstentions and unread marks are omitted."""
    return {m.criterion: m.value for m in marks if m.value is not None}


def fill(marks: Iterable[Mark], criteria: Iterable[Criterion], best: bool) -> list[Mark]:
    """Return a mark for each criterion, with the best or worst value for undecided ones, to compute bounds."""
    answers = values(marks)
    return [Mark(c.id, answers.get(c.id, c.top if best else c.low)) for c in criteria]


PANEL_PREFIX = "panel/"
"""The prefix of panels' names among judges."""
PANEL_SOURCE = "panel"
OF_STUDY, OF_CERTIFICATE = "study:", "certificate"
Rule = Literal["majority", "median", "weights"]


class PanelFacts(StrictModel):
    """A panel of judges, from ``[panels.NAME]`` in the settings.

    Attributes:
        members: Judges as given to ``--judge``, optionally with arguments: ``openai/gpt-5?reasoning_effort=low``.
        rule: The rule for combining their marks.
        weights: For the rule ``weights``, a number for each member, or the source of the weights: ``certificate`` or
            ``study:NAME``.
    """

    members: tuple[str, ...] = Field(min_length=2)
    rule: Rule = "majority"
    weights: tuple[float, ...] | str | None = None

    @model_validator(mode="after")
    def _fits(self) -> PanelFacts:
        if len(set(self.members)) < len(self.members):
            raise ValueError("a member is named twice")
        if any(member.startswith(PANEL_PREFIX) for member in self.members):
            raise ValueError("a panel cannot be a member of a panel")
        if (self.rule == "weights") != (self.weights is not None):
            raise ValueError('weights are used with rule = "weights" only, and required there')
        if isinstance(self.weights, str) and self.weights != OF_CERTIFICATE and not self.weights.startswith(OF_STUDY):
            raise ValueError(f'weights are numbers, "{OF_CERTIFICATE}" or "{OF_STUDY}NAME", not {self.weights!r}')
        if isinstance(self.weights, tuple) and (
            len(self.weights) != len(self.members) or not all(weight > 0 for weight in self.weights)
        ):
            raise ValueError("give each member one weight above 0")
        return self


def combine_marks(
    given: Mapping[str, Sequence[Mark]], rule: Rule, weights: Sequence[float], criteria: Sequence[str]
) -> list[PanelMark]:
    """Combine the marks of members into one mark for each criterion.

    The panel abstains if the members that decide have less than half of the weight, or if votes tie. Marks for other
    criteria are kept if members with at least half of the weight gave them.

    Args:
        given: Member -> its marks.
        rule: ``median`` takes the middle value (the lower of two), the other rules the value with the most votes.
        weights: The weight of each member's vote.
        criteria: The criteria that every marking decides.

    >>> yes, no = [Mark("point/1", 1)], [Mark("point/1", 0)]
    >>> (mark,) = combine_marks({"a": yes, "b": no, "c": yes}, "majority", [1, 1, 1], ["point/1"])
    >>> mark.value, mark.votes, mark.reason
    (1, {'a': 1, 'b': 0, 'c': 1}, 'a 1, b 0, c 1')
    """
    by = {member: {mark.criterion: mark for mark in marks} for member, marks in given.items()}
    beyond = dict.fromkeys(name for marks in by.values() for name in marks if name not in criteria)
    panel_marks = []
    for name in (*criteria, *beyond):
        votes = [
            (mark.value, weight)
            for marks, weight in zip(by.values(), weights, strict=True)
            if (mark := marks.get(name)) is not None and mark.value is not None
        ]
        verdicts = {member: _vote(marks.get(name)) for member, marks in by.items()}
        reason = ", ".join(f"{member} {vote}" for member, vote in verdicts.items())
        decided = 2 * sum(weight for _, weight in votes) >= sum(weights) and votes
        value = (_median(votes) if rule == "median" else _plurality(votes)) if decided else None
        if value is not None:
            panel_marks.append(PanelMark(name, value, reason, PANEL_SOURCE, votes=verdicts))
        elif name not in beyond:
            panel_marks.append(PanelMark(name, None, reason, PANEL_SOURCE, "abstain", verdicts))
    return panel_marks


def count_divided(marks: Sequence[Mark]) -> tuple[int, int]:
    """Return the number of a panel's marks on which members disagree, and of those that two or more decided.

    >>> members = {"a": [Mark("x", 1)], "b": [Mark("x", 0)], "c": [Mark("x", 1)]}
    >>> count_divided(combine_marks(members, "majority", [1, 1, 1], ["x"]))
    (1, 1)
    """
    votes = [mark.votes.values() for mark in marks if isinstance(mark, PanelMark)]
    values = [[vote for vote in each if isinstance(vote, int)] for each in votes]
    counted = [each for each in values if len(each) > 1]
    return sum(len(set(each)) > 1 for each in counted), len(counted)


def _vote(mark: Mark | None) -> int | str:
    return "nothing" if mark is None else mark.verdict if mark.value is None else mark.value


def _plurality(votes: Sequence[tuple[int, float]]) -> int | None:
    """Return the value with the most weight; None for a tie."""
    sums: dict[int, float] = {}
    for value, weight in votes:
        sums[value] = sums.get(value, 0.0) + weight
    first, *others = sorted(sums, key=lambda value: -sums[value])
    return None if others and sums[others[0]] > sums[first] - 1e-9 else first


def _median(votes: Sequence[tuple[int, float]]) -> int:
    half, passed = sum(weight for _, weight in votes) / 2, 0.0
    for value, weight in sorted(votes):
        passed += weight
        if passed >= half - 1e-9:
            return value
    raise AssertionError("some vote is in the middle")
