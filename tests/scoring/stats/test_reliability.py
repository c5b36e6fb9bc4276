"""Agreement of several evaluators beyond chance, against figures in print and other programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from limner.scoring.stats import RatedUnit, chance_corrected, icc, icc_intervals, krippendorff_alpha, mark_agreement
from limner.scoring.stats.agreement import ALIKE, NONE
from limner.scoring.stats.reliability import LEVELS
from tests.needs import oracle

NA = None
FOUR_RATERS: tuple[tuple[int | None, ...], ...] = (
    (1, 1, NA, 1), (2, 2, 3, 2), (3, 3, 3, 3), (3, 3, 3, 3), (2, 2, 2, 2), (1, 2, 3, 4),
    (4, 4, 4, 4), (1, 1, 2, 1), (2, 2, 2, 2), (NA, 5, 5, 5), (NA, NA, 1, 1), (NA, NA, 3, NA),
)  # fmt: skip
"""Gwet, Handbook of Inter-Rater Reliability (4th ed., 2014), the table of four raters and twelve subjects."""
SHROUT = ((9, 2, 5, 8), (6, 1, 3, 2), (8, 4, 6, 8), (7, 1, 2, 6), (10, 5, 6, 9), (6, 2, 4, 7))
"""Shrout and Fleiss (1979), Table 2."""


def _units(table: tuple[tuple[int | None, ...], ...]) -> list[RatedUnit]:
    return [
        RatedUnit(str(place), tuple(None if value is None else float(value) for value in row))
        for place, row in enumerate(table)
    ]


def test_gwets_four_raters() -> None:
    """AC1 .775 and alpha .743 stand in Gwet's book; all four are irrCAC 0.4.4's, from its `raw_4raters`."""
    found = chance_corrected(_units(FOUR_RATERS))
    assert found["ac1"].value == pytest.approx(0.77544407)
    assert found["ac2"].value == pytest.approx(0.91400072)
    assert found["alpha_nominal"].value == pytest.approx(0.74342105)
    assert found["alpha_interval"].value == pytest.approx(0.84910714)


TABLES = st.lists(
    st.lists(st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0])), min_size=3, max_size=3), min_size=4, max_size=12
)


@given(TABLES)
def test_alpha_is_the_packages(table: list[list[float | None]]) -> None:
    package = oracle("krippendorff", "krippendorff")
    data = np.array([[np.nan if value is None else value for value in row] for row in table])
    paired = data[(~np.isnan(data)).sum(axis=1) > 1]
    found = chance_corrected([RatedUnit(str(n), tuple(row)) for n, row in enumerate(table)])
    if len(np.unique(paired[~np.isnan(paired)])) < 2:
        assert "alpha_nominal" not in found
        assert krippendorff_alpha(table).reason == (ALIKE if len(paired) else NONE)
        return
    for level in LEVELS:
        theirs = package.alpha(data.T, level_of_measurement=level)
        assert found[f"alpha_{level}"].value == pytest.approx(theirs)
        assert krippendorff_alpha(table, level).value == pytest.approx(theirs)
        assert krippendorff_alpha(table, level).n == len(paired)


@given(TABLES, st.lists(st.integers(1, 3), min_size=12, max_size=12))
def test_a_weight_counts_as_so_many_copies(table: list[list[float | None]], weights: list[int]) -> None:
    """For AC1 and AC2; alpha and ICC know how many things there really are."""
    weighted = [RatedUnit(str(n), tuple(row), float(weights[n])) for n, row in enumerate(table)]
    copies = [RatedUnit(str(n), tuple(row)) for n, row in enumerate(table) for _ in range(weights[n])]
    mine, theirs = chance_corrected(weighted), chance_corrected(copies)
    for name in ("ac1", "ac2"):
        assert (name in mine) == (name in theirs)
        if name in mine:
            assert mine[name].value == pytest.approx(theirs[name].value)


def test_a_scale_that_nobody_used_up_counts() -> None:
    """All say yes, and could have said no: full agreement, of which the resamples cannot tell how sure it is."""
    units = [RatedUnit(str(n), (1.0, 1.0)) for n in range(9)]
    assert chance_corrected(units) == {}
    found = chance_corrected(units, [0.0, 1.0])
    assert found["ac1"].value == pytest.approx(1)
    assert found["ac1"].low is None


def test_shrout_and_fleiss() -> None:
    """Their Table 4; more digits by pingouin 0.6.1's `intraclass_corr`."""
    found = icc_intervals(_units(SHROUT))
    pingouin = {
        "ICC(1,1)": 0.165742, "ICC(2,1)": 0.289764, "ICC(3,1)": 0.714841,
        "ICC(1,k)": 0.442797, "ICC(2,k)": 0.620051, "ICC(3,k)": 0.909316,
    }  # fmt: skip
    assert {form: each.value for form, each in found.items()} == pytest.approx(pingouin, abs=1e-6)
    assert found["ICC(2,1)"].n == 6


@given(st.lists(st.lists(st.integers(0, 9), min_size=2, max_size=2), min_size=3, max_size=9))
def test_icc_is_the_same_as_without_intervals(table: list[list[int]]) -> None:
    found = icc_intervals([RatedUnit(str(n), tuple(map(float, row))) for n, row in enumerate(table)])
    for form, each in icc(table).items():
        if each.value is not None:
            assert found[form].value == pytest.approx(each.value, abs=1e-6)


def test_icc_of_raters_who_differ_from_thing_to_thing() -> None:
    """The one-way form with unequal numbers, from scipy's F of one-way analysis of variance."""
    rows = [(9.0, 7.0, None), (None, 3.0, 2.0), (5.0, None, 6.0), (8.0, 8.0, None), (None, None, 4.0), (1.0, 2.0, None)]
    found = icc_intervals([RatedUnit(str(n), row) for n, row in enumerate(rows)])
    groups = [[value for value in row if value is not None] for row in rows]
    groups = [group for group in groups if len(group) > 1]
    f = stats.f_oneway(*groups).statistic
    counts = np.array([len(group) for group in groups])
    typical = (counts.sum() - (counts**2).sum() / counts.sum()) / (len(counts) - 1)
    assert list(found) == ["ICC(1,1)"]
    assert found["ICC(1,1)"].value == pytest.approx((f - 1) / (f - 1 + typical))
    uneven = [RatedUnit(str(n), row) for n, row in enumerate([*rows[:3], (7.0, 8.0, 9.0)])]
    groups = [[value for value in unit.values if value is not None] for unit in uneven]
    counts = np.array([len(group) for group in groups])
    typical = (counts.sum() - (counts**2).sum() / counts.sum()) / (len(counts) - 1)
    f = stats.f_oneway(*groups).statistic
    assert icc_intervals(uneven)["ICC(1,1)"].value == pytest.approx((f - 1) / (f - 1 + typical))


def test_marks_with_weights_count_as_copies() -> None:
    marks = [("a", 1.0, 1.0), ("b", 0.0, 1.0), ("c", 0.0, 0.0), ("d", 1.0, 0.0)]
    weights = [3.0, 1.0, 2.0, 1.0]
    copies = [mark for mark, weight in zip(marks, weights, strict=True) for _ in range(int(weight))]
    mine, theirs = mark_agreement(marks, weights), mark_agreement(copies)
    assert mine.same.value == pytest.approx(theirs.same.value)
    assert mine.kappa.value == pytest.approx(theirs.kappa.value)
    assert mine.first == pytest.approx(theirs.first)
    assert mine.n == 4
