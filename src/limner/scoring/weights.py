"""Weights of an exam's dimensions, fitted to some raters' overall ratings and tested on the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import UsageError
from ..core.protocol import Protocol
from ..store import DEFAULT, Store
from ..store.store import using_store
from .compare.judges import ExamOpinions, load_opinions
from .compare.opinions import rated_scale
from .groups import stored_exam
from .stats.correlation import pearson
from .stats.resample import Floats, Interval, Plain, bootstrap

OVERALL = "overall"
"""The scale of the ratings that weights are fitted to."""
FITTED, ROUNDED, OWN, EQUAL, ALONE = "fitted", "rounded", "exam", "equal", "first alone"
GAIN = "gain"


@dataclass(frozen=True)
class RatedDrawing:
    """One person's view of one drawing: each dimension as a share of its best value, and the rating."""

    rater: str
    drawing: str
    question: str
    shares: tuple[float, ...]
    overall: float
    weight: float


@dataclass(frozen=True)
class FittedWeights(Plain):
    """Non-negative weights that add up to 1.

    Attributes:
        exact: The weights whose weighted sum has the highest Pearson correlation with the ratings.
        rounded: The best weights in whole tenths.
        n: The number of drawings they are fitted to.
        reason: Why there are no weights.
    """

    exact: tuple[float, ...]
    rounded: tuple[float, ...]
    n: int
    reason: str | None = None


@dataclass(frozen=True)
class WeightsFold(Plain):
    """One fit to some raters, and how well it predicts the others.

    Attributes:
        train: The raters that the weights are fitted to.
        held_out: The raters that they are tested on; empty for the fit to all raters.
        correlations: Name of the weights -> Pearson's r of the weighted sum with the held-out raters' overall rating.
        gain: r of the rounded weights minus r of the exam's own weights, on the same drawings.
        n: The number of drawings that the held-out raters rated.
    """

    train: tuple[str, ...]
    held_out: tuple[str, ...]
    fitted: FittedWeights
    correlations: Mapping[str, Interval]
    gain: Interval
    n: int


@dataclass(frozen=True)
class WeightsFit(Plain):
    """All folds, and the fit to all raters.

    Attributes:
        own: The exam's own weights of the dimensions.
        everyone: The fit to all raters, which is tested on nobody.
    """

    exam: str
    score: str
    dimensions: tuple[str, ...]
    own: tuple[float, ...]
    raters: tuple[str, ...]
    folds: tuple[WeightsFold, ...]
    everyone: FittedWeights


def fitted_weights(
    exam: str,
    *,
    study: str | None = None,
    train: Sequence[str] = (),
    score: str | None = None,
    reading: str = "careful",
    store: Store | str | Path = DEFAULT,
    **which: Any,
) -> WeightsFit:
    """Fit the weights of a score's dimensions to overall ratings; each rater in turn is held out.

    Args:
        exam: The exam's name in the store.
        study: Only use this study's ratings.
        train: Fit to these raters, and hold out all others.
        score: The weighted score; by default the exam's only one.
        reading: How stored replies are read.
        store: The store that holds marks and ratings.
        **which: ``painters``, ``without``, ``selection``; see `limner.scoring.groups.find_groups`.

    Raises:
        UsageError: The exam has no weighted score, or too few people marked and rated the same drawings.
    """
    with using_store(store) as opened:
        named = stored_exam(exam, opened)
        everyone = load_opinions(opened, named.name, which, reading=reading, study=study)
    score, own = _weighted(named.name, everyone.protocol, score)
    rows = _rows(everyone, list(own))
    raters = sorted({row.rater for row in rows})
    if len(raters) < 2:
        names = ", ".join(raters) or "nobody"
        raise UsageError(f"{named.name}: weights need two people who mark and rate {OVERALL}; it has: {names}")
    if unknown := sorted(set(train) - set(raters)):
        raise UsageError(f"--train {unknown[0]}: choose from {', '.join(raters)}")
    if train and set(train) == set(raters):
        raise UsageError("--train: leave some raters out, for the weights to be shown on")
    parts = [tuple(train)] if train else [tuple(r for r in raters if r != out) for out in raters]
    folds = [_fold(rows, part, tuple(r for r in raters if r not in part), tuple(own.values())) for part in parts]
    whole = _fit(_means(rows, raters))
    return WeightsFit(named.name, score, tuple(own), tuple(own.values()), tuple(raters), tuple(folds), whole)


def _weighted(exam: str, protocol: Protocol[Any], wanted: str | None) -> tuple[str, Mapping[str, float]]:
    if wanted is None and len(protocol.weights) == 1:
        wanted = next(iter(protocol.weights))
    if wanted is None or wanted not in protocol.weights:
        raise UsageError(f"{exam}: no weighted score {wanted or ''}; it has: {', '.join(protocol.weights) or 'none'}")
    return wanted, protocol.weights[wanted]


def _rows(everyone: ExamOpinions, dimensions: Sequence[str]) -> list[RatedDrawing]:
    """Return each person's view of each drawing that the person marked and rated."""
    tops = {score.name: score.top for score in everyone.protocol.scored}
    overall, rows = rated_scale(OVERALL, everyone.protocol), list[RatedDrawing]()
    for person in everyone.opinions:
        if person.kind != "person" or person.evaluator is None or overall not in person.scales:
            continue
        numbers = [person.scores.get(name, {}) for name in (*dimensions, overall)]
        weights, name = everyone.weights.get(person.study or "", {}), person.evaluator.judge.removeprefix("person/")
        for id in set.intersection(*map(set, numbers)):
            shares = tuple(person.scores[dimension][id] / tops[dimension] for dimension in dimensions)
            question, rating = everyone.seen[id].question, person.scores[overall][id]
            rows.append(RatedDrawing(name, id, question, shares, rating, weights.get(id, 1.0)))
    return sorted(rows, key=lambda row: (row.question, row.drawing, row.rater))


