"""Agreement of judges: on single marks (Cohen, Gwet, Krippendorff) and on scores (intraclass correlation)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, Literal

import numpy as np

from .resample import NEAR, Derive, Floats, Interval, Measure, Parts, Plain, bootstrap, known, ratios

Level = Literal["nominal", "interval"]
ALIKE = "all marks are the same, so agreement cannot be separated from chance"
NONE = "no mark that both decided"


@dataclass(frozen=True)
class RatedUnit:
    """An item and the values that several evaluators gave it.

    Attributes:
        cluster: The question that the item belongs to.
        values: The value from each evaluator; None if it gave none.
        weight: The weight of the item.
    """

    cluster: str
    values: tuple[float | None, ...]
    weight: float = 1.0

    @property
    def said(self) -> list[float]:
        """The values that are not missing."""
        return [value for value in self.values if value is not None and known(value)]


@dataclass(frozen=True)
class MarkAgreement(Plain):
    """The agreement of two judges on the marks that both decided; intervals come from resampling whole questions.

    Attributes:
        n: The number of marks.
        same: The share of equal marks.
        kappa: Cohen's kappa, the agreement beyond chance.
        first_only: The number of marks that only the first judge decided.
        second_only: The number of marks that only the second judge decided.
        reason: Why there is no kappa.
    """

    n: int
    same: Interval
    kappa: Interval
    first_only: int
    second_only: int
    reason: str | None = None


def mark_agreement(units: Iterable[RatedUnit]) -> MarkAgreement:
    """Return the share of equal marks and Cohen's kappa, with intervals from resampling questions.

    Args:
        units: Marks of two judges; marks that one of them left undecided are only counted.

    >>> marks = [("q", (1, 1)), ("q", (0, 1)), ("r", (1, 1)), ("r", (0, 0)), ("s", (1, None))]
    >>> found = mark_agreement(RatedUnit(question, values) for question, values in marks)
    >>> found.n, found.same.value, found.kappa.value
    (4, 0.75, 0.5)
    """
    given = list(units)
    both = sorted((unit.cluster, unit.said[0], unit.said[1], unit.weight) for unit in given if len(unit.said) == 2)
    alone = [unit for unit in given if len(unit.said) == 1]
    first_only = sum(known(unit.values[0]) for unit in alone)
    second_only = len(alone) - first_only
    n, blank = len(both), Interval()
    if not n:
        return MarkAgreement(0, blank, blank, first_only, second_only, NONE)
    places = {question: place for place, question in enumerate(dict.fromkeys(question for question, *_ in both))}
    values = sorted({value for _, a, b, _ in both for value in (a, b)})
    cells = {(a, b): np.zeros(len(places)) for a in values for b in values}
    totals = np.zeros(len(places))
    for question, a, b, weight in both:
        cells[a, b][places[question]] += weight
        totals[places[question]] += weight

    def derive(shares: Mapping[str, Any]) -> dict[str, Any]:
        return _cohen(np.array([[shares[f"{a} {b}"] for b in values] for a in values]))

    intervals = bootstrap({f"{a} {b}": (count, totals) for (a, b), count in cells.items()}, derive, {"same": 1.0})
    kappa = intervals.get("kappa", blank)
    reason = None if kappa.value is not None else ALIKE
    return MarkAgreement(n, intervals["same"], kappa, first_only, second_only, reason)


def _cohen(shares: Floats) -> dict[str, Any]:
    """Return the share of equal marks and Cohen's kappa.

    Args:
        shares: The share of each pair of values; rows are the first judge's values, columns the second's.
    """
    same = np.trace(shares)
    chance = (shares.sum(axis=0) * shares.sum(axis=1)).sum(axis=0)
    return {"same": same, "kappa": _ratio(same - chance, 1 - chance)}


def krippendorff_alpha(table: Sequence[Sequence[float | None]], level: Level = "nominal") -> Measure:
    """Return Krippendorff's alpha over any number of judges, some of whose marks may be missing.

    It is one minus the ratio of two mean distances: between two marks of the same item, and between any two marks
    (Krippendorff, Content Analysis, the chapter on reliability).

    Args:
        table: One row per item, one column per judge.
        level: ``nominal`` if marks are only equal or different, ``interval`` if the distance between them counts.

    >>> krippendorff_alpha([[1, 1], [0, 0], [1, 0], [1, None]])
    Measure(value=0.444444444444, n=3, reason=None)
    """
    # Items that fewer than two judges marked say nothing about agreement.
    marked = (RatedUnit("", tuple(row)) for row in table)
    units = [unit for unit in marked if len(unit.said) > 1]
    if not units:
        return Measure(None, 0, NONE)
    if len({value for unit in units for value in unit.said}) == 1:
        return Measure(None, len(units), ALIKE)
    parts, derive = _reliability(units)
    # The last bits of a quotient are noise.
    return Measure(round(float(derive(ratios(parts))[f"alpha_{level}"]), 12), len(units))


def pair_distances(values: Sequence[float], level: Level) -> float:
    """Return the sum of distances over all ordered pairs: 1 if two values differ, or their squared difference.

    >>> pair_distances([1, 1, 3], "nominal"), pair_distances([1, 1, 3], "interval")
    (4.0, 16.0)
    """
    n = len(values)
    if level == "nominal":
        return float(n**2 - sum(count**2 for count in Counter(values).values()))
    mean = fsum(values) / n
    return 2 * n * fsum((value - mean) ** 2 for value in values)


FORMS = ("ICC(1,1)", "ICC(2,1)", "ICC(3,1)", "ICC(1,k)", "ICC(2,k)", "ICC(3,k)")
"""The forms of Shrout and Fleiss.

