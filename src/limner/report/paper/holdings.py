"""What a store has for a table: its painters' standings, with what is known of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, cast

import sqlalchemy as sa

from ... import exams
from ...core import settings
from ...core.errors import DataError, UsageError
from ...core.evaluator import Evaluator, without_options
from ...core.exam import Exam
from ...core.protocol import Protocol, Reading
from ...core.settings import PainterFacts, Settings
from ...exams import each, paper
from ...scoring import Comparable, Group, Standing, comparable, comparables, standings
from ...scoring.compare.everyone import call_seconds
from ...scoring.groups import checked_on, find_groups
from ...store import Store
from ...store.records import load_exam
from ...store.schema import exams as stored_exams
from .agreements import Agreements, agreements
from .schema import AGREEING


@dataclass(frozen=True)
class PainterResult:
    """One painter with one strategy under one evaluator.

    Attributes:
        group: All its drawings, whichever questions the scores rest on.
        scores: Its numbers over all questions (under None) and over named subsets.
    """

    group: Group
    facts: PainterFacts
    scores: Mapping[str | None, Standing]

    @property
    def evaluator(self) -> Evaluator:
        """Who marked, and how."""
        return self.group.evaluator

    @property
    def name(self) -> str:
        """The painter, and how it drew where that is not the plain way."""
        return self.group.name

    @property
    def spec(self) -> str:
        """What the painter is."""
        return self.group.spec

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
        compared: For each evaluator, or for all of them together, who is compared on which questions.
        took: The seconds of the judges' calls, where the table shows them.
        agreement: How evaluators agree, and what they rated, where the table shows that.
        place: Where the exam was found.
    """

    protocol: Protocol[Any]
    reading: str
    exam: Exam[Any] | None = None
    rows: tuple[PainterResult, ...] = ()
    compared: tuple[Comparable, ...] = ()
    took: Mapping[str, float] = field(default_factory=dict)
    agreement: Agreements | None = None
    place: str = "in this store"


def exam_in(store: Store, kind: str, name: str | None) -> str | None:
    """Return the stored exam of this kind: the one named, the one with the kind's name, or the only one.

    Raises:
        UsageError: There are several, or none is called so.
    """
    with store.reading() as connection:
        query = sa.select(stored_exams.c.name).where(stored_exams.c.kind == kind)
        names = sorted(connection.scalars(query))
    if name is not None:
        if name not in names:
            raise UsageError(f"{store.url} has no exam {name!r} of kind {kind}; it has: {', '.join(names) or 'none'}")
        return name
    if len(names) > 1 and kind not in names:
        raise UsageError(f"{store.url} has several exams of kind {kind}: {', '.join(names)}; choose with --exam")
    return kind if kind in names else names[0] if names else None


def training_in(store: Store, kind: str, name: str | None) -> Exam[Any] | None:
    """Return the training part of the named build, or of the only build of this kind that has one; None without any.

    Raises:
        UsageError: There are several, or the one named has none.
    """
    # Most tables need nothing of this.
    from ...build.open import open_build
    from ...build.records import load_builds
    from ...build.train_files import training_set

    builders = [open_build(store, build.name) for build in load_builds(store) if name in (None, build.name)]
    sets = [training_set(builder) for builder in builders if builder.recipe.exam == kind]
    trained = [build for build in sets if build.questions]
    if name is not None and not trained:
        raise UsageError(f"{store.url} has no build {name!r} of kind {kind} with samples for training")
    if len(trained) > 1:
        raise UsageError(f"{store.url} has several: {', '.join(build.name for build in trained)}; choose with --exam")
    return trained[0] if trained else None


def load_holdings(
    store: Store,
    kind: str,
    *,
    exam: str | None = None,
    which: Mapping[str, Any] | None = None,
    reading: str = "careful",
    tags: Sequence[str] = (),
    subsets: Sequence[str] = (),
    on: str = "common",
    across: bool = False,
    only: str | None = None,
    rows: str = "painters",
    agreeing: bool = False,
    study: str | None = None,
) -> Holdings:
    """Read what a table needs from a store.

    Args:
        store: The store.
        kind: The exam's kind.
        exam: The exam's name; see `exam_in`.
        which: Whose drawings and whose marks; see `limner.api.groups`.
        reading: How stored replies are read.
        tags: What scores are broken down by.
        subsets: Named lists of questions that get numbers of their own.
        on: The questions painters are compared on.
        across: Whether those questions are the same for all evaluators too.
        only: Of the painters, only the one with this spec or name.
        rows: What the table's rows are about: nothing is computed that they do not show.
        agreeing: Whether the table shows how evaluators agree, or what they rated.
        study: Only people of this study; see `limner.report.paper.agreements.agreements`.
    """
    protocol = exams.kind(kind).protocol
    held = Holdings(protocol, reading)
    if rows == "training":
        return replace(held, exam=training_in(store, kind, exam))
    name = exam_in(store, kind, exam)
    if name is None:
        return held
    whole = load_exam(store, name, exams.kind(kind).rubric)
    if rows == "exam":
        return replace(held, exam=whole)
    if agreeing:
        held = replace(held, agreement=agreements(store, name, reading, study, which or {}, rows))
    if rows in AGREEING:
        return replace(held, exam=whole)
    _, groups = find_groups(name, store=store, reading=reading, **(which or {}))
    if only is not None:
        groups = [group for group in groups if only in (group.painter, group.spec)]
    chosen = checked_on(on)
    if across:
        sides = [comparable(groups, protocol, chosen)] if groups else []
    else:
        sides = comparables(groups, protocol, chosen)
    known_settings, own = settings.load(), []
    for side in sides:
        for group in sorted(side.everyone, key=lambda group: (group.painter, group.strategy, group.evaluator.name)):
            ids = {entry.question.id for entry in side.basis(group)}
            inside = group.select(ids) if ids else group
            parts = {None: inside} | {name: inside.select(whole.subsets.get(name, frozenset())) for name in subsets}
            # One at a time: which questions painters have in common is settled already.
            numbers = {
                part: standings(name, [some], protocol, cast(Reading, reading), tags, "all")[0]
                for part, some in parts.items()
                if rows == "painters"
            }
            own.append(PainterResult(group, facts_of(group.painter, group.spec, known_settings), numbers))
    took = call_seconds(store, groups) if rows == "judges" else {}
    return replace(held, exam=whole, rows=tuple(own), compared=tuple(sides), took=took)


