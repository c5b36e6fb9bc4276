"""All evaluators of an exam's drawings: loading their opinions, choosing pairs, and testing judges against people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import sqrt
from typing import Any, TypeVar

import numpy as np
import sqlalchemy as sa

from ...core.errors import UsageError
from ...core.evaluator import KINDS, SHOWN_KINDS, Evaluator, EvaluatorFilter, group_by_evaluator
from ...core.protocol import Protocol
from ...evidence.probe import split_options
from ...store import Store
from ...store.markings import load_inclusion_probabilities, load_painter_metrics, load_ratings
from ...store.schema import attempts, studies
from .. import Group, evaluators_of
from ..groups import find_groups
from ..stats.types import ALPHA, Plain
from .opinions import (
    PEOPLE_PREFIX,
    UNITS,
    AgreementNumber,
    ComparedDrawings,
    Opinion,
    SeenDrawing,
    drawings_seen,
    merge_people,
    opinion_of,
)
from .pair_numbers import pair_numbers
from .people import people_numbers

KIND_ORDER = ("judge", "panel", "metric", "person", "people")


@dataclass(frozen=True)
class WantedEvaluators:
    """The evaluators that a user asked for.

    Attributes:
        names: The labels of the evaluators, and the names of studies' people combined.
        everyone: Whether no evaluator was named.
    """

    names: frozenset[str]
    everyone: bool


@dataclass(frozen=True)
class ExamOpinions:
    """All opinions of an exam's drawings.

    Attributes:
        people: Study -> the opinion of each of its people.
        weights: Study -> drawing -> its weight, the inverse of the probability that it was sampled.
        study: The study that was asked for, if any.
    """

    protocol: Protocol[Any]
    seen: Mapping[str, SeenDrawing] = field(default_factory=dict)
    opinions: tuple[Opinion, ...] = ()
    people: Mapping[str, tuple[Opinion, ...]] = field(default_factory=dict)
    weights: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    study: str | None = None

    def wanted(self, wanted: WantedEvaluators) -> list[Opinion]:
        """Return the opinions that a user asked for, sorted: judges, panels, metrics, persons, people combined."""
        chosen = [
            opinion
            for opinion in self.opinions
            if opinion.name in wanted.names
            or (opinion.kind == "people" and (wanted.everyone or opinion.study == self.study))
        ]
        return sorted(chosen, key=lambda opinion: (KIND_ORDER.index(opinion.kind), opinion.name))

    def wanted_studies(self, wanted: WantedEvaluators) -> list[tuple[str, tuple[Opinion, ...]]]:
        """Return the studies whose people a user asked for, with these people."""
        return [
            (study, people)
            for study, people in self.people.items()
            if wanted.everyone or study == self.study or PEOPLE_PREFIX + study in wanted.names
        ]


def people_names(evaluators: Iterable[Evaluator]) -> set[str]:
    """Return the name for the combined people of each study in which one of these evaluators took part."""
    return {
        PEOPLE_PREFIX + str(each.setup["study"])
        for each in evaluators
        if each.kind == "person" and "study" in each.setup
    }


def wanted_evaluators(
    judges: Sequence[str], evaluators: Sequence[Evaluator], which: Mapping[str, Any]
) -> WantedEvaluators:
    """Return the evaluators named by ``--judge``, filtered by how judges were asked.

    Args:
        judges: The names; without any, all judges, panels, metrics and studies.
        evaluators: All evaluators of the exam.
        which: ``variant``, ``options``, ``wording``; see `limner.api.groups`.

    Raises:
        UsageError: There is no evaluator of some name.
    """
    people = people_names(evaluators)
    if unknown := [word for word in judges if word.startswith(PEOPLE_PREFIX) and word not in people]:
        raise UsageError(
            f"--judge {unknown[0]}: choose from {', '.join(sorted(people)) or 'judges: nobody has answered'}"
        )
    words = tuple(word for word in judges if word not in people)
    named = EvaluatorFilter(words, kinds=(*SHOWN_KINDS, "metric")).choose(evaluators) if words or not judges else []
    _, asked = split_options(which.get("options") or {})
    so_asked = {
        each.id for each in EvaluatorFilter((), which.get("variant"), asked, which.get("wording")).choose(evaluators)
    }
    names = {each.name for each in named if each.kind not in SHOWN_KINDS or each.id in so_asked}
    return WantedEvaluators(frozenset(names | people.intersection(judges)), not judges)


def load_opinions(
    store: Store,
    exam: str,
    which: Mapping[str, Any],
    *,
    reading: str = "careful",
    constants: Mapping[str, float] | None = None,
    study: str | None = None,
) -> ExamOpinions:
    """Load all evaluators' opinions of the exam's drawings, or of the drawings of one study.

    Args:
        store: The store that holds the marks.
        exam: The exam's name in the store.
        which: ``painters``, ``without``, ``selection``, ``options``; see `limner.api.groups`. Judges are
            not filtered by how they were asked; see `wanted_evaluators`.
        reading: How stored replies are read.
        constants: Numbers to compute the exam's scores with, instead of the usual ones.
        study: Only load this study's drawings and people.

    Raises:
        UsageError: There is no such study.
    """
    taken = {name: load_inclusion_probabilities(store, name) for name in studies_of(store, exam, study)}
    backends, _ = split_options(which.get("options") or {})
    how: dict[str, Any] = {**which, "variant": None, "wording": None, "options": backends}
    how |= {"reading": reading, "constants": constants, "kinds": KINDS, "unmarked": True}
    kind, groups = find_groups(exam, store=store, **how)
    protocol = kind.protocol
    seen = drawings_seen(groups, protocol)
    if study is not None:
        seen = {id: each for id, each in seen.items() if id in taken[study] or not taken[study]}
    ratings: dict[str, list[Any]] = {}
    for rating in load_ratings(store, exam):
        if rating.drawing in seen and (study is None or rating.study in (None, study)):
            ratings.setdefault(rating.setup, []).append(rating)
    metrics: dict[str, list[Any]] = {}
    shown = {(group.painter, group.strategy): group.shown for group in groups}
    for metric in load_painter_metrics(store, exam):
        painter = shown.get((metric.painter, metric.strategy or "direct"), metric.painter)
        metrics.setdefault(metric.setup, []).append(replace(metric, painter=painter))
    marked = {members[0].evaluator.id: members for members in group_by_evaluator(groups)}
    took = call_seconds(store, groups)
    opinions = []
    for evaluator in evaluators_of(store, exam):
        if study is not None and evaluator.kind == "person" and evaluator.setup.get("study") != study:
            continue
        mine = marked.get(evaluator.id, ())
        entries = [entry for group in mine for entry in group.entries if entry.drawing.id in seen]
        own = ratings.get(evaluator.id, ()), metrics.get(evaluator.id, ())
        opinion = opinion_of(evaluator, entries, *own, protocol, took)
        if opinion.scores or opinion.painters or opinion.cost.n:
            opinions.append(opinion)
    people: dict[str, list[Opinion]] = {}
    for opinion in opinions:
        if opinion.kind == "person" and opinion.study is not None:
            people.setdefault(opinion.study, []).append(opinion)
    weights = {name: {id: 1 / chance for id, chance in drawn.items() if chance > 0} for name, drawn in taken.items()}
    grouped = {name: tuple(sorted(members, key=lambda one: one.name)) for name, members in sorted(people.items())}
    opinions += [merge_people(name, members) for name, members in grouped.items()]
    return ExamOpinions(protocol, seen, tuple(opinions), grouped, weights, study)


def call_seconds(store: Store, groups: Iterable[Group]) -> dict[str, float]:
    """Return the seconds of all attempts of each call behind the groups' marks, without time spent in a queue."""
    made = (entry.marking for group in groups for entry in group.entries if entry.marking)
    query = sa.select(attempts.c.call, sa.func.sum(attempts.c.seconds)).group_by(attempts.c.call)
    keys = (key for marking in made for _, key in marking.replies)
    return {key: float(seconds) for key, seconds in store.rows(query, attempts.c.call, keys)}


