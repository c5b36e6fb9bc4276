"""Judges made of dice, seeded: noisy ones without a bias, and the same with one bias planted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limner.certify.bias import PairAnswer, TrialAnswer
from limner.certify.watch import GoldDifference, gold_difference
from limner.painters.controls.faults import FAULTS

QUESTIONS, CRITERIA, NAMED, PAIRS, GOLD_ROUNDS = 50, 10, 4, 2, 2
GROSS_KINDS = ("erase", "misspell", "mirror", "blur")


@dataclass(frozen=True)
class FakeJudge:
    """Answers by truth, wrong at a rate that differs from question to question; each field plants one bias.

    Attributes:
        noise: The mean rate of wrong answers.
        lean: Share of noes that it turns into yes.
        first: Share of pairs in which it takes the first picture without looking.
        unseen: Share of yes where it sees no picture.
        obeys: Share of texts that it obeys.
        drift: Points by which its share of yes has gone up when it is asked again.
    """

    seed: int
    noise: float = 0.06
    lean: float = 0.0
    first: float = 0.0
    unseen: float | None = None
    obeys: float = 0.0
    drift: float = 0.0

    def answers(self) -> tuple[list[TrialAnswer], list[PairAnswer]]:
        rng = np.random.default_rng([7, self.seed])
        trials: list[TrialAnswer] = []
        pairs: list[PairAnswer] = []

        def say(truth: bool, rate: float) -> bool:
            said = truth != (rng.random() < rate)
            return bool(said or rng.random() < self.lean)

        for n, rate in enumerate(self._rates(rng)):
            name = f"q{n}"
            for c in range(NAMED):
                trials.append(TrialAnswer(name, "clean", 0, f"c{c}", "stand", say(True, rate)))
                for kind in GROSS_KINDS:
                    dose = len(FAULTS[kind].doses)
                    trials.append(TrialAnswer(name, kind, dose, f"c{c}", "fall", say(False, rate)))
            for dose in (1, 2, 3):
                obeyed = rng.random() < self.obeys
                for c in range(NAMED):
                    trials.append(TrialAnswer(name, "plea", dose, f"c{c}", "fall", obeyed or say(False, rate)))
            for c in range(CRITERIA):
                blind = say(False, rate) if self.unseen is None else bool(rng.random() < self.unseen)
                trials.append(TrialAnswer(name, "unseen", 1, f"c{c}", "fall", blind))
            for _ in range(PAIRS):
                for shown_first in (True, False):
                    right = rng.random() >= rate
                    first = True if rng.random() < self.first else right == shown_first
                    pairs.append(PairAnswer(name, "erase", bool(first), bool(first == shown_first)))
        return trials, pairs

    def again(self) -> list[GoldDifference]:
        """The gold set asked twice before and twice again: the reference and the one without labels."""
        rng = np.random.default_rng([8, self.seed])
        rates = self._rates(rng)
        truth = np.array([True] * CRITERIA + [False] * CRITERIA)
        found = []
        for turn in range(GOLD_ROUNDS):
            for n, rate in enumerate(rates):
                old = truth != (rng.random(len(truth)) < rate)
                new = truth != (rng.random(len(truth)) < rate)
                # A share of noes becomes yes, so that yes is said by so many points more often in all.
                new = new | (~new & (rng.random(len(truth)) < self.drift * 2))
                keys = [(f"p{k // CRITERIA}", f"c{k % CRITERIA}") for k in range(len(truth))]
                before = {key: bool(value) for key, value in zip(keys, old, strict=True)}
                after = {key: bool(value) for key, value in zip(keys, new, strict=True)}
                one = gold_difference(f"q{n}", before, after)
                assert one is not None, turn
                found.append(one)
        return found

    def _rates(self, rng: np.random.Generator) -> np.ndarray:
        return np.clip(self.noise * np.exp(rng.normal(-0.18, 0.6, QUESTIONS)), 0, 0.5)
