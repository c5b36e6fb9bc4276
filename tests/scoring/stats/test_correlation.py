"""Correlations with weights, against scipy and worked figures."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from limner.scoring.stats import correlate
from limner.scoring.stats.correlation import STATISTICS, left_out, weighted_ranks

SCIPY: dict[str, Any] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
ROWS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(1, 4)), min_size=3, max_size=14
).filter(lambda rows: len({a for a, _, _ in rows}) > 1 and len({b for _, b, _ in rows}) > 1)  # fmt: skip


@given(ROWS)
def test_values_are_scipys_ties_and_all(rows: list[tuple[int, int, int]]) -> None:
    x, y, _ = (list(map(float, side)) for side in zip(*rows, strict=True))
    found = correlate(x, y, [str(n) for n in range(len(x))])
    for name, theirs in SCIPY.items():
        assert found[name].value == pytest.approx(theirs(x, y).statistic, abs=1e-9)
        assert found[name].n == len(x)


@given(ROWS)
def test_a_weight_counts_as_so_many_copies(rows: list[tuple[int, int, int]]) -> None:
    x, y, w = (np.array(side, dtype=float) for side in zip(*rows, strict=True))
    copies = np.repeat(np.arange(len(x)), w.astype(int))
    for name, statistic in STATISTICS.items():
        assert statistic(w[None, :], x, y)[0] == pytest.approx(SCIPY[name](x[copies], y[copies]).statistic, abs=1e-9)


def test_ranks_of_equals_are_shared() -> None:
    values = np.array([3.0, 1.0, 3.0, 2.0])
    assert (weighted_ranks(np.ones((1, 4)), values)[0] + 0.5).tolist() == stats.rankdata(values).tolist()


def test_six_painters_of_aibench() -> None:
    """AIBench 4.4 has rho = .886, .714 and .600 for six painters; the exact p are those of tables of Spearman's rho."""
    human = [1, 2, 3, 4, 5, 6]
    found = {}
    for rank in ([2, 1, 4, 3, 5, 6], [1, 4, 3, 2, 6, 5], [3, 2, 1, 4, 6, 5], [2, 3, 1, 5, 4, 6], [4, 2, 3, 1, 5, 6]):
        each = correlate(human, rank, list("abcdef"))["spearman"]
        assert each.value is not None
        found[round(each.value, 3)] = each.p
    # Zar, Biostatistical Analysis, Table B.20: at n = 6, .886 is the critical value of two-sided .05.
    assert found[0.886] == pytest.approx(24 / 720)
    assert found[0.886] == pytest.approx(0.033, abs=5e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pearson", "spearman", "kendall"])
def test_exact_p_is_scipys_permutation_test(name: str) -> None:
    x, y = [1.0, 4.0, 2.0, 8.0, 5.0, 7.0], [2.0, 3.0, 1.0, 9.0, 9.0, 4.0]
    theirs: Any = stats.permutation_test(
        (np.array(x),), lambda each: SCIPY[name](each, y).statistic, permutation_type="pairings", n_resamples=10**6
    )
    assert correlate(x, y, list("abcdef"))[name].p == pytest.approx(theirs.pvalue)


def test_kendalls_exact_p_without_ties_is_scipys() -> None:
    x, y = list(range(7)), [0, 2, 1, 4, 3, 6, 5]
    theirs = stats.kendalltau(x, y, method="exact")
    assert correlate(x, y, list("abcdefg"))["kendall"].p == pytest.approx(theirs.pvalue)


def test_p_of_many_drawings_is_near_scipys() -> None:
    generator = np.random.default_rng(3)
    x = generator.normal(size=120)
    y = 0.2 * x + generator.normal(size=120)
    found = correlate(x.tolist(), y.tolist(), [str(n) for n in range(120)])
    for name, theirs in SCIPY.items():
        assert found[name].p == pytest.approx(theirs(x, y).pvalue, rel=0.25)


def test_intervals_are_near_those_of_normal_numbers() -> None:
    """For independent drawings of a normal pair, Fisher's interval of Pearson's r is the one in all books."""
    generator = np.random.default_rng(5)
    x = generator.normal(size=400)
    y = 0.7 * x + 0.7 * generator.normal(size=400)
    found = correlate(x.tolist(), y.tolist(), [str(n) for n in range(400)])["pearson"]
    theirs = stats.pearsonr(x, y).confidence_interval(0.95)
    assert found.low == pytest.approx(theirs.low, abs=0.02)
    assert found.high == pytest.approx(theirs.high, abs=0.02)


def test_drawings_of_one_question_are_left_out_together() -> None:
    """The same forty questions drawn by five painters who do the same: five times the drawings, no more certainty."""
    generator = np.random.default_rng(7)
    x = generator.normal(size=40)
    y = x + generator.normal(size=40)
    names = [str(n) for n in range(40)]
    once = correlate(x.tolist(), y.tolist(), names)["pearson"]
    again = correlate(x.tolist() * 5, y.tolist() * 5, names * 5, keys=[p for p in "abcde" for _ in range(40)])[
        "pearson"
    ]
    assert again.value == pytest.approx(once.value)
    assert again.low == pytest.approx(once.low)
    assert again.high == pytest.approx(once.high)
    assert again.n == 200
    assert again.p == pytest.approx(once.p, abs=0.002)


def test_painters_are_exchanged_beside_questions() -> None:
    """Two questions by three painters: 2! x 3! ways, tried here one by one."""
    x, y = np.array([[1.0, 2.0, 4.0], [2.0, 5.0, 7.0]]), np.array([[1.0, 3.0, 3.5], [2.5, 4.0, 9.0]])
    seen = stats.pearsonr(x.ravel(), y.ravel()).statistic
    tried = [
        stats.pearsonr(x.ravel(), y[np.ix_(down, across)].ravel()).statistic
        for down in permutations(range(2))
        for across in permutations(range(3))
    ]
    found = correlate(x.ravel().tolist(), y.ravel().tolist(), ["a"] * 3 + ["b"] * 3, keys=list("xyz") * 2)["pearson"]
    assert found.p == pytest.approx(np.mean(np.abs(tried) >= seen - 1e-9))


def test_weights_decide() -> None:
    """Two halves that say opposite things: the one that counts more wins."""
    x, y = [1.0, 2.0, 3.0, 4.0] * 2, [1.0, 2.0, 3.0, 4.0, 4.0, 3.0, 2.0, 1.0]
    names = [str(n) for n in range(8)]
    assert correlate(x, y, names)["spearman"].value == pytest.approx(0)
    weighted = correlate(x, y, names, weights=[9.0] * 4 + [1.0] * 4)
    assert weighted["spearman"].value == pytest.approx(0.8)
    assert weighted["pearson"].value == pytest.approx(0.8)


def test_what_cannot_be_told_has_a_reason() -> None:
    assert correlate([1.0], [2.0], ["a"])["pearson"].reason == "a correlation needs two points"
    flat = correlate([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], list("abc"))
    assert {each.reason for each in flat.values()} == {"one of the two has the same number everywhere"}
    few = correlate([1.0, 2.0, 4.0, 3.0], [1.0, 2.0, 3.0, 4.0], list("abcd"))["pearson"]
    assert few.value is not None
    assert few.low is None


def test_many_questions_are_left_out_in_groups() -> None:
    rows = left_out([str(n) for n in range(450)])
    assert rows.shape == (200, 450)
    assert (rows.sum(axis=0) == 199).all()


@pytest.mark.slow
@pytest.mark.parametrize(("rho", "n"), [(0.5, 8), (0.85, 12), (0.85, 30)])
def test_intervals_hold_what_they_promise(rho: float, n: int) -> None:
    """Of 300 samples, between 91% and all intervals contain the true number (its own standard error is 1.3 points)."""
    generator = np.random.default_rng(11)
    true = {"pearson": rho, "spearman": 6 / np.pi * np.arcsin(rho / 2), "kendall": 2 / np.pi * np.arcsin(rho)}
    hits = dict.fromkeys(true, 0)
    asked = dict.fromkeys(true, 0)
    names = [f"{place:03}" for place in range(n)]
    rows = left_out(names)
    from limner.scoring.stats.correlation import z_error, z_interval

    for _ in range(300):
        x = generator.normal(size=n)
        y = rho * x + np.sqrt(1 - rho**2) * generator.normal(size=n)
        for name, statistic in STATISTICS.items():
            value = float(statistic(np.ones((1, n)), x, y)[0])
            low, high = z_interval(value, z_error(value, statistic(rows, x, y)), n)
            if low is None or high is None:
                continue
            asked[name] += 1
            hits[name] += low <= true[name] <= high
    for name in true:
        assert asked[name] > 280
        assert hits[name] / asked[name] > 0.91
