"""Places: between which ones a painter stands, and how alike two orders are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from .resample import interval
from .types import RESAMPLES, Floats, Measure, known


@dataclass(frozen=True)
class RankInterval:
    """The best and the worst place that 95% of the resamples leave open."""

    low: int
    high: int

    @property
    def words(self) -> str:
        """Such as ``1st`` or ``2nd to 4th``."""
        return ordinal(self.low) if self.low == self.high else f"{ordinal(self.low)} to {ordinal(self.high)}"

    def to_json(self) -> dict[str, int | str]:
        """``{low, high, words}``."""
        return {"low": self.low, "high": self.high, "words": self.words}


def ordinal(place: int) -> str:
    """A place in short words.

    >>> [ordinal(place) for place in (1, 2, 3, 4, 11, 12, 21, 113)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '21st', '113th']
    """
    ending = "th" if place % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{ending}"


def rank_intervals(drawn: Mapping[str, Floats]) -> dict[str, RankInterval]:
    """For every painter its best and its worst place, from joint resamples of all of them; highest first.

    Equals share their places: each could stand at the best or at the worst of them.

    >>> found = rank_intervals({"a": np.array([3.0, 4.0]), "b": np.array([1.0, 2.0]), "c": np.array([1.0, 2.0])})
    >>> {name: place.words for name, place in found.items()}
    {'a': '1st', 'b': '2nd to 3rd', 'c': '2nd to 3rd'}
    """
    names = sorted(drawn)
    if not names:
        return {}
    table = np.array([drawn[name] for name in names])
    table = table[:, ~np.isnan(table).any(axis=0)]
    if not table.shape[1]:
        return {}
    found = {}
    for name, row in zip(names, table, strict=True):
        # Sums of the same numbers in another order may differ in their last bits.
        near = 1e-9 * np.maximum(1.0, np.abs(row))
        best = 1 + (table > row + near).sum(axis=0)
        worst = (table >= row - near).sum(axis=0)
        low = np.percentile(best, 2.5, method="inverted_cdf")
        high = np.percentile(worst, 97.5, method="inverted_cdf")
        found[name] = RankInterval(int(low), int(high))
    return found


def spearman(first: Sequence[float | None], second: Sequence[float | None]) -> Measure:
    """Spearman's rank correlation over the places that both have.

    >>> spearman([1, 2, 3, None], [10, 30, 20, 5])
    Measure(value=0.5, n=3, reason=None)
    """
    return _correlation(first, second, "spearmanr")


def kendall(first: Sequence[float | None], second: Sequence[float | None]) -> Measure:
    """Kendall's tau-b over the places that both have; it takes ties into account.

    >>> kendall([1, 2], [5, 5])
    Measure(value=None, n=2, reason='all have the same score')
    """
    return _correlation(first, second, "kendalltau")


def _correlation(first: Sequence[float | None], second: Sequence[float | None], how: str) -> Measure:
    both = sorted((a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None)
    both = [pair for pair in both if known(pair[0]) and known(pair[1])]
    if len(both) < 2:
        return Measure(None, len(both), "an order needs two")
    if any(len({pair[side] for pair in both}) == 1 for side in (0, 1)):
        return Measure(None, len(both), "all have the same score")
    from scipy import stats

    value = getattr(stats, how)(*zip(*both, strict=True)).statistic
    return Measure(round(float(value), 12), len(both))


def spearman_spread(value: float, first: Floats, second: Floats) -> tuple[float | None, float | None]:
    """The 95% interval of a Spearman correlation from resamples: one row each, a column for every painter.

    >>> spearman_spread(1.0, np.array([[1.0, 2.0, 3.0]] * 4), np.array([[2.0, 4.0, 6.0]] * 4))
    (1.0, 1.0)
    """
    from scipy.stats import rankdata

    kept = ~(np.isnan(first).any(axis=1) | np.isnan(second).any(axis=1))
    ranks = [rankdata(table[kept].round(9), axis=1) for table in (first, second)]
    x, y = (table - table.mean(axis=1, keepdims=True) for table in ranks)
    below = np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    # Where all are equal in a resample there is no order to speak of.
    values = np.divide((x * y).sum(axis=1), below, out=np.full(len(below), np.nan), where=below > 0)
    # How many questions stand behind it is not known here: plain percentiles.
    found = interval(value, values.round(12), RESAMPLES)
    return found.low, found.high


def rank_agreement(scores: Mapping[str, Mapping[str, float | None]]) -> list[dict[str, Any]]:
    """For each two judges (or exams), how alike they order the painters both have.

    Returns:
        ``pair``, ``painters`` (how many), ``spearman`` and ``kendall`` as `Measure`, and ``shift``: the mean of the
        second one's scores less the first's, None without a painter in common.

    >>> found = rank_agreement({"a": {"x": 0.5, "y": 0.3}, "b": {"x": 0.6, "y": 0.4}})[0]
    >>> found["kendall"].value, round(found["shift"], 2)
    (1.0, 0.1)
    """
    found = []
    for one, other in combinations(sorted(scores), 2):
        common = [name for name in sorted(scores[one]) if known(scores[one][name]) and known(scores[other].get(name))]
        first, second = ([scores[judge][painter] for painter in common] for judge in (one, other))
        gaps = [b - a for a, b in zip(first, second, strict=True) if a is not None and b is not None]
        body: dict[str, Any] = {"pair": (one, other), "painters": len(common)}
        body |= {"spearman": spearman(first, second), "kendall": kendall(first, second)}
        found.append(body | {"shift": sum(gaps) / len(gaps) if gaps else None})
    return found
