"""The source of a plot: one exam's painters under one evaluator, on their common questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ... import exams
from ...core import settings
from ...core.errors import StoreError, UsageError
from ...core.plot_data import Grid, PlotSource, Quantity, plain_tag, score_with_scale
from ...core.protocol import Score
from ...exams import each
from ...scoring import MET, Comparable, Cut, Group, comparables
from ...scoring.comparable import within
from ...scoring.groups import checked_on, find_groups
from ...scoring.numbers import ends
from ...scoring.stats import interval
from ...store import DEFAULT, Store
from ...store.store import using_store
from ..paper.holdings import facts_of

NAMED = 2
"""The most painters that a caption names for cutting the common questions."""


@dataclass(frozen=True)
class PlotChoice:
    """The choice of what a plot shows.

    Attributes:
        judges: The judges; if several have marked, one must be named, except for plots that compare them.
        on: The questions on which painters are compared: ``common`` or ``all``.
        score: The score; by default the exam's leading one.
        by: The tag of the categories; by default the first by which the exam's paper breaks its scores down.
        question: For a plot of drawings, the question; by default the first that all painters have.
        data: For a plot of the data set, the exam's data folder; by default the store.
        loaded: The exam's kind and the groups of drawings to show, if they are loaded already; by default those of the
            store that `which` selects.
        study: For a comparison with people, the only study whose people count; by default all.
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
    study: str | None = None
    loaded: tuple[exams.Kind[Any], Sequence[Group]] | None = field(default=None, repr=False)

    @property
    def which(self) -> dict[str, Any]:
        """The filters of drawings and marks, for `limner.api.groups`."""
        names = ("painters", "without", "judges", "variant", "options", "wording")
        return {name: getattr(self, name) for name in names}

    def groups(self, exam: str) -> tuple[exams.Kind[Any], list[Group]]:
        """Return the exam's kind and the chosen groups of drawings."""
        if self.loaded is not None:
            return self.loaded[0], list(self.loaded[1])
        return find_groups(exam, store=self.store, reading=self.reading, **self.which)


@dataclass(frozen=True)
class StoreSource(PlotSource):
    """A source read from a store; an exam's own plot sees only what `PlotSource` defines.

    Attributes:
        kind: The exam's kind.
        field: The painters, the best first and controls last, with their drawings of the common questions; controls may
            lack some of these questions.
        choice: The choice of what to show.
    """

    kind: str
    field: Comparable
    choice: PlotChoice

    def cells(self, score: str) -> list[Quantity]:
        """Return every painter's number for a score."""
        return quantities(self.field, self.field.score(score))

    def mean(self, scores: Sequence[str]) -> list[Quantity]:
        """Return the mean of several scores, for painters that have all of them."""
        means, field = [], self.field
        for entries, values, drawn in zip(field.inside, field.values, field.drawn, strict=True):
            if not values.keys() >= set(scores):
                means.append(Quantity())
                continue
            n = len({entry.question.id for entry in entries})
            middle = sum(values[name] for name in scores) / len(scores)
            spread = interval(middle, np.mean([drawn[name] for name in scores], axis=0), n)
            means.append(Quantity(spread.value, spread.low, spread.high, n))
        return means

    def shares(self, scores: Sequence[str]) -> Grid:
        """Return a column for each of the scores, as a share of its best value."""
        by_name = {score.name: score for score in self.protocol.scored}
        columns = {}
        for name in scores:
            score = by_name.get(name, Score(name, 1.0, ""))
            columns[plain_tag(name)] = [cell.scaled(1 / score.top) for cell in quantities(self.field, score)]
        return self.grid(columns, "share of the best value", 1.0)

    def access(self) -> list[str | None]:
        """Return ``closed`` or ``open`` for each painter, if it is known."""
        loaded = settings.load()
        return [facts_of(group.painter, group.spec, loaded).access for group in self.field.groups]

    def pictures(self, questions: Sequence[str]) -> list[dict[str, bytes]]:
        """Return the stored images of these questions by id, for the reference and then for each painter."""
        rows: list[dict[str, str]] = [{}]
        for entries in self.field.inside:
            asked = [entry for entry in entries if entry.question.id in questions]
            rows.append({entry.question.id: entry.drawing.image for entry in reversed(asked) if entry.drawing.image})
            references = {entry.question.id: entry.question.reference for entry in asked}
            rows[0] |= {id: ref.known_sha256 for id, ref in references.items() if ref and ref.known_sha256}
        images: list[dict[str, bytes]] = [{} for _ in rows]
        with using_store(self.choice.store) as store:
            for n, id, sha256 in ((n, *each) for n, row in enumerate(rows) for each in row.items()):
                with suppress(StoreError):  # A store may be moved without its images.
                    images[n][id] = store.blobs.get(sha256)
        return images

    def measured(self, evidence: str) -> list[tuple[float, ...]]:
        """Return for each painter the numbers measured on its drawings, one per drawing."""
        measured_rows = []
        for entries in self.field.inside:
            once = {entry.drawing.id: entry.evidence.get(evidence, {}).get("value") for entry in entries}
            measured_rows.append(tuple(float(value) for value in once.values() if value is not None))
        return measured_rows

    def grid(self, columns: Mapping[str, Sequence[Quantity]], label: str, top: float) -> Grid:
        """Return painters by these columns; the caption explains missing numbers."""
        rows = tuple(zip(*columns.values(), strict=True))
        missing = [cell for row in rows for cell in row if cell.value is None]
        caption = self.caption
        if any(cell.ends for cell in missing):
            caption += " · grey: the judge abstained; possible range of the score"
        if not all(cell.ends for cell in missing):
            caption += " · empty: no score"
        if self.score is MET and label.startswith(MET.name):
            caption += " · met: percent of the criteria decided for all painters"
        return Grid(self.names, tuple(columns), rows, label, top, caption, self.controls)


