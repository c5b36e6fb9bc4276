"""How reliable several evaluators are together: Gwet, Krippendorff and ICC, with weights and intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .agreement import Level, pair_distances
from .resample import bootstrap
from .types import NEAR, Floats, Interval

LEVELS: tuple[Level, ...] = ("nominal", "interval")


@dataclass(frozen=True)
class RatedUnit:
    """One thing and what each of several evaluators said of it.

    Attributes:
        cluster: The question it belongs to.
        values: One place for every evaluator; None where it said nothing.
        weight: What the thing counts.
    """

    cluster: str
    values: tuple[float | None, ...]
    weight: float = 1.0

    @property
    def said(self) -> list[float]:
        """The values there are."""
        return [value for value in self.values if value is not None]


def chance_corrected(units: Sequence[RatedUnit], scale: Sequence[float] = ()) -> dict[str, Interval]:
    """Gwet's ``ac1`` and ``ac2`` (quadratic weights), Krippendorff's ``alpha_nominal`` and ``alpha_interval``.

    Any number of evaluators, some of whose values may be missing. What is not defined is left out.

    Args:
        units: What was rated.
        scale: The values that are possible; those that were given by default.

    >>> units = [RatedUnit(str(n), (1.0, 1.0)) for n in range(9)] + [RatedUnit("9", (1.0, 0.0))]
    >>> {name: abs(round(found.value, 3)) for name, found in chance_corrected(units).items()}
    {'ac1': 0.89, 'ac2': 0.89, 'alpha_nominal': 0.0, 'alpha_interval': 0.0}
    """
    kept = sorted((unit for unit in units if unit.said), key=lambda unit: (unit.cluster, str(unit.values)))
    twice = [unit for unit in kept if len(unit.said) > 1]
    levels = sorted({*scale, *(value for unit in kept for value in unit.said)})
    if not twice or len(levels) < 2:
        return {}
    reach = levels[-1] - levels[0]
    near: dict[str, Callable[[float, float], float]] = {
        "ac1": lambda a, b: float(a == b),
        "ac2": lambda a, b: 1 - ((a - b) / reach) ** 2,
    }
    q, places = len(levels), {name: place for place, name in enumerate(sorted({unit.cluster for unit in kept}))}
    sums: dict[str, tuple[Floats, Floats]] = {}

    def add(name: str, unit: RatedUnit, top: float, bottom: float) -> None:
        tops, bottoms = sums.setdefault(name, (np.zeros(len(places)), np.zeros(len(places))))
        tops[places[unit.cluster]] += unit.weight * top
        bottoms[places[unit.cluster]] += unit.weight * bottom

    for unit in kept:
        counts, m = Counter(unit.said), len(unit.said)
        for level in levels:
            add(f"share {level}", unit, counts[level] / m, 1)
        if m < 2:
            continue
        pairs = [(a, b, x * y - (x if a == b else 0)) for a, x in counts.items() for b, y in counts.items()]
        for name, alike in near.items():
            add(name, unit, sum(count * alike(a, b) for a, b, count in pairs) / (m * (m - 1)), 1)
        for measured in LEVELS:
            add(f"apart {measured}", unit, pair_distances(unit.said, measured) / (m - 1), m)
        add("mean", unit, sum(unit.said), m)
        add("square", unit, sum(value**2 for value in unit.said), m)
        for level in levels:
            add(f"paired {level}", unit, counts[level], m)
    n = sum(len(unit.said) for unit in twice)
    whole = {name: sum(alike(a, b) for a in levels for b in levels) for name, alike in near.items()}

    def derive(means: Mapping[str, Any]) -> dict[str, Any]:
        spread = sum(means[f"share {level}"] * (1 - means[f"share {level}"]) for level in levels)
        found = {}
        for name in near:
            chance = whole[name] / (q * (q - 1)) * spread
            found[name] = _ratio(means[name] - chance, 1 - chance)
        expected = {
            "nominal": 1 - sum(means[f"paired {level}"] ** 2 for level in levels),
            "interval": 2 * (means["square"] - means["mean"] ** 2),
        }
        for measured in LEVELS:
            found[f"alpha_{measured}"] = 1 - (n - 1) / n * _ratio(means[f"apart {measured}"], expected[measured])
        return found

    return _with_width(bootstrap(sums, derive))


def _ratio(top: Any, bottom: Any) -> Any:
    there = np.abs(bottom) > NEAR
    return np.where(there, top / np.where(there, bottom, 1.0), np.nan)


def _with_width(found: Mapping[str, Interval]) -> dict[str, Interval]:
    """Where all resamples say the same, they say nothing of how sure it is."""
    kept = {}
    for name, each in found.items():
        value, low, high = (None if end is None else float(end) for end in (each.value, each.low, each.high))
        flat = low is not None and high is not None and high - low < NEAR
        kept[name] = Interval(value, None if flat else low, None if flat else high, each.n)
    return kept


def icc_intervals(units: Sequence[RatedUnit]) -> dict[str, Interval]:
    """The forms of Shrout and Fleiss by their names, over what all evaluators have rated, with intervals.

    Where fewer than two things have been rated by all, only ``ICC(1,1)`` is left: raters differ from thing to thing,
    and as many as there are count (the one-way form with unequal numbers).
    """
    kept = sorted(units, key=lambda unit: (unit.cluster, str(unit.values)))
    whole = [unit for unit in kept if len(unit.said) == len(unit.values) > 1]
    return _two_way(whole) if len(whole) > 1 else _one_way([unit for unit in kept if len(unit.said) > 1])


def _two_way(units: Sequence[RatedUnit]) -> dict[str, Interval]:
    n, k = len(units), len(units[0].values)
    rows = [np.array(unit.said) for unit in units]
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

    return _counted(_with_width(bootstrap(parts, derive)), n)


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
    """Weighted means over things, as parts by cluster."""
    _, homes = np.unique([unit.cluster for unit in units], return_inverse=True)
    weights = np.array([unit.weight for unit in units])
    bottoms = np.bincount(homes, weights)
    return {name: (np.bincount(homes, weights * np.asarray(values)), bottoms) for name, values in columns.items()}


def _counted(found: Mapping[str, Interval], n: int) -> dict[str, Interval]:
    return {name: Interval(each.value, each.low, each.high, n) for name, each in found.items()}
