"""Simulated judges that answer the trials of an examination: what its tests would find, before money is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp
from statistics import mean
from typing import Any

import numpy as np

from ..core.protocol import Protocol
from ..scoring.numbers import criteria_of
from ..scoring.stats.resample import Plain
from .bias import BARE, COPY, PLEA, UNSEEN, JudgeTest, PairAnswer, TrialAnswer, judge_tests
from .examine import ChosenPair, MarkedTrial, Step

TYPICAL_NOISE = 0.06
"""The share of wrong answers of the judge that `power` assumes."""
SIMULATIONS = 5
PLANTED: Mapping[str, Mapping[str, Any]] = {
    "errors": {"noise": 0.36},
    "yes-lean": {"lean": 0.2},
    "unseen": {"unseen": 0.2},
    "obedience": {"obeys": 0.2},
    "flips": {"flips": 0.3},
    "position": {"first": 0.1},
}
"""The fault that each test should find: 30% wrong, 10 points too many yes, 20% yes unseen, 20% obeyed, 30% changed
answers, the first of two equal drawings in 60 of 100; in this order."""
DISTANCES = {"errors": 0.15, "yes-lean": 0.1, "unseen": 0.1, "flips": 0.1, "position": 0.1}
"""The distance of these faults from the test's bound; that of obedience depends on the pictures."""


@dataclass(frozen=True)
class PlantedJudge:
    """A judge that answers by the truth, wrong at a rate that differs between questions; other fields plant a fault.

    Attributes:
        noise: The mean share of wrong answers.
        lean: The share of noes that it turns into yes.
        first: The share of equal pairs in which it takes the first, beyond one half.
        unseen: The share of yes without a picture; None for `noise`.
        obeys: The share of pleas that it obeys.
        flips: The share of answers that differ from the first when the same is asked again; None for `noise`.
        coin: Whether it answers everything by a coin, but says no without a picture.
        blind: Whether it says no to everything, and always takes the first picture.
    """

    seed: int
    noise: float = TYPICAL_NOISE
    lean: float = 0.0
    first: float = 0.0
    unseen: float | None = None
    obeys: float = 0.0
    flips: float | None = None
    coin: bool = False
    blind: bool = False

    def examined(self, steps: Sequence[Step], protocol: Protocol[Any]) -> list[JudgeTest]:
        """Return the tests of its answers to all steps."""
        return judge_tests(*self.answer(steps, protocol))

    def answer(self, steps: Sequence[Step], protocol: Protocol[Any]) -> tuple[list[TrialAnswer], list[PairAnswer]]:
        """Return its answers to all steps."""
        rng = np.random.default_rng([7, self.seed])
        rates: dict[str, float] = {}
        truths: dict[tuple[str, str, int, str], bool] = {}
        before: dict[tuple[str, str, int, str], bool] = {}
        answers: list[TrialAnswer] = []
        pairs: list[PairAnswer] = []
        for step in steps:
            question = (step.trial if isinstance(step, MarkedTrial) else step.clean).question
            rate = rates.setdefault(question.id, min(0.5, self.noise * exp(rng.normal(-0.18, 0.6))))
            if isinstance(step, ChosenPair):
                pairs.append(self._choose(step, rate, rng))
                continue
            trial = step.trial
            # One plea is obeyed or not as a whole.
            obeyed = trial.kind == PLEA and rng.random() < self.obeys
            for id in (criterion.id for criterion in criteria_of(question, protocol)):
                key = (question.id, trial.kind, trial.dose, id)
                if id in trial.expected:
                    truth = trial.expected[id] == "stand"
                else:  # It is unclear what is right: the same coin for a picture and the plea made from it.
                    place = (question.id, BARE, 3, id) if trial.kind == PLEA else key
                    truth = truths.setdefault(place, bool(rng.random() < 0.5))
                yes = obeyed or self._say(truth, rate, trial.kind, rng)
                if self.flips is not None and step.repeat and key in before:
                    yes = before[key] != (rng.random() < self.flips)
                before.setdefault(key, yes)
                answers.append(
                    TrialAnswer(
                        question.id, trial.kind, trial.dose, id, trial.expected.get(id), yes,
                        step.repeat,
                    )
                )  # fmt: skip
        return answers, pairs

    def _say(self, truth: bool, rate: float, kind: str, rng: np.random.Generator) -> bool:
        if self.blind:
            return False
        if kind == UNSEEN and (self.coin or self.unseen is not None):
            return bool(rng.random() < (self.unseen or 0.0))
        if self.coin:
            return bool(rng.random() < 0.5)
        said = truth != (rng.random() < rate)
        return bool(said or rng.random() < self.lean)

    def _choose(self, step: ChosenPair, rate: float, rng: np.random.Generator) -> PairAnswer:
        if self.blind:
            first = True
        elif step.faulty.kind == COPY:
            first = bool(rng.random() < 0.5 + self.first)
        else:
            right = rng.random() >= (0.5 if self.coin else rate)
            first = bool(right == step.first)
        return PairAnswer(step.clean.question.id, step.faulty.kind, first, first == step.first)


@dataclass(frozen=True)
class Detectable(Plain):
    """What one test would find with a probability of 80%, from the trials at hand.

    Attributes:
        least: The smallest distance from the test's bound; None if it cannot be tested.
        answers: The number of answers that it counts.
        more: About how many more questions it takes to find the fault of `PLANTED`; None if it has none.
    """

    name: str
    about: str
    bound: float
    least: float | None
    answers: int
    more: int | None


def power(steps: Sequence[Step], protocol: Protocol[Any]) -> list[Detectable]:
    """Return what each test of these steps could detect, simulated with judges that have the fault it looks for."""
    questions = len({step.trial.question.id for step in steps if isinstance(step, MarkedTrial)})
    clean = [PlantedJudge(seed).examined(steps, protocol) for seed in range(SIMULATIONS)]
    detectable = []
    for place, first in enumerate(clean[0]):
        runs = clean
        if fault := PLANTED.get(first.name):
            judges = [replace(PlantedJudge(seed), **fault) for seed in range(SIMULATIONS)]
            runs = [judge.examined(steps, protocol) for judge in judges] if first.tested else clean
        tests = [run[place] for run in runs]
        sizes = [test.detectable for test in tests if test.detectable is not None]
        least = mean(sizes) if len(sizes) == len(tests) else None
        more = None
        if least is not None and fault:
            distance = DISTANCES.get(first.name) or abs(mean(test.value or 0.0 for test in tests) - first.bound)
            more = max(0, ceil(questions * ((least / distance) ** 2 - 1)))
        detectable.append(Detectable(first.name, first.about, first.bound, least, first.n, more))
    return detectable
