"""THE rule on which questions painters are compared: for terminal, JSON, Python, tables, plots and site alike."""

from __future__ import annotations

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
from .numbers import MET, make_derive, met_parts, score_parts, tops, values_of
from .stats import Interval, Parts, score_interval, spreads
from .stats.types import Floats

On = Literal["common", "all"]
"""On which questions painters' numbers rest: on those all of them have, or each on all its own."""
ON: tuple[On, ...] = ("common", "all")
K = TypeVar("K", bound=Hashable)
MIN_CUT_SHARE = 0.2
"""Who cuts the common questions by more than this share is named."""


@dataclass(frozen=True)
class Cut:
    """Painters without whom the others would have more than a fifth more questions in common."""

    painters: tuple[str, ...]
    questions: int
    without: int

    @property
    def words(self) -> str:
        """Who cuts the common set, how much, and the option that leaves them out."""
        who, options = ", ".join(self.painters), " ".join(f"--without {quote(name)}" for name in self.painters)
        cut = "cuts" if len(self.painters) == 1 else "cut"
        return (
            f"{who} {cut} the common questions from {self.without} to {self.questions}; {options} compares the others"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"painters": list(self.painters), "questions": self.questions, "without": self.without}


@dataclass(frozen=True)
class Comparable:
    """Painters under one evaluator, side by side.

    Attributes:
        groups: The painters with a score, in the order of their names.
        inside: For each of them the scored drawings its numbers rest on; see `on`.
        questions: The questions that all of them have; none where there is no such question.
        on: Whether `inside` has the common questions alone, or each painter's own.
        beside: Controls that lack some of these: they are shown on what they have and cut nothing.
        left_out: Painters without any score.
        cut: Who keeps the others from more questions, where that is much.
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
        """The painters' rows, as `groups` has them."""
        return [group.name for group in self.groups]

    @property
    def everyone(self) -> tuple[Group, ...]:
        """All painters the evaluator has to do with, with a score or without."""
        return (*self.groups, *self.beside, *self.left_out)

    @property
    def uneven(self) -> bool:
        """Whether some painter has a score for more than the common questions."""
        return any({e.question.id for e in group.scored} != self.questions for group in (*self.groups, *self.beside))

    def common(self, group: Group) -> tuple[Entry, ...]:
        """Return a painter's scored drawings of the common questions."""
        return tuple(entry for entry in group.scored if entry.question.id in self.questions)

    def basis(self, group: Group) -> tuple[Entry, ...]:
        """Return the scored drawings behind a painter's numbers; without a common question, all its own."""
        return self.common(group) if self.on == "common" and self.questions else group.scored

    @property
    def first(self) -> list[str]:
        """The note above the numbers: who cuts the questions that painters are compared on."""
        return [self.cut.words] if self.cut is not None and self.on == "common" else []

    @property
    def notes(self) -> list[str]:
        """What a reader must know of the choice, the most important first."""
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
        """What each painter's scores are made of, over the same clusters in the same order; `MET` beside the exam's."""
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
        """How many questions a cluster has on average: clusters are resampled, questions are paid for."""
        clusters = {self.protocol.cluster(entry.question) for entries in self.inside for entry in entries}
        return len(self.questions) / len(clusters) if clusters else 1.0

    @cached_property
    def values(self) -> list[dict[str, float]]:
        """Every painter's numbers, those that there are."""
        return [values_of(parts, self.protocol) for parts in self.parts]

    @cached_property
    def drawn(self) -> list[dict[str, Floats]]:
        """Every painter's numbers in resamples, which are the same for all that have equally many clusters."""
        return [spreads([parts], make_derive(self.protocol))[0] for parts in self.parts]

    def interval(self, at: int, name: str) -> Interval:
        """Return a painter's number with its interval, by its place in `groups`."""
        value = self.values[at].get(name)
        if value is None:
            return Interval()
        part = self.parts[at].get(name)
        n = int((part[1] > 0).sum()) if part is not None else len(next(iter(self.parts[at].values()))[0])
        return score_interval(value, self.drawn[at][name], tops(self.protocol).get(name), part, n)

    def score(self, wanted: str | None) -> Score:
        """Return the score to compare by: the wanted one, or the first that all have; else `MET`, where all have it.

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
        full = [score for score in [*choices, MET] if counts[score.name] == len(self.groups)]
        return full[0] if full else max(choices, key=lambda score: counts[score.name])


def _why(group: Group) -> str:
    failures = group.failures
    reasons = [f"{count} {what}" for what, count in without_unmarked(failures).items()]
    reasons += [f"{failures[UNMARKED]} not marked"] if UNMARKED in failures else []
    return ", ".join(reasons) or "nothing marked"


def comparable(groups: Sequence[Group], protocol: Protocol[Any], on: On = "common") -> Comparable:
    """Return the painters of one evaluator, side by side.

    Painters without a score never empty the common set, and controls never cut it where there is anybody else. With
    `on` ``all``, every painter's numbers rest on all its own questions.
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
    """Return the painters of every evaluator, side by side, in the evaluators' order."""
    sides = [comparable(members, protocol, on) for members in group_by_evaluator(groups)]
    return sorted(sides, key=lambda each: each.evaluator.order)


