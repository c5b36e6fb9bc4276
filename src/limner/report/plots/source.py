"""What a plot is made from: one exam's painters under one evaluator, on the questions that all of them have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ... import exams
from ...core import settings
from ...core.errors import StoreError, UsageError
from ...core.plot_data import Grid, Quantity, Source, plain, shown
from ...core.protocol import Score
from ...exams import each
from ...scoring import MET, Comparable, Cut, comparables
from ...scoring.comparable import within
from ...scoring.groups import find_groups, which_questions
from ...scoring.numbers import ends
from ...scoring.stats import interval
from ...store import DEFAULT, Store
from ...store.store import using_store
from ..paper.holdings import facts_of

NAMED = 2
"""Captions name no more painters than these that cut the common questions."""


@dataclass(frozen=True)
class PlotChoice:
    """What a plot is to show.

    Attributes:
        judges: Whose marks; one has to be named where several have marked, but for the plot that compares them.
        on: The questions painters are compared on: ``common`` or ``all``.
        score: The exam's leading one by default.
        by: The tag of the categories; the first that the exam's paper breaks its scores down by.
        question: Whose drawings are shown, where a plot shows drawings; the first that all painters have by default.
        data: Of a plot of the data set, the exam's data folder; what the store has by default.
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
    question: str | None = None
    data: Path | None = None

    @property
    def which(self) -> dict[str, Any]:
        """Whose drawings and whose marks, as `limner.api.groups` takes it."""
        names = ("painters", "without", "judges", "variant", "options", "wording")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class StoreSource(Source):
    """A source read from a store; an exam's own plot knows of it what `Source` says.

    Attributes:
        kind: The exam's kind.
        field: The painters, the best first and controls last; their drawings of the common questions, of which controls
            may lack some.
        choice: What was asked for.
    """

    kind: str
    field: Comparable
    choice: PlotChoice

    def cells(self, score: str) -> list[Quantity]:
        """Every painter's number."""
        return quantities(self.field, self.field.score(score))

    def mean(self, scores: Sequence[str]) -> list[Quantity]:
        """Return the mean of several scores, where a painter has all of them."""
        found, field = [], self.field
        for entries, values, drawn in zip(field.inside, field.values, field.drawn, strict=True):
            if not values.keys() >= set(scores):
                found.append(Quantity())
                continue
            n = len({entry.question.id for entry in entries})
            middle = sum(values[name] for name in scores) / len(scores)
            spread = interval(middle, np.mean([drawn[name] for name in scores], axis=0), n)
            found.append(Quantity(spread.value, spread.low, spread.high, n))
        return found

    def shares(self, scores: Sequence[str]) -> Grid:
        """Return a column for each of the scores, as a share of its best value."""
        known = {score.name: score for score in self.protocol.scored}
        columns = {}
        for name in scores:
            score = known.get(name, Score(name, 1.0, ""))
            columns[plain(name)] = [cell.scaled(1 / score.top) for cell in quantities(self.field, score)]
        return self.grid(columns, "share of the best value", 1.0)

    @property
    def wanted(self) -> str | None:
        """The question that was asked for."""
        return self.choice.question

    def access(self) -> list[str | None]:
        """For each painter ``closed`` or ``open``, where that is known of it."""
        known = settings.load()
        return [facts_of(group.painter, group.spec, known).access for group in self.field.groups]

    def pictures(self, questions: Sequence[str]) -> list[dict[str, bytes]]:
        """For the reference, and then for each painter, the images of these questions that the store has, by id."""
        found: list[dict[str, str]] = [{}]
        for entries in self.field.inside:
            asked = [entry for entry in entries if entry.question.id in questions]
            found.append({entry.question.id: entry.drawing.image for entry in reversed(asked) if entry.drawing.image})
            references = {entry.question.id: entry.question.reference for entry in asked}
            found[0] |= {id: ref.known_sha256 for id, ref in references.items() if ref and ref.known_sha256}
        images: list[dict[str, bytes]] = [{} for _ in found]
        with using_store(self.choice.store) as store:
            for hashes, there in zip(found, images, strict=True):
                for id, sha256 in hashes.items():
                    with suppress(StoreError):  # A store may be moved without its images.
                        there[id] = store.blobs.get(sha256)
        return images

    def measured(self, evidence: str) -> list[tuple[float, ...]]:
        """For each painter the numbers that were measured on its drawings, each drawing's once."""
        found = []
        for entries in self.field.inside:
            once = {entry.drawing.id: entry.evidence.get(evidence, {}).get("value") for entry in entries}
            found.append(tuple(float(value) for value in once.values() if value is not None))
        return found

    def grid(self, columns: Mapping[str, Sequence[Quantity]], label: str, top: float) -> Grid:
        """Painters by these columns; the caption says what missing numbers mean."""
        rows = tuple(zip(*columns.values(), strict=True))
        missing = [cell for row in rows for cell in row if cell.value is None]
        caption = self.caption
        if any(cell.ends for cell in missing):
            caption += " · grey: the judge abstained; what the score could be"
        if not all(cell.ends for cell in missing):
            caption += " · empty: no known score"
        if self.score is MET and label.startswith(MET.name):
            caption += " · met: percent of the criteria decided for all painters"
        return Grid(self.names, tuple(columns), rows, label, top, caption, self.controls)


