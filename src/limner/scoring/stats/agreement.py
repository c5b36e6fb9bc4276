"""How far judges agree: on single marks (Cohen, Krippendorff), and on drawings' scores (intraclass correlation)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, Literal

import numpy as np

from .resample import bootstrap
from .types import Interval, Measure, Plain, known

Level = Literal["nominal", "interval"]
ALIKE = "all marks are the same: there is nothing to tell agreement from chance by"
NONE = "no mark that both decided"


@dataclass(frozen=True)
class MarkAgreement(Plain):
    """Two judges on the marks that both decided; intervals come from resampling whole questions.

    Attributes:
        n: How many marks.
        same: Share that is marked alike.
        kappa: Agreement beyond chance, Cohen's kappa.
        first: The mean of the first judge's marks.
        second: The mean of the second judge's.
        reason: Why there is no kappa.
    """

    n: int
    same: Interval
    kappa: Interval
    first: float | None
    second: float | None
    reason: str | None = None


def mark_agreement(
    marks: Iterable[tuple[str, float | None, float | None]], weights: Sequence[float] | None = None
) -> MarkAgreement:
    """Share marked alike and Cohen's kappa, with intervals from resampling questions.

    Args:
        marks: The question (cluster) and what each of the two judges marked; undecided ones are left out.
        weights: What each of the marks counts; all the same by default.

    >>> found = mark_agreement([("q", 1, 1), ("q", 0, 1), ("r", 1, 1), ("r", 0, 0), ("s", 1, None)])
    >>> found.n, found.same.value, found.kappa.value
    (4, 0.75, 0.5)
    """
    given = list(marks)
    counted = zip(given, weights or [1.0] * len(given), strict=True)
    both = sorted((q, a, b, w) for (q, a, b), w in counted if known(a) and known(b) and a is not None and b is not None)
    n, blank = len(both), Interval()
    if not n:
        return MarkAgreement(0, blank, blank, None, None, NONE)
    places = {question: place for place, question in enumerate(dict.fromkeys(question for question, *_ in both))}
    values = sorted({value for _, a, b, _ in both for value in (a, b)})
    cells = {(a, b): np.zeros(len(places)) for a in values for b in values}
    totals = np.zeros(len(places))
    for question, a, b, weight in both:
        cells[a, b][places[question]] += weight
        totals[places[question]] += weight

    def derive(shares: Mapping[str, Any]) -> dict[str, Any]:
        table = np.array([[shares[f"{a} {b}"] for b in values] for a in values])
        same = np.trace(table)
        chance = (table.sum(axis=0) * table.sum(axis=1)).sum(axis=0)
        beyond = np.divide(same - chance, 1 - chance, out=np.full(np.shape(same), np.nan), where=chance < 1 - 1e-12)
        return {"same": same, "kappa": beyond}

    found = bootstrap({f"{a} {b}": (count, totals) for (a, b), count in cells.items()}, derive, {"same": 1.0})
    whole = sum(weight for *_, weight in both)
    first, second = sum(a * w for _, a, _, w in both) / whole, sum(b * w for _, _, b, w in both) / whole
    same, kappa = (_plain(found.get(name)) for name in ("same", "kappa"))
    return MarkAgreement(n, same, kappa, first, second, None if kappa.value is not None else ALIKE)


def _plain(found: Interval | None) -> Interval:
    if found is None or found.value is None:
        return Interval()
    low, high = (None if edge is None else float(edge) for edge in (found.low, found.high))
    return Interval(float(found.value), low, high, found.n)


def counted_kappa(counts: Mapping[tuple[float, float], float]) -> Measure:
    """Cohen's kappa from how often each two values met, without an interval: quick, however many marks there are.

    >>> counted_kappa({(1, 1): 2, (0, 1): 1, (0, 0): 1})
    Measure(value=0.5, n=4, reason=None)
    """
    n = sum(counts.values())
    if not n:
        return Measure(None, 0, NONE)
    ends: list[dict[float, float]] = [{}, {}]
    for pair, count in counts.items():
        for side, value in zip(ends, pair, strict=True):
            side[value] = side.get(value, 0) + count
    same = sum(count for (a, b), count in counts.items() if a == b) / n
    chance = sum(count * ends[1].get(value, 0) for value, count in ends[0].items()) / n**2
    return Measure((same - chance) / (1 - chance), int(n)) if chance < 1 - 1e-12 else Measure(None, int(n), ALIKE)


def cohen_kappa(first: Sequence[float | None], second: Sequence[float | None]) -> Measure:
    """Cohen's kappa of two judges, mark by mark.

    >>> cohen_kappa([1, 1, 0, 0], [1, 1, 0, 1]).value
    0.5
    >>> cohen_kappa([1, 1], [1, 1]).reason
    'all marks are the same: there is nothing to tell agreement from chance by'
    """
    pairs = [(str(place), a, b) for place, (a, b) in enumerate(zip(first, second, strict=True))]
    found = mark_agreement(pairs)
    return Measure(found.kappa.value, found.n, found.reason)


def krippendorff_alpha(table: Sequence[Sequence[float | None]], level: Level = "nominal") -> Measure:
    """Compute Krippendorff's alpha over any number of judges, some of whose marks may be missing.

    It is one less the ratio of two mean distances: between two marks of one thing, and between any two marks
    (Krippendorff, Content Analysis, the chapter on reliability).

    Args:
        table: One row per thing marked, one column per judge.
        level: ``nominal``: marks are equal or not; ``interval``: how far they are apart counts.

    >>> krippendorff_alpha([[1, 1], [0, 0], [1, 0], [1, None]])
    Measure(value=0.444444444444, n=3, reason=None)
    """
    marked = [[float(value) for value in row if value is not None and known(value)] for row in table]
    # What fewer than two judges have marked says nothing about agreement.
    units = [values for values in marked if len(values) > 1]
    if not units:
        return Measure(None, 0, NONE)
    pooled = [value for values in units for value in values]
    if len(set(pooled)) == 1:
        return Measure(None, len(units), ALIKE)
    within = fsum(pair_distances(values, level) / (len(values) - 1) for values in units) / len(pooled)
    overall = pair_distances(pooled, level) / (len(pooled) * (len(pooled) - 1))
    # Twelve digits are enough, and the last bits of a quotient are noise.
    return Measure(round(1 - within / overall, 12), len(units))


def pair_distances(values: Sequence[float], level: Level) -> float:
    """Add up the distances of all ordered pairs: 1 where two values differ, or the square of their difference.

    >>> pair_distances([1, 1, 3], "nominal"), pair_distances([1, 1, 3], "interval")
    (4.0, 16.0)
    """
    n = len(values)
    if level == "nominal":
        return float(n**2 - sum(count**2 for count in Counter(values).values()))
    mean = fsum(values) / n
    return 2 * n * fsum((value - mean) ** 2 for value in values)


FORMS = ("ICC(1,1)", "ICC(2,1)", "ICC(3,1)", "ICC(1,k)", "ICC(2,k)", "ICC(3,k)")
"""The forms of Shrout and Fleiss: judges differ from drawing to drawing (1); the same judges, a sample of many (2);
these judges and no others (3). ``1`` is for the score of a single judge, ``k`` for the mean of all."""


def icc(table: Sequence[Sequence[float | None]]) -> dict[str, Measure]:
    """Every form of the intraclass correlation; a drawing that some judge lacks is left out.

    Args:
        table: One row per drawing, one column per judge.

    >>> found = icc([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]])
    >>> {form: round(each.value, 2) for form, each in found.items()}
    {'ICC(1,1)': 0.17, 'ICC(2,1)': 0.29, 'ICC(3,1)': 0.71, 'ICC(1,k)': 0.44, 'ICC(2,k)': 0.62, 'ICC(3,k)': 0.91}
    """
    kept = sorted([float(value) for value in row if value is not None] for row in table if all(map(known, row)))
    n, k = len(kept), len(kept[0]) if kept else 0
    if n < 2 or k < 2:
        what = "drawings" if n < 2 else "judges"
        return dict.fromkeys(FORMS, Measure(None, n, f"fewer than two {what} in common"))
    scores = np.array(kept)
    mean = scores.mean()
    total = ((scores - mean) ** 2).sum()
    if total <= 1e-12 * max(1.0, float(mean) ** 2):
        return dict.fromkeys(FORMS, Measure(None, n, "all scores are the same"))
    rows = k * ((scores.mean(axis=1) - mean) ** 2).sum()
    columns = n * ((scores.mean(axis=0) - mean) ** 2).sum()
    between = rows / (n - 1)
    judges = columns / (k - 1)
    within = (total - rows) / (n * (k - 1))
    rest = max(0.0, total - rows - columns) / ((n - 1) * (k - 1))
    fractions = {
        "ICC(1,1)": (between - within, between + (k - 1) * within),
        "ICC(2,1)": (between - rest, between + (k - 1) * rest + k * (judges - rest) / n),
        "ICC(3,1)": (between - rest, between + (k - 1) * rest),
        "ICC(1,k)": (between - within, between),
        "ICC(2,k)": (between - rest, between + (judges - rest) / n),
        "ICC(3,k)": (between - rest, between),
    }
    why = "the drawings do not differ: there is nothing to recognise"
    return {
        form: Measure(float(top / bottom), n) if bottom > 1e-12 * total else Measure(None, n, why)
        for form, (top, bottom) in fractions.items()
    }
