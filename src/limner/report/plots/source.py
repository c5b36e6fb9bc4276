"""What a plot is made from: one exam's painters under one judge, on the questions that all of them have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ... import api, exams
from ...compare.fields import MET, Field, fields
from ...errors import UsageError
from ...protocol import Score
from ...scoring import Entry, Group
from ...store import DEFAULT, Store
from ...store.records import row_name

CONTROL = "control/"


@dataclass(frozen=True)
class Choice:
    """What a plot is to show.

    Attributes:
        judges: Whose marks; one has to be named where several have marked, but for the plot that compares them.
        score: The exam's leading one by default.
        by: The tag of the categories; the first that the exam's paper breaks its scores down by.
    """

    store: Store | str | Path = DEFAULT
    judges: Sequence[str] = ()
    reading: str = "careful"
    score: str | None = None
    painters: Sequence[str] = ()
    by: str | None = None


@dataclass(frozen=True)
class Source:
    """See the module.

    Attributes:
        field: The painters, the best first and controls last; their drawings of the common questions.
        score: The score that painters are ordered by, and that most plots show.
        choice: What was asked for.
        others: Painters whom the judge marked too, but asked in another way.
    """

    exam: str
    kind: str
    field: Field
    score: Score
    choice: Choice
    others: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The painters' rows."""
        return tuple(name_of(group) for group in self.field.groups)

    @property
    def controls(self) -> frozenset[str]:
        """Those of them that are controls."""
        return frozenset(name_of(group) for group in self.field.groups if is_control(group))

    @property
    def caption(self) -> str:
        """What stands below every plot: whose marks these are, and on how much they rest."""
        field = self.field
        said = [self.exam, f"judge {field.judge}", f"reading {self.choice.reading}", f"n = {len(field.questions)}"]
        if len(field.groups) > 1:
            said[-1] += f" questions common to {len(field.groups)} painters"
        shares = [coverage(group) for group in field.groups]
        ends = [f"{share:.0%}" for share in (min(shares), max(shares))]
        said.append(f"coverage {ends[0]}" if ends[0] == ends[1] else f"coverage {ends[0]} to {ends[1]}")
        if self.others:
            said.append(f"{self.others} asked otherwise left out")
        return " · ".join(said)


def name_of(group: Group) -> str:
    """A painter's row: with its strategy, where that is not the direct one."""
    return row_name(group.painter, group.strategy)


def is_control(group: Group) -> bool:
    """Whether the painter is a control: shown, but no rival of the others."""
    return group.painter.startswith(CONTROL)


def coverage(group: Group) -> float:
    """Questions with a score of those drawn or tried."""
    tried = {entry.question.id for entry in group.entries if entry.status != "not_applicable"}
    scored = {entry.question.id for entry in group.entries if entry.scored}
    return len(scored) / len(tried) if tried else 0.0


def within(field: Field, inside: Sequence[Sequence[Entry]]) -> Field:
    """The same painters on some of their drawings only."""
    kept = tuple(tuple(entries) for entries in inside)
    return replace(field, inside=kept, questions=frozenset(e.question.id for entries in kept for e in entries))


def load(exam: str, choice: Choice) -> Source:
    """Everything that a plot of this exam may show.

    Raises:
        UsageError: Nothing is marked, several judges have marked and none is named, or there is no such score.
    """
    which: dict[str, Any] = {"painters": choice.painters, "judges": choice.judges}
    kind, groups = api.groups(exam, store=choice.store, reading=choice.reading, **which)
    if not groups:
        raise UsageError(f"{exam}: nothing is marked yet; `limner run` draws and marks")
    found = Counter(group.judge for group in groups)
    if len(found) > 1:
        raise UsageError(f"{exam} was marked by several judges; name one with --judge: {', '.join(sorted(found))}")
    ways = fields(groups, exams.kind(kind).protocol)
    field = max(ways, key=lambda way: (len(way.groups), len(way.questions)))
    if not field.questions:
        raise UsageError(f"{exam}: there is no question that all painters have a score for; pick some with --painter")
    score = _score(field, choice.score)
    others = len(groups) - len(field.groups)
    name = exams.resolve(exam).name if exam.endswith(".toml") else exam
    return Source(name, kind, _ordered(field, score), score, choice, others)


def _score(field: Field, wanted: str | None) -> Score:
    """The wanted score; or the first that is known for most painters, and where none is, what the judge decided."""
    if wanted is not None:
        return field.score(wanted)
    known = Counter(name for values in field.values for name in values)
    main = [score for score in field.protocol.scored if score.main]
    return next((score for score in main if known[score.name] * 2 > len(field.groups)), MET)


def _ordered(field: Field, score: Score) -> Field:
    values = [each.get(score.name) for each in field.values]
    met = [each.get(MET.name, 0.0) for each in field.values]
    # A painter without the score, because the judge abstained, goes by what was decided: after the others.
    places = sorted(
        range(len(field.groups)),
        key=lambda n: (is_control(field.groups[n]), values[n] is None, -(values[n] or 0.0), -met[n], field.names[n]),
    )
    groups, inside = ([each[n] for n in places] for each in (field.groups, field.inside))
    return replace(field, groups=tuple(groups), inside=tuple(inside))  # type: ignore[arg-type]