def quantities(field: Comparable, score: Score) -> list[Quantity]:
    """Return every painter's number with its interval, from resamples that all painters share.

    If the judge abstained, the number is replaced by the score's range, with undecided marks at their worst and best.
    """
    cells = []
    for at, entries in enumerate(field.inside):
        n = len({entry.question.id for entry in entries})
        exact = field.interval(at, score.name)
        if exact.value is not None:
            cells.append(Quantity(exact.value, exact.low, exact.high, n))
            continue
        undecided = any(mark.value is None for entry in entries for mark in entry.marks)
        bounds = ends(entries, field.protocol) if undecided else {}
        least, most = bounds.get(score.name, (None, None))
        cells.append(Quantity(n=n, least=least, most=most))
    return cells


def load_source(exam: str, choice: PlotChoice) -> StoreSource:
    """Return everything that a plot of this exam may show.

    Raises:
        UsageError: Nothing is marked, several judges have marked and none is named, or there is no such score.
    """
    kind, groups = choice.groups(exam)
    if not groups:
        raise UsageError(f"{exam}: nothing is marked yet; `limner run` draws and marks")
    sides = comparables(groups, kind.protocol, checked_on(choice.on))
    if len(sides) > 1:
        names = ", ".join(f"'{side.evaluator.name}'" for side in sides)
        raise UsageError(f"{exam} was marked by several evaluators; name one with --judge: {names}")
    (field,) = sides
    if not field.groups:
        raise UsageError(f"{exam}: no painter has a score yet; `limner scores {exam}` says why")
    if not field.questions and field.on == "common":
        raise UsageError(f"{exam}: no question has a score for all painters; choose some with --painter")
    field = with_controls(field)
    score = main_score(field, choice.score)
    field = _ordered(field, score)
    name = exams.resolve(exam).name if exam.endswith(".toml") else exam
    controls = frozenset(group.name for group in field.groups if group.control)
    rows = tuple(tuple(entry.row for entry in entries) for entries in field.inside)
    caption = _caption(name, field, choice.reading)
    painters, protocol = tuple(field.names), field.protocol
    shared = (name, score, painters, controls, caption, protocol, rows, choice.question)
    return StoreSource(*shared, kind=kind.name, field=field, choice=choice)


def with_controls(field: Comparable) -> Comparable:
    """Return the field with added controls that lack some questions, on the questions that they have."""
    some = tuple(group for group in field.beside if field.common(group))
    inside = (*field.inside, *(field.common(group) for group in some))
    return replace(field, groups=(*field.groups, *some), inside=inside, beside=some)


def main_score(field: Comparable, wanted: str | None) -> Score:
    """Return the wanted score; by default the first that most painters have, or the share of criteria met."""
    if wanted is not None:
        return field.score(wanted)
    counts = Counter(name for values in field.values for name in values)
    main = [score for score in field.protocol.scored if score.main]
    return next((score for score in main if counts[score.name] * 2 > len(field.groups)), MET)


def _ordered(field: Comparable, score: Score) -> Comparable:
    values = [each.get(score.name) for each in field.values]
    met = [each.get(MET.name, 0.0) for each in field.values]
    # A painter without the score, because the judge abstained, comes after the others, by the share of criteria met.
    places = sorted(
        range(len(field.groups)),
        key=lambda n: (field.groups[n].control, values[n] is None, -(values[n] or 0.0), -met[n], field.names[n]),
    )
    return replace(field, groups=tuple(field.groups[n] for n in places), inside=tuple(field.inside[n] for n in places))


