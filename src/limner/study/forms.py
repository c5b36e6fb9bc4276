"""Forms: the fields that a design asks about one item, and their valid answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from math import isfinite
from typing import Any

from ..core.errors import UsageError
from ..core.marks import Criterion
from .design import ChoicePart, CriteriaPart, ListingPart, RankPart, ScalePart, StudyDesign
from .places import CHECK_VALUES

SKIP, CHECK, CHOICE = "skip", "check", "choice"
FIRST, SECOND, TIE = "first", "second", "tie"
YES_NO = ((1, "yes"), (0, "no"))
MAX_LISTED = 100
"""The most things that can be listed about one drawing."""
MAX_TEXT = 500
"""The most characters of the description of a thing, its place, or the reason for a skip."""


@dataclass(frozen=True)
class AnswerField:
    """One field of a form.

    Attributes:
        name: As in the exchange formats: a criterion's id, a scale's name, ``rank/N``, ``choice``, a listing's name.
        kind: ``scale``, ``criterion``, ``listing``, ``choice``, ``rank`` or ``check``.
        text: The question to the rater.
        values: The valid answers with their labels; empty for a listing, and for a scale of any numbers.
        group: Fields of one group are shown together.
        sorts: The sorts of listed things.
        lead: A text above the first field of a part.
        ends: The labels of the lowest and the highest value.
        gate: The criterion whose no answers this one with no.
        opens: Whether the rest of the form appears once this is answered.
    """

    name: str
    kind: str
    text: str
    values: tuple[tuple[int | str, str], ...] = ()
    group: str = ""
    sorts: tuple[str, ...] = ()
    lead: str = ""
    ends: tuple[str, str] | None = None
    gate: str = ""
    opens: bool = False

    def checked(self, value: Any) -> Any:
        """Check a value, and return it as it is stored.

        Raises:
            ValueError: The value is not valid; lists the valid ones.
        """
        if self.kind == "listing":
            return _listing(value, self.sorts)
        if self.kind == "scale" and not self.values:
            return _number(self.name, value)
        valid = {answer for answer, _ in self.values}
        if isinstance(value, bool) or not isinstance(value, int | str) or value not in valid:
            raise ValueError(
                f"{self.name}: {value!r:.40} is not one of {', '.join(str(answer) for answer, _ in self.values)}"
            )
        return value

    def answered(self, value: Any) -> bool:
        """Return whether this value completes the field; a listing must be closed."""
        return value is not None and (self.kind != "listing" or bool(value["done"]))


def make_form(design: StudyDesign, criteria: Sequence[Criterion], drawings: int) -> list[AnswerField]:
    """Return the fields for one item, in the design's order.

    Raises:
        UsageError: The design asks for no criterion that the question has.
    """
    named = {pattern for part in design.form if isinstance(part, CriteriaPart) for pattern in part.criteria}
    fields: list[AnswerField] = []
    for part in design.form:
        if isinstance(part, ScalePart):
            values = tuple((n, str(n)) for n in range(part.low, part.high + 1)) if part.whole else ()
            fields.append(AnswerField(part.name, "scale", part.text, values, ends=part.ends, opens=part.first))
        elif isinstance(part, CriteriaPart):
            fields += _criteria(part, criteria, named)
        elif isinstance(part, ListingPart):
            fields.append(AnswerField(part.name, "listing", part.text, sorts=part.sorts))
        elif isinstance(part, ChoicePart):
            sides = ((FIRST, "first"), (SECOND, "second"), *(((TIE, "tie"),) if part.tie else ()))
            fields.append(AnswerField(CHOICE, "choice", part.text, sides))
        elif isinstance(part, RankPart):
            ranks = tuple((n, str(n)) for n in range(1, drawings + 1))
            fields += [AnswerField(f"rank/{n}", "rank", part.text, ranks, "rank") for n in range(1, drawings + 1)]
    if not fields:
        raise UsageError("the design's form asks nothing about this question; see its criteria with `limner exams`")
    return fields


def check_form(expected: int) -> list[AnswerField]:
    """Return the form of an attention check."""
    values = tuple((n, str(n)) for n in range(1, CHECK_VALUES + 1))
    text = f"This is a check that you read carefully. Please choose {expected}."
    return [AnswerField(CHECK, "check", text, values)]


def _criteria(part: CriteriaPart, criteria: Sequence[Criterion], named: set[str]) -> list[AnswerField]:
    fields: list[AnswerField] = []
    for pattern in part.criteria:
        for criterion in criteria:
            rest = pattern == "*" and any(field != "*" and fnmatchcase(criterion.id, field) for field in named)
            if rest or not fnmatchcase(criterion.id, pattern) or any(field.name == criterion.id for field in fields):
                continue
            numbers = range(criterion.low, criterion.top + 1)
            values = YES_NO if criterion.top == 1 else tuple((n, str(n)) for n in numbers)
            text, lead = part.texts.get(criterion.id, criterion.text), "" if fields else part.text
            parts = criterion.id.split("/")
            group = "/".join(parts[:2]) if len(parts) > 2 else parts[0]
            fields.append(AnswerField(criterion.id, "criterion", text, values, group, lead=lead))
    gates = {field.group: field.name for field in fields if any(fnmatchcase(field.name, gate) for gate in part.gates)}
    return [field if gates.get(field.group, field.name) == field.name else replace(field, gate=gates[field.group])
            for field in fields]  # fmt: skip


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{name}: {value!r:.40} is not a number")
    return float(value)


def _listing(value: Any, sorts: Sequence[str]) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not isinstance(value.get("items"), list):
        raise ValueError("a listing needs a list of things")
    if len(value["items"]) > MAX_LISTED:
        raise ValueError(f"{len(value['items'])} things; at most {MAX_LISTED} can be listed")
    things = []
    for thing in value["items"]:
        words: dict[str, Any] = {
            name: thing.get(name) if isinstance(thing, Mapping) else None for name in ("sort", "item", "place")
        }
        if words["sort"] not in sorts:
            raise ValueError(f"the sort of each thing is one of {', '.join(sorts)}")
        for name in ("item", "place"):
            if not isinstance(words[name], str) or not 0 < len(str(words[name]).strip()) <= MAX_TEXT:
                raise ValueError(f"each thing needs a description and a place, of at most {MAX_TEXT} characters each")
        things.append({"sort": words["sort"], "item": words["item"].strip(), "place": words["place"].strip()})
    return {"items": things, "done": bool(value.get("done"))}
