"""Bradley-Terry with ties and order, against other implementations: choix and statsmodels."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.scoring.preferences import WeightedChoice, strengths, win_rates

TENNIS = {
    ("Djokovic", "Federer"): (9, 6), ("Djokovic", "Murray"): (14, 3), ("Djokovic", "Nadal"): (9, 2),
    ("Djokovic", "Wawrinka"): (4, 3), ("Federer", "Murray"): (5, 0), ("Federer", "Nadal"): (5, 1),
    ("Federer", "Wawrinka"): (7, 2), ("Murray", "Nadal"): (2, 4), ("Murray", "Wawrinka"): (2, 2),
    ("Nadal", "Wawrinka"): (4, 3),
}  # fmt: skip
"""Matches of five tennis players: wins of the first and of the second."""


def tennis() -> list[WeightedChoice]:
    found = []
    for (one, other), (wins, losses) in TENNIS.items():
        found += [WeightedChoice(f"{one} {other} {n}", one, other, "first" if n < wins else "second")
                  for n in range(wins + losses)]  # fmt: skip
    return found


def drawn(seed: int, questions: int = 40, order: float = 0.6, ties: float = -0.5) -> list[WeightedChoice]:
    """Choices drawn from the model itself, by another way of writing it."""
    generator, names = np.random.default_rng(seed), ("a", "b", "c", "d")
    strong = dict(zip(names, (0.8, 0.3, -0.2, -0.9), strict=True))
    found = []
    for n in range(questions):
        for one, other in combinations(names, 2):
            swapped = bool(generator.integers(2))
            way = -order / 2 if swapped else order / 2
            chances = np.exp([strong[one] + way, ties + (strong[one] + strong[other]) / 2, strong[other] - way])
            choice = ("first", "tie", "second")[generator.choice(3, p=chances / chances.sum())]
            found.append(WeightedChoice(f"q{n}", one, other, choice, "second" if swapped else "first"))
    return found


@pytest.mark.slow
def test_strengths_match_choix() -> None:
    import choix

    names = sorted({name for pair in TENNIS for name in pair})
    pairs = [(names.index(each.first), names.index(each.second), each.choice) for each in tennis()]
    wins = [(one, other) if choice == "first" else (other, one) for one, other, choice in pairs]
    theirs = choix.opt_pairwise(len(names), wins, alpha=0.0)
    ours = [strengths(tennis()).painters[name].value for name in names]
    assert ours == pytest.approx(list(theirs - theirs.mean()), abs=1e-4)


def logit(choices: list[WeightedChoice], weighted: bool = False) -> Any:
    """The same without ties as a logistic regression by statsmodels, with its cluster-robust covariance."""
    import statsmodels.api as sm

    names = ("a", "b", "c", "d")
    rows = [[(c.first == n) - (c.second == n) for n in names[:3]] + [1 if c.shown_first == "first" else -1]
            for c in choices]  # fmt: skip
    won = np.array([c.choice == "first" for c in choices], dtype=float)
    groups = np.unique([c.cluster for c in choices], return_inverse=True)[1]
    weights = np.array([c.weight for c in choices]) if weighted else None
    model = sm.GLM(won, np.array(rows, dtype=float), family=sm.families.Binomial(), freq_weights=weights)
    return model.fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}, tol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_order_effect_and_spread_match_statsmodels(weighted: bool) -> None:
    choices = [c for c in drawn(1) if c.choice != "tie"]
    if weighted:
        choices = [WeightedChoice(c.cluster, c.first, c.second, c.choice, c.shown_first, 1.0 + int(c.cluster[1:]) % 3)
                   for c in choices]  # fmt: skip
    theirs, ours = logit(choices, weighted), strengths(choices)
    n = len({c.cluster for c in choices})
    assert ours.order.value == pytest.approx(theirs.params[3], abs=1e-6)
    from scipy.stats import t

    half = t.ppf(0.975, n - 1) * theirs.bse[3] * np.sqrt(n / (n - 1))
    assert ours.order.high - ours.order.value == pytest.approx(half, rel=1e-5)  # type: ignore[operator]
    gap = ours.painters["a"].value - ours.painters["d"].value  # type: ignore[operator]
    assert gap == pytest.approx(theirs.params[0], abs=1e-6)


@pytest.mark.slow
def test_ties_and_strengths_match_log_linear_model() -> None:
    """Davidson's model is a Poisson regression on counts, with a level of its own for each ordered pair."""
    import statsmodels.api as sm

    choices, names = drawn(2, questions=60), ("a", "b", "c", "d")
    cells: dict[tuple[str, str, str], list[int]] = {}
    for c in choices:
        cells.setdefault((c.first, c.second, str(c.shown_first)), [0, 0, 0])[
            ("first", "tie", "second").index(c.choice)
        ] += 1
    rows, counts = [], []
    for place, ((one, other, shown), found) in enumerate(cells.items()):
        way = 0.5 if shown == "first" else -0.5
        for outcome, count in enumerate(found):
            share = ((1, 0), (0.5, 0.5), (0, 1))[outcome]
            strength = [share[0] * (n == one) + share[1] * (n == other) for n in names[:3]]
            own = [float(place == n) for n in range(len(cells))]
            rows.append([*strength, float(outcome == 1), (way, 0.0, -way)[outcome], *own])
            counts.append(count)
    theirs = sm.GLM(counts, np.array(rows), family=sm.families.Poisson()).fit(tol=1e-13)
    ours = strengths(choices)
    assert ours.ties.value == pytest.approx(np.exp(theirs.params[3]), rel=1e-6)
    assert ours.order.value == pytest.approx(theirs.params[4], abs=1e-6)
    base = ours.painters["d"].value
    for name, value in zip(names[:3], theirs.params[:3], strict=True):
        assert ours.painters[name].value - base == pytest.approx(value, abs=1e-6)  # type: ignore[operator]


