"""Markings under an older wording, or by older OCR rules: how many, and what they cost in the wording asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core.exam import Question
from ..core.settings import Settings
from ..exams import Kind, kind
from ..exams.wordings import versions, wording_name
from ..judges import RULES
from ..store import Store
from ..store.markings import load_markings
from ..store.records import load_setups
from .backlog import Backlog
from .estimate import marking_cost
from .plan import Plan, setup_id

WORDED = ("templates", "rules")
"""What of a way of asking is its wording."""


@dataclass(frozen=True)
class OlderWording:
    """What a judge marked under an older wording and not yet under the one that is asked for.

    Attributes:
        wording: The older wording, by its name.
        asked: The wording asked for.
        markings: How many of the plan's markings there are under the older one alone.
        dollars: What they cost under the one asked for; None where a price is not known.
    """

    judge: str
    wording: str
    asked: str
    markings: int
    dollars: float | None

    def __str__(self) -> str:
        """One line, with the option that goes on with the older one."""
        if self.dollars is None:
            price = "an unknown sum (add the price to limner.toml)"
        else:
            price = f"about ${self.dollars:.{2 if self.dollars >= 1 else 4}f}" if self.dollars else "nothing"
        return (
            f"{self.judge}: markings in the store under wording {self.wording}: {self.markings}; to make them again "
            f"under wording {self.asked} costs {price}; --wording {self.wording} goes on with the older one"
        )


def older_wordings(plan: Plan, store: Store, settings: Settings) -> list[OlderWording]:
    """Every older wording under which a judge of the plan has marked drawings of the plan, asked alike otherwise."""
    found = []
    stored, exam = load_setups(store) if plan.judges else {}, kind(plan.exam.kind)
    for judge in plan.judges:
        before = _age(exam, judge.setup)
        for id, setup in stored.items():
            age = _age(exam, setup)
            if before is None or age is None or age >= before or _asking(setup) != _asking(judge.setup):
                continue
            if questions := _questions(plan, store, id, setup_id(judge.setup)):
                dollars = marking_cost(judge, questions, store, settings).dollars
                names = [str(wording_name(exam, one)) for one in (setup, judge.setup)]
                found.append(OlderWording(judge.name, names[0], names[1], len(questions), dollars))
    return sorted(found, key=lambda one: (one.judge, one.wording))


def _questions(plan: Plan, store: Store, older: str, asked: str) -> list[Question[Any]]:
    """The question of every marking of the plan that there is under the older setup alone."""
    old, new = (
        {(one.drawing, one.repeat) for one in load_markings(store, plan.exam.name, [setup]) if one.status == "done"}
        for setup in (older, asked)
    )
    return [
        slot.question
        for slot in Backlog(plan, store).slots()
        for repeat in range(plan.repeats)
        if slot.stored is not None and (slot.stored.id, repeat) in old - new
    ]


def _age(exam: Kind[Any], setup: Mapping[str, Any]) -> int | None:
    """The place of a shipped wording among those of its sort; None for a user's own."""
    if "rules" in setup:
        return list(RULES).index(setup["rules"]) if setup["rules"] in RULES else None
    return max(versions(exam, setup), default=None)


def _asking(setup: Mapping[str, Any]) -> dict[str, Any]:
    """All of a way of asking but its wording, and whether it has one."""
    return {**{key: value for key, value in setup.items() if key not in WORDED}, "rules": "rules" in setup}
