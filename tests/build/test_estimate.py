"""Estimates of builds: the upper bound holds in nearly all simulated runs, and is not far above the cost."""

from __future__ import annotations

import random
from statistics import fmean, variance

import pytest

from limner.build.estimate import FEW, ItemCost


def item_cost(chance: random.Random, kind: str) -> float:
    """The dollars of one item: a reply of varying length, and, now and then, one that is asked for again."""
    if kind == "even":
        return chance.uniform(0.008, 0.012)
    length = chance.lognormvariate(-5, 0.5)
    return length * (1 + sum(chance.random() < 0.1 for _ in range(2)))


@pytest.mark.parametrize("kind", ["even", "repeated"])
@pytest.mark.parametrize("measured", [FEW, 10, 40])
@pytest.mark.parametrize("left", [5, 60, 400])
def test_upper_bound_holds_in_95_of_100_simulated_runs(kind: str, measured: int, left: int) -> None:
    chance, held, ratios = random.Random(f"{kind} {measured} {left}"), 0, list[float]()
    runs = 400
    for _ in range(runs):
        seen = [item_cost(chance, kind) for _ in range(measured)]
        bound = ItemCost(1, 1, fmean(seen), variance(seen), measured).at_most(left)
        paid = sum(item_cost(chance, kind) for _ in range(left))
        assert bound is not None
        held += paid <= bound
        ratios.append(bound / paid)
    assert held >= 0.95 * runs - 2 * (runs * 0.05 * 0.95) ** 0.5
    assert fmean(ratios) < 3.0, "a bound far above the cost says nothing"
