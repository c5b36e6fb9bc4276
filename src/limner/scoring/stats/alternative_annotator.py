"""May a judge replace people? The alternative-annotator test (arXiv 2501.10970). Pure.

Each person in turn is left out: does the judge agree with the others at least as well as that person does?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TypeVar

import numpy as np

from .types import ALPHA, Plain

T = TypeVar("T")
Align = Callable[[T, Sequence[T]], float]
"""How well one answer agrees with those of others; the larger the better."""
LEAST_PEOPLE = 3
LEAST_ITEMS = 30
"""A person who has marked fewer items, each with somebody else, is not tested."""
WINS = 0.5
"""Of so many people the judge must prove as good to pass."""
EPS = 0.15
"""How much better people may be while the judge, being cheaper, is preferred: the paper's number for skilled raters."""


@dataclass(frozen=True)
class LeftOut(Plain):
    """The judge against one person.

    Attributes:
        advantage: Share of items on which the judge agrees with the others at least as well.
        p: Of the test that the person is better by eps or more.
        won: Whether that is refuted, corrected over people (Benjamini and Yekutieli).
        n: Items.
    """

    person: str
    advantage: float
    p: float
    won: bool
    n: int


@dataclass(frozen=True)
class AlternativeTest(Plain):
    """Whether a judge may replace people.

    Attributes:
        win_rate: Share of people against whom the judge wins (the paper's omega).
        advantage: How probably the judge is as good as a person or better (the paper's rho): the mean over people.
        n: Items in all.
        passes: Whether the win rate is at least `WINS`.
        reason: Why there is no test.
    """

    win_rate: float | None
    advantage: float | None
    eps: float
    n: int
    passes: bool
    people: tuple[LeftOut, ...] = ()
    reason: str | None = None


def alternative_annotator(
    judge: Mapping[str, T],
    people: Mapping[str, Mapping[str, T]],
    align: Align[T],
    eps: float = EPS,
    clusters: Mapping[str, str] | None = None,
) -> AlternativeTest:
    """Test a judge against every person in turn.

    Args:
        judge: Item -> the judge's answer.
        people: Person -> item -> that person's answer.
        align: How well an answer agrees with others'.
        eps: How much better people may be.
        clusters: Item -> its question; items of one are not independent.
    """
    items = sorted(item for item in judge if sum(item in answers for answers in people.values()) > 1)
    rows = []
    for name, answers in sorted(people.items()):
        mine = [item for item in items if item in answers]
        if len(mine) < LEAST_ITEMS:
            continue
        others = [[each[item] for who, each in sorted(people.items()) if who != name and item in each] for item in mine]
        pairs = [(align(judge[i], rest), align(answers[i], rest)) for i, rest in zip(mine, others, strict=True)]
        worse = np.array([float(own >= its) - float(its >= own) for its, own in pairs])
        groups = [clusters[item] if clusters else item for item in mine]
        advantage = float(np.mean([its >= own for its, own in pairs]))
        rows.append((name, advantage, _p(worse, groups, eps), len(mine)))
    if len(rows) < LEAST_PEOPLE:
        there = f"{len(rows)} of {len(people)} people have marked {LEAST_ITEMS} drawings that another marked too"
        return AlternativeTest(None, None, eps, len(items), False, reason=f"{there}; the test needs {LEAST_PEOPLE}")
    won = benjamini_yekutieli([p for _, _, p, _ in rows])
    found = tuple(LeftOut(name, advantage, p, win, n) for (name, advantage, p, n), win in zip(rows, won, strict=True))
    win_rate = sum(won) / len(won)
    advantage = sum(each.advantage for each in found) / len(found)
    return AlternativeTest(win_rate, advantage, eps, len(items), win_rate >= WINS, found)


def _p(worse: np.ndarray[tuple[int], np.dtype[np.float64]], groups: Sequence[str], eps: float) -> float:
    """Student's t that the mean is below eps, with the variance over whole clusters."""
    from scipy.special import stdtr

    mean, n = float(worse.mean()), len(worse)
    sums: dict[str, float] = {}
    for group, value in zip(groups, worse, strict=True):
        sums[group] = sums.get(group, 0.0) + float(value) - mean
    many = len(sums)
    variance = many / (many - 1) * sum(value**2 for value in sums.values()) / n**2 if many > 1 else 0.0
    if variance <= 0:
        return 0.0 if many > 1 and mean < eps else 1.0
    return float(stdtr(many - 1, (mean - eps) / sqrt(variance)))


def benjamini_yekutieli(p: Sequence[float], level: float = ALPHA) -> list[bool]:
    """Which hypotheses are rejected with a false discovery rate of at most `level`, whatever their dependence.

    >>> benjamini_yekutieli([0.001, 0.02, 0.9])
    [True, False, False]
    """
    m = len(p)
    harmonic = sum(1 / k for k in range(1, m + 1))
    order = sorted(range(m), key=lambda place: p[place])
    last = max((k for k in range(m) if p[order[k]] <= (k + 1) / m * level / harmonic), default=-1)
    rejected = set(order[: last + 1])
    return [place in rejected for place in range(m)]