The first number is the design: different judges for each drawing (1); the same judges for all drawings, as a sample of
many judges (2); the same judges, and no others are of interest (3). ``1`` is for a single judge's score, ``k`` for the
mean of all judges.
"""


LEVELS: tuple[Level, ...] = ("nominal", "interval")


def chance_corrected(units: Sequence[RatedUnit], scale: Sequence[float] = ()) -> dict[str, Interval]:
    """Return Gwet's ``ac1`` and ``ac2`` (quadratic weights), Krippendorff's ``alpha_nominal`` and ``alpha_interval``.

    There may be any number of evaluators and missing values. Undefined numbers are left out.

    Args:
        units: The rated items.
        scale: The possible values; by default, those that were given.

    >>> units = [RatedUnit(str(n), (1.0, 1.0)) for n in range(9)] + [RatedUnit("9", (1.0, 0.0))]
    >>> {name: abs(round(found.value, 3)) for name, found in chance_corrected(units).items()}
    {'ac1': 0.89, 'ac2': 0.89, 'alpha_nominal': 0.0, 'alpha_interval': 0.0}
    """
    kept = [unit for unit in units if unit.said]
    levels = {*scale, *(value for unit in kept for value in unit.said)}
    if len(levels) < 2 or all(len(unit.said) < 2 for unit in kept):
        return {}
    return _with_width(bootstrap(*_reliability(kept, scale)))


def _reliability(units: Sequence[RatedUnit], scale: Sequence[float] = ()) -> tuple[Parts, Derive]:
    """Return the sums by cluster for `chance_corrected`, and the function that derives its numbers from ratios."""
    levels = sorted({*scale, *(value for unit in units for value in unit.said)})
    reach = levels[-1] - levels[0]
    near: dict[str, Callable[[float, float], float]] = {
        "ac1": lambda a, b: float(a == b),
        "ac2": lambda a, b: 1 - ((a - b) / reach) ** 2,
    }
    q, places = len(levels), {name: place for place, name in enumerate(sorted({unit.cluster for unit in units}))}
    sums: dict[str, tuple[Floats, Floats]] = {}

    def add(name: str, cluster: str, weight: float, top: float, bottom: float) -> None:
        tops, bottoms = sums.setdefault(name, (np.zeros(len(places)), np.zeros(len(places))))
        tops[places[cluster]] += weight * top
        bottoms[places[cluster]] += weight * bottom

    # Counted by distinct ratings, because most units of a question are rated alike.
    ways = Counter((unit.cluster, tuple(sorted(unit.said)), unit.weight) for unit in units)
    for (cluster, values, each), count in sorted(ways.items()):
        counts, m, weight = Counter(values), len(values), each * count
        for level in levels:
            add(f"share {level}", cluster, weight, counts[level] / m, 1)
        if m < 2:
            continue
        pairs = [(a, b, x * y - (x if a == b else 0)) for a, x in counts.items() for b, y in counts.items()]
        for name, alike in near.items():
            add(name, cluster, weight, sum(times * alike(a, b) for a, b, times in pairs) / (m * (m - 1)), 1)
        for measured in LEVELS:
            add(f"apart {measured}", cluster, weight, pair_distances(values, measured) / (m - 1), m)
        add("mean", cluster, weight, sum(values), m)
        add("square", cluster, weight, sum(value**2 for value in values), m)
        for level in levels:
            add(f"paired {level}", cluster, weight, counts[level], m)
    n = sum(len(values) * count for (_, values, _), count in ways.items() if len(values) > 1)
    whole = {name: sum(alike(a, b) for a in levels for b in levels) for name, alike in near.items()}

    def derive(means: Mapping[str, Any]) -> dict[str, Any]:
        spread = sum(means[f"share {level}"] * (1 - means[f"share {level}"]) for level in levels)
        measures = {}
        for name in near:
            chance = whole[name] / (q * (q - 1)) * spread
            measures[name] = _ratio(means[name] - chance, 1 - chance)
        expected = {
            "nominal": 1 - sum(means[f"paired {level}"] ** 2 for level in levels),
            "interval": 2 * (means["square"] - means["mean"] ** 2),
        }
        for measured in LEVELS:
            measures[f"alpha_{measured}"] = 1 - (n - 1) / n * _ratio(means[f"apart {measured}"], expected[measured])
        return measures

    return sums, derive


def _ratio(top: Any, bottom: Any) -> Any:
    defined = np.abs(bottom) > NEAR
    return np.where(defined, top / np.where(defined, bottom, 1.0), np.nan)


def _with_width(intervals: Mapping[str, Interval]) -> dict[str, Interval]:
    """Return the numbers, without intervals of zero width: resamples that all agree do not show the uncertainty."""
    kept = {}
    for name, each in intervals.items():
        flat = each.low is not None and each.high is not None and each.high - each.low < NEAR
        kept[name] = Interval(each.value, n=each.n) if flat else each
    return kept


def icc(units: Sequence[RatedUnit]) -> dict[str, Interval]:
    """Return the intraclass correlations (see `FORMS`) over the items that all evaluators rated, with intervals.

    If all evaluators rated fewer than two items in common, only ``ICC(1,1)`` is returned, in the one-way form with
    different raters, and unequal numbers of them, for each item.
    """
    kept = sorted(units, key=lambda unit: (unit.cluster, str(unit.values)))
    whole = [unit for unit in kept if len(unit.said) == len(unit.values) > 1]
    if len(whole) < 2:
        return _one_way([unit for unit in kept if len(unit.said) > 1])
    return _counted(_with_width(bootstrap(*_two_way(whole))), len(whole))


def _two_way(units: Sequence[RatedUnit]) -> tuple[Parts, Derive]:
    """Return the sums by cluster for the intraclass correlations, and the function that derives these from them."""
    n, k = len(units), len(units[0].values)
    table = np.array([unit.said for unit in units])
    # Centred first, because squares of large numbers lose digits.
    rows = list(table - table.mean())
    parts = _means(units, {"row": [r.mean() ** 2 for r in rows], "all": [(r**2).mean() for r in rows]})
    parts |= _means(units, {f"column {j}": [r[j] for r in rows] for j in range(k)})

    def derive(means: Mapping[str, Any]) -> dict[str, Any]:
        columns = [means[f"column {j}"] for j in range(k)]
        middle = sum(columns) / k
        between_rows = k * n * (means["row"] - middle**2)
        between_columns = n * sum((column - middle) ** 2 for column in columns)
        total = n * k * (means["all"] - middle**2)
        b, j = between_rows / (n - 1), between_columns / (k - 1)
        w = (total - between_rows) / (n * (k - 1))
        e = np.maximum(total - between_rows - between_columns, 0.0) / ((n - 1) * (k - 1))
        return {
            "ICC(1,1)": _ratio(b - w, b + (k - 1) * w),
            "ICC(2,1)": _ratio(b - e, b + (k - 1) * e + k * (j - e) / n),
            "ICC(3,1)": _ratio(b - e, b + (k - 1) * e),
            "ICC(1,k)": _ratio(b - w, b),
            "ICC(2,k)": _ratio(b - e, b + (j - e) / n),
            "ICC(3,k)": _ratio(b - e, b),
        }

    return parts, derive


def _one_way(units: Sequence[RatedUnit]) -> dict[str, Interval]:
    n = len(units)
    counts = np.array([len(unit.said) for unit in units], dtype=np.float64)
    total = counts.sum()
    if n < 2 or total <= n:
        return {}
    typical = (total - (counts**2).sum() / total) / (n - 1)
    rows = [np.array(unit.said) for unit in units]
    parts = _means(
        units,
        {
            "inside": [((r - r.mean()) ** 2).sum() for r in rows],
            "count": counts,
            "sum": [r.sum() for r in rows],
            "row": [len(r) * r.mean() ** 2 for r in rows],
        },
    )

    def derive(means: Mapping[str, Any]) -> dict[str, Any]:
        between = n * (means["row"] - means["sum"] ** 2 / means["count"]) / (n - 1)
        within = n * means["inside"] / (total - n)
        return {"ICC(1,1)": _ratio(between - within, between + (typical - 1) * within)}

    return _counted(_with_width(bootstrap(parts, derive)), n)


def _means(units: Sequence[RatedUnit], columns: Mapping[str, Sequence[float] | Floats]) -> dict[str, Any]:
    """Return weighted means over items, as parts by cluster."""
    _, homes = np.unique([unit.cluster for unit in units], return_inverse=True)
    weights = np.array([unit.weight for unit in units])
    bottoms = np.bincount(homes, weights)
    return {name: (np.bincount(homes, weights * np.asarray(values)), bottoms) for name, values in columns.items()}


def _counted(intervals: Mapping[str, Interval], n: int) -> dict[str, Interval]:
    return {name: Interval(each.value, each.low, each.high, n) for name, each in intervals.items()}


@dataclass(frozen=True)
class Flips(Plain):
    """How often repeats of a marking differ.

    Attributes:
        n: The number of marks that were given more than once.
        rate: How often two repeats of a mark differ.
        ever: The share of marks on which not all repeats agree; it grows with the number of repeats.
        reason: Why there is no rate.
    """

    n: int
    rate: Interval
    ever: Interval
    reason: str | None = None


def flips(marks: Iterable[tuple[str, Sequence[float | None]]]) -> Flips:
    """Return the flip rate of one judge.

    Args:
        marks: For each mark, its question (cluster) and the value from each repeat; undecided ones are left out.

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
        return Flips(0, blank, blank, "nothing was marked more than once; mark again with `--repeats`")
    places = {question: place for place, question in enumerate(dict.fromkeys(question for question, _ in repeated))}
    rate, ever, total = (np.zeros(len(places)) for _ in range(3))
    for question, given in repeated:
        pairs = len(given) * (len(given) - 1) / 2
        alike = sum(count * (count - 1) / 2 for count in Counter(given).values())
        rate[places[question]] += 1 - alike / pairs
        ever[places[question]] += alike < pairs
        total[places[question]] += 1
    intervals = bootstrap({"rate": (rate, total), "ever": (ever, total)}, tops={"rate": 1.0, "ever": 1.0})
    return Flips(len(repeated), intervals["rate"], intervals["ever"])
