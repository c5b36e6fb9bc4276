"""How often 95% intervals of corrected scores hold the truth: ``python -m benchmarks.coverage``.

Exams are made up in which a judge marks many drawings and people n of them; every interval is computed as
`limner scores --study` does it. The truth is what people would mark on all questions there could be. A good interval
holds it in 95 of 100 exams. Seeded.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import numpy as np

from limner.scoring.powered import HumanInterval, Judged, estimate_difference, estimate_mean, human_interval
from limner.scoring.stats.resample import Floats

SEED = 16
EXAMS = 2000
REST = 400
"""Drawings without people's marks."""
MARKED = (50, 200)
PREVALENCE = (0.5, 0.9)
RATERS, SLIPS = (1, 3, 5), 0.08
SENSITIVITY, SPECIFICITY = 0.9, 0.8
Rng = np.random.Generator


@dataclass(frozen=True)
class Case:
    """A sort of study, and one interval from it with the truth that it is to hold."""

    name: str
    run: Callable[[Rng, int, float], tuple[HumanInterval, float]]


def _judge(rng: Rng, truth: Floats) -> Floats:
    yes = np.where(truth > 0, SENSITIVITY, 1 - SPECIFICITY)
    return (rng.random(truth.shape) < yes).astype(np.float64)


def _sampled(
    judge: Floats, truth: Floats, chosen: Floats, inclusion: Floats, each: int = 1, strata: Floats | None = None
) -> Judged:
    size, human = len(judge) // each, np.where(chosen > 0, truth, np.nan)
    clusters, ones = np.repeat(np.arange(size), each), np.ones(len(judge))
    places = None if strata is None else strata.astype(np.int64)
    return Judged(clusters, size, judge, human, ones, ones / each, inclusion, places)


def _first(n: int, whole: int) -> Floats:
    return (np.arange(whole) < n).astype(np.float64)


def _yes_or_no(rng: Rng, n: int, share: float) -> tuple[HumanInterval, float]:
    truth = (rng.random(n + REST) < share).astype(np.float64)
    found = _sampled(_judge(rng, truth), truth, _first(n, len(truth)), np.full(len(truth), n / len(truth)))
    return human_interval(estimate_mean(found), 1.0), share


def _graded(rng: Rng, n: int, share: float) -> tuple[HumanInterval, float]:
    """Scores of five criteria, of which some questions have more met than others."""
    skill = rng.beta(4 * share, 4 * (1 - share), n + REST)
    met = (rng.random((5, n + REST)) < skill).astype(np.float64)
    truth, judge = met.mean(axis=0), _judge(rng, met).mean(axis=0)
    found = _sampled(judge, truth, _first(n, len(truth)), np.full(len(truth), n / len(truth)))
    return human_interval(estimate_mean(found), 1.0), share


