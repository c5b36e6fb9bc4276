"""Painters side by side: whom one judge marked, asked in one way, on the questions that all of them have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..calls import digest
from ..errors import UsageError
from ..protocol import Protocol, Score
from ..scoring import Entry, Group, summed
from ..stats import Parts, ratios, spreads
from ..stats.kinds import Derive, Floats
from ..store.records import row_name

MET = Score("met", 100, "percent of criteria met, of those that are decided for all that is compared")
"""The score of last resort, for judges that abstain: no exam's own, and known wherever something is decided."""


@dataclass(frozen=True)
class Field:
    """See the module.

    Attributes:
        groups: One per painter, in the order of their names.
        inside: For each of them its scored drawings of the common questions.
        questions: The questions that all painters have.
    """

    judge: str
    setup: Mapping[str, Any]
    groups: tuple[Group, ...]
    inside: tuple[tuple[Entry, ...], ...]
    questions: frozenset[str]
    protocol: Protocol[Any]

    @property
    def names(self) -> list[str]:
        """The painters' names, as `groups` has them."""
        return [row_name(group.painter, group.strategy) for group in self.groups]

    @cached_property
    def parts(self) -> list[Parts]:
        """What each painter's scores are made of, over the same clusters in the same order; `MET` beside the exam's."""
        met = met_parts(self.inside, self.protocol)
        return [{**summed(entries, self.protocol), **more} for entries, more in zip(self.inside, met, strict=True)]

    @cached_property
    def values(self) -> list[dict[str, float]]:
        """Every painter's numbers, those that there are."""
        return [numbers(parts, self.protocol) for parts in self.parts]

    @cached_property
    def drawn(self) -> list[dict[str, Floats]]:
        """Every painter's numbers in joint resamples."""
        return spreads(self.parts, deriving(self.protocol))

    def score(self, wanted: str | None) -> Score:
        """The score to compare by: the wanted one, or the first that is known for all; else `MET`, where it is.

        Raises:
            UsageError: The exam has no such score.
        """
        known = Counter(name for values in self.values for name in values)
        own = {score.name: score for score in self.protocol.scored}
        if wanted is not None:
            if wanted not in own and wanted != MET.name and not known[wanted]:
                raise UsageError(f"--score {wanted}: there is: {', '.join([*own, MET.name])}")
            return MET if wanted == MET.name else own.get(wanted, Score(wanted, 1.0, "", digits=3))
        choices = [score for score in self.protocol.scored if score.main]
        full = [score for score in [*choices, MET] if known[score.name] == len(self.groups)]
        return full[0] if full else max(choices, key=lambda score: known[score.name])


def deriving(protocol: Protocol[Any]) -> Derive:
    """How an exam's summary numbers follow from ratios; `MET` is not one of them and stays as it is."""

    def derive(means: Mapping[str, Any]) -> dict[str, Any]:
        own = protocol.derive({name: mean for name, mean in means.items() if name != MET.name})
        return {**own, MET.name: means[MET.name]} if MET.name in means else dict(own)

    return derive


def numbers(parts: Parts, protocol: Protocol[Any]) -> dict[str, float]:
    """The summary numbers that there are."""
    found = deriving(protocol)(ratios(parts))
    return {name: float(value) for name, value in found.items() if not np.isnan(value)}


def fields(groups: Sequence[Group], protocol: Protocol[Any]) -> list[Field]:
    """One field for every judge and way of asking."""
    ways: dict[str, list[Group]] = {}
    for group in groups:
        ways.setdefault(digest(group.setup), []).append(group)
    found = [_field(members, protocol) for members in ways.values()]
    return sorted(found, key=lambda field: (field.judge, digest(field.setup)))


def _field(groups: Sequence[Group], protocol: Protocol[Any]) -> Field:
    ordered = sorted(groups, key=lambda group: (group.painter, group.strategy))
    there = [{_place(entry, protocol) for entry in group.entries if entry.scored} for group in ordered]
    common = set.intersection(*there)
    inside = tuple(in_order(e for e in g.entries if e.scored and _place(e, protocol) in common) for g in ordered)
    questions = frozenset(question for question, _ in common)
    return Field(ordered[0].judge, ordered[0].setup, tuple(ordered), inside, questions, protocol)


def _place(entry: Entry, protocol: Protocol[Any]) -> tuple[str, str]:
    return entry.question.id, protocol.cluster(entry.question)


def in_order(entries: Any) -> tuple[Entry, ...]:
    """Entries in an order of their own, whatever the order they came in."""
    return tuple(sorted(entries, key=lambda e: (e.question.id, e.drawing.seed, e.marking.repeat if e.marking else 0)))


def met_parts(many: Sequence[Sequence[Entry]], protocol: Protocol[Any]) -> list[Parts]:
    """For each of several sets of entries the percent of criteria met, of those that are decided in all sets.

    Repeats and seeds of a question are averaged criterion by criterion. The clusters are those of `scoring.summed`.
    """
    tables = [_met(entries, protocol) for entries in many]
    shared = set.intersection(*(set(table) for table in tables)) if tables else set()
    clusters = sorted({protocol.cluster(entry.question) for entries in many for entry in entries})
    places = {cluster: place for place, cluster in enumerate(clusters)}
    found: list[Parts] = []
    for table in tables:
        tops, bottoms = np.zeros(len(places)), np.zeros(len(places))
        for key in sorted(shared):
            tops[places[key[0]]] += 100 * float(np.mean(table[key]))
            bottoms[places[key[0]]] += 1
        found.append({MET.name: (tops, bottoms)} if shared else {})
    return found


def _met(entries: Sequence[Entry], protocol: Protocol[Any]) -> dict[tuple[str, str, str], list[float]]:
    """Cluster, question and criterion -> the share of the best value that each marking gave."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for entry in entries:
        cluster = protocol.cluster(entry.question)
        for criterion, share in shares(entry, protocol).items():
            found.setdefault((cluster, entry.question.id, criterion), []).append(share)
    return found


def shares(entry: Entry, protocol: Protocol[Any]) -> dict[str, float]:
    """The decided criteria of one marking, each as a share of its best value.

    Marks beyond the criteria are findings, such as what a drawing has too much; judges name them each in their own way.
    """
    top = {criterion.id: criterion.top for criterion in protocol.criteria(entry.question)}
    return {
        mark.criterion: mark.value / top[mark.criterion]
        for mark in entry.marks
        if mark.value is not None and mark.criterion in top
    }
