"""Correlations, ranks and fitted weights, against scipy and worked figures."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from limner.scoring.stats import (
    RankInterval,
    correlate,
    kendall,
    pearson,
    rank_agreement,
    rank_intervals,
    spearman,
)
from limner.scoring.stats.correlation import STATISTICS, jackknife_weights
from limner.scoring.weights import fit_weights

SCIPY: dict[str, Any] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
ROWS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(1, 4)), min_size=3, max_size=14
).filter(lambda rows: len({a for a, _, _ in rows}) > 1 and len({b for _, b, _ in rows}) > 1)  # fmt: skip


@given(ROWS)
def test_values_match_scipy_with_ties(rows: list[tuple[int, int, int]]) -> None:
    x, y, _ = (list(map(float, side)) for side in zip(*rows, strict=True))
    found = correlate(x, y, [str(n) for n in range(len(x))])
    for name, theirs in SCIPY.items():
        assert found[name].value == pytest.approx(theirs(x, y).statistic, abs=1e-9)
        assert found[name].n == len(x)


@given(ROWS)
def test_integer_weights_equal_copies(rows: list[tuple[int, int, int]]) -> None:
    x, y, w = (np.array(side, dtype=float) for side in zip(*rows, strict=True))
    copies = np.repeat(np.arange(len(x)), w.astype(int))
    for name, statistic in STATISTICS.items():
        assert statistic(x, y, w)[0] == pytest.approx(SCIPY[name](x[copies], y[copies]).statistic, abs=1e-9)


def test_exact_p_of_six_aibench_painters_matches_tables() -> None:
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
def test_exact_p_matches_scipy_permutation_test(name: str) -> None:
    x, y = [1.0, 4.0, 2.0, 8.0, 5.0, 7.0], [2.0, 3.0, 1.0, 9.0, 9.0, 4.0]
    theirs: Any = stats.permutation_test(
        (np.array(x),), lambda each: SCIPY[name](each, y).statistic, permutation_type="pairings", n_resamples=10**6
    )
    assert correlate(x, y, list("abcdef"))[name].p == pytest.approx(theirs.pvalue)


def test_intervals_match_fisher_for_normal_data() -> None:
    """For independent drawings of a normal pair, Fisher's interval of Pearson's r is the one in all books."""
    generator = np.random.default_rng(5)
    x = generator.normal(size=400)
    y = 0.7 * x + 0.7 * generator.normal(size=400)
    found = correlate(x.tolist(), y.tolist(), [str(n) for n in range(400)])["pearson"]
    theirs = stats.pearsonr(x, y).confidence_interval(0.95)
    assert found.low == pytest.approx(theirs.low, abs=0.02)
    assert found.high == pytest.approx(theirs.high, abs=0.02)


def test_jackknife_omits_drawings_of_question_together() -> None:
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


def test_permutation_exchanges_painters_and_questions() -> None:
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


def test_undefined_correlation_has_reason() -> None:
    assert correlate([1.0], [2.0], ["a"])["pearson"].reason == "a correlation needs two points"
    flat = correlate([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], list("abc"))
    assert {each.reason for each in flat.values()} == {"one of the two has the same number everywhere"}
    few = correlate([1.0, 2.0, 4.0, 3.0], [1.0, 2.0, 3.0, 4.0], list("abcd"))["pearson"]
    assert few.value is not None
    assert few.low is None


def test_many_questions_are_jackknifed_in_groups() -> None:
    rows = jackknife_weights([str(n) for n in range(450)])
    assert rows.shape == (200, 450)
    assert (rows.sum(axis=0) == 199).all()


@pytest.mark.slow
@pytest.mark.parametrize(("rho", "n"), [(0.5, 8), (0.85, 12), (0.85, 30)])
def test_intervals_have_nominal_coverage(rho: float, n: int) -> None:
    """Of 300 samples, between 91% and all intervals contain the true number (its own standard error is 1.3 points)."""
    generator = np.random.default_rng(11)
    true = {"pearson": rho, "spearman": 6 / np.pi * np.arcsin(rho / 2), "kendall": 2 / np.pi * np.arcsin(rho)}
    hits = dict.fromkeys(true, 0)
    asked = dict.fromkeys(true, 0)
    names = [f"{place:03}" for place in range(n)]
    rows = jackknife_weights(names)
    from limner.scoring.stats.correlation import z_error, z_interval

    for _ in range(300):
        x = generator.normal(size=n)
        y = rho * x + np.sqrt(1 - rho**2) * generator.normal(size=n)
        for name, statistic in STATISTICS.items():
            value = float(statistic(x, y, None)[0])
            low, high = z_interval(value, z_error(value, statistic(x, y, rows)), n)
            if low is None or high is None:
                continue
            asked[name] += 1
            hits[name] += low <= true[name] <= high
    for name in true:
        assert asked[name] > 280
        assert hits[name] / asked[name] > 0.91


TABLES = arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 40)), elements=st.integers(0, 5).map(float))


@given(TABLES)
def test_rank_intervals_lie_within_number_of_painters(table: Any) -> None:
    drawn = {f"p{n}": row for n, row in enumerate(table)}
    found = rank_intervals(drawn)
    assert all(1 <= each.low <= each.high <= len(table) for each in found.values())
    assert min(each.low for each in found.values()) == 1
    assert max(each.high for each in found.values()) == len(table)
    assert rank_intervals(dict(reversed(drawn.items()))) == found


def test_resample_without_value_is_omitted() -> None:
    drawn = {"a": np.array([1.0, np.nan, 1.0]), "b": np.array([2.0, 0.0, 2.0])}
    assert rank_intervals(drawn) == {"a": RankInterval(2, 2), "b": RankInterval(1, 1)}
    assert rank_intervals({"a": np.array([np.nan])}) == {}
    assert rank_intervals({}) == {}


@given(st.lists(ROWS, min_size=2, max_size=4))
def test_rows_are_correlated_independently(tables: list[list[tuple[int, int, int]]]) -> None:
    """Each resample has numbers and weights of its own; one that lacks a number has no correlation."""
    n = min(map(len, tables))
    x, y, w = np.array([rows[:n] for rows in tables], dtype=float).transpose(2, 0, 1)
    for statistic in STATISTICS.values():
        alone = [float(statistic(*row)[0]) for row in zip(x, y, w, strict=True)]
        assert statistic(x, y, w).tolist() == pytest.approx(alone, nan_ok=True)
        beside = statistic(x[0], y, w[0]).tolist()
        assert beside == pytest.approx([float(statistic(x[0], row, w[0])[0]) for row in y], nan_ok=True)
        lacking = x.copy()
        lacking[0, 0] = np.nan
        assert statistic(lacking, y, None).tolist()[1:] == pytest.approx(statistic(x, y, None)[1:], nan_ok=True)
        assert np.isnan(statistic(lacking, y, None)[0])


def test_correlations_match_textbook_example() -> None:
    """Ten students, two subjects: the example most textbooks give for Spearman's coefficient, rho = 0.67."""
    english = np.array([56.0, 75, 45, 71, 62, 64, 58, 80, 76, 61])
    maths = np.array([66.0, 70, 40, 60, 65, 56, 59, 77, 67, 63])
    assert spearman(english, maths)[0] == pytest.approx(0.6727, abs=1e-4)
    assert kendall(np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 4, 3]))[0] == pytest.approx(4 / 6)


