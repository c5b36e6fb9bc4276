"""Variance components against examples in print, and on data of known components."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from limner.scoring.stats.components import components

# Shrout and Fleiss (1979), Table 2: six targets by four judges.
RATINGS = ((9, 2, 5, 8), (6, 1, 3, 2), (8, 4, 6, 8), (7, 1, 2, 6), (10, 5, 6, 9), (6, 2, 4, 7))
# Davies (1947), yields of dyestuff: six batches of five; lme4's manual gives 1764 and 2451 by REML.
DYESTUFF = (
    (1545, 1440, 1440, 1520, 1580), (1540, 1555, 1490, 1560, 1495), (1595, 1550, 1605, 1510, 1560),
    (1445, 1440, 1595, 1465, 1545), (1595, 1630, 1515, 1635, 1625), (1520, 1455, 1450, 1480, 1445),
)  # fmt: skip


def test_targets_and_judges_of_shrout_and_fleiss() -> None:
    """Their Table 3: mean squares 11.24 between targets, 32.49 between judges, 1.02 residual."""
    rows = [(target, judge, value) for target, row in enumerate(RATINGS) for judge, value in enumerate(row)]
    found = components([row[2] for row in rows], {"target": [r[0] for r in rows], "judge": [r[1] for r in rows]})
    assert found.variances["target"] == pytest.approx((11.24 - 1.02) / 4, abs=0.005)
    assert found.variances["judge"] == pytest.approx((32.49 - 1.02) / 6, abs=0.005)
    assert found.variances["rest"] == pytest.approx(1.02, abs=0.005)


def test_batches_of_dyestuff() -> None:
    rows = [(batch, value) for batch, row in enumerate(DYESTUFF) for value in row]
    found = components([value for _, value in rows], {"batch": [batch for batch, _ in rows]})
    assert found.variances["batch"] == pytest.approx(1764, abs=1)
    assert found.variances["rest"] == pytest.approx(2451, abs=1)
    assert found.share("batch") == pytest.approx(1764 / (1764 + 2451), abs=0.001)


def test_without_balance_known_components_come_back() -> None:
    rng = np.random.default_rng(8)
    sums = np.zeros(4)
    for _ in range(60):
        painters, questions, both = rng.normal(0, 2, 8), rng.normal(0, 3, 30), rng.normal(0, 1.5, (8, 30))
        rows = [
            (p, q, painters[p] + questions[q] + both[p, q] + rng.normal(0, 1))
            for p in range(8)
            for q in range(30)
            for _ in range(rng.integers(0, 4))
        ]
        effects: dict[str, list[Any]] = {
            "p": [r[0] for r in rows],
            "q": [r[1] for r in rows],
            "pq": [(r[0], r[1]) for r in rows],
        }
        found = components([r[2] for r in rows], effects)
        sums += [found.variances[name] for name in ("p", "q", "pq", "rest")]
    assert sums / 60 == pytest.approx([4, 9, 2.25, 1], rel=0.2)


def test_what_cannot_be_told_apart_is_said() -> None:
    found = components([1.0, 2, 3, 4], {"one": "aaaa", "each": "abcd", "half": "aabb", "same": "xxyy"}, "repeat")
    assert found.unknown == {
        "one": "there is only one",
        "each": "each has one value: it cannot be told from repeat",
        "same": "it goes with half",
    }
    assert set(found.variances) == {"half", "repeat"}
