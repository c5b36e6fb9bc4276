"""How far each judge agrees with the people of a study: the numbers of ``limner agree``, for the page of judges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..scoring import evaluators_of
from ..scoring.compare import judges as agreement
from ..scoring.compare.opinions import PEOPLE
from .inventory import Inventory
from .judge_data import JudgeTable
from .private import no_folders

MEASURES = ("accuracy", "kappa", "spearman")
"""What is shown: marks alike, marks alike beyond chance, and how alike drawings are ordered."""


def with_people(tables: Sequence[JudgeTable], inventory: Inventory) -> list[dict[str, Any]]:
    """For each judge and study the numbers there are, each of the first score that has it; nothing without a study."""
    store, terms = inventory.store, inventory.terms
    if not any(each.kind == "person" and each.setup.get("study") for each in evaluators_of(store, inventory.name)):
        return []
    numbers = {table.evaluator.name: table.number for table in tables}
    how: dict[str, Any] = {"reading": terms.reading, "constants": terms.constants or None, "without": terms.without}
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for one in agreement(inventory.name, store=store, units=("drawing",), **how).numbers:
        judge = numbers.get(one.first)
        if judge is None or not one.second.startswith(PEOPLE) or one.tag is not None or one.value is None:
            continue
        if one.measure in MEASURES:
            body = {"score": one.score, "value": one.value, "low": one.low, "high": one.high, "n": one.n}
            found.setdefault((judge, one.second), {}).setdefault(one.measure, body)
    return [{"way": judge, "people": no_folders(who), "measures": found[judge, who]} for judge, who in sorted(found)]
