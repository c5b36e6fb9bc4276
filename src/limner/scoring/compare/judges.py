"""Comparison of judges: on single marks, on scores of drawings, and on the order of painters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ... import exams
from ...core.errors import UsageError
from ...core.evaluator import KINDS, SHOWN_KINDS, Evaluator, EvaluatorFilter, group_by_evaluator
from ...core.protocol import Protocol, Score
from ...evidence.probe import split_options
from ...store import DEFAULT, Store
from ...store.markings import load_inclusion_probabilities, load_painter_metrics, load_ratings
from ...store.schema import attempts, studies
from ...store.store import using_store
from .. import MET, Group, evaluators_of
from ..groups import find_groups
from ..stats import chance_corrected, icc
from .opinions import (
    PEOPLE_PREFIX,
    UNITS,
    AgreementNumber,
    ComparedDrawings,
    Opinion,
    SeenDrawing,
    drawings_seen,
    group_by_sort,
    make_number,
    merge_people,
    opinion_of,
)
from .pair_numbers import common_scores, pair_numbers
from .people import Replacement, people_numbers, replacement
from .results import Agreement


def judges(
    exam: str,
    *,
    score: str | None = None,
    reading: str = "careful",
    constants: Mapping[str, float] | None = None,
    store: Store | str | Path = DEFAULT,
    study: str | None = None,
    by: Sequence[str] = (),
    judges: Sequence[str] = (),
    units: Sequence[str] = UNITS,
    **which: Any,
) -> Agreement:
    """Compare every evaluator with every other on the drawings that both have marked or rated.

    By default these are all judges and panels in each way they were asked, all metrics, and the people of each study
    combined.

    Args:
        exam: The exam's name in the store.
        score: The only score to compare by; by default all, and for all judges together the first that all decide.
        reading: How stored replies are read.
        constants: Numbers to compute the exam's scores with, instead of the usual ones.
        store: The store that holds the marks.
        study: Only this study's people and drawings, each weighted by the inverse of its sampling probability.
        by: Tags to break the numbers down by; ``painter`` for each painter's drawings.
        judges: Only these evaluators: judges, metrics, persons (``person/anna``), a study's people (``people/pilot``).
        units: The units on which scores are compared: ``drawing``, ``painter``, ``painter_tag``; marks always are.
        **which: ``painters``, ``variant``, ``options``, ``selection``; see `limner.api.groups`.

    Raises:
        UsageError: There is no such score, study or evaluator.
    """
    with using_store(store) as opened:
        name = exams.stored_name(exam)
        wanted = wanted_evaluators(judges, evaluators_of(opened, name), which)
        everyone = load_opinions(opened, name, which, reading=reading, constants=constants, study=study)
    raters = tuple(opinion for opinion in everyone.wanted(wanted) if opinion.cost.n)
    chosen = _score(raters, everyone.protocol, score)
    numbers = tuple(all_numbers(everyone, wanted, by, units, chosen.name, only=score is not None))
    reason = None
    if len(raters) < 2 and not numbers:
        reason = "only one judge, asked in one way: nothing to compare it with" if raters else "nothing is marked yet"
    together = tuple(_together(raters, chosen, ComparedDrawings(everyone.protocol, everyone.seen, {})))
    replacements = tuple(all_replacements(everyone, wanted))
    return Agreement(name, reading, chosen, raters, reason, numbers, together, replacements)


def _score(raters: Sequence[Opinion], protocol: Protocol[Any], wanted: str | None) -> Score:
    own = {score.name: score for score in protocol.scored} | {MET.name: MET}
    if wanted is not None:
        if wanted not in own:
            raise UsageError(f"--score {wanted}: choose from {', '.join(own)}")
        return own[wanted]
    main = [score for score in protocol.scored if score.main]
    marked = [rater for rater in raters if rater.markings]
    settled = (score for score in main if marked and all(rater.settles(score.name) for rater in marked))
    return next(settled, MET)


def _together(raters: Sequence[Opinion], score: Score, field: ComparedDrawings) -> Iterator[AgreementNumber]:
    """Yield Krippendorff's alpha and the intraclass correlation of more than two judges."""
    if len(raters) < 3:
        return
    head, marked = AgreementNumber("", ""), []
    for id in sorted(field.seen):
        given = [rater.marks.get(id, {}) for rater in raters]
        for criterion in sorted({name for marks in given for name in marks}):
            marked.append((criterion, field.unit(id, [marks.get(criterion) for marks in given])))
    for sort, units in group_by_sort(marked).items():
        n = sum(len(unit.said) > 1 for unit in units)
        for measure, each in chance_corrected(units, [0.0, 1.0]).items():
            yield make_number(replace(head, score=sort), measure, each, n)
    scores = common_scores(raters, [score.name] * len(raters), field)
    for form, each in icc([field.unit(id, values) for id, values in scores.items()]).items():
        yield make_number(replace(head, score=score.name), form, each)


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