def test_undefined_rank_agreement_has_reason() -> None:
    pair = rank_agreement({"x": 0.5, "y": 0.2}, {"x": 0.1, "z": 0.3})
    assert (pair["painters"], pair["kendall"].value, pair["spearman"].reason) == (1, None, "an order needs two")
    assert rank_agreement({"x": 1, "y": 1}, {"x": 2, "y": 3})["kendall"].reason == "all have the same score"
    pair = rank_agreement({"x": 0.5, "y": 0.2}, {"x": 0.1, "y": 0.3})
    assert (pair["kendall"].value, pair["spearman"].value) == (-1.0, -1.0)
    assert rank_agreement({}, {})["shift"] is None
    pair = rank_agreement({"x": 0.5, "y": None}, {"x": 0.75, "y": 0.3})
    assert (pair["painters"], pair["shift"]) == (1, 0.25)


SEEDS = st.integers(0, 500)


def rated(seed: int, weights: tuple[float, ...] = (0.7, 0.1, 0.1, 0.1), n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    table = generator.random((n, len(weights)))
    return table, 1 + 9 * table @ np.array(weights) + generator.normal(0, 0.5, n)


@pytest.mark.slow
@given(SEEDS)
def test_fitted_weights_match_scipy_optimum(seed: int) -> None:
    """The correlation itself, climbed by another method over the simplex."""
    from scipy.optimize import minimize
    from scipy.stats import pearsonr

    table, rating = rated(seed)
    found = fit_weights(table, rating)  # type: ignore[arg-type]
    done: Any = minimize(  # type: ignore[call-overload]
        lambda w: -pearsonr(table @ w, rating).statistic, [0.25] * 4, bounds=[(0, 1)] * 4, method="SLSQP",
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1}, options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    assert pearson(table @ np.array(found.exact), rating)[0] >= -done.fun - 1e-9
    assert list(found.exact) == pytest.approx(list(done.x), abs=5e-3)


@given(SEEDS)
def test_rounded_weights_are_best_of_all_tenths(seed: int) -> None:
    table, rating = rated(seed, (0.5, 0.3, 0.2), 30)
    found = fit_weights(table, rating)  # type: ignore[arg-type]
    best = max(
        np.corrcoef(table @ np.array([a, b, 10 - a - b]) / 10, rating)[0, 1]
        for a, b in product(range(11), repeat=2)
        if a + b <= 10
    )
    assert np.corrcoef(table @ np.array(found.rounded), rating)[0, 1] == pytest.approx(best, abs=1e-9)
    assert sum(found.rounded) == pytest.approx(1)


def test_weights_of_paper_are_recovered() -> None:
    table, rating = rated(11, n=250)
    assert fit_weights(table, rating).rounded == (0.7, 0.1, 0.1, 0.1)  # type: ignore[arg-type]


def test_score_opposed_to_rating_gets_zero_weight() -> None:
    table, rating = rated(5, (0.8, 0.3, -0.1))
    assert fit_weights(table, rating).exact[2] == 0  # type: ignore[arg-type]


def test_missing_weights_have_reason() -> None:
    assert "too few" in str(fit_weights([[1, 0], [0, 1]], [1, 2]).reason)
    assert "no score goes" in str(fit_weights([[0, 1], [1, 0], [0.5, 0.5], [1, 0]], [3, 3, 3, 3]).reason)
