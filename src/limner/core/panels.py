"""Panels of judges as settings describe them, and how their members' marks become one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field, model_validator

from .marks import Mark
from .schema import StrictModel

PREFIX = "panel/"
"""How panels are named among judges."""
SOURCE = "panel"
OF_STUDY, OF_CERTIFICATE = "study:", "certificate"
Rule = Literal["majority", "median", "weights"]


class PanelFacts(StrictModel):
    """``[panels.NAME]``.

    Attributes:
        members: Judges as ``--judge`` names them; ``openai/gpt-5?reasoning_effort=low`` has arguments of its own.
        rule: How their marks become one.
        weights: With the rule ``weights``: a number for each member; or where they come from, ``certificate`` or
            ``study:NAME``.
    """

    members: tuple[str, ...] = Field(min_length=2)
    rule: Rule = "majority"
    weights: tuple[float, ...] | str | None = None

    @model_validator(mode="after")
    def _fits(self) -> PanelFacts:
        if len(set(self.members)) < len(self.members):
            raise ValueError("a member is named twice")
        if any(member.startswith(PREFIX) for member in self.members):
            raise ValueError("a panel cannot be a member of a panel")
        if (self.rule == "weights") != (self.weights is not None):
            raise ValueError('weights go with rule = "weights", and with nothing else')
        if isinstance(self.weights, str) and self.weights != OF_CERTIFICATE and not self.weights.startswith(OF_STUDY):
            raise ValueError(f'weights are numbers, "{OF_CERTIFICATE}" or "{OF_STUDY}NAME", not {self.weights!r}')
        if isinstance(self.weights, tuple) and (
            len(self.weights) != len(self.members) or not all(weight > 0 for weight in self.weights)
        ):
            raise ValueError("give each member one weight above 0")
        return self


def combined(
    given: Mapping[str, Sequence[Mark]], rule: Rule, weights: Sequence[float], criteria: Sequence[str]
) -> list[Mark]:
    """One mark for each criterion from those of members, whose votes are told in its reason.

    Where members with less than half of the weight decide, or votes tie, the panel abstains. What members found beyond
    the criteria is kept where at least half did.

    Args:
        given: Member -> its marks.
        rule: ``median`` takes the middle mark (of two the lower), the others the mark with most votes.
        weights: How much each member's vote counts.
        criteria: What every marking decides.

    >>> yes, no = [Mark("point/1", 1)], [Mark("point/1", 0)]
    >>> (found,) = combined({"a": yes, "b": no, "c": yes}, "majority", [1, 1, 1], ["point/1"])
    >>> found.value, found.reason
    (1, 'a 1, b 0, c 1')
    """
    by = {member: {mark.criterion: mark for mark in marks} for member, marks in given.items()}
    beyond = dict.fromkeys(name for marks in by.values() for name in marks if name not in criteria)
    found = []
    for name in (*criteria, *beyond):
        votes = [
            (mark.value, weight)
            for marks, weight in zip(by.values(), weights, strict=True)
            if (mark := marks.get(name)) is not None and mark.value is not None
        ]
        told = ", ".join(f"{member} {_told(marks.get(name))}" for member, marks in by.items())
        decided = 2 * sum(weight for _, weight in votes) >= sum(weights) and votes
        value = (_median(votes) if rule == "median" else _most(votes)) if decided else None
        if value is not None:
            found.append(Mark(name, value, told, SOURCE))
        elif name not in beyond:
            found.append(Mark.abstain(name, told, SOURCE))
    return found


def divided(marks: Sequence[Mark]) -> tuple[int, int]:
    """Of a panel's marks: on how many two members who decided differ, and how many two or more decided.

    >>> divided(combined({"a": [Mark("x", 1)], "b": [Mark("x", 0)], "c": [Mark("x", 1)]}, "majority", [1, 1, 1], ["x"]))
    (1, 1)
    """
    votes = [
        [vote for part in mark.reason.split(", ") if (vote := part.rpartition(" ")[2]).isdigit()] for mark in marks
    ]
    counted = [each for each in votes if len(each) > 1]
    return sum(len(set(each)) > 1 for each in counted), len(counted)


def _told(mark: Mark | None) -> str:
    return "nothing" if mark is None else str(mark.value) if mark.value is not None else mark.verdict


def _most(votes: Sequence[tuple[int, float]]) -> int | None:
    """The value with most weight; None where two have it."""
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