def within(side: Comparable, inside: Sequence[Sequence[Entry]]) -> Comparable:
    """Return the same painters on some of their drawings only."""
    kept = tuple(tuple(entries) for entries in inside)
    return replace(side, inside=kept, questions=frozenset(e.question.id for entries in kept for e in entries))


QuestionPlace = tuple[str, str]
"""Question and cluster: another version of a question may have moved to another cluster."""


def _places(group: Group, protocol: Protocol[Any]) -> frozenset[QuestionPlace]:
    return frozenset((entry.question.id, protocol.cluster(entry.question)) for entry in group.scored)


def common_places(
    answered: Mapping[K, Set[QuestionPlace]], controls: Set[K]
) -> tuple[frozenset[QuestionPlace], frozenset[K]]:
    """Return the questions that painters are compared on, and the painters that have all of them.

    Args:
        answered: Painter -> the questions it has a score for; a painter without any is left out.
        controls: The painters that are controls: they cut nothing where there is anybody else.

    >>> both = {("q", ""), ("r", "")}
    >>> common_places({"x": both, "y": both, "blank": {("q", "")}, "none": set()}, {"blank"})[1] == {"x", "y"}
    True
    """
    scored = {name: places for name, places in answered.items() if places}
    rivals = [places for name, places in scored.items() if name not in controls] or [*scored.values()]
    common = frozenset.intersection(*map(frozenset, rivals)) if rivals else frozenset[QuestionPlace]()
    return common, frozenset(name for name, places in scored.items() if places >= common)


def _cut(painters: Sequence[tuple[str, frozenset[tuple[str, str]]]], common: int) -> Cut | None:
    """Return the painter without whom the others gain most; where no single one helps, the fewest of the smallest."""
    held = Counter(place for _, ids in painters for place in ids)
    # What all others have without one of them: the common places, and those that it alone lacks.
    nearly = {place for place, count in held.items() if count == len(painters) - 1}
    tries = [((name,), common + len(nearly - ids)) for name, ids in painters]
    smallest = sorted(painters, key=lambda pair: (len(pair[1]), pair[0]))
    rest, several = smallest[-1][1], list[tuple[tuple[str, ...], int]]()
    for count in range(len(smallest) - 1, 1, -1):
        rest &= smallest[count][1]
        several.append((tuple(name for name, _ in smallest[:count]), len(rest)))
    best: tuple[int, tuple[str, ...]] | None = None
    for names, without in [*tries, *reversed(several)]:
        if common < (1 - MIN_CUT_SHARE) * without and (
            best is None or (len(names) == len(best[1]) and without > best[0])
        ):
            best = without, names
    return None if best is None else Cut(best[1], common, best[0])
