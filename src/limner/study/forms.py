"""Forms: the fields that a design asks about one item, and what may be answered in each. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
LISTED = 100
"""So many things can be listed about one drawing."""
LONGEST = 500
"""So long is the description of a thing, its place, or the reason for a skip."""


@dataclass(frozen=True)
class AnswerField:
    """One thing to be answered.

    Attributes:
        name: As in the exchange formats: a criterion's id, a scale's name, ``rank/N``, ``choice``, a listing's name.
        kind: ``scale``, ``criterion``, ``listing``, ``choice``, ``rank`` or ``check``.
        text: What is asked.
        values: What may be answered, with the word for it; none for a listing, and where any number may be.
        group: Fields of one group stand together.
        sorts: What a listed thing can be.
        lead: What is said above it, where it is the first of its part.
        ends: The words for the lowest and the highest value.
    """

    name: str
    kind: str
    text: str
    values: tuple[tuple[int | str, str], ...] = ()
    group: str = ""
    sorts: tuple[str, ...] = ()
    lead: str = ""
    ends: tuple[str, str] | None = None

    def checked(self, value: Any) -> Any:
        """Return the value, in the form that is stored.

        Raises:
            ValueError: It is none of those that may be answered; says which are.
        """
        if self.kind == "listing":
            return _listing(value, self.sorts)
        if self.kind == "scale" and not self.values:
            return _number(self.name, value)
        known = {one for one, _ in self.values}
        if isinstance(value, bool) or not isinstance(value, int | str) or value not in known:
            raise ValueError(f"{self.name}: {value!r:.40} is none of {', '.join(str(one) for one, _ in self.values)}")
        return value

    def answered(self, value: Any) -> bool:
        """Whether this value settles it: a listing has to be closed."""
        return value is not None and (self.kind != "listing" or bool(value["done"]))


def make_form(design: StudyDesign, criteria: Sequence[Criterion], drawings: int) -> list[AnswerField]:
    """Return the fields about one item, in the design's order.

    Raises:
        UsageError: The design asks for a criterion that the question does not have anywhere.
    """
    named = {pattern for part in design.form if isinstance(part, CriteriaPart) for pattern in part.criteria}
    found: list[AnswerField] = []
    for part in design.form:
        if isinstance(part, ScalePart):
            values = tuple((n, str(n)) for n in range(part.low, part.high + 1)) if part.whole else ()
            found.append(AnswerField(part.name, "scale", part.text, values, ends=part.ends))
        elif isinstance(part, CriteriaPart):
            found += _criteria(part, criteria, named)
        elif isinstance(part, ListingPart):
            found.append(AnswerField(part.name, "listing", part.text, sorts=part.sorts))
        elif isinstance(part, ChoicePart):
            sides = ((FIRST, "first"), (SECOND, "second"), *(((TIE, "tie"),) if part.tie else ()))
            found.append(AnswerField(CHOICE, "choice", part.text, sides))
        elif isinstance(part, RankPart):
            ranks = tuple((n, str(n)) for n in range(1, drawings + 1))
            found += [AnswerField(f"rank/{n}", "rank", part.text, ranks, "rank") for n in range(1, drawings + 1)]
    if not found:
        raise UsageError("the design's form asks nothing about this question; see its criteria with `limner exams`")
    return found


def check_form(expected: int) -> list[AnswerField]:
    """Return the form of an attention check."""
    values = tuple((n, str(n)) for n in range(1, CHECK_VALUES + 1))
    text = f"This one checks that answers are given with care. Please choose {expected}."
    return [AnswerField(CHECK, "check", text, values)]


def _criteria(part: CriteriaPart, criteria: Sequence[Criterion], named: set[str]) -> list[AnswerField]:
    found: list[AnswerField] = []
    for pattern in part.criteria:
        for criterion in criteria:
            rest = pattern == "*" and any(one != "*" and fnmatchcase(criterion.id, one) for one in named)
            if rest or not fnmatchcase(criterion.id, pattern) or any(one.name == criterion.id for one in found):
                continue
            values = YES_NO if criterion.top == 1 else tuple((n, str(n)) for n in range(criterion.top + 1))
            text, lead = part.texts.get(criterion.id, criterion.text), "" if found else part.text
            parts = criterion.id.split("/")
            group = "/".join(parts[:2]) if len(parts) > 2 else parts[0]
            found.append(AnswerField(criterion.id, "criterion", text, values, group, lead=lead))
    return found


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{name}: {value!r:.40} is no number")
    return float(value)


def _listing(value: Any, sorts: Sequence[str]) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not isinstance(value.get("items"), list):
        raise ValueError("a list of things is wanted")
    if len(value["items"]) > LISTED:
        raise ValueError(f"{len(value['items'])} things; at most {LISTED} can be listed")
    found = []
    for thing in value["items"]:
        words: dict[str, Any] = {
            name: thing.get(name) if isinstance(thing, Mapping) else None for name in ("sort", "item", "place")
        }
        if words["sort"] not in sorts:
            raise ValueError(f"each thing is one of {', '.join(sorts)}")
        for name in ("item", "place"):
            if not isinstance(words[name], str) or not 0 < len(str(words[name]).strip()) <= LONGEST:
                raise ValueError(f"each thing needs what it is and where it is, in at most {LONGEST} letters")
        found.append({"sort": words["sort"], "item": words["item"].strip(), "place": words["place"].strip()})
    return {"items": found, "done": bool(value.get("done"))}
