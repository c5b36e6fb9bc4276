"""How often the 95% intervals that Limner prints hold the truth: ``python -m tools.interval_coverage``.

Exams of n questions are simulated, each question's result drawn from a known distribution, and every interval is
computed as `limner scores` does it. A good 95% interval holds the true score in 95 of 100 exams. Seeded.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limner.scoring.stats import bootstrap
from limner.scoring.stats.resample import RESAMPLES, Floats

SEED = 7
EXAMS = 1000
QUESTIONS = (8, 20, 60, 200)
GROUPS = 4
"""Categories in the mean of categories' means."""
Draw = Callable[[np.random.Generator, tuple[int, int]], tuple[Floats, Floats]]


@dataclass(frozen=True)
class Case:
    """A sort of score: what questions add to it, as numerators and denominators (exams x questions), and its truth."""

    name: str
    truth: float
    draw: Draw


def _plain(values: Floats) -> tuple[Floats, Floats]:
    return values, np.ones_like(values)


def _yes(share: float) -> Case:
    name = f"yes or no, {share:.0%} yes"
    return Case(name, share, lambda rng, shape: _plain((rng.random(shape) < share).astype(np.float64)))


def _graded(name: str, a: float, b: float, zeros: float = 0.0) -> Case:
    """A number between 0 and 1 by question (Beta), which is 0 for some of them."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Floats]:
        return _plain(np.where(rng.random(shape) < zeros, 0.0, rng.beta(a, b, shape)))

    return Case(name, (1 - zeros) * a / (a + b), draw)


def _clustered(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Criteria met of all: 1 to 20 a question, more of them met in some questions than in others."""
    sizes = rng.integers(1, 21, shape)
    return rng.binomial(sizes, rng.beta(3.0, 2.0, shape)).astype(np.float64), sizes.astype(np.float64)


def _product(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Fidelity times readability, question by question."""
    return _plain(rng.beta(1.0, 2.0, shape) * rng.beta(4.0, 2.0, shape))


CASES = (
    _yes(0.5),
    _yes(0.1),
    _yes(0.02),
    _graded("graded, symmetric", 2.0, 2.0),
    _graded("graded, skewed: most near 0", 0.5, 3.0),
    _graded("graded, 30% of questions at 0", 2.0, 2.0, 0.3),
    _graded("graded, 90% of questions at 0", 2.0, 2.0, 0.9),
    Case("criteria met, 1 to 20 a question", 0.6, _clustered),
    Case("product of two scores", 1 / 3 * 2 / 3, _product),
)
MACRO = Case("mean of four categories' means", 0.5, CASES[3].draw)


def covered(n: int, exams: int = EXAMS, resamples: int = RESAMPLES) -> dict[str, float]:
    """For exams of n questions: by sort of score, the share of intervals that hold the truth."""
    rng = np.random.default_rng([SEED, n])
    drawn = {case.name: case.draw(rng, (exams, n)) for case in (*CASES, MACRO)}
    truth = {case.name: case.truth for case in (*CASES, MACRO)}
    groups = [f"{MACRO.name} {group}" for group in range(GROUPS)]

    def derive(means: Mapping[str, Any]) -> dict[str, Any]:
        own = {name: mean for name, mean in means.items() if name not in groups}
        return own | {MACRO.name: np.nanmean([means[name] for name in groups], axis=0)}

    hits = dict.fromkeys(truth, 0)
    for exam in range(exams):
        parts = {name: (tops[exam], bottoms[exam]) for name, (tops, bottoms) in drawn.items()}
        tops, _ = parts.pop(MACRO.name)
        for place, name in enumerate(groups):
            inside = (np.arange(n) % GROUPS == place).astype(np.float64)
            parts[name] = tops * inside, inside
        found = bootstrap(parts, derive, dict.fromkeys(truth, 1.0), resamples)
        for name, true in truth.items():
            low, high = found[name].low, found[name].high
            assert low is not None
            assert high is not None
            hits[name] += low <= true <= high
    return {name: count / exams for name, count in hits.items()}


def table(questions: Sequence[int], exams: int) -> str:
    """The shares as a Markdown table, a row for each sort of score."""
    columns = [covered(n, exams) for n in questions]
    lines = [["score", *(f"n = {n}" for n in questions)], ["---", *("---:" for _ in questions)]]
    lines += [[name, *(f"{100 * column[name]:.1f}" for column in columns)] for name in columns[0]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How often 95% intervals hold the truth, in percent.")
    parser.add_argument("--exams", type=int, default=EXAMS, help="simulated exams of each size")
    parser.add_argument("--questions", type=int, nargs="+", default=QUESTIONS, help="sizes of exams")
    given = parser.parse_args()
    print(table(given.questions, given.exams))


if __name__ == "__main__":
    main()
