"""What one drawing costs: drawing and marking apart, and what is not known is never nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from limner.core.exam import Question
from limner.scoring import Entry
from limner.scoring.costs import Costs, costs
from limner.store.markings import Marking
from limner.store.records import Drawing
from tests.scoring.test_comparable import QUESTIONS

QUESTION: Question[Any] = QUESTIONS[0]


def entry(id: str, spec: str = "lab/one", cost: float | None = 0.2, **how: Any) -> Entry:
    status, paid = how.get("status", "done"), how.get("paid", 0.01)
    drawing = Drawing(id, "x", QUESTION.id, QUESTION.hash, "one", spec, "direct", 0, status, cost=cost)
    return Entry(QUESTION, drawing, Marking(f"m{id}", id, QUESTION.hash, None, "s", 0, status, cost=paid))


def numbers(some: list[Entry]) -> list[float | None]:
    found = costs(some)
    return [found.drawing, found.marking]


def test_failed_tries_are_paid_for_and_repeats_are_one_drawing() -> None:
    some = [entry("a"), entry("b", cost=0.4, status="failed", paid=0.03)]
    assert numbers(some) == pytest.approx([0.6, 0.04])
    again = replace(some[0], marking=replace(some[0].marking, id="again", repeat=1))  # type: ignore[type-var]
    assert numbers([some[0], again]) == pytest.approx([0.2, 0.01])


@pytest.mark.parametrize("spec", ["folder/./images", "python/mine.py:draw"])
def test_what_came_about_elsewhere_was_paid_for_elsewhere(spec: str) -> None:
    assert costs([entry("a", spec, 0.0)]).drawing is None


def test_one_price_that_is_not_known_makes_the_mean_unknown() -> None:
    assert costs([entry("a"), entry("b", cost=None, paid=None)]) == Costs(None, None)
    assert costs([]) == Costs(None, None)
    assert costs([entry("a", "control/blank", 0.0, paid=0.0)]) == Costs(0.0, 0.0), "nothing was paid, and that is known"
