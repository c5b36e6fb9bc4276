"""Intraclass correlation in all its forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.scoring.stats import FORMS, icc

WINES = [
    [1, 2, 0, 1], [1, 3, 3, 2], [3, 8, 1, 4], [6, 4, 3, 3], [6, 5, 5, 6], [7, 5, 6, 2], [8, 7, 7, 9], [9, 9, 9, 8],
]  # fmt: skip
"""The example in pingouin's documentation: eight wines, four judges."""
SHROUT = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
"""Shrout and Fleiss (1979), table 2: six targets, four judges."""


@pytest.mark.parametrize(
    ("table", "values"),
    [
        # What pingouin 0.7.0 computes.
        (WINES, [0.727521, 0.727689, 0.729487, 0.914384, 0.914450, 0.915159]),
        # As printed in the paper's table 4, two digits.
        (SHROUT, [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]),
    ],
)
def test_known_values(table: list[list[float | None]], values: list[float]) -> None:
    found = [icc(table)[form].value for form in FORMS]
    assert found == pytest.approx(values, abs=1e-6 if values[0] > 0.5 else 0.005)


def test_a_constant_shift_counts_for_agreement_and_not_for_consistency() -> None:
    scores = np.random.default_rng(6).normal(50, 10, 40)
    table = [[float(score), float(score) + 20] for score in scores]
    found = icc(table)
    assert found["ICC(3,1)"].value == pytest.approx(1.0)
    assert (found["ICC(2,1)"].value or 0) < 0.5


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ([], "fewer than two drawings"),
        ([[1.0, 2.0]], "fewer than two drawings"),
        ([[1.0], [2.0]], "fewer than two judges"),
        ([[3.0, 3.0], [3.0, 3.0]], "all scores are the same"),
        ([[1.0, 2.0], [1.0, 2.0]], "do not differ"),
    ],
)
def test_where_it_cannot_be_known(table: list[list[float | None]], why: str) -> None:
    found = icc(table)
    assert set(found) == set(FORMS)
    assert found["ICC(3,1)"].value is None
    assert why in (found["ICC(3,1)"].reason or "")