Means = tuple[list[str], Floats, Floats, Floats]
"""Questions, shares, ratings and weights: one row per drawing, averaged over raters."""


def _means(rows: Sequence[RatedDrawing], raters: Sequence[str]) -> Means:
    """Return the mean over raters for each drawing, as papers do."""
    by: dict[str, list[RatedDrawing]] = {}
    for row in rows:
        if row.rater in raters:
            by.setdefault(row.drawing, []).append(row)
    questions = [group[0].question for group in by.values()]
    shares = np.array([np.mean([row.shares for row in group], axis=0) for group in by.values()])
    ratings = np.array([np.mean([row.overall for row in group]) for group in by.values()])
    return questions, shares, ratings, np.array([group[0].weight for group in by.values()])


def _fit(means: Means) -> FittedWeights:
    _, shares, ratings, each = means
    return fit_weights(shares, ratings, each)  # type: ignore[arg-type]


def _fold(
    rows: Sequence[RatedDrawing], train: tuple[str, ...], out: tuple[str, ...], own: Sequence[float]
) -> WeightsFold:
    fitted, count = _fit(_means(rows, train)), len(own)
    means = _means(rows, out)
    tried = {
        FITTED: fitted.exact, ROUNDED: fitted.rounded, OWN: tuple(own), EQUAL: (1 / count,) * count,
        ALONE: (1.0, *([0.0] * (count - 1))),
    }  # fmt: skip
    correlations = _correlations(means, {name: w for name, w in tried.items() if not np.isnan(w).any()})
    blank = Interval(n=len(set(means[0])))
    by_name = {name: correlations.get(name, blank) for name in tried}
    return WeightsFold(train, out, fitted, by_name, correlations.get(GAIN, blank), len(means[0]))


def _correlations(means: Means, tried: Mapping[str, Sequence[float]]) -> dict[str, Interval]:
    """Return each weighted sum's correlation with the ratings, from moments summed by question."""
    questions, shares, ratings, each = means
    place = {question: n for n, question in enumerate(sorted(set(questions)))}
    at = np.array([place[question] for question in questions])

    def part(values: Floats) -> tuple[Floats, Floats]:
        tops, bottoms = np.zeros(len(place)), np.zeros(len(place))
        np.add.at(tops, at, each * values)
        np.add.at(bottoms, at, each)
        return tops, bottoms

    y = ratings - ratings.mean()
    parts = {"y": part(y), "yy": part(y * y)}
    for name, weights in tried.items():
        x = shares @ np.array(weights)
        x = x - x.mean()
        parts |= {f"{name} x": part(x), f"{name} xx": part(x * x), f"{name} xy": part(x * y)}

    def derive(mean: Mapping[str, Any]) -> dict[str, Any]:
        correlations = {}
        for name in tried:
            above = mean[f"{name} xy"] - mean[f"{name} x"] * mean["y"]
            below = (mean[f"{name} xx"] - mean[f"{name} x"] ** 2) * (mean["yy"] - mean["y"] ** 2)
            with np.errstate(divide="ignore", invalid="ignore"):
                correlations[name] = np.where(below > 1e-18, above / np.sqrt(np.maximum(below, 1e-300)), np.nan)
        if ROUNDED in correlations and OWN in correlations:
            correlations[GAIN] = correlations[ROUNDED] - correlations[OWN]
        return correlations

    return bootstrap(parts, derive)


TENTHS = 10
"""The number of steps between 0 and 1 of rounded weights."""


def fit_weights(table: Sequence[Sequence[float]], rating: Sequence[float], each: Sequence[float] = ()) -> FittedWeights:
    """Return the weights whose weighted sum of the columns correlates best with the rating.

    Among non-negative weights, the non-negative least squares fit of the centred data has the highest correlation,
    regardless of the rating's scale.

    Args:
        table: One row per drawing, one column per score, all on the same scale.
        rating: The overall rating of each drawing.
        each: The weight of each drawing; equal by default.

    >>> fit_weights([[0, 0], [1, 0], [0, 1], [1, 1]], [1, 4, 2, 5]).exact
    (0.75, 0.25)
    """
    from scipy.optimize import nnls

    x, y = np.array(table, dtype=np.float64), np.array(rating, dtype=np.float64)
    n, count = len(y), x.shape[1] if x.ndim == 2 else 0
    none = (float("nan"),) * count
    if n <= count:
        return FittedWeights(none, none, n, f"{n} drawings are too few for {count} weights")
    share = np.ones(n) / n if not len(each) else np.array(each) / np.sum(each)
    x, y = x - share @ x, y - share @ y
    solution, _ = nnls(x * np.sqrt(share)[:, None], y * np.sqrt(share))
    if not solution.sum() > 1e-12:
        return FittedWeights(none, none, n, "no score goes with the rating")
    choices = tenths(count)
    best = choices[int(np.argmax(np.nan_to_num(pearson(np.array(choices) @ x.T, y, share).round(12), nan=-2.0)))]
    return FittedWeights(tuple(round(float(w), 12) for w in solution / solution.sum()), best, n)


def tenths(count: int) -> list[tuple[float, ...]]:
    """Return all ways to divide 1 into `count` parts in whole tenths.

    >>> tenths(2)[:3], len(tenths(4))
    ([(0.0, 1.0), (0.1, 0.9), (0.2, 0.8)], 286)
    """
    divisions = []
    for bars in combinations(range(TENTHS + count - 1), count - 1):
        ends = (-1, *bars, TENTHS + count - 1)
        divisions.append(tuple((b - a - 1) / TENTHS for a, b in pairwise(ends)))
    return divisions
