"""The people of a study: their agreement, the ceiling for judges, and whether a judge may replace a person. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from statistics import stdev
from typing import Any, TypeVar

import numpy as np

from ..stats import MEASURES, Interval, RatedUnit, chance_corrected, icc, mark_agreement, spearman
from ..stats.correlation import STATISTICS, jackknife_weights, z_error, z_interval
from ..stats.resample import ALPHA, Floats, Plain
from .opinions import (
    ALL_CRITERIA,
    ANYONE,
    PEOPLE_PREFIX,
    AgreementNumber,
    ComparedDrawings,
    Opinion,
    SeenDrawing,
    group_by_sort,
    make_number,
    merge_people,
)
from .pair_numbers import common_scores, mean_number, painter_numbers


def people_numbers(
    study: str, people: Sequence[Opinion], field: ComparedDrawings, tag: str | None = None, category: str | None = None
) -> Iterator[AgreementNumber]:
    """Yield all numbers of a study's people among themselves.

    First come numbers of ``person/*`` against ``people/STUDY``: the agreement of each person with the others, averaged
    over people, which is the most that can be expected of a judge; and the reliability of all people together. Then
    come the numbers of each person against the others.

    Args:
        study: The study's name.
        people: The opinion of each person.
        field: The drawings and their weights; with `tag`, only those of one `category`.
        tag: The tag of a breakdown.
        category: The value of the tag.
    """
    if len(people) < 2:
        return
    rest = [merge_people(study, [other for other in people if other is not person]) for person in people]
    head = AgreementNumber(ANYONE, PEOPLE_PREFIX + study, tag=tag, category=category)
    yield from _mark_ceiling(people, rest, field, head)
    names = sorted({name for person in people for name in person.scores if name not in person.unsettled})
    for name in names:
        yield from _ceiling(people, rest, name, field, replace(head, score=name))
    for name in names if "painter" in field.units else ():
        yield from _painter_ceiling(people, rest, name, field, replace(head, unit="painter", score=name))
    for person, others in zip(people, rest, strict=True):
        yield from _deviation(person, others, names, field, replace(head, first=person.name))


def _mark_ceiling(
    people: Sequence[Opinion], rest: Sequence[Opinion], field: ComparedDrawings, head: AgreementNumber
) -> Iterator[AgreementNumber]:
    pairs = []
    rated: dict[tuple[str, str], list[float | None]] = {}
    for place, (person, others) in enumerate(zip(people, rest, strict=True)):
        for id in sorted(person.marks.keys() & field.seen.keys()):
            for criterion, mine in sorted(person.marks[id].items()):
                rated.setdefault((id, criterion), [None] * len(people))[place] = mine
                if (theirs := others.marks.get(id, {}).get(criterion)) is not None:
                    pairs.append((criterion, field.unit(id, (mine, theirs))))
    each_alone = group_by_sort(pairs)
    together_rated = group_by_sort((name, field.unit(id, values)) for (id, name), values in sorted(rated.items()))
    for sort, units in (
        sorted(together_rated.items(), key=lambda pair: (pair[0] != ALL_CRITERIA, pair[0])) if rated else ()
    ):
        about = replace(head, score=sort)
        if alone := each_alone.get(sort):
            agreed = mark_agreement(alone)
            yield make_number(about, "accuracy", agreed.same, len(alone))
            yield make_number(about, "kappa", agreed.kappa, len(alone))
        for measure, each in chance_corrected(units, [0.0, 1.0]).items():
            yield make_number(about, measure, each, len(units))


def _ceiling(
    people: Sequence[Opinion], rest: Sequence[Opinion], name: str, field: ComparedDrawings, head: AgreementNumber
) -> Iterator[AgreementNumber]:
    """Yield numbers of each person against the mean of the others, averaged over people by how much each rated."""
    tables = [common_scores((person, others), (name, name), field) for person, others in zip(people, rest, strict=True)]
    tables = [table for table in tables if len(table) > 1]
    ids = [id for table in tables for id in table]
    if not ids:
        return
    clusters, weights = [field.seen[id].cluster for id in ids], np.array([field.weight(id) for id in ids])
    gaps = [abs(a - b) for table in tables for a, b in table.values()]
    n = len(set(ids))
    yield make_number(head, "mae", mean_number(gaps, clusters, weights.tolist()), n)
    rows = jackknife_weights(clusters)
    for measure in MEASURES:
        value = _averaged(measure, tables, weights[None, :])[0]
        if np.isnan(value):
            continue
        without = _averaged(measure, tables, rows * weights)
        low, high = z_interval(value, z_error(value, without), len(set(clusters)))
        yield make_number(head, measure, Interval(round(float(value), 12), low, high, n))
    units = _rated(people, name, field)
    for form, each in icc(units).items():
        yield make_number(head, form, each)
    for measure, each in chance_corrected(units).items():
        if measure == "alpha_interval":
            yield make_number(head, measure, each, len(units))
    spread = [(unit, stdev(unit.said)) for unit in units if len(unit.said) > 1]
    if spread:
        about = [unit.cluster for unit, _ in spread], [unit.weight for unit, _ in spread]
        yield make_number(head, "std", mean_number([each for _, each in spread], *about), len(spread))


def _averaged(measure: str, tables: Sequence[Mapping[str, tuple[float, ...]]], weights: Floats) -> Floats:
    """Return the mean of a correlation over people for each row of weights; people without one are left out."""
    start, by_person, counts = 0, [], []
    for table in tables:
        mine, theirs = (np.array([values[side] for values in table.values()]) for side in (0, 1))
        inside = weights[:, start : start + len(table)]
        start += len(table)
        # A person without any drawing in a row has no correlation there.
        some = inside.sum(axis=1) > 0
        values = np.full(len(weights), np.nan)
        if some.any():
            values[some] = STATISTICS[measure](mine, theirs, inside[some])
        by_person.append(values)
        counts.append(float(len(table)))
    defined = ~np.isnan(by_person)
    shares = defined * np.array(counts)[:, None]
    total = shares.sum(axis=0)
    sums = (np.nan_to_num(by_person) * shares).sum(axis=0)
    means: Floats = np.divide(sums, total, out=np.full(len(weights), np.nan), where=total > 0)
    return means


def _rated(people: Sequence[Opinion], name: str, field: ComparedDrawings) -> list[RatedUnit]:
    given = [person.scores.get(name, {}) for person in people]
    ids = sorted({id for scores in given for id in scores} & field.seen.keys())
    return [field.unit(id, [scores.get(id) for scores in given]) for id in ids]


def _painter_ceiling(
    people: Sequence[Opinion], rest: Sequence[Opinion], name: str, field: ComparedDrawings, head: AgreementNumber
) -> Iterator[AgreementNumber]:
    """Yield the numbers over painters, averaged over people and without intervals."""
    by_measure: dict[str, list[AgreementNumber]] = {}
    for person, others in zip(people, rest, strict=True):
        for each in painter_numbers(person, others, [(name, name)], field, head):
            if each.value is not None:
                by_measure.setdefault(each.measure, []).append(each)
    for measure in (*MEASURES, "mae"):
        if rows := by_measure.get(measure):
            mean = sum(row.value for row in rows if row.value is not None) / len(rows)
            yield make_number(head, measure, Interval(mean, n=max(row.n for row in rows)))


def _deviation(
    person: Opinion, others: Opinion, names: Sequence[str], field: ComparedDrawings, head: AgreementNumber
) -> Iterator[AgreementNumber]:
    """Yield how one person's numbers differ from the mean of the others: in level, in size and in order."""
    for name in names:
        both = common_scores((person, others), (name, name), field)
        if not both:
            continue
        about = replace(head, score=name)
        clusters, weights = [field.seen[id].cluster for id in both], [field.weight(id) for id in both]
        yield make_number(about, "shift", mean_number([b - a for a, b in both.values()], clusters, weights))
        yield make_number(about, "mae", mean_number([abs(a - b) for a, b in both.values()], clusters, weights))
        mine, theirs = (np.array([values[side] for values in both.values()]) for side in (0, 1))
        if len(both) > 1:
            value = float(spearman(mine, theirs, np.array(weights))[0])
            rows = jackknife_weights(clusters) * np.array(weights)
            error = None if np.isnan(value) else z_error(value, spearman(mine, theirs, rows))
            low, high = z_interval(value, error, len(set(clusters)))
            yield make_number(about, "spearman", Interval(None if np.isnan(value) else value, low, high, len(both)))


Marks = Mapping[str, float]
"""Criterion -> the mark as a share of the best value."""


@dataclass(frozen=True)
class LeftOut(Plain):
    """The test of a judge against one person.

    Attributes:
        advantage: The share of items on which the judge agrees with the other people at least as well as the person.
        p: The p-value of the hypothesis that the person is better by eps or more.
        won: Whether that is rejected, corrected over people (Benjamini and Yekutieli).
        n: The number of items.
    """

    person: str
    advantage: float
    p: float
    won: bool
    n: int


@dataclass(frozen=True)
class AlternativeTest(Plain):
    """The outcome of the alternative-annotator test: whether a judge may replace people.

    Attributes:
        win_rate: The share of people against whom the judge wins (the paper's omega).
        advantage: The mean over people of the share of items on which the judge is as good or better (the paper's rho).
        n: The total number of items.
        passes: Whether the win rate is at least `MIN_WIN_RATE`.
        reason: Why there is no test.
    """

    win_rate: float | None
    advantage: float | None
    eps: float
    n: int
    passes: bool
    people: tuple[LeftOut, ...] = ()
    reason: str | None = None


@dataclass(frozen=True)
class Replacement(Plain):
    """The test of one judge against the people of one study."""

    judge: str
    study: str
    test: AlternativeTest

    @property
    def sentence(self) -> str | None:
        """The outcome in words; None if the test was not possible."""
        if self.test.win_rate is None:
            return None
        people = len(self.test.people)
        won = f"in {round(self.test.win_rate * people)} of {people} comparisons"
        good = f"{self.judge} is shown to be about as good as one person of {self.study} {won}"
        correct = f"correct its scores by limner scores --study {self.study}"
        if self.test.passes:
            return f"{good}: {correct}."
        return f"{good}: do not use it alone; {correct}, or try another judge."

    def to_json(self) -> dict[str, Any]:
        """Return the sentence and the numbers of the test as JSON; ``test`` is None if there is only a reason."""
        numbers = self.test.to_json()
        reason = numbers.pop("reason")
        about = {"judge": self.judge, "study": self.study, "sentence": self.sentence}
        return {**about, "test": None if self.test.win_rate is None else numbers, "reason": reason}


def replacement(judge: Opinion, study: str, people: Sequence[Opinion], seen: Mapping[str, SeenDrawing]) -> Replacement:
    """Test a judge's marks against the marks of a study's people."""
    clusters = {id: each.cluster for id, each in seen.items()}
    answers = {person.name: person.marks for person in people}
    return Replacement(judge.name, study, alternative_annotator(judge.marks, answers, _alike, clusters=clusters))


def _alike(marks: Marks, others: Sequence[Marks]) -> float:
    """Return the share of equal marks among the criteria that both decided, averaged over the others."""
    shares = []
    for other in others:
        both = marks.keys() & other.keys()
        shares.append(sum(marks[name] == other[name] for name in both) / len(both) if both else 0.0)
    return sum(shares) / len(shares)


T = TypeVar("T")
Align = Callable[[T, Sequence[T]], float]
"""A function that returns how well one answer agrees with the answers of others; larger is better."""
MIN_PEOPLE = 3
MIN_ITEMS = 30
"""The minimum number of items a person must have marked, each also marked by someone else, to be tested."""
MIN_WIN_RATE = 0.5
"""The share of people against whom the judge must win to pass."""
EPS = 0.15
"""How much better people may be with the cheaper judge still preferred: the paper's value for skilled raters."""


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
        align: Returns how well an answer agrees with the answers of others.
        eps: How much better people may be.
        clusters: Item -> its question; items of the same question are not independent.
    """
    items = sorted(item for item in judge if sum(item in answers for answers in people.values()) > 1)
    rows = []
    for name, answers in sorted(people.items()):
        mine = [item for item in items if item in answers]
        if len(mine) < MIN_ITEMS:
            continue
        others = [[each[item] for who, each in sorted(people.items()) if who != name and item in each] for item in mine]
        pairs = [(align(judge[i], rest), align(answers[i], rest)) for i, rest in zip(mine, others, strict=True)]
        worse = np.array([float(own >= its) - float(its >= own) for its, own in pairs])
        groups = [clusters[item] if clusters else item for item in mine]
        advantage = float(np.mean([its >= own for its, own in pairs]))
        rows.append((name, advantage, _p(worse, groups, eps), len(mine)))
    if len(rows) < MIN_PEOPLE:
        tested = f"{len(rows)} of {len(people)} people have marked {MIN_ITEMS} drawings that another marked too"
        return AlternativeTest(None, None, eps, len(items), False, reason=f"{tested}; the test needs {MIN_PEOPLE}")
    won = benjamini_yekutieli([p for _, _, p, _ in rows])
    left_out = tuple(
        LeftOut(name, advantage, p, win, n) for (name, advantage, p, n), win in zip(rows, won, strict=True)
    )
    win_rate = sum(won) / len(won)
    advantage = sum(each.advantage for each in left_out) / len(left_out)
    return AlternativeTest(win_rate, advantage, eps, len(items), win_rate >= MIN_WIN_RATE, left_out)


def _p(worse: np.ndarray[tuple[int], np.dtype[np.float64]], groups: Sequence[str], eps: float) -> float:
    """Return the p-value of a t-test that the mean is below eps, with the variance over whole clusters."""
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
    """Return which hypotheses are rejected at a false discovery rate of `level`, under any dependence.

    >>> benjamini_yekutieli([0.001, 0.02, 0.9])
    [True, False, False]
    """
    m = len(p)
    harmonic = sum(1 / k for k in range(1, m + 1))
    order = sorted(range(m), key=lambda place: p[place])
    last = max((k for k in range(m) if p[order[k]] <= (k + 1) / m * level / harmonic), default=-1)
    rejected = set(order[: last + 1])
    return [place in rejected for place in range(m)]