NOT_MODELS = ("folder", "control", "python")
"""Specs that begin so name no model."""


def facts_of(painter: str, spec: str, settings: Settings) -> PainterFacts:
    """Return the settings' facts about a painter, completed by those that papers state about the model."""
    own = settings.painters.get(spec) or settings.painters.get(painter) or settings.painter(spec)
    names = [without_options(painter)]
    if spec.partition("/")[0] not in NOT_MODELS:
        names.append(spec)
    for name in names:
        for word in (name, name.rpartition("/")[2]):
            published = _published().get(plain_name(word), {})
            missing = {key: value for key, value in published.items() if getattr(own, key) is None}
            own = own.model_copy(update=missing)
    return own


def plain_name(name: str) -> str:
    """Return a model's name without dashes, blanks and letter case, which papers and users write differently.

    >>> plain_name("Nano Banana Pro") == plain_name("nano-banana-pro")
    True
    """
    return re.sub(r"[^a-z0-9.]+", "", name.casefold())


@cache
def _published() -> dict[str, dict[str, str]]:
    """Return facts by a model's plain name; where papers differ, the first one wins."""
    by_name: dict[str, dict[str, str]] = {}
    for kind in each():
        try:
            groups = paper.rules(kind.name).groups
            figures = (*paper.rows(kind.name), *paper.rows(kind.name, paper.BOARD))
        except DataError:
            continue  # An exam's wrong file must not keep others' tables from being shown; its own say what is wrong.
        for row in figures:
            if not row["model"]:
                continue
            group = groups.get(row["model_group"])
            facts = group.model_dump(exclude_none=True) if group else {}
            if row["metric"] == "parameters":
                facts["parameters"] = f"{row['value']}B"
            if side := re.search(r"image side (\d+) px", row["note"]):
                facts["resolution"] = f"{side[1]}x{side[1]}"
            model_facts = by_name.setdefault(plain_name(row["model"]), {})
            for key, value in facts.items():
                model_facts.setdefault(key, value)
    return by_name


def published_score(kind: str, score: str, painter: str, spec: str) -> tuple[float, str] | None:
    """Return the score over all questions that an exam's paper prints for a painter, and its judge; None without one.

    >>> published_score("aibench", "overall", "x", "control/reference")
    (70.09, 'Qwen3-VL-235B-A22B-Instruct + UniPercept')
    """
    rules = paper.rules(kind)
    names = {plain_name(word) for name in (without_options(painter), spec) for word in (name, name.rpartition("/")[2])}
    names |= {plain_name(rules.painters[spec])} if spec in rules.painters else set()
    figures = [
        each
        for each in paper.printed_scores(kind)
        if each.score == score
        and (each.rule.category and not each.rule.tag and each.rule.file == paper.PUBLISHED)
        and plain_name(each.row["model"]) in names
    ]
    # Where several tables print it, the table that the rules name first.
    first = min(figures, key=lambda each: rules.scores.index(each.rule), default=None)
    return None if first is None else (first.value, first.row["judge"])


def shown(facts: PainterFacts, name: str) -> str | None:
    """Return a fact as tables show it: sizes in billions, square resolutions by their side.

    >>> shown(PainterFacts(parameters="27B", resolution="1024x1024"), "parameters")
    '27'
    >>> shown(PainterFacts(resolution="1024x1024"), "resolution")
    '1024'
    """
    value: str | None = getattr(facts, name)
    if value is None:
        return None
    if name == "parameters" and (size := re.fullmatch(r"([\d.]+)\s*([BM])", value)):
        return size[1] if size[2] == "B" else f"{float(size[1]) / 1000:g}"
    if name == "resolution" and (side := re.fullmatch(r"(\d+)\s*[x*×]\s*(\d+)", value)) and side[1] == side[2]:
        return side[1]
    return value
