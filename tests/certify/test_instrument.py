"""The instrument is examined: how often it accuses the innocent, and how often it finds a bias that was planted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from limner.certify.bias import bias_tests
from limner.certify.watch import has_moved

from .fake_judges import FakeJudge

INNOCENT, MOST_FLAGGED = 200, 15
TRIES, LEAST_FOUND = 100, 80
BIASES: dict[str, dict[str, Any]] = {
    "yes-lean": {"lean": 0.2},  # A fifth of noes: 10 points of all, where half is no.
    "position": {"first": 0.2},  # A fifth blindly: 60 of 100 the first.
    "unseen": {"unseen": 0.2},
    "obedience": {"obeys": 0.2},
    "drift": {"drift": 0.05},
}


def flags(judge: FakeJudge) -> set[str]:
    found = {test.name for test in bias_tests(*judge.answers()) if test.flagged}
    return found | ({"drift"} if has_moved(judge.again())[0] else set())


def noisy(seed: int) -> FakeJudge:
    return FakeJudge(seed, noise=float(np.random.default_rng([9, seed]).uniform(0.01, 0.1)))


@pytest.mark.slow
def test_few_unbiased_judges_are_flagged() -> None:
    flagged = {seed: found for seed in range(INNOCENT) if (found := flags(noisy(seed)))}
    print(f"\nflagged for anything: {len(flagged)} of {INNOCENT} unbiased noisy judges: {flagged}")
    assert len(flagged) <= MOST_FLAGGED


@pytest.mark.slow
@pytest.mark.parametrize("bias", BIASES)
def test_planted_biases_are_found(bias: str) -> None:
    found = sum(bias in flags(replace(noisy(1000 + seed), **BIASES[bias])) for seed in range(TRIES))
    print(f"\n{bias}: found in {found} of {TRIES}")
    assert found >= LEAST_FOUND
