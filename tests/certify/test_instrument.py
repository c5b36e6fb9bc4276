"""The instrument is examined: simulated judges answer the trials of a labelled exam at the default size."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from limner import exams
from limner.certify.bias import COPY
from limner.certify.certificate import DEFAULT_QUESTIONS
from limner.certify.examine import ChosenPair, MarkedTrial, Step
from limner.certify.planted import PLANTED, PlantedJudge, power
from limner.certify.trials import Trial
from limner.core.protocol import Protocol

CLEAN, EACH = 100, 60


def protocol_and_steps(questions: int = DEFAULT_QUESTIONS) -> tuple[Protocol[Any], list[Step]]:
    """Steps about the sample's questions, repeated; two criteria of each name a label."""
    source = exams.resolve("sample/genexam", None)
    protocol, asked = exams.kind(source.kind).protocol, exams.read(source).questions
    steps: list[Step] = []
    for n in range(questions):
        question = replace(asked[n % len(asked)], id=f"q{n}")
        ids = [criterion.id for criterion in protocol.criteria(question)]

        def trial(kind: str, dose: int, question: Any = question, ids: list[str] = ids) -> Trial:
            named = ids if kind == "unseen" else ids[:2]
            return Trial(question, kind, dose, f"{kind}{dose}", dict.fromkeys(named, "fall" if dose else "stand"), "")

        clean = trial("clean", 0)
        trials = [clean, trial("unseen", 1), trial("other", 1), trial("plea", 3), trial("erase", 3), trial("blur", 3)]
        steps += [MarkedTrial(one, repeat) for one in trials for repeat in range(2 if one in trials[::4] else 1)]
        steps += [ChosenPair(clean, trial("erase", 3), first) for first in (True, False)]
        copies = [Trial(question, COPY, number, f"{number}", {}, "") for number in range(4)]
        steps += [ChosenPair(clean, copy, first) for copy in copies for first in (True, False)]
    return protocol, steps


PROTOCOL, STEPS = protocol_and_steps()


def flags(judge: PlantedJudge) -> set[str]:
    return {test.name for test in judge.examined(STEPS, PROTOCOL) if test.flagged}


def noisy(seed: int) -> PlantedJudge:
    return PlantedJudge(seed, noise=float(np.random.default_rng([9, seed]).uniform(0.01, 0.1)))


@pytest.mark.slow
def test_few_clean_judges_are_flagged() -> None:
    flagged = [name for seed in range(CLEAN) for name in flags(noisy(seed))]
    assert max(map(flagged.count, flagged), default=0) <= 0.05 * CLEAN


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_planted_faults_are_found(name: str) -> None:
    found = sum(name in flags(replace(noisy(1000 + seed), **PLANTED[name])) for seed in range(EACH))
    assert found >= 0.8 * EACH


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["coin", "blind"])
def test_judges_that_do_not_look_are_always_found(fault: str) -> None:
    kind: dict[str, Any] = {fault: True}
    assert all("sight" in flags(replace(noisy(2000 + seed), **kind)) for seed in range(EACH))


def test_power_grows_with_number_of_questions() -> None:
    few = {test.name: test for test in power(protocol_and_steps(8)[1], PROTOCOL)}
    many = {test.name: test for test in power(STEPS, PROTOCOL)}
    assert few.keys() == many.keys()
    for name, test in many.items():
        assert test.least is not None, name
        assert test.least < (few[name].least or 1.0), name
    assert (few["position"].more or 0) > (many["position"].more or 0)
