"""What a plot is made from: one exam's painters under one evaluator, on the questions that all of them have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import exams
from ..core.errors import UsageError
from ..core.protocol import Score
from ..scoring import MET, Comparable, Cut, comparables
from ..scoring.groups import find_groups, which_questions
from ..store import DEFAULT, Store

NAMED = 2
"""Captions name no more painters than these that cut the common questions."""


@dataclass(frozen=True)
class Choice:
    """What a plot is to show.

    Attributes:
        judges: Whose marks; one has to be named where several have marked, but for the plot that compares them.
        on: The questions painters are compared on: ``common`` or ``all``.
        score: The exam's leading one by default.
        by: The tag of the categories; the first that the exam's paper breaks its scores down by.
    """

    store: Store | str | Path = DEFAULT
    judges: Sequence[str] = ()
    reading: str = "careful"
    score: str | None = None
    painters: Sequence[str] = ()
    by: str | None = None
    on: str = "common"
    without: Sequence[str] = ()
    variant: str | None = None
    options: Mapping[str, str] | None = None
    wording: str | None = None

    @property
    def which(self) -> dict[str, Any]:
        """Whose drawings and whose marks, as `limner.api.groups` takes it."""
        names = ("painters", "without", "judges", "variant", "options", "wording")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Source:
    """See the module.

    Attributes:
        field: The painters, the best first and controls last; their drawings of the common questions, of which controls
            may lack some.
        score: The score that painters are ordered by, and that most plots show.
        choice: What was asked for.
    """

    exam: str
    kind: str
    field: Comparable
    score: Score
    choice: Choice

    @property
    def names(self) -> tuple[str, ...]:
        """The painters' rows."""
        return tuple(self.field.names)

    @property
    def controls(self) -> frozenset[str]:
        """Those of them that are controls."""
        return frozenset(group.name for group in self.field.groups if group.control)

    @property
    def caption(self) -> str:
        """What stands below every plot: whose marks these are, and on how much they rest."""
        field = self.field
        said = [_cut(field.cut, self.exam)] if field.cut is not None and field.on == "common" else []
        said += [self.exam, f"judge {field.evaluator.name}", f"reading {self.choice.reading}"]
        if field.on == "all" and field.uneven:
            counts = [len({entry.question.id for entry in entries}) for entries in field.inside]
            said.append(f"n = {min(counts)} to {max(counts)}, each painter's own questions")
        else:
            even = len(field.groups) - len(field.beside)
            said.append(f"n = {len(field.questions)}" + (f" questions common to {even} painters" if even > 1 else ""))
        said += [f"{group.name} on {len(field.common(group))} of these" for group in field.beside]
        shares = [group.coverage for group in field.groups]
        ends = [f"{share:.0%}" for share in (min(shares), max(shares))]
        said.append(f"coverage {ends[0]}" if ends[0] == ends[1] else f"coverage {ends[0]} to {ends[1]}")
        if field.left_out:
            said.append(f"without a score: {', '.join(group.name for group in field.left_out)}")
        return " · ".join(said)


def _cut(cut: Cut, exam: str) -> str:
    """Who cuts the common questions; below a plot there is no room for many names."""
    if len(cut.painters) <= NAMED:
        return cut.words
    most = f"{len(cut.painters)} painters cut the common questions from {cut.without} to {cut.questions}"
    return f"{most}; `limner scores {exam}` names them"


def load(exam: str, choice: Choice) -> Source:
    """Everything that a plot of this exam may show.

    Raises:
        UsageError: Nothing is marked, several judges have marked and none is named, or there is no such score.
    """
    kind, groups = find_groups(exam, store=choice.store, reading=choice.reading, **choice.which)
    if not groups:
        raise UsageError(f"{exam}: nothing is marked yet; `limner run` draws and marks")
    sides = comparables(groups, exams.kind(kind).protocol, which_questions(choice.on))
    if len(sides) > 1:
        there = ", ".join(f"'{side.evaluator.name}'" for side in sides)
        raise UsageError(f"{exam} was marked by several evaluators; name one with --judge: {there}")
    (field,) = sides
    if not field.groups:
        raise UsageError(f"{exam}: no painter has a score yet; `limner scores {exam}` says why")
    if not field.questions and field.on == "common":
        raise UsageError(f"{exam}: there is no question that all painters have a score for; pick some with --painter")
    field = _with_controls(field)
    score = _score(field, choice.score)
    name = exams.resolve(exam).name if exam.endswith(".toml") else exam
    return Source(name, kind, _ordered(field, score), score, choice)


def _with_controls(field: Comparable) -> Comparable:
    """The field with the controls that lack some of its questions in it, on what they have."""
    some = tuple(group for group in field.beside if field.common(group))
    inside = (*field.inside, *(field.common(group) for group in some))
    return replace(field, groups=(*field.groups, *some), inside=inside, beside=some)


def _score(field: Comparable, wanted: str | None) -> Score:
    """The wanted score; or the first that is known for most painters, and where none is, what the judge decided."""
    if wanted is not None:
        return field.score(wanted)
    known = Counter(name for values in field.values for name in values)
    main = [score for score in field.protocol.scored if score.main]
    return next((score for score in main if known[score.name] * 2 > len(field.groups)), MET)


def _ordered(field: Comparable, score: Score) -> Comparable:
    values = [each.get(score.name) for each in field.values]
    met = [each.get(MET.name, 0.0) for each in field.values]
    # A painter without the score, because the judge abstained, goes by what was decided: after the others.
    places = sorted(
        range(len(field.groups)),
        key=lambda n: (field.groups[n].control, values[n] is None, -(values[n] or 0.0), -met[n], field.names[n]),
    )
    groups, inside = ([each[n] for n in places] for each in (field.groups, field.inside))
    return replace(field, groups=tuple(groups), inside=tuple(inside))  # type: ignore[arg-type]
