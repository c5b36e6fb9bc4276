"""Where a judge may decide alone: bounds against statsmodels, and the guarantee on made-up judges."""

from __future__ import annotations

import numpy as np
import pytest

from limner.scoring.stats.selective import Threshold, threshold, upper_bound
from limner.scoring.stats.types import Floats

# statsmodels 0.15, proportion_confint(k, n, alpha=0.1, method="beta"), upper end.
CLOPPER_PEARSON = {
    (0, 29): 0.09814462767729573,
    (2, 50): 0.12061415542204414,
    (5, 200): 0.05184333912029054,
    (13, 60): 0.322242795758427,
}


@pytest.mark.parametrize(("wrong", "n"), list(CLOPPER_PEARSON))
def test_the_bound_is_that_of_clopper_and_pearson(wrong: int, n: int) -> None:
    assert upper_bound(wrong, n) == pytest.approx(CLOPPER_PEARSON[wrong, n])
    assert upper_bound(n, n) == 1


def _found(confidence: list[float], agrees: list[bool], target: float = 0.9) -> Threshold:
    n = len(confidence)
    return threshold(confidence, agrees, [str(place) for place in range(n)], [1.0] * n, target)


def test_29_questions_without_an_error_are_the_least() -> None:
    assert _found([1.0] * 29, [True] * 29).value == 1.0
    few = _found([1.0] * 28, [True] * 28)
    assert few.value is None
    assert few.reason == "people have marked drawings of 28 questions; 29 are the least, with every one agreed on"
    one = _found([1.0] * 29, [False] + [True] * 28)
    assert one.value is None
    assert one.reason == "nowhere is it proved to agree with people on 90% of drawings"


def test_it_goes_down_to_the_last_confidence_that_holds() -> None:
    sure = [1.0] * 60 + [0.8] * 40 + [0.5] * 40
    found = _found(sure, [True] * 98 + [False] * 2 + [False] * 40)
    assert found.value == 0.8
    assert found.agreement == pytest.approx(0.98)
    assert found.at_least == pytest.approx(1 - upper_bound(2, 100))
    assert found.n == pytest.approx(100)
    assert found.of == 140


def test_drawings_of_one_question_prove_little() -> None:
    agrees, one = [True] * 60, [1.0] * 60
    assert threshold(one, agrees, [str(place % 60) for place in range(60)], one).value == 1.0
    assert threshold(one, agrees, [str(place % 20) for place in range(60)], one).value is None


@pytest.mark.slow
def test_the_guarantee_holds() -> None:
    """The judge agrees more often where it is surer; where it decides it must be right on 90%, in 95 of 100 studies."""
    rng, broken, decided, tries = np.random.default_rng(2407), 0, 0, 1000

    def right(sure: Floats) -> Floats:
        return 0.6 + 0.4 * sure

    for _ in range(tries):
        sure = np.round(rng.random(200), 1)
        agrees = rng.random(200) < right(sure)
        found = _found(sure.tolist(), agrees.tolist())
        if found.value is not None:
            decided += 1
            levels = np.arange(0, 1.05, 0.1).round(1)
            weights = np.where((levels == 0) | (levels == 1), 0.5, 1.0) * (levels >= found.value - 1e-9)
            broken += float((weights * right(levels)).sum() / weights.sum()) < 0.9
    assert decided > 300
    assert broken <= 0.05 * tries + 2 * np.sqrt(0.05 * 0.95 * tries)