def quantities(field: Comparable, score: Score) -> list[Quantity]:
    """Every painter's number with its interval, from resamples that all painters share.

    Where the score is not settled: what it could be with everything undecided filled in the worst and the best way.
    """
    found = []
    for at, entries in enumerate(field.inside):
        n = len({entry.question.id for entry in entries})
        known = field.interval(at, score.name)
        if known.value is not None:
            found.append(Quantity(known.value, known.low, known.high, n))
            continue
        undecided = any(mark.value is None for entry in entries for mark in entry.marks)
        bounds = ends(entries, field.protocol) if undecided else {}
        least, most = bounds.get(score.name, (None, None))
        found.append(Quantity(n=n, least=least, most=most))
    return found


def load(exam: str, choice: PlotChoice) -> StoreSource:
    """Everything that a plot of this exam may show.

    Raises:
        UsageError: Nothing is marked, several judges have marked and none is named, or there is no such score.
    """
    kind, groups = find_groups(exam, store=choice.store, reading=choice.reading, **choice.which)
    if not groups:
        raise UsageError(f"{exam}: nothing is marked yet; `limner run` draws and marks")
    sides = comparables(groups, kind.protocol, which_questions(choice.on))
    if len(sides) > 1:
        there = ", ".join(f"'{side.evaluator.name}'" for side in sides)
        raise UsageError(f"{exam} was marked by several evaluators; name one with --judge: {there}")
    (field,) = sides
    if not field.groups:
        raise UsageError(f"{exam}: no painter has a score yet; `limner scores {exam}` says why")
    if not field.questions and field.on == "common":
        raise UsageError(f"{exam}: there is no question that all painters have a score for; pick some with --painter")
    field = with_controls(field)
    score = main_score(field, choice.score)
    field = _ordered(field, score)
    name = exams.resolve(exam).name if exam.endswith(".toml") else exam
    controls = frozenset(group.name for group in field.groups if group.control)
    rows = tuple(tuple(entry.row for entry in entries) for entries in field.inside)
    caption = _caption(name, field, choice.reading)
    painters, protocol = tuple(field.names), field.protocol
    return StoreSource(name, score, painters, controls, caption, protocol, rows, kind.name, field, choice)


def with_controls(field: Comparable) -> Comparable:
    """Return the field with the controls that lack some of its questions in it, on what they have."""
    some = tuple(group for group in field.beside if field.common(group))
    inside = (*field.inside, *(field.common(group) for group in some))
    return replace(field, groups=(*field.groups, *some), inside=inside, beside=some)


def main_score(field: Comparable, wanted: str | None) -> Score:
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
    return replace(field, groups=tuple(field.groups[n] for n in places), inside=tuple(field.inside[n] for n in places))