def studies_of(store: Store, exam: str, wanted: str | None = None) -> list[str]:
    """Return the names of an exam's studies.

    Raises:
        UsageError: A study is wanted that is not among them.
    """
    with store.reading() as connection:
        names = sorted(connection.scalars(sa.select(studies.c.name).where(studies.c.exam == exam)))
    if wanted is not None and wanted not in names:
        raise UsageError(f"--study {wanted}: {exam} has no such study; it has: {', '.join(names) or 'none'}")
    return names


def all_numbers(
    everyone: ExamOpinions,
    wanted: WantedEvaluators,
    by: Sequence[str] = (),
    units: Sequence[str] = UNITS,
    score: str | None = None,
    only: bool = False,
) -> Iterator[AgreementNumber]:
    """Yield the numbers of every pair of wanted evaluators, then of each study's people among themselves.

    Args:
        everyone: All opinions.
        wanted: The evaluators that a user asked for.
        by: Tags to break the numbers down by.
        units: The units on which scores are compared.
        score: A score that is compared whenever both evaluators have it.
        only: Whether only `score` is compared.
    """
    for first, second in combinations(everyone.wanted(wanted), 2):
        if first.study is not None and second.kind == "people" and first.study == second.study:
            continue  # People of a study are compared with each other below.
        pair_field = replace(_field(first, second, everyone), units=units, score=score, only=only)
        yield from pair_numbers(first, second, pair_field, by)
    for study, people in everyone.wanted_studies(wanted):
        whole = ComparedDrawings(everyone.protocol, everyone.seen, everyone.weights.get(study, {}), False, units)
        yield from people_numbers(study, people, whole)
        for tag, category in whole.values(by):
            yield from people_numbers(study, people, whole.only_with(tag, category), tag, category)


def all_replacements(everyone: ExamOpinions, wanted: WantedEvaluators) -> Iterator[Replacement]:
    """Test every wanted judge and panel that has marks against the people of each wanted study."""
    for opinion in everyone.wanted(wanted):
        if opinion.kind in SHOWN_KINDS and opinion.marks:
            for study, people in everyone.wanted_studies(wanted):
                yield replacement(opinion, study, people, everyone.seen)


def _field(first: Opinion, second: Opinion, everyone: ExamOpinions) -> ComparedDrawings:
    """Return what two evaluators are compared on.

    A study's weights apply if its people take part or the user asked for it.
    """
    study = first.study or second.study or everyone.study
    weights = everyone.weights.get(study, {}) if study else {}
    people = {first.kind, second.kind} & {"person", "people"}
    return ComparedDrawings(everyone.protocol, everyone.seen, weights, shared=not people and everyone.study is None)


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