@given(st.integers(0, 1000), st.data())
def test_strengths_are_independent_of_order_within_pair(seed: int, data: st.DataObject) -> None:
    other = {"first": "second", "second": "first", "tie": "tie"}
    choices = drawn(seed, questions=8)
    turned = [
        WeightedChoice(c.cluster, c.second, c.first, other[c.choice], other[str(c.shown_first)])
        if data.draw(st.booleans())
        else c
        for c in choices
    ]
    one, two = strengths(choices), strengths(turned)
    assert (one.reason is None) == (two.reason is None)
    assert {n: i.value for n, i in win_rates(choices).items()} == pytest.approx(
        {n: i.value for n, i in win_rates(turned).items()}
    )
    if one.reason is None:
        assert two.order.value == pytest.approx(one.order.value, abs=1e-6)
        for name, found in one.painters.items():
            assert two.painters[name].value == pytest.approx(found.value, abs=1e-6)


def test_win_rates_match_manual_calculation_with_weights() -> None:
    choices = [
        WeightedChoice("q", "a", "b", "first", weight=3.0),
        WeightedChoice("r", "b", "a", "tie", weight=1.0),
        WeightedChoice("s", "b", "c", "first", weight=2.0),
    ]
    found = win_rates(choices)
    assert found["a"].value == pytest.approx((3 + 0.5) / 4)
    assert found["b"].value == pytest.approx((0 + 0.5 + 2) / 6)
    assert found["c"].value == 0.0
    assert found["a"].low is None, "two questions have no interval"


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ([("a", "b", "first")] * 6, "never lost or tied against the others: a"),
        ([("a", "b", "tie")] * 6, "every choice is a tie"),
        ([("a", "b", "tie"), ("c", "d", "tie"), ("a", "b", "first")], "never compared with the others: a, b"),
        ([], "fewer than two painters"),
    ],
)
def test_undefined_strengths_have_reason(choices: list[tuple[str, str, str]], words: str) -> None:
    found = strengths([WeightedChoice(str(n), *each) for n, each in enumerate(choices)])
    assert words in str(found.reason)
    assert all(each.value is None for each in found.painters.values())


def test_always_choosing_first_has_no_finite_order_effect() -> None:
    choices = [WeightedChoice(f"{n}{s}", "a", "b", s, s) for n in range(6) for s in ("first", "second")]
    assert "no finite strength" in str(strengths(choices).reason)
    assert win_rates(choices)["a"].value == 0.5
