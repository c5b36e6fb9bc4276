"""What a store has for a table: its painters' standings, with what is known of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import sqlalchemy as sa

from ... import api, exams, settings
from ...calls import digest
from ...errors import UsageError
from ...exam import Exam
from ...protocol import Protocol, Reading
from ...scoring import Entry, Group, Standing, standings
from ...settings import PainterFacts
from ...store import Store
from ...store.records import load_exam, row_name
from ...store.schema import exams as stored_exams
from .facts import facts_of


@dataclass(frozen=True)
class Own:
    """One painter with one strategy under one judge.

    Attributes:
        group: All its drawings, whichever questions the scores rest on.
        scores: Its numbers over all questions (under None) and over named subsets.
    """

    group: Group
    facts: PainterFacts
    scores: Mapping[str | None, Standing]

    @property
    def name(self) -> str:
        """The painter, and how it drew where that is not the plain way."""
        return row_name(self.group.painter, self.group.strategy)

    @property
    def spec(self) -> str:
        """What the painter is."""
        return _spec(self.group)

    @property
    def coverage(self) -> float:
        """Questions with a score of those drawn or tried."""
        applicable = [entry for entry in self.group.entries if entry.status != "not_applicable"]
        expected = {entry.question.id for entry in applicable}
        return len(_scored(applicable)) / len(expected) if expected else 0.0

    @property
    def asked(self) -> int:
        """How many questions it was to draw."""
        return len({entry.question.id for entry in self.group.entries})

    @property
    def size(self) -> str | None:
        """The size most of its drawings have."""
        sizes = Counter(
            (d.width, d.height) for d in (entry.drawing for entry in self.group.entries) if d.width and d.height
        )
        return "x".join(map(str, sizes.most_common(1)[0][0])) if sizes else None


@dataclass(frozen=True)
class Holdings:
    """Everything a table takes from a store.

    Attributes:
        exam: The exam with all its questions; None where the store has none of this kind.
        common: How many questions the painters' numbers rest on, where they are compared on common ones; a number for
            each way of asking.
        uneven: Whether painters have numbers on different questions.
    """

    protocol: Protocol[Any]
    reading: str
    exam: Exam[Any] | None = None
    rows: tuple[Own, ...] = ()
    common: tuple[int, ...] = ()
    uneven: bool = False


def exam_in(store: Store, kind: str, name: str | None) -> str | None:
    """The stored exam of this kind: the one named, the one called like its kind, or the only one.

    Raises:
        UsageError: There are several, or none is called so.
    """
    with store.reading() as connection:
        query = sa.select(stored_exams.c.name).where(stored_exams.c.kind == kind)
        there = sorted(connection.scalars(query))
    if name is not None:
        if name not in there:
            raise UsageError(f"{store.url} has no exam {name!r} of kind {kind}; it has: {', '.join(there) or 'none'}")
        return name
    if len(there) > 1 and kind not in there:
        raise UsageError(f"{store.url} has several exams of kind {kind}: {', '.join(there)}; choose with --exam")
    return kind if kind in there else there[0] if there else None


def holdings(
    store: Store,
    kind: str,
    *,
    exam: str | None = None,
    painters: Sequence[str] = (),
    judges: Sequence[str] = (),
    reading: str = "careful",
    tags: Sequence[str] = (),
    subsets: Sequence[str] = (),
    common: bool = True,
    across: bool = False,
    only: str | None = None,
    rows: str = "painters",
) -> Holdings:
    """Read a store.

    Args:
        exam: The exam's name; see `exam_in`.
        painters: Only these.
        judges: Only these.
        tags: What scores are broken down by.
        subsets: Named lists of questions that get numbers of their own.
        common: Whether painters asked for alike are compared on the questions all of them have.
        across: Whether those questions are the same for all judges too.
        rows: What the table's rows are about: nothing is computed that they do not show.
        only: Of the painters, only the one with this spec or name.
    """
    protocol = exams.kind(kind).protocol
    found = Holdings(protocol, reading)
    name = exam_in(store, kind, exam)
    if name is None:
        return found
    whole = load_exam(store, name, exams.kind(kind).rubric)
    if rows == "exam":
        return replace(found, exam=whole)
    _, groups = api.groups(name, store=store, painters=painters, judges=judges, reading=reading)
    if only is not None:
        groups = [group for group in groups if only in (group.painter, _spec(group))]
    ways = ["" if across else digest(group.setup) for group in groups]
    shared, uneven = _common(groups, ways)
    used = [_only(group, shared[way]) for group, way in zip(groups, ways, strict=True)] if common else groups
    known, own = settings.load(), []
    for group, chosen in zip(groups, used, strict=True):
        parts = {None: chosen} | {name: _only(chosen, whole.subsets.get(name, frozenset())) for name in subsets}
        # One at a time: which questions painters have in common is settled already.
        numbers = {
            part: standings(name, [inside], protocol, cast(Reading, reading), tags)[0]
            for part, inside in parts.items()
            if rows == "painters"
        }
        own.append(Own(group, facts_of(group.painter, _spec(group), known), numbers))
    sizes = tuple(sorted({len(ids) for ids in shared.values() if ids})) if common and uneven else ()
    return replace(found, exam=whole, rows=tuple(own), common=sizes, uneven=uneven)


def _spec(group: Group) -> str:
    return group.entries[0].drawing.spec


def _common(groups: Sequence[Group], ways: Sequence[str]) -> tuple[dict[str, frozenset[str] | None], bool]:
    """For each way of asking the questions that all its painters have; None where there is no such question."""
    shared: dict[str, frozenset[str]] = {}
    uneven = False
    for group, way in zip(groups, ways, strict=True):
        ids = frozenset(_scored(group.entries))
        if not ids:
            continue  # A painter with nothing to compare must not keep the others from it.
        uneven |= way in shared and shared[way] != ids
        shared[way] = shared[way] & ids if way in shared else ids
    return {way: shared.get(way) or None for way in ways}, uneven


def _scored(entries: Sequence[Entry]) -> set[str]:
    return {entry.question.id for entry in entries if entry.scored}


def _only(group: Group, ids: frozenset[str] | None) -> Group:
    if ids is None:
        return group
    return replace(group, entries=tuple(entry for entry in group.entries if entry.question.id in ids))