def _caption(exam: str, field: Comparable, reading: str) -> str:
    """Return what stands below every plot: whose marks these are, and on how much they rest."""
    said = [_cut(field.cut, exam)] if field.cut is not None and field.on == "common" else []
    said += [warning.removesuffix(".") for warning in field.evaluator.warnings]
    said += [exam, f"judge {field.evaluator.name}", f"reading {reading}"]
    if field.on == "all" and field.uneven:
        counts = [len({entry.question.id for entry in entries}) for entries in field.inside]
        said.append(f"n = {min(counts)} to {max(counts)}, each painter's own questions")
    else:
        even = len(field.groups) - len(field.beside)
        said.append(f"n = {len(field.questions)}" + (f" questions common to {even} painters" if even > 1 else ""))
    said += [f"{group.name} on {len(field.common(group))} of these" for group in field.beside]
    shares = [group.coverage for group in field.groups]
    covered = dict.fromkeys(f"{share:.0%}" for share in (min(shares), max(shares)))
    said.append(f"coverage {' to '.join(covered)}")
    if field.left_out:
        said.append(f"without a score: {', '.join(group.name for group in field.left_out)}")
    return " · ".join(said)


def _cut(cut: Cut, exam: str) -> str:
    """Who cuts the common questions; below a plot there is no room for many names."""
    if len(cut.painters) <= NAMED:
        return cut.words
    most = f"{len(cut.painters)} painters cut the common questions from {cut.without} to {cut.questions}"
    return f"{most}; `limner scores {exam}` names them"


OVERALL = "all"
LEVELS = "levels"
"""The plot of `levels`; exams whose levels are no tag have one of their own under this name."""


def by_tag(source: StoreSource, tag: str, whole: bool = False) -> Grid:
    """Return the score by the values of a tag in the exam's order; with `whole`, that over all questions first.

    Raises:
        UsageError: No question has the tag.
    """
    field, score, there = source.field, source.score, _tags(source)
    values = {tags[tag] for tags in there if tag in tags}
    if not values:
        names = sorted({name for tags in there for name in tags})
        raise UsageError(f"--by {tag}: {source.exam} has questions by {', '.join(names) or 'no tag at all'}")
    columns: dict[str, list[Quantity]] = {OVERALL: quantities(field, score)} if whole else {}
    for value in source.protocol.in_order(tag, values):
        inside = [[e for e in entries if e.question.tags.get(tag) == value] for entries in field.inside]
        columns[plain(value)] = quantities(within(field, inside), score)
    return source.grid(columns, shown(score), score.top)


def _tags(source: StoreSource) -> list[Mapping[str, str]]:
    return [row.question.tags for rows in source.rows for row in rows]


def categories(source: StoreSource) -> Grid:
    """Return the score by category."""
    return by_tag(source, _category(source))


def heatmap(source: StoreSource) -> Grid:
    """Return the same, with all categories together in the first column."""
    return by_tag(source, _category(source), whole=True)


def _category(source: StoreSource) -> str:
    # Only some questions may have the first one: one half may be broken down by one tag, one by another.
    there = {name for tags in _tags(source) for name in tags}
    tag = source.choice.by or next((tag for tag in source.protocol.breakdowns if tag in there), None)
    if tag is None:
        raise UsageError(f"{source.exam} names no categories; say which tag with --by")
    return tag


def profile(source: StoreSource) -> Grid:
    """Every dimension of the exam as a share of its best value."""
    # A dimension that nobody has a number for, because the judge decides none of it, is no part of a profile.
    known = {name for values in source.field.values for name in values}
    names = [name for name in source.protocol.dimensions if name in known]
    if not names:
        why = "this judge decides no dimension" if source.protocol.dimensions else "has no dimensions"
        raise UsageError(f"{source.exam}: {why}; `limner plot categories` shows scores by category")
    return source.shares(names)


def levels(source: StoreSource) -> Grid:
    """Return the score by the values of the first tag that the exam has in an order: its levels, the easiest first.

    Raises:
        UsageError: The exam has no levels.
    """
    there = {name for tags in _tags(source) for name in tags}
    tag = next((name for name in source.protocol.orders if name in there), None)
    if tag is None:
        known = [kind.name for kind in each() if kind.protocol.orders or LEVELS in kind.plots]
        raise UsageError(f"{source.exam} has no levels; there are some in {', '.join(sorted(known))}")
    grid = by_tag(source, tag)
    return replace(grid.scaled(1 / source.score.top), label=f"{source.score.name}, share of the best value", top=1.0)
