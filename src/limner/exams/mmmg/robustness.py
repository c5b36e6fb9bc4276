"""Whether judges agree on the order of painters: the same drawings, several judges. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...scoring import Standing


def by_judge(standings: Iterable[Standing], score: str = "mmmg_release") -> dict[str, dict[str, float]]:
    """Judge -> painter -> score, from what `limner.api.scores` gives."""
    found: dict[str, dict[str, float]] = {}
    for standing in standings:
        interval = standing.scores.get(score)
        if interval is not None and interval.value is not None:
            found.setdefault(standing.judge, {})[standing.painter] = interval.value
    return found


def agreement(scores: Mapping[str, Mapping[str, float]]) -> list[dict[str, Any]]:
    """For each pair of judges, how alike they rank the painters both have marked.

    Returns:
        ``judges``, ``painters`` (how many), ``kendall`` and ``spearman`` (None below two painters or where a judge
        gives all the same score), and ``shift``: the mean of the second judge's scores less the first's.

    >>> agreement({"a": {"x": 0.5, "y": 0.3}, "b": {"x": 0.6, "y": 0.4}})[0]["kendall"]
    1.0
    """
    from scipy import stats

    found = []
    for one, other in combinations(sorted(scores), 2):
        common = sorted(scores[one].keys() & scores[other].keys())
        first, second = ([scores[judge][painter] for painter in common] for judge in (one, other))
        ranked = len(set(first)) > 1 and len(set(second)) > 1
        found.append(
            {
                "judges": (one, other),
                "painters": len(common),
                "kendall": round(float(stats.kendalltau(first, second).statistic), 12) if ranked else None,
                "spearman": round(float(stats.spearmanr(first, second).statistic), 12) if ranked else None,
                "shift": (sum(second) - sum(first)) / len(common) if common else None,
            }
        )
    return found