def _clustered(rng: Rng, n: int, share: float) -> tuple[HumanInterval, float]:
    """Two drawings of each question, both marked by people or neither; hard questions are hard for both."""
    skill = np.repeat(rng.beta(3 * share, 3 * (1 - share), (n + REST) // 2), 2)
    truth = (rng.random(len(skill)) < skill).astype(np.float64)
    found = _sampled(_judge(rng, truth), truth, _first(n, len(truth)), np.full(len(truth), n / len(truth)), 2)
    return human_interval(estimate_mean(found), 1.0), share


def _unequal(rng: Rng, n: int, share: float) -> tuple[HumanInterval, float]:
    """Drawings the judge says no to are three times as likely to be given to people."""
    truth = (rng.random(n + REST) < share).astype(np.float64)
    judge = _judge(rng, truth)
    inclusion = np.where(judge > 0, 1.0, 3.0)
    inclusion = np.minimum(inclusion * n / inclusion.sum(), 1.0)
    chosen = (rng.random(len(truth)) < inclusion).astype(np.float64)
    return human_interval(estimate_mean(_sampled(judge, truth, chosen, inclusion)), 1.0), share


def _stratified(rng: Rng, n: int, share: float) -> tuple[HumanInterval, float]:
    """Two halves, one easier by 20 points (less where that would pass 1), of each of which people mark n/2."""
    gap = min(0.1, (1 - share) / 2)
    whole = n + REST
    strata = (np.arange(whole) % 2).astype(np.float64)
    truth = (rng.random(whole) < share - gap + 2 * gap * strata).astype(np.float64)
    found = _sampled(_judge(rng, truth), truth, _first(n, whole), np.full(whole, n / whole), strata=strata)
    return human_interval(estimate_mean(found), 1.0), share


def _paired(rng: Rng, n: int, share: float) -> tuple[HumanInterval, float]:
    """Two painters on the same questions, the second worse by 10 points."""
    whole = n + REST
    luck = rng.random(whole)
    sides = []
    for skill in (share, share - 0.1):
        truth = (0.5 * luck + 0.5 * rng.random(whole) < _half_sum(skill)).astype(np.float64)
        sides.append(_sampled(_judge(rng, truth), truth, _first(n, whole), np.full(whole, n / whole)))
    return human_interval(estimate_difference(*sides)), 0.1


def _raters(raters: int) -> Callable[[Rng, int, float], tuple[HumanInterval, float]]:
    """People who slip on 8% of marks, of which the majority counts; a drawing scores if all its five criteria are met.

    `share` is that of drawings that score by the truth; the interval is to hold the share by the majority.
    """

    def run(rng: Rng, n: int, share: float) -> tuple[HumanInterval, float]:
        right = sum(
            comb(raters, k) * (1 - SLIPS) ** k * SLIPS ** (raters - k) for k in range(raters // 2 + 1, raters + 1)
        )
        met = share ** (1 / 5)
        truth = rng.random((n + REST, 5)) < met
        said = truth ^ (rng.random((raters, *truth.shape)) < SLIPS)
        majority: Floats = np.asarray((said.mean(axis=0) > 0.5).all(axis=1), np.float64)
        judge: Floats = np.asarray(_judge(rng, truth.astype(np.float64)).all(axis=1), np.float64)
        found = _sampled(judge, majority, _first(n, len(majority)), np.full(len(majority), n / len(majority)))
        return human_interval(estimate_mean(found), 1.0), (met * right + (1 - met) * (1 - right)) ** 5

    return run


def _half_sum(share: float) -> float:
    """Below what half the sum of two uniform numbers lies with this chance."""
    return float(np.sqrt(share / 2)) if share <= 0.5 else 1 - float(np.sqrt((1 - share) / 2))


CASES = (
    Case("PPI++, yes or no", _yes_or_no),
    Case("PPI++, five criteria", _graded),
    Case("PPI++, two drawings a question", _clustered),
    Case("PPI++, chosen unequally", _unequal),
    Case("PPI++, stratified", _stratified),
    Case("PPI++, difference of painters", _paired),
    *(Case(f"PPI++, majority of {raters}, all of five criteria", _raters(raters)) for raters in RATERS),
)


def covered(case: Case, n: int, share: float, exams: int = EXAMS) -> tuple[float, float]:
    """The share of intervals that hold the truth, of those there are, and their mean half width."""
    rng, hits, widths = np.random.default_rng([SEED, n, round(100 * share)]), 0, []
    for _ in range(exams):
        found, truth = case.run(rng, n, share)
        if found.low is not None and found.high is not None:
            hits += found.low <= truth <= found.high
            widths.append((found.high - found.low) / 2)
    return hits / len(widths), float(np.mean(widths))


def table(exams: int) -> str:
    """Percent of intervals that hold the truth and half widths in points, as a Markdown table."""
    heads = [f"{share:.0%}, n = {n}" for share in PREVALENCE for n in MARKED]
    lines = [["interval", *heads], ["---", *("---:" for _ in heads)]]
    for case in CASES:
        found = [covered(case, n, share, exams) for share in PREVALENCE for n in MARKED]
        lines.append([case.name, *(f"{100 * share:.1f} (±{100 * width:.1f})" for share, width in found)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How often 95% intervals of corrected scores hold the truth.")
    parser.add_argument("--exams", type=int, default=EXAMS, help="made-up exams for each number")
    print(table(parser.parse_args().exams))


if __name__ == "__main__":
    main()
