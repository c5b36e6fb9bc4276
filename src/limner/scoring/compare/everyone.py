"""Everyone who says something of an exam's drawings, and who is compared with whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import sqlalchemy as sa

from ...core.errors import UsageError
from ...core.evaluator import KINDS, Evaluator, Which, by_evaluator
from ...core.protocol import Protocol
from ...store import Store
from ...store.ratings import load_inclusion, load_painter_metrics, load_ratings
from ...store.schema import studies
from .. import Group, evaluators_of
from ..groups import find_groups
from .opinions import PEOPLE, Opinion, Seen, drawings_seen, opinion_of, together
from .pair_field import UNITS, Field, PairNumber
from .pair_numbers import pair_numbers
from .people import people_numbers
from .replacement import Replacement, replacement

ORDER = ("judge", "panel", "metric", "person", "people")


@dataclass(frozen=True)
class Words:
    """Whom a user named.

    Attributes:
        marked: Words for evaluators that marked.
        names: The labels of all evaluators that are named; None where nobody is.
    """

    marked: tuple[str, ...] = ()
    names: frozenset[str] | None = None


@dataclass(frozen=True)
class Everyone:
    """All opinions of an exam's drawings.

    Attributes:
        people: Study -> its people, one by one.
        weights: Study -> drawing -> what it counts: the inverse of the probability with which the sample took it.
        study: The study that is asked for.
    """

    seen: Mapping[str, Seen] = field(default_factory=dict)
    opinions: tuple[Opinion, ...] = ()
    people: Mapping[str, tuple[Opinion, ...]] = field(default_factory=dict)
    weights: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    study: str | None = None


def evaluator_words(judges: Sequence[str], there: Sequence[Evaluator], marked: Set[str]) -> Words:
    """The words of ``--judge``: whom they name.

    Raises:
        UsageError: A word names nobody.
    """
    if not judges:
        return Words()
    people = {PEOPLE + str(each.setup["study"]) for each in there if each.kind == "person" and "study" in each.setup}
    names, words = set(), []
    for word in judges:
        if word in people:
            names.add(word)
            continue
        chosen = Which((word,)).choose(there)
        names |= {each.name for each in chosen}
        if any(each.id in marked for each in chosen):
            words.append(word)
    return Words(tuple(words), frozenset(names))


def load_opinions(
    store: Store,
    exam: str,
    protocol: Protocol[Any],
    reading: str,
    constants: Mapping[str, float] | None,
    study: str | None,
    which: Mapping[str, Any],
) -> Everyone:
    """What everyone says of the exam's drawings, or of those of one study.

    Raises:
        UsageError: There is no such study.
    """
    taken = {name: load_inclusion(store, name) for name in _studies(store, exam, study)}
    kept = {name: which[name] for name in ("painters", "without", "selection") if name in which}
    _, groups = find_groups(exam, reading=reading, constants=constants, store=store, kinds=KINDS, unmarked=True, **kept)
    seen = drawings_seen(groups, protocol)
    if study is not None:
        seen = {id: each for id, each in seen.items() if id in taken[study] or not taken[study]}
    ratings: dict[str, list[Any]] = {}
    for rating in load_ratings(store, exam):
        if rating.drawing in seen and (study is None or rating.study in (None, study)):
            ratings.setdefault(rating.setup, []).append(rating)
    metrics: dict[str, list[Any]] = {}
    for metric in load_painter_metrics(store, exam):
        metrics.setdefault(metric.setup, []).append(metric)
    marked = {members[0].evaluator.id: members for members in by_evaluator(groups)}
    found = []
    for evaluator in evaluators_of(store, exam):
        if study is not None and evaluator.kind == "person" and evaluator.setup.get("study") != study:
            continue
        entries = [
            entry for group in marked.get(evaluator.id, ()) for entry in group.scored if entry.drawing.id in seen
        ]
        own = ratings.get(evaluator.id, ()), metrics.get(evaluator.id, ())
        opinion = opinion_of(evaluator, entries, *own, protocol)
        if opinion.scores or opinion.marks or opinion.painters:
            found.append(opinion)
    people: dict[str, list[Opinion]] = {}
    for opinion in found:
        if opinion.kind == "person" and opinion.study is not None:
            people.setdefault(opinion.study, []).append(opinion)
    weights = {name: {id: 1 / chance for id, chance in drawn.items() if chance > 0} for name, drawn in taken.items()}
    grouped = {name: tuple(sorted(members, key=lambda one: one.name)) for name, members in sorted(people.items())}
    everyone = [*found, *(together(name, members) for name, members in grouped.items())]
    return Everyone(seen, tuple(everyone), grouped, weights, study)


def _studies(store: Store, exam: str, wanted: str | None) -> list[str]:
    with store.reading() as connection:
        there = sorted(connection.scalars(sa.select(studies.c.name).where(studies.c.exam == exam)))
    if wanted is not None and wanted not in there:
        raise UsageError(f"--study {wanted}: {exam} has no such study; there is: {', '.join(there) or 'none'}")
    return there


def all_numbers(
    everyone: Everyone,
    groups: Sequence[Group],
    words: Words,
    protocol: Protocol[Any],
    by: Sequence[str],
    units: Sequence[str] = UNITS,
) -> Iterator[PairNumber]:
    """Every two evaluators that are wanted, then each study's people among themselves.

    Args:
        everyone: Who says what.
        groups: What the judges marked that are wanted.
        words: Whom a user named.
        protocol: The exam's.
        by: Tags for whose values there are numbers apart.
        units: What is compared.
    """
    chosen = _wanted_opinions(everyone, groups, words)
    for one, other in combinations(chosen, 2):
        if one.study is not None and other.kind == "people" and one.study == other.study:
            continue  # A person is compared with the others of the study below.
        yield from pair_numbers(one, other, replace(_field(one, other, everyone, protocol), units=units), by)
    for study, people in _wanted_studies(everyone, words):
        whole = Field(protocol, everyone.seen, everyone.weights.get(study, {}), False, units)
        yield from people_numbers(study, people, whole)
        for tag, category in whole.values(by):
            yield from people_numbers(study, people, whole.only(tag, category), tag, category)


def all_replacements(everyone: Everyone, groups: Sequence[Group], words: Words) -> Iterator[Replacement]:
    """Test every wanted judge and panel that marked against the people of each wanted study."""
    for opinion in _wanted_opinions(everyone, groups, words):
        if opinion.kind in ("judge", "panel") and opinion.marks:
            for study, people in _wanted_studies(everyone, words):
                yield replacement(opinion, study, people, everyone.seen)


def _wanted_opinions(everyone: Everyone, groups: Sequence[Group], words: Words) -> list[Opinion]:
    judged = {group.evaluator.name for group in groups}
    chosen = [opinion for opinion in everyone.opinions if _wanted(opinion, judged, words, everyone.study)]
    return sorted(chosen, key=lambda opinion: (ORDER.index(opinion.kind), opinion.name))


def _wanted_studies(everyone: Everyone, words: Words) -> list[tuple[str, tuple[Opinion, ...]]]:
    return [
        (study, people)
        for study, people in everyone.people.items()
        if words.names is None or study == everyone.study or PEOPLE + study in words.names
    ]


def _wanted(opinion: Opinion, judged: Set[str], words: Words, study: str | None) -> bool:
    if opinion.kind == "people":
        return words.names is None or opinion.name in words.names or opinion.study == study
    if opinion.kind in ("judge", "panel") and opinion.marks:
        return opinion.name in judged
    return opinion.name in words.names if words.names is not None else opinion.kind != "person"


def _field(one: Opinion, other: Opinion, everyone: Everyone, protocol: Protocol[Any]) -> Field:
    """What two are compared on: a study's weights count where its people are among them, or where it is asked for."""
    study = one.study or other.study or everyone.study
    weights = everyone.weights.get(study, {}) if study else {}
    people = {one.kind, other.kind} & {"person", "people"}
    return Field(protocol, everyone.seen, weights, shared=not people and everyone.study is None)
