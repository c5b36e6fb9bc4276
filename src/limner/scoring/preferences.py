"""Preferences between painters, from evaluators' choices between two drawings of the same question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import UsageError
from ..core.evaluator import Evaluator, EvaluatorFilter, label_evaluators, row_name
from ..store import DEFAULT, Store
from ..store.markings import PairChoice, inclusion_weights, load_comparisons
from ..store.records import Drawing, evaluator_kinds, load_drawings, load_setups
from ..store.store import using_store
from .groups import stored_exam
from .stats.resample import MIN_CLUSTERS, Floats, Interval, Plain, bootstrap, student, student_p

PERSON = "person"
PEOPLE = "people"
"""The name under which all persons are combined; those of a study are ``people/STUDY``."""


@dataclass(frozen=True)
class PreferredPainter(Plain):
    """One painter's results under one evaluator.

    Attributes:
        rate: The share of its pairs that it wins; a tie counts as half a win.
        strength: The log-odds against the mean painter; see `limner.scoring.preferences`.
    """

    painter: str
    wins: int
    ties: int
    losses: int
    rate: Interval
    strength: Interval


@dataclass(frozen=True)
class PainterPair(Plain):
    """Two painters under one evaluator, and how often the first wins; a tie counts as half a win."""

    first: str
    second: str
    wins: int
    ties: int
    losses: int
    rate: Interval


@dataclass(frozen=True)
class Preferences(Plain):
    """The preferences of one evaluator, or of all people combined, on one scale.

    Attributes:
        scale: What was asked, such as ``logic``.
        raters: The number of evaluators who chose.
        n: The number of choices.
        skipped: The number of pairs that were shown but skipped.
        shown_first: How often the drawing shown first won, over choices whose order is known; a tie counts as half.
        order: The log-odds gained by being shown first.
        ties: How likely ties are (Davidson's nu).
        weighted: Whether pairs had different probabilities of being asked, so that choices are weighted.
        reason: Why there are no strengths.
    """

    exam: str
    evaluator: str
    scale: str
    study: str | None
    raters: int
    questions: int
    n: int
    skipped: int
    painters: tuple[PreferredPainter, ...]
    pairs: tuple[PainterPair, ...]
    shown_first: Interval
    order: Interval
    order_p: float | None
    ties: Interval
    weighted: bool = False
    reason: str | None = None

    @property
    def rates(self) -> dict[str, float]:
        """The win rate of each painter."""
        return {each.painter: each.rate.value for each in self.painters if each.rate.value is not None}


@dataclass(frozen=True)
class WeightedChoice:
    """One choice between two painters.

    Attributes:
        cluster: The question; whole questions are resampled.
        choice: ``first``, ``second`` or ``tie``.
        shown_first: ``first`` or ``second``; None if unknown.
        weight: The inverse of the probability that the pair was asked.
    """

    cluster: str
    first: str
    second: str
    choice: str
    shown_first: str | None = None
    weight: float = 1.0


@dataclass
class _Asked:
    """The choices of one evaluator or of one group of evaluators."""

    choices: list[WeightedChoice] = field(default_factory=list)
    skipped: int = 0
    raters: set[str] = field(default_factory=set)


def preferences(
    exam: str,
    *,
    study: str | None = None,
    judges: Sequence[str] = (),
    painters: Sequence[str] = (),
    without: Sequence[str] = (),
    store: Store | str | Path = DEFAULT,
) -> list[Preferences]:
    """Return win rates and strengths for every evaluator and scale, and for all people combined.

    Args:
        exam: The exam's name in the store.
        study: Only use the choices of this study.
        judges: Only these evaluators, such as ``person/anna``; ``people/STUDY`` for all persons of a study combined,
            ``people`` for those of every study.
        painters: Only use choices between these painters.
        without: Leave out choices that involve these painters.
        store: The store that holds the choices.

    Raises:
        UsageError: There is no such evaluator or painter, or there are no choices.
    """
    with using_store(store) as opened:
        named = stored_exam(exam, opened)
        drawings = {drawing.id: drawing for drawing in load_drawings(opened, named.name)}
        comparisons = list(load_comparisons(opened, named.name, study))
        if not comparisons:
            where = f"the study {study} of {named.name}" if study else named.name
            raise UsageError(
                f"{where}: no one has chosen between two drawings; `limner rate {named.name} --as arena --judge "
                "PROVIDER/MODEL` asks a model, a study asks people"
            )
        weights = {name: inclusion_weights(opened, name) for name in {row.study for row in comparisons if row.study}}
        kinds, setups = evaluator_kinds(opened), load_setups(opened)
    everyone = label_evaluators(
        Evaluator(id, setups[id], kind=kinds.get(id, "judge")) for id in sorted({row.setup for row in comparisons})
    )
    together = _together(judges, {row.study for row in comparisons})
    chosen = _chosen(everyone, judges, together)
    wanted = _wanted(drawings.values(), painters, without)
    asked: dict[tuple[str, str, str | None], _Asked] = {}
    for row in comparisons:
        for name in chosen.get(row.setup, ()):
            if name == PEOPLE:
                name = _people_of(row.study)
                if together and not together & {PEOPLE, name}:
                    continue
            if wanted(drawings[row.first]) and wanted(drawings[row.second]):
                place = asked.setdefault((name, row.scale, row.study), _Asked())
                place.raters.add(row.setup)
                _take(place, row, drawings, weights.get(row.study or "", {}))
    return [_made(named.name, *key, asked[key]) for key in sorted(asked, key=lambda key: tuple(map(str, key)))]


def _people_of(study: str | None) -> str:
    return f"{PEOPLE}/{study}" if study else PEOPLE


def _together(judges: Sequence[str], studies: Iterable[str | None]) -> set[str]:
    """Return the names of combined persons among the judges.

    Raises:
        UsageError: A named study has no choices.
    """
    known = {PEOPLE, *map(_people_of, studies)}
    named = {word for word in judges if word == PEOPLE or word.startswith(f"{PEOPLE}/")}
    if unknown := sorted(named - known):
        raise UsageError(f"--judge {unknown[0]}: choose from {', '.join(sorted(known))}")
    return named


def _chosen(everyone: Sequence[Evaluator], judges: Sequence[str], together: set[str]) -> dict[str, list[str]]:
    """Return setup -> the names its choices count for: its own, and for persons also that of all people combined."""
    persons = [each for each in everyone if each.kind == PERSON]
    alone = tuple(word for word in judges if word not in together)
    own = everyone if not judges else EvaluatorFilter(alone).choose(list(everyone)) if alone else []
    names_of = {each.id: [each.name] for each in own}
    if together or (not judges and len(persons) > 1):
        for each in persons:
            names_of.setdefault(each.id, []).append(PEOPLE)
    return names_of


def _wanted(drawings: Iterable[Drawing], painters: Sequence[str], without: Sequence[str]) -> Callable[[Drawing], bool]:
    def names(drawing: Drawing) -> set[str]:
        return {drawing.painter, drawing.label, row_name(drawing.label, drawing.strategy)}

    painter_names = {name for drawing in drawings for name in names(drawing)}
    for option, words in (("--painter", painters), ("--without", without)):
        if unknown := sorted(set(words) - painter_names):
            raise UsageError(f"{option} {unknown[0]}: choose from {', '.join(sorted(painter_names))}")
    return lambda drawing: (
        not (names(drawing) & set(without)) and (not painters or bool(names(drawing) & set(painters)))
    )


def _take(
    place: _Asked, row: PairChoice, drawings: Mapping[str, Drawing], weights: Mapping[frozenset[str], float]
) -> None:
    if row.choice is None:
        place.skipped += 1
        return
    names = [row_name(drawings[id].label, drawings[id].strategy) for id in (row.first, row.second)]
    weight = weights.get(frozenset((row.first, row.second)), 1.0)
    place.choices.append(WeightedChoice(row.question_id, names[0], names[1], row.choice, row.shown_first, weight))


def _made(exam: str, evaluator: str, scale: str, study: str | None, asked: _Asked) -> Preferences:
    choices = sorted(asked.choices, key=lambda c: (c.cluster, c.first, c.second, c.choice, str(c.shown_first)))
    model, rates = strengths(choices), win_rates(choices)
    counts = {name: Counter(_end(choice, name) for choice in choices) for name in rates}
    rows = [
        PreferredPainter(name, *_three(counts[name]), rate, model.painters.get(name, Interval()))
        for name, rate in rates.items()
    ]
    rows.sort(key=lambda row: (-(row.rate.value or 0.0), row.painter))
    return Preferences(
        exam, evaluator, scale, study, len(asked.raters), len({choice.cluster for choice in choices}), len(choices),
        asked.skipped, tuple(rows), tuple(_pairs(choices, [row.painter for row in rows])), _shown_first(choices),
        model.order, model.order_p, model.ties, len({choice.weight for choice in choices}) > 1,
        model.reason and f"no strengths: {model.reason}",
    )  # fmt: skip


def _end(choice: WeightedChoice, name: str) -> str:
    """Return the outcome of a choice for a painter; empty if the painter was not one of the two."""
    if name not in (choice.first, choice.second):
        return ""
    if choice.choice == TIE:
        return "tie"
    return "win" if (choice.choice == FIRST) == (name == choice.first) else "loss"


def _three(counted: Counter[str]) -> tuple[int, int, int]:
    return counted["win"], counted["tie"], counted["loss"]


def _pairs(choices: Sequence[WeightedChoice], names: Sequence[str]) -> Iterable[PainterPair]:
    for first, second in combinations(names, 2):
        both = [choice for choice in choices if {choice.first, choice.second} == {first, second}]
        if both:
            counted = Counter(_end(choice, first) for choice in both)
            yield PainterPair(first, second, *_three(counted), win_rates(both)[first])


def _shown_first(choices: Sequence[WeightedChoice]) -> Interval:
    """Return how often the drawing shown first won."""
    turned = [
        WeightedChoice(c.cluster, "shown first", "shown second", TIE if c.choice == TIE else
                   FIRST if c.choice == c.shown_first else "second", weight=c.weight)
        for c in choices if c.shown_first is not None
    ]  # fmt: skip
    return win_rates(turned)["shown first"] if turned else Interval()


FIRST, TIE, SECOND = "first", "tie", "second"
OUTCOMES = (FIRST, TIE, SECOND)
MAX_STEPS = 100
Places = NDArray[np.int64]
MAX_LOG_ODDS = 15.0
"""The limit of log-odds; beyond it, the likelihood is taken to have no maximum."""


@dataclass(frozen=True)
class Strengths(Plain):
    """The parameters of the fitted model.

    Attributes:
        painters: The strength of each painter, in log-odds against the mean painter; the intervals allow for
            dependent choices within a question.
        order: The log-odds gained by being shown first; without a value if it cannot be estimated.
        ties: How likely ties are (Davidson's nu); without a value if there are no ties.
        n: The number of choices.
        reason: Why there are no strengths.
    """

    painters: Mapping[str, Interval]
    order: Interval
    order_p: float | None
    ties: Interval
    n: int
    reason: str | None = None


def win_rates(choices: Sequence[WeightedChoice]) -> dict[str, Interval]:
    """Return the share of its pairs that each painter wins, with intervals from resampling questions.

    A tie counts as half a win.

    >>> found = win_rates([WeightedChoice("q", "a", "b", "first"), WeightedChoice("r", "a", "b", "tie")])
    >>> found["a"].value, found["b"].value
    (0.75, 0.25)
    """
    clusters = _places(choice.cluster for choice in choices)
    names = sorted({name for choice in choices for name in (choice.first, choice.second)})
    won = {name: (np.zeros(len(clusters)), np.zeros(len(clusters))) for name in names}
    for choice in choices:
        at = clusters[choice.cluster]
        for name, gain in ((choice.first, _gain(choice)), (choice.second, 1 - _gain(choice))):
            won[name][0][at] += choice.weight * gain
            won[name][1][at] += choice.weight
    return bootstrap(won, tops=dict.fromkeys(names, 1.0))


def _gain(choice: WeightedChoice) -> float:
    return {FIRST: 1.0, TIE: 0.5, SECOND: 0.0}[choice.choice]


def _places(names: Iterable[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(sorted(set(names)))}


def strengths(choices: Sequence[WeightedChoice]) -> Strengths:
    """Fit the model by maximum (weighted) likelihood, with intervals from a sandwich estimator over whole questions.

    There are no intervals for fewer than five questions.

    >>> two_to_one = [WeightedChoice(str(n), "a", "b", "second" if n % 3 == 0 else "first") for n in range(9)]
    >>> round(2 * strengths(two_to_one).painters["a"].value, 4)  # log 2
    0.6931
    """
    blank = Interval(n=len(choices))
    names = sorted({name for choice in choices for name in (choice.first, choice.second)})
    if (why := _hopeless(choices, names)) is not None:
        return Strengths(dict.fromkeys(names, blank), blank, None, blank, len(choices), why)
    tied = any(choice.choice == TIE for choice in choices)
    ordered = any(choice.shown_first is not None for choice in choices)
    table = _design(choices, names, tied, ordered)
    if ordered and np.linalg.matrix_rank(_differences(table)) < table.shape[2]:
        ordered = False  # The order is determined by the painters, so its effect cannot be estimated.
        table = _design(choices, names, tied, ordered)
    chosen = np.array([OUTCOMES.index(choice.choice) for choice in choices])
    weights = np.array([choice.weight for choice in choices])
    theta = _maximum(table, chosen, weights, tied)
    if theta is None:
        why = "the choices leave no finite strength: some outcome is always the same"
        return Strengths(dict.fromkeys(names, blank), blank, None, blank, len(choices), why)
    clusters = _places(choice.cluster for choice in choices)
    at = np.array([clusters[choice.cluster] for choice in choices])
    spread, n = _sandwich(table, chosen, weights, at, theta, tied), len(clusters)
    # All strengths add up to zero, which determines the last painter's.
    free = len(names) - 1
    rows = np.vstack([np.eye(free), -np.ones(free)])
    by_painter = {}
    for name, row in zip(names, rows, strict=True):
        along = np.concatenate([row, np.zeros(len(theta) - free)])
        by_painter[name] = _interval(float(along @ theta), float(along @ spread @ along), n)
    order, p = blank, None
    if ordered:
        order = _interval(float(theta[-1]), float(spread[-1, -1]), n)
        if n >= MIN_CLUSTERS and spread[-1, -1] > 0:
            p = student_p(float(theta[-1] / np.sqrt(spread[-1, -1])), n)
    ties = blank
    if tied:
        log = _interval(float(theta[free]), float(spread[free, free]), n)
        value, low, high = (None if end is None else float(np.exp(end)) for end in (log.value, log.low, log.high))
        ties = Interval(value, low, high, n)
    return Strengths(by_painter, order, p, ties, len(choices))


def _hopeless(choices: Sequence[WeightedChoice], names: Sequence[str]) -> str | None:
    """Return why there are no strengths; None if chains of wins or ties lead from every painter to every other."""
    if len(names) < 2:
        return "fewer than two painters were compared"
    if all(choice.choice == TIE for choice in choices):
        return "every choice is a tie"
    import networkx as nx

    graph: Any = nx.DiGraph()
    graph.add_nodes_from(names)
    for choice in choices:
        if choice.choice != SECOND:
            graph.add_edge(choice.first, choice.second)
        if choice.choice != FIRST:
            graph.add_edge(choice.second, choice.first)
    if not nx.is_weakly_connected(graph):
        parts: list[set[str]] = list(nx.weakly_connected_components(graph))
        smallest: set[str] = min(parts, key=lambda part: (len(part), sorted(part)))
        return f"never compared with the others: {', '.join(sorted(smallest))}"
    if nx.is_strongly_connected(graph):
        return None
    folded: Any = nx.condensation(graph)
    best = [sorted(folded.nodes[n]["members"]) for n in folded if folded.in_degree(n) == 0]
    return f"no finite strength: never lost or tied against the others: {', '.join(best[0])}"


def _design(choices: Sequence[WeightedChoice], names: Sequence[str], tied: bool, ordered: bool) -> Floats:
    """Return the factor of each parameter for each choice and outcome: strengths except the last, ties, order."""
    place, free = {name: n for n, name in enumerate(names)}, len(names) - 1
    strength = np.vstack([np.eye(free), -np.ones(free)])
    table = np.zeros((len(choices), 3, free + tied + ordered))
    for row, choice in zip(table, choices, strict=True):
        one, other = strength[place[choice.first]], strength[place[choice.second]]
        row[0, :free], row[1, :free], row[2, :free] = one, (one + other) / 2, other
        if tied:
            row[1, free] = 1
        if ordered and choice.shown_first is not None:
            way = 0.5 if choice.shown_first == FIRST else -0.5
            row[0, -1], row[2, -1] = way, -way
    return table


def _differences(table: Floats) -> Floats:
    return np.concatenate([table[:, 0] - table[:, 2], table[:, 1] - table[:, 2]])


def _shares(table: Floats, theta: Floats, tied: bool) -> Floats:
    height = table @ theta
    if not tied:
        height[:, 1] = -np.inf
    height = np.exp(height - height.max(axis=1, keepdims=True))
    probabilities: Floats = height / height.sum(axis=1, keepdims=True)
    return probabilities


def _maximum(table: Floats, chosen: Places, weights: Floats, tied: bool) -> Floats | None:
    """Return the maximum of a concave likelihood by Newton's method; None if it has none."""
    rows = np.arange(len(chosen))

    def height(theta: Floats) -> float:
        return float(weights @ np.log(np.maximum(_shares(table, theta, tied)[rows, chosen], 1e-300)))

    theta = np.zeros(table.shape[2])
    now = height(theta)
    for _ in range(MAX_STEPS):
        slope, bend = _slope(table, chosen, theta, tied), _bend(table, weights, theta, tied)
        try:
            step = np.linalg.solve(bend, weights @ slope)
        except np.linalg.LinAlgError:
            return None
        while (then := height(theta + step)) < now - 1e-12 * abs(now) and np.abs(step).max() > 1e-12:
            step = step / 2
        theta, now = theta + step, then
        if np.abs(theta).max() > MAX_LOG_ODDS:
            return None
        if np.abs(step).max() < 1e-10:
            return theta
    return None


def _slope(table: Floats, chosen: Places, theta: Floats, tied: bool) -> Floats:
    """Return the gradient of each choice's log-likelihood."""
    mean = np.einsum("nk,nkp->np", _shares(table, theta, tied), table)
    slopes: Floats = table[np.arange(len(chosen)), chosen] - mean
    return slopes


def _bend(table: Floats, weights: Floats, theta: Floats, tied: bool) -> Floats:
    shares = _shares(table, theta, tied)
    mean = np.einsum("nk,nkp->np", shares, table)
    outer = np.einsum("n,nk,nkp,nkq->pq", weights, shares, table, table, optimize=True)
    curvature: Floats = outer - np.einsum("n,np,nq->pq", weights, mean, mean, optimize=True)
    return curvature


def _sandwich(table: Floats, chosen: Places, weights: Floats, at: Places, theta: Floats, tied: bool) -> Floats:
    """Return the covariance of the parameters, allowing for dependent choices within a question."""
    inverse = np.linalg.inv(_bend(table, weights, theta, tied))
    n = int(at.max()) + 1
    sums = np.zeros((n, len(theta)))
    np.add.at(sums, at, weights[:, None] * _slope(table, chosen, theta, tied))
    covariance: Floats = inverse @ (sums.T @ sums) @ inverse * (n / (n - 1) if n > 1 else 1.0)
    return covariance


def _interval(value: float, variance: float, n: int) -> Interval:
    if n < MIN_CLUSTERS:
        return Interval(value, None, None, n)
    half = student(n) * float(np.sqrt(max(variance, 0.0)))
    return Interval(value, value - half, value + half, n)
