"""What becomes of rows that two stores have under the same key: one rule for each table, in one place."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Row = Mapping[str, Any]
Verdict = Literal["same", "settled", "contradiction"]


def _never(_row: Row) -> bool:
    return False


@dataclass(frozen=True)
class Rule:
    """How two rows with the same primary key become one.

    Attributes:
        same: Columns that must agree; where they do not, the rows contradict each other.
        by: The column with the time by which one of the two stands.
        later: The later of two that agree stands, not the earlier: its state has moved on.
        final: Statuses with a result: such a row takes the place of one without; of two without, the later stands.
        revised: Rows that somebody may have changed on purpose: of two that differ the later stands.
        united: Columns with lists that are put together.
        sums: Columns that the target keeps itself, nought in a row that is new there.
        travels: Whether the rows are brought along at all.
        journal: Whether they are brought along with their call, by `journal`.
        fix: What to do about a contradiction.
    """

    same: tuple[str, ...] = ()
    by: str = "created"
    later: bool = False
    final: tuple[str, ...] = ()
    revised: Callable[[Row], bool] = field(default=_never, repr=False)
    united: tuple[str, ...] = ()
    sums: tuple[str, ...] = ()
    travels: bool = True
    journal: bool = False
    fix: str = "leave out the store whose row is wrong"


OWN = Rule(travels=False)
"""Rows that mean something in their own store alone."""
JOURNAL = Rule(journal=True)
DONE = ("done",)
RENAME = "export it from one of the stores and bring it in under another name"

RULES: dict[str, Rule] = {
    "meta": OWN,
    "batches": OWN,
    "read_marks": OWN,
    "exams": Rule(same=("kind",), fix="run one of the two exams under another name"),
    "questions": Rule(same=("id", "body", "reference"), united=("subsets",)),
    "drawings": Rule(
        same=("image",),
        final=DONE,
        fix="the slot was drawn twice: name the painter otherwise in one store and draw there",
    ),
    "setups": Rule(same=("judge", "body", "kind")),
    "markings": Rule(same=("replies", "marks"), final=DONE, revised=lambda row: row["origin"] == "study"),
    "evidence": Rule(same=("value",), fix="measure it anew in one of the stores"),
    "calls": JOURNAL,
    "attempts": JOURNAL,
    "reservations": JOURNAL,
    "purses": Rule(
        same=("budget",), sums=("spent", "reserved"), fix="make the limits alike: --budget DOLLARS --change-purse"
    ),
    "studies": Rule(same=("exam", "body"), by="updated", later=True, fix=RENAME),
    "study_items": Rule(same=("kind", "question_id", "drawings", "stratum", "probability"), by="n", fix=RENAME),
    "study_raters": Rule(same=("token", "setup"), by="updated", later=True, fix=RENAME),
    "study_answers": Rule(same=("value", "reason"), by="at", revised=lambda _: True),
    "ratings": Rule(same=("value", "reason"), revised=lambda row: row["study"] is not None),
    "comparisons": Rule(same=("choice", "reason", "first"), revised=lambda row: row["study"] is not None),
    "metrics": Rule(same=("value", "n", "body"), fix="take the metric again once the stores are one"),
    "certificates": Rule(same=("body",), fix="examine the judge again once the stores are one"),
    "builds": Rule(same=("recipe", "body"), by="updated", later=True, fix="give one of the builds another name"),
    "build_items": Rule(
        same=("given", "status", "reason", "body"), final=("done", "dropped"), fix="give one of the builds another name"
    ),
    "build_reviews": Rule(same=("build", "item", "reviewer", "action", "base", "body", "comment")),
}
"""Table -> its rule. Whoever adds a table to the schema adds a line here; a test counts them."""


@dataclass(frozen=True)
class Contradiction:
    """Two rows that cannot both be right.

    Attributes:
        id: The rows' primary key.
        source: The store whose row differs from the one that is there.
        columns: What differs.
        fix: What to do about it.
    """

    table: str
    id: str
    source: str
    columns: tuple[str, ...]
    fix: str

    def __str__(self) -> str:
        return f"{self.source}: {self.table} {self.id}: another {' and '.join(self.columns)}; {self.fix}"


def stands(rule: Rule, mine: Row, theirs: Row) -> tuple[Row, Verdict]:
    """The row that stands of two with one key, whichever store is looked at first.

    In a contradiction it is the earlier.
    """
    if mine == theirs:
        return mine, "same"
    first, last = sorted((mine, theirs), key=lambda row: (row[rule.by], json.dumps(dict(row), sort_keys=True)))
    if rule.final:
        ended = [row for row in (first, last) if row["status"] in rule.final]
        if len(ended) < 2:
            return (ended or [last])[0], "settled"
    verdict: Verdict = "same"
    found = last if rule.later else first
    if any(mine[name] != theirs[name] for name in rule.same):
        revised = rule.revised(first) and rule.revised(last) and first[rule.by] != last[rule.by]
        found, verdict = (last, "settled") if revised else (first, "contradiction")
    elif rule.later:
        verdict = "settled"
    joined = {name: sorted({*mine[name], *theirs[name]}) for name in rule.united}
    return {**found, **joined}, verdict


def differing(rule: Rule, mine: Row, theirs: Row) -> tuple[str, ...]:
    """The columns in which two rows contradict each other."""
    return tuple(name for name in rule.same if mine[name] != theirs[name])
