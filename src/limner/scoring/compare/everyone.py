"""Everyone who says something of an exam's drawings, and who is compared with whom."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import sqrt
from typing import Any, TypeVar

import numpy as np
import sqlalchemy as sa

from ...core.errors import UsageError
from ...core.evaluator import KINDS, Evaluator, Which, by_evaluator
from ...core.protocol import Protocol
from ...store import Store
from ...store.ratings import load_inclusion, load_painter_metrics, load_ratings
from ...store.schema import studies
from .. import Group, evaluators_of
from ..groups import find_groups
from ..stats.types import ALPHA, Plain
from .opinions import PEOPLE, UNITS, Field, Opinion, PairNumber, Seen, drawings_seen, opinion_of, together
from .pair_numbers import pair_numbers
from .people import people_numbers

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
    """Return the words of ``--judge``: whom they name.

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
    """Return what everyone says of the exam's drawings, or of those of one study.

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


Marks = Mapping[str, float]
"""Criterion -> share of its best value."""


@dataclass(frozen=True)
class LeftOut(Plain):
    """The judge against one person.

    Attributes:
        advantage: Share of items on which the judge agrees with the others at least as well.
        p: Of the test that the person is better by eps or more.
        won: Whether that is refuted, corrected over people (Benjamini and Yekutieli).
        n: Items.
    """

    person: str
    advantage: float
    p: float
    won: bool
    n: int


@dataclass(frozen=True)
class AlternativeTest(Plain):
    """Whether a judge may replace people.

    Attributes:
        win_rate: Share of people against whom the judge wins (the paper's omega).
        advantage: How probably the judge is as good as a person or better (the paper's rho): the mean over people.
        n: Items in all.
        passes: Whether the win rate is at least `WINS`.
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
        """The outcome in words; None where the test could not be made."""
        if self.test.win_rate is None:
            return None
        may = "may" if self.test.passes else "may not"
        return (
            f"By the alternative-annotator test {self.judge} {may} replace a person of the study {self.study} "
            f"(win rate {self.test.win_rate:.2f} of {len(self.test.people)} people)."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the sentence and the numbers of the test; ``test`` is None where there is only a reason."""
        numbers = self.test.to_json()
        reason = numbers.pop("reason")
        about = {"judge": self.judge, "study": self.study, "sentence": self.sentence}
        return {**about, "test": None if self.test.win_rate is None else numbers, "reason": reason}


def replacement(judge: Opinion, study: str, people: Sequence[Opinion], seen: Mapping[str, Seen]) -> Replacement:
    """Test a judge's marks against those of a study's people."""
    clusters = {id: each.cluster for id, each in seen.items()}
    answers = {person.name: person.marks for person in people}
    return Replacement(judge.name, study, alternative_annotator(judge.marks, answers, _alike, clusters=clusters))


def _alike(one: Marks, others: Sequence[Marks]) -> float:
    """Return the share of equal marks, of the criteria that both decide, averaged over the others."""
    shares = []
    for other in others:
        both = one.keys() & other.keys()
        shares.append(sum(one[name] == other[name] for name in both) / len(both) if both else 0.0)
    return sum(shares) / len(shares)


T = TypeVar("T")
Align = Callable[[T, Sequence[T]], float]
"""How well one answer agrees with those of others; the larger the better."""
LEAST_PEOPLE = 3
LEAST_ITEMS = 30
"""A person who has marked fewer items, each with somebody else, is not tested."""
WINS = 0.5
"""Of so many people the judge must prove as good to pass."""
EPS = 0.15
"""How much better people may be while the judge, being cheaper, is preferred: the paper's number for skilled raters."""


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
        align: How well an answer agrees with others'.
        eps: How much better people may be.
        clusters: Item -> its question; items of one are not independent.
    """
    items = sorted(item for item in judge if sum(item in answers for answers in people.values()) > 1)
    rows = []
    for name, answers in sorted(people.items()):
        mine = [item for item in items if item in answers]
        if len(mine) < LEAST_ITEMS:
            continue
        others = [[each[item] for who, each in sorted(people.items()) if who != name and item in each] for item in mine]
        pairs = [(align(judge[i], rest), align(answers[i], rest)) for i, rest in zip(mine, others, strict=True)]
        worse = np.array([float(own >= its) - float(its >= own) for its, own in pairs])
        groups = [clusters[item] if clusters else item for item in mine]
        advantage = float(np.mean([its >= own for its, own in pairs]))
        rows.append((name, advantage, _p(worse, groups, eps), len(mine)))
    if len(rows) < LEAST_PEOPLE:
        there = f"{len(rows)} of {len(people)} people have marked {LEAST_ITEMS} drawings that another marked too"
        return AlternativeTest(None, None, eps, len(items), False, reason=f"{there}; the test needs {LEAST_PEOPLE}")
    won = benjamini_yekutieli([p for _, _, p, _ in rows])
    found = tuple(LeftOut(name, advantage, p, win, n) for (name, advantage, p, n), win in zip(rows, won, strict=True))
    win_rate = sum(won) / len(won)
    advantage = sum(each.advantage for each in found) / len(found)
    return AlternativeTest(win_rate, advantage, eps, len(items), win_rate >= WINS, found)


def _p(worse: np.ndarray[tuple[int], np.dtype[np.float64]], groups: Sequence[str], eps: float) -> float:
    """Student's t that the mean is below eps, with the variance over whole clusters."""
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
    """Which hypotheses are rejected with a false discovery rate of at most `level`, whatever their dependence.

    >>> benjamini_yekutieli([0.001, 0.02, 0.9])
    [True, False, False]
    """
    m = len(p)
    harmonic = sum(1 / k for k in range(1, m + 1))
    order = sorted(range(m), key=lambda place: p[place])
    last = max((k for k in range(m) if p[order[k]] <= (k + 1) / m * level / harmonic), default=-1)
    rejected = set(order[: last + 1])
    return [place in rejected for place in range(m)]
