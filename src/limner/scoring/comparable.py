"""The only rules for painters' questions, order and places: for terminal, JSON, Python, tables, plots and site."""

from __future__ import annotations

import typing
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from shlex import quote
from typing import Any, Literal, TypeVar

from ..core.errors import UsageError
from ..core.evaluator import Evaluator, group_by_evaluator
from ..core.protocol import Protocol, Score
from .entries import UNMARKED, Entry, Group, without_unmarked
from .numbers import MET, Numbers, make_derive, met_parts, score_parts, tops, values_of
from .stats import Interval, Parts, score_interval, spreads
from .stats.resample import Floats

On = Literal["common", "all"]
"""The questions that numbers are based on: those that all painters have, or all those of each painter."""
ON: tuple[On, ...] = ("common", "all")
K = TypeVar("K", bound=Hashable)
MIN_CUT_SHARE = 0.2
"""The share of common questions lost to a painter above which this painter is named."""


@dataclass(frozen=True)
class Cut:
    """Painters that cost the others more than a fifth of the questions they would otherwise have in common."""

    painters: tuple[str, ...]
    questions: int
    without: int

    @property
    def words(self) -> str:
        """A note on who reduces the common questions, by how much, and the option that leaves them out."""
        who, options = ", ".join(self.painters), " ".join(f"--without {quote(name)}" for name in self.painters)
        cut = "cuts" if len(self.painters) == 1 else "cut"
        return (
            f"{who} {cut} the common questions from {self.without} to {self.questions}; {options} compares the others"
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {"painters": list(self.painters), "questions": self.questions, "without": self.without}


@dataclass(frozen=True)
class Comparable:
    """The painters under one evaluator, and the drawings they are compared on.

    Attributes:
        groups: The painters with a score, sorted by name.
        inside: For each of `groups`, the scored drawings that its numbers are based on; see `on`.
        questions: The questions that all of them have; may be empty.
        on: Whether `inside` has only the common questions, or all questions of each painter.
        beside: Controls that lack some common questions; they are shown on what they have and do not reduce the set.
        left_out: The painters without any score.
        cut: The painters that reduce the common questions considerably, if any.
    """

    evaluator: Evaluator
    groups: tuple[Group, ...]
    inside: tuple[tuple[Entry, ...], ...]
    questions: frozenset[str]
    protocol: Protocol[Any]
    beside: tuple[Group, ...] = ()
    left_out: tuple[Group, ...] = ()
    cut: Cut | None = None
    on: On = "common"

    @property
    def names(self) -> list[str]:
        """The names of the painters' rows, in the order of `groups`."""
        return [group.name for group in self.groups]

    @property
    def everyone(self) -> tuple[Group, ...]:
        """All painters under this evaluator, with or without a score."""
        return (*self.groups, *self.beside, *self.left_out)

    @property
    def uneven(self) -> bool:
        """Whether any painter has a score for more than the common questions."""
        return any({e.question.id for e in group.scored} != self.questions for group in (*self.groups, *self.beside))

    def common(self, group: Group) -> tuple[Entry, ...]:
        """Return a painter's scored drawings of the common questions."""
        return tuple(entry for entry in group.scored if entry.question.id in self.questions)

    def basis(self, group: Group) -> tuple[Entry, ...]:
        """Return the scored drawings that a painter's numbers are based on; all of them without common questions."""
        return self.common(group) if self.on == "common" and self.questions else group.scored

    @property
    def first(self) -> list[str]:
        """The note to show above the numbers, on who reduces the common questions; empty if there is none."""
        return [self.cut.words] if self.cut is not None and self.on == "common" else []

    @property
    def notes(self) -> list[str]:
        """Notes for readers on the choice of questions and painters, the most important first."""
        notes = self.first
        if self.left_out:
            names = [f"{group.name} ({_why(group)})" for group in self.left_out]
            notes.append(f"left out, having no score: {', '.join(names)}")
        if self.groups and not self.questions:
            notes.append("no question is common to all painters: each row has its own questions")
        elif self.on == "all" and self.uneven:
            notes.append("each row on all its own questions, which differ from row to row (--on common compares)")
        elif len(self.groups) > 1 and self.uneven:
            more = "" if len(self.questions) == 1 else "s"
            notes.append(
                f"compared on the {len(self.questions)} question{more} that all painters have; --on all: on their own"
            )
        if self.beside and self.on == "common":
            names = [f"{group.name} ({len(self.common(group))})" for group in self.beside]
            notes.append(f"controls on what they have of these: {', '.join(names)}")
        return notes

    def to_json(self) -> dict[str, Any]:
        """Return the questions and painters that are compared, as plain JSON."""
        return {
            "questions": len(self.questions),
            "painters": self.names,
            "beside": [group.name for group in self.beside],
            "left_out": {group.name: _why(group) for group in self.left_out},
            "cut": None if self.cut is None else self.cut.to_json(),
        }

    @cached_property
    def parts(self) -> list[Parts]:
        """The parts of each painter's scores and of `MET`, over the same clusters in the same order."""
        alone = [self.on == "all" or {e.question.id for e in entries} != self.questions for entries in self.inside]
        even = [entries for entries, apart in zip(self.inside, alone, strict=True) if not apart]
        together = iter(met_parts(even, self.protocol))
        parts: list[Parts] = []
        for entries, apart in zip(self.inside, alone, strict=True):
            more = met_parts([entries], self.protocol)[0] if apart else next(together)
            parts.append({**score_parts(entries, self.protocol), **more})
        return parts

    @cached_property
    def per_cluster(self) -> float:
        """The mean number of questions per cluster, to convert resampled clusters to questions, which cost money."""
        clusters = {self.protocol.cluster(entry.question) for entries in self.inside for entry in entries}
        return len(self.questions) / len(clusters) if clusters else 1.0

    @cached_property
    def values(self) -> list[dict[str, float]]:
        """Each painter's numbers that have a value."""
        return [values_of(parts, self.protocol) for parts in self.parts]

    @cached_property
    def drawn(self) -> list[dict[str, Floats]]:
        """Each painter's numbers in all resamples; painters with equally many clusters have the same resamples."""
        return [spreads([parts], make_derive(self.protocol))[0] for parts in self.parts]

    def interval(self, at: int, name: str) -> Interval:
        """Return a number of the painter at index `at` of `groups`, with its interval."""
        value = self.values[at].get(name)
        if value is None:
            return Interval()
        part = self.parts[at].get(name)
        n = int((part[1] > 0).sum()) if part is not None else len(next(iter(self.parts[at].values()))[0])
        return score_interval(value, self.drawn[at][name], tops(self.protocol).get(name), part, n)

    def score(self, wanted: str | None) -> Score:
        """Return the score to compare by: the wanted one, or the first of these that all painters have.

        These are the exam's first main score, `MET`, and the other main scores. If all painters have none of them,
        return the main score that most painters have.

        Raises:
            UsageError: The exam has no such score.
        """
        counts = Counter(name for values in self.values for name in values)
        own = {score.name: score for score in self.protocol.scored}
        if wanted is not None:
            if wanted not in own and wanted != MET.name and not counts[wanted]:
                raise UsageError(f"--score {wanted}: choose from {', '.join([*own, MET.name])}")
            return MET if wanted == MET.name else own.get(wanted, Score(wanted, 1.0, "", digits=3))
        choices = [score for score in self.protocol.scored if score.main]
        full = [score for score in [choices[0], MET, *choices[1:]] if counts[score.name] == len(self.groups)]
        return full[0] if full else max(choices, key=lambda score: counts[score.name])


def _why(group: Group) -> str:
    failures = group.failures
    reasons = [f"{count} {what}" for what, count in without_unmarked(failures).items()]
    reasons += [f"{failures[UNMARKED]} not marked"] if UNMARKED in failures else []
    return ", ".join(reasons) or "nothing marked"


def comparable(groups: Sequence[Group], protocol: Protocol[Any], on: On = "common") -> Comparable:
    """Return the painters under one evaluator, with the questions to compare them on.

    Painters without a score do not affect the common questions, nor do controls if there are other painters. With `on`
    ``all``, each painter's numbers are based on all its questions.
    """
    ordered = sorted(groups, key=lambda group: (group.painter, group.strategy))
    places = {id(group): _places(group, protocol) for group in ordered}
    scored = [group for group in ordered if places[id(group)]]
    rivals = [group for group in scored if not group.control] or scored
    common, members = common_places(places, {id(group) for group in ordered if group.control})
    inside = [group for group in scored if on == "all" or id(group) in members]
    questions = frozenset(question for question, _ in common)
    cut = _cut([(group.name, places[id(group)]) for group in rivals], len(common)) if len(rivals) > 1 else None
    return Comparable(
        ordered[0].evaluator,
        tuple(inside),
        tuple(g.scored if on == "all" else tuple(e for e in g.scored if e.question.id in questions) for g in inside),
        questions,
        protocol,
        beside=tuple(group for group in scored if on == "common" and id(group) not in members),
        left_out=tuple(group for group in ordered if not places[id(group)]),
        cut=cut,
        on=on,
    )


def comparables(groups: Sequence[Group], protocol: Protocol[Any], on: On = "common") -> list[Comparable]:
    """Return the comparable painters under each evaluator, in the evaluators' order."""
    sides = [comparable(members, protocol, on) for members in group_by_evaluator(groups)]
    return sorted(sides, key=lambda each: each.evaluator.order)


def within(side: Comparable, inside: Sequence[Sequence[Entry]]) -> Comparable:
    """Return the same painters, restricted to some of their drawings."""
    kept = tuple(tuple(entries) for entries in inside)
    return replace(side, inside=kept, questions=frozenset(e.question.id for entries in kept for e in entries))


QuestionPlace = tuple[str, str]
"""A question and its cluster, because versions of a question may be in different clusters."""


def _places(group: Group, protocol: Protocol[Any]) -> frozenset[QuestionPlace]:
    return frozenset((entry.question.id, protocol.cluster(entry.question)) for entry in group.scored)


def common_places(
    answered: Mapping[K, Set[QuestionPlace]], controls: Set[K]
) -> tuple[frozenset[QuestionPlace], frozenset[K]]:
    """Return the questions that painters are compared on, and the painters that have all of them.

    Args:
        answered: Painter -> the questions for which it has a score; painters without any are left out.
        controls: The painters that are controls; they do not reduce the questions if there are other painters.

    >>> both = {("q", ""), ("r", "")}
    >>> common_places({"x": both, "y": both, "blank": {("q", "")}, "none": set()}, {"blank"})[1] == {"x", "y"}
    True
    """
    scored = {name: places for name, places in answered.items() if places}
    rivals = [places for name, places in scored.items() if name not in controls] or [*scored.values()]
    common = frozenset.intersection(*map(frozenset, rivals)) if rivals else frozenset[QuestionPlace]()
    return common, frozenset(name for name, places in scored.items() if places >= common)


def _cut(painters: Sequence[tuple[str, frozenset[tuple[str, str]]]], common: int) -> Cut | None:
    """Return the painter whose removal gains the others most; if no single one helps, the fewest of the smallest."""
    held = Counter(place for _, ids in painters for place in ids)
    # Without one painter, the others share the common places and those that only this painter lacks.
    nearly = {place for place, count in held.items() if count == len(painters) - 1}
    tries = [((name,), common + len(nearly - ids)) for name, ids in painters]
    smallest = sorted(painters, key=lambda pair: (len(pair[1]), pair[0]))
    rest, several = smallest[-1][1], list[tuple[tuple[str, ...], int]]()
    for count in range(len(smallest) - 1, 1, -1):
        rest &= smallest[count][1]
        several.append((tuple(name for name, _ in smallest[:count]), len(rest)))
    helpful = [each for each in [*tries, *several] if common < (1 - MIN_CUT_SHARE) * each[1]]
    if not helpful:
        return None
    names, without = min(helpful, key=lambda each: (len(each[0]), -each[1]))
    return Cut(names, common, without)


class Contender(typing.Protocol):
    """Anything that has a row: a standing, or a painter's numbers on other questions."""

    @property
    def name(self) -> str:
        """The row's name."""

    @property
    def numbers(self) -> Numbers:
        """The numbers that it is compared by."""

    @property
    def control(self) -> bool:
        """Whether it is a control, which is listed below the others without a place."""


@dataclass(frozen=True)
class NumbersOf:
    """A painter's numbers on some questions."""

    name: str
    numbers: Numbers
    control: bool = False


def printed(row: Contender, score: Score) -> float | None:
    """Return a row's number rounded as printed; numbers that look equal count as equal."""
    value = row.numbers.value(score.name)
    return None if value is None else round(value, score.digits)


def settled(rows: Sequence[Contender], score: Score) -> bool:
    """Return whether a score can order these rows, because most painters have it.

    If a judge abstains, a score may be known only for the worst painters: a blank sheet meets no criterion for certain,
    while the scores of all others are open. Controls do not count if there are other painters.
    """
    rivals = [row for row in rows if not row.control and row.numbers.n] or [row for row in rows if row.numbers.n]
    return sum(printed(row, score) is not None for row in rivals) > len(rivals) / 2


def lead(rows: Sequence[Contender], scores: Sequence[Score]) -> Score | None:
    """Return the score that decides the places: the first main score that most painters have; see `settled`."""
    return next((score for score in scores if score.main and settled(rows, score)), None)


def ordered(rows: Sequence[Contender], scores: Sequence[Score], by: Score | None = None) -> list[int]:
    """Return the rows' indices, best first: by one score, among equals by the next main score, and so on.

    A later score orders equal rows only if all of them have it. If no score does, the share of criteria met decides,
    then the name. Rows without any score follow, and controls come last.

    Args:
        rows: The rows.
        scores: The exam's scores, in order.
        by: The score to order by; by default that of `lead`.
    """
    first = by or lead(rows, scores)
    keys = [*([first] if first else []), *(score for score in scores if score.main and score is not first)]
    order: list[int] = []
    for control in (False, True):
        for empty in (False, True):
            block = [n for n, row in enumerate(rows) if (row.control, not row.numbers.n) == (control, empty)]
            order += _within(rows, block, keys, first)
    return order


def _within(rows: Sequence[Contender], block: list[int], keys: Sequence[Score], first: Score | None) -> list[int]:
    if len(block) < 2:
        return block
    if not keys:
        return sorted(block, key=lambda n: (-rows[n].numbers.decided.get("met", 0.0), rows[n].name))
    score, *rest = keys
    values = {n: printed(rows[n], score) for n in block}
    if score is not first and None in values.values():
        return _within(rows, block, rest, first)
    order: list[int] = []
    for value in sorted({value for value in values.values() if value is not None}, reverse=True):
        order += _within(rows, [n for n in block if values[n] == value], rest, first)
    return order + _within(rows, [n for n in block if values[n] is None], rest, first)


def places(rows: Sequence[Contender], score: Score | None) -> list[int | None]:
    """Return each row's place by a score; equal rows share a place.

    Controls, rows without the score and a single row have no place, nor has any row if the score is not `settled`.

    >>> from limner.scoring.stats import Interval
    >>> some = [NumbersOf(name, Numbers(9, {"s": Interval(value)})) for name, value in zip("abc", (5.01, 5.02, 3.0))]
    >>> places(some, Score("s", 10, "", digits=1))
    [1, 1, 3]
    """
    if score is None or sum(not row.control for row in rows) < 2 or not settled(rows, score):
        return [None] * len(rows)
    values = [None if row.control else printed(row, score) for row in rows]
    return [
        None if value is None else 1 + sum(other is not None and other > value for other in values) for value in values
    ]
