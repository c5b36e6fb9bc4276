"""How steady one judge is: the same drawing marked several times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .resample import bootstrap
from .types import Interval, Plain, known


@dataclass(frozen=True)
class Flips(Plain):
    """What repeats change.

    Attributes:
        n: Marks that were given more than once.
        rate: How often two repeats differ on a mark.
        ever: Share of marks on which not all repeats agree; grows with the number of repeats.
        reason: Why there is none.
    """

    n: int
    rate: Interval
    ever: Interval
    reason: str | None = None


def flips(marks: Iterable[tuple[str, Sequence[float | None]]]) -> Flips:
    """The flip rate of one judge.

    Args:
        marks: For every mark its question (cluster) and what each repeat gave; undecided ones are left out.

    >>> found = flips([("q", [1, 1, 0]), ("q", [1, 1, 1]), ("r", [0, None, 0]), ("r", [1])])
    >>> found.n, round(found.rate.value, 3), round(found.ever.value, 3)
    (3, 0.222, 0.333)
    """
    repeated = sorted(
        (question, sorted(value for value in given if value is not None and known(value))) for question, given in marks
    )
    repeated = [(question, given) for question, given in repeated if len(given) > 1]
    if not repeated:
        blank = Interval()
        return Flips(0, blank, blank, "nothing was marked more than once; `--repeats` does that")
    places = {question: place for place, question in enumerate(dict.fromkeys(question for question, _ in repeated))}
    rate, ever, total = (np.zeros(len(places)) for _ in range(3))
    for question, given in repeated:
        pairs = len(given) * (len(given) - 1) / 2
        alike = sum(count * (count - 1) / 2 for count in Counter(given).values())
        rate[places[question]] += 1 - alike / pairs
        ever[places[question]] += alike < pairs
        total[places[question]] += 1
    found = bootstrap({"rate": (rate, total), "ever": (ever, total)}, tops={"rate": 1.0, "ever": 1.0})
    return Flips(len(repeated), found["rate"], found["ever"])