def _caption(exam: str, field: Comparable, reading: str) -> str:
    """Return the caption of every plot: who marked, and on how many questions."""
    parts = [_cut(field.cut, exam)] if field.cut is not None and field.on == "common" else []
    parts += [warning.removesuffix(".") for warning in field.evaluator.warnings]
    parts += [exam, f"judge {field.evaluator.name}", f"reading {reading}"]
    if field.on == "all" and field.uneven:
        counts = [len({entry.question.id for entry in entries}) for entries in field.inside]
        parts.append(f"n = {min(counts)} to {max(counts)}, each painter's own questions")
    else:
        even = len(field.groups) - len(field.beside)
        parts.append(f"n = {len(field.questions)}" + (f" questions common to {even} painters" if even > 1 else ""))
    parts += [f"{group.name} on {len(field.common(group))} of these" for group in field.beside]
    shares = [group.coverage for group in field.groups]
    covered = dict.fromkeys(f"{share:.0%}" for share in (min(shares), max(shares)))
    parts.append(f"coverage {' to '.join(covered)}")
    if field.left_out:
        parts.append(f"without a score: {', '.join(group.name for group in field.left_out)}")
    return " · ".join(parts)


def _cut(cut: Cut, exam: str) -> str:
    """Name the painters that cut the common questions; a caption has no room for many names."""
    if len(cut.painters) <= NAMED:
        return cut.words
    most = f"{len(cut.painters)} painters cut the common questions from {cut.without} to {cut.questions}"
    return f"{most}; `limner scores {exam}` names them"


OVERALL = "all"
LEVELS = "levels"
"""The name of the plot by level; exams whose levels are not a tag have their own version."""


def by_tag(source: StoreSource, tag: str, whole: bool = False) -> Grid:
    """Return the score by the values of a tag in the exam's order; with `whole`, first over all questions.

    Raises:
        UsageError: No question has the tag.
    """
    field, score, tags_of_questions = source.field, source.score, _tags(source)
    values = {tags[tag] for tags in tags_of_questions if tag in tags}
    if not values:
        names = sorted({name for tags in tags_of_questions for name in tags})
        raise UsageError(f"--by {tag}: {source.exam} has questions by {', '.join(names) or 'no tag at all'}")
    columns: dict[str, list[Quantity]] = {OVERALL: quantities(field, score)} if whole else {}
    for value in source.protocol.in_order(tag, values):
        inside = [[e for e in entries if e.question.tags.get(tag) == value] for entries in field.inside]
        columns[plain_tag(value)] = quantities(within(field, inside), score)
    return source.grid(columns, score_with_scale(score), score.top)


def _tags(source: StoreSource) -> list[Mapping[str, str]]:
    return [row.question.tags for rows in source.rows for row in rows]


def _first_tag(source: StoreSource, names: Iterable[str]) -> str | None:
    """Return the first of these tags that some question has."""
    tag_names = {name for tags in _tags(source) for name in tags}
    return next((name for name in names if name in tag_names), None)


def overall(source: StoreSource) -> Grid:
    """Return the score over all questions."""
    cells = quantities(source.field, source.score)
    return source.grid({"all questions": cells}, score_with_scale(source.score), source.score.top)


def categories(source: StoreSource) -> Grid:
    """Return the score by category."""
    return by_tag(source, _category(source))


def heatmap(source: StoreSource) -> Grid:
    """Return the score by category, with all categories together in the first column.

    Categories without an order of their own are sorted by their mean over painters, the best first.
    """
    tag = _category(source)
    grid = by_tag(source, tag, whole=True)
    if tag in source.protocol.orders:
        return grid
    columns = [*zip(grid.columns, zip(*grid.cells, strict=True), strict=True)]

    def mean(column: tuple[str, tuple[Quantity, ...]]) -> float:
        values = [cell.value for cell in column[1] if cell.value is not None]
        return -sum(values) / len(values) if values else 0.0

    names, cells = zip(*(columns[0], *sorted(columns[1:], key=mean)), strict=True)
    return replace(grid, columns=names, cells=tuple(zip(*cells, strict=True)))


def _category(source: StoreSource) -> str:
    # Not all questions may have the first tag: different parts of an exam may use different ones.
    tag = source.choice.by or _first_tag(source, source.protocol.breakdowns)
    if tag is None:
        raise UsageError(f"{source.exam} defines no categories; choose a tag with --by")
    return tag


def profile(source: StoreSource) -> Grid:
    """Return every dimension of the exam as a share of its best value."""
    # Dimensions without any number, because the judge decides none of them, are left out.
    scored_names = {name for values in source.field.values for name in values}
    names = [name for name in source.protocol.dimensions if name in scored_names]
    if not names:
        why = "this judge decides no dimension" if source.protocol.dimensions else "has no dimensions"
        raise UsageError(f"{source.exam}: {why}; `limner plot categories` shows scores by category")
    return source.shares(names)


def levels(source: StoreSource) -> Grid:
    """Return the score by level, the easiest first: the first tag with an order.

    Raises:
        UsageError: The exam has no levels.
    """
    tag = _first_tag(source, source.protocol.orders)
    if tag is None:
        exam_names = [kind.name for kind in each() if kind.protocol.orders or LEVELS in kind.plots]
        raise UsageError(f"{source.exam} has no levels; exams that have some: {', '.join(sorted(exam_names))}")
    grid = by_tag(source, tag)
    return replace(grid.scaled(1 / source.score.top), label=f"{source.score.name}, share of the best value", top=1.0)
