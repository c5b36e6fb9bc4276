"""A store's data for a table: the painters' standings and facts, and the evaluators' agreement with people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations
from typing import Any, cast

import sqlalchemy as sa

from ... import exams
from ...core import settings
from ...core.errors import DataError, UsageError
from ...core.evaluator import Evaluator, without_options
from ...core.exam import Exam
from ...core.protocol import Reading
from ...core.settings import PainterFacts, Settings
from ...exams import each, paper
from ...painters.diffusers.options import ALIASES
from ...scoring import Comparable, Group, Standing, comparable, comparables, evaluators_of, standings
from ...scoring.compare import AgreementNumber, Opinion
from ...scoring.compare.judges import ExamOpinions, all_numbers, call_seconds, load_opinions, wanted_evaluators
from ...scoring.compare.opinions import ANYONE
from ...scoring.deviations import drawn_elsewhere
from ...scoring.groups import checked_on, find_groups
from ...store import Store
from ...store.records import load_exam
from ...store.schema import exams as stored_exams
from ..tables.model import Cell, TableRow, interval_cell
from .schema import AGREEING, ColumnSpec, Layout, TableChoice

NOT_SET = "not set"
"""The value of an option that the painter was not given."""


@dataclass(frozen=True)
class PainterResult:
    """The result of one painter with one strategy under one evaluator.

    Attributes:
        name: The painter's name without options that the paper's presets set, with its strategy if it has one.
        group: All its drawings, including those of questions that the scores leave out.
        scores: Its standings over all questions (key None) and over named subsets.
    """

    name: str
    group: Group
    facts: PainterFacts
    scores: Mapping[str | None, Standing]

    @property
    def evaluator(self) -> Evaluator:
        """The evaluator that marked the drawings."""
        return self.group.evaluator

    @property
    def spec(self) -> str:
        """The painter's spec."""
        return self.group.spec

    @property
    def size(self) -> str | None:
        """The most frequent size of its drawings; None if unknown."""
        sizes = Counter(
            (d.width, d.height) for d in (entry.drawing for entry in self.group.entries) if d.width and d.height
        )
        return "x".join(map(str, sizes.most_common(1)[0][0])) if sizes else None

    def setting(self, name: str) -> str | None:
        """Return the sizes, or the value of an option, with which it drew; None if it drew elsewhere."""
        drawings = [entry.drawing for entry in self.group.entries]
        if name == "size":
            sides = sorted({(d.width != d.height, -d.width, d.height) for d in drawings if d.width and d.height})
            return " / ".join(f"{-width}x{height}" for _, width, height in sides) or None
        if drawn_elsewhere(self.group):
            return None
        aliases = {*ALIASES.items(), *((own, word) for word, own in self.facts.option_names.items())}
        names = {name, *(alias for alias, word in aliases if word == name)}
        values = [str(value) for option, value in drawings[0].options.items() if option in names]
        return values[0] if values else NOT_SET


@dataclass(frozen=True)
class Holdings:
    """Everything a table takes from a store.

    Attributes:
        exam: The exam with all its questions; None if the store has no exam of this kind.
        compared: The painters and the questions on which they are compared, for each evaluator or for all together.
        took: The seconds of the judges' calls, if the table shows them.
        agreement: The evaluators' agreement and ratings, if the table shows them.
        place: The place where the exam was found.
    """

    reading: str
    exam: Exam[Any] | None = None
    rows: tuple[PainterResult, ...] = ()
    compared: tuple[Comparable, ...] = ()
    took: Mapping[str, float] = field(default_factory=dict)
    agreement: Agreements | None = None
    place: str = "in this store"


def exam_in(store: Store, kind: str, name: str | None) -> str | None:
    """Return the name of the stored exam of this kind: `name`, the kind's own name, or that of the only one.

    Raises:
        UsageError: There are several, or none has the given name.
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
    """Return the training part of the named build, or of the only build of this kind with one; None if there is none.

    Raises:
        UsageError: There are several, or the named build has none.
    """
    # Imported here because most tables do not need it.
    from ...build.engine import open_build
    from ...build.records import load_builds

    builders = [open_build(store, build.name) for build in load_builds(store) if name in (None, build.name)]
    codes = [(builder, builder.recipe.code) for builder in builders if builder.recipe.exam == kind]
    sets: list[Exam[Any]] = [code["TRAINING"][1](builder) for builder, code in codes if "TRAINING" in code]
    trained = [build for build in sets if build.questions]
    if name is not None and not trained:
        raise UsageError(f"{store.url} has no build {name!r} of kind {kind} with samples for training")
    if len(trained) > 1:
        raise UsageError(f"{store.url} has several: {', '.join(build.name for build in trained)}; choose with --exam")
    return trained[0] if trained else None


def load_holdings(store: Store, layout: Layout, choice: TableChoice) -> Holdings:
    """Read everything that a table needs from a store; only what its rows show is computed."""
    kind, held = exams.kind(layout.exam), Holdings(choice.reading)
    if layout.rows == "training":
        return replace(held, exam=training_in(store, layout.exam, choice.exam))
    name = exam_in(store, layout.exam, choice.exam)
    if name is None:
        return held
    whole = load_exam(store, name, kind.rubric)
    held = replace(held, exam=whole)
    if layout.rows == "exam":
        return held
    if layout.agreeing:
        held = replace(held, agreement=agreements(store, name, layout, choice))
    if layout.rows in AGREEING:
        return held
    _, groups = find_groups(name, store=store, reading=choice.reading, **choice.which)
    if layout.only is not None:
        groups = [group for group in groups if layout.only in (group.painter, group.spec)]
    on = checked_on(choice.on)
    if layout.by_judge:
        sides = [comparable(groups, kind.protocol, on)] if groups else []
    else:
        sides = comparables(groups, kind.protocol, on)
    subsets = {None: None} | {part.subset: whole.subsets.get(part.subset, ()) for part in layout.columns if part.subset}
    tags = sorted({part.tag for part in layout.columns if part.tag is not None})
    known_settings, own = settings.load(), []
    for side in sides:
        for group in sorted(side.everyone, key=lambda group: (group.painter, group.strategy, group.evaluator.name)):
            ids = {entry.question.id for entry in side.basis(group)}
            inside = group.select(ids) if ids else group
            # Each part separately: the common questions are already chosen.
            numbers = {
                part: standings(
                    name, [inside if some is None else inside.select(some)], kind.protocol,
                    cast(Reading, choice.reading), tags, "all",
                )[0]
                for part, some in subsets.items()
                if layout.rows == "painters"
            }  # fmt: skip
            own.append(PainterResult(group.name, group, facts_of(group.painter, group.spec, known_settings), numbers))
    took = call_seconds(store, groups) if layout.rows == "judges" else {}
    return replace(held, rows=tuple(own), compared=tuple(sides), took=took)


NOT_MODELS = ("folder", "control", "python")
"""The beginnings of specs that do not name a model."""


def facts_of(painter: str, spec: str, settings: Settings) -> PainterFacts:
    """Return the facts about a painter from the settings, completed with those that papers state."""
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
    """Return a model's name without dashes, blanks and letter case, in which papers and users differ.

    >>> plain_name("Nano Banana Pro") == plain_name("nano-banana-pro")
    True
    """
    return re.sub(r"[^a-z0-9.]+", "", name.casefold())


@cache
def _published() -> dict[str, dict[str, str]]:
    """Return the published facts by a model's plain name; if papers differ, the first one wins."""
    by_name: dict[str, dict[str, str]] = {}
    for kind in each():
        try:
            groups = paper.rules(kind.name).groups
            figures = (*paper.rows(kind.name), *paper.rows(kind.name, paper.BOARD))
        except DataError:
            continue  # An exam's invalid file must not prevent other exams' tables; its own tables report it.
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
    """Return a painter's published score over all questions, and its judge; None if the paper has none.

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
    # If several tables print it, use the one that comes first in the rules.
    first = min(figures, key=lambda each: rules.scores.index(each.rule), default=None)
    return None if first is None else (first.value, first.row["judge"])


def shown(facts: PainterFacts, name: str) -> str | None:
    """Return a fact as shown in tables: parameters in billions, square resolutions as one side.

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


HUMAN_ICCS = ("ICC(2,1)", "ICC(1,1)")
"""The forms that a table may show: the second if no two drawings have a number from everyone, as with many people."""
AMONG_PEOPLE = ("std", *HUMAN_ICCS)
"""Measures of agreement among people, which do not depend on the row's judge."""
Key = tuple[str, str, str | None, str, str]
"""First evaluator, second evaluator, category, score, measure."""


@dataclass(frozen=True)
class Agreements:
    """The numbers of agreement, for looking up.

    Attributes:
        numbers: The computed numbers.
        everyone: The opinions of all evaluators about the drawings.
        people: The name of the people with whom judges are compared; None if there are none.
    """

    numbers: Mapping[Key, AgreementNumber]
    everyone: ExamOpinions
    people: str | None

    def find(
        self, first: str, words: str, category: str | None = None, second: str | None = None
    ) -> list[AgreementNumber]:
        """Return the numbers for words such as ``mae spelling+logic`` or ``kendall relaxed / overall``.

        If any number is missing, the result is empty.
        """
        measure, _, score = words.partition(" ")
        who = ANYONE if measure in AMONG_PEOPLE else first
        keys = [(who, second or self.people or "", category, name, measure) for name in score.split("+")]
        return [self.numbers[key] for key in keys] if self.numbers.keys() >= {*keys} else []

    def cell(
        self, first: str, words: str, spec: ColumnSpec, category: str | None = None, second: str | None = None
    ) -> Cell:
        """Return the number for words as in `find`, or after ``p`` its p-value; several become their mean."""
        p = words.startswith("p ")
        numbers = self.find(first, words.removeprefix("p "), category, second)
        values = [number.p if p else number.value for number in numbers]
        if not numbers or None in values:
            return Cell()
        mean = sum(value for value in values if value is not None) / len(values)
        ends = (None, None) if len(numbers) > 1 or p else (numbers[0].low, numbers[0].high)
        value, low, high = (None if end is None else spec.scale * end for end in (mean, *ends))
        return interval_cell(value, low, high, spec.digits)

    @property
    def words(self) -> str:
        """The people with whom judges are compared, in words for captions."""
        if self.people is None:
            return "no one has rated its drawings in a study"
        (together,) = [opinion for opinion in self.everyone.opinions if opinion.name == self.people]
        many = len(self.everyone.people[together.study or ""])
        return f"{self.people}: {many} {'person' if many == 1 else 'people'}, {self.rated} drawings"

    @property
    def rated(self) -> int:
        """The number of drawings that these people rated."""
        return sum(_drawings(opinion) for opinion in self.everyone.opinions if opinion.name == self.people)


def agreements(store: Store, exam: str, layout: Layout, choice: TableChoice) -> Agreements:
    """Return the numbers of agreement of this exam that a table needs; without a study, of the one most rated."""
    kept = {name: choice.which[name] for name in ("painters", "without", "selection") if name in choice.which}
    everyone = load_opinions(store, exam, kept, reading=choice.reading, study=choice.study)
    together = [opinion for opinion in everyone.opinions if opinion.kind == "people"]
    people = max(together, key=lambda number: (_drawings(number), number.name), default=None)
    numbers = dict[Key, AgreementNumber]()
    if layout.rows != "rated" and (people is not None or layout.rows == "pairs"):
        wanted = wanted_evaluators((), evaluators_of(store, exam), {})
        by = ["painter"] if layout.rows == "painters" else []
        for number in all_numbers(everyone, wanted, by, ["drawing"]):
            numbers[number.first, number.second, number.category, number.score, number.measure] = number
    return Agreements(numbers, everyone, people.name if people else None)


def _drawings(opinion: Opinion) -> int:
    return len({*opinion.marks, *(id for given in opinion.scores.values() for id in given)})


def agreement_rows(layout: Layout, held: Agreements, specs: Sequence[ColumnSpec]) -> Iterator[TableRow]:
    """Yield the rows of a table about evaluators, pairs of evaluators, or painters' ratings, if they show something."""
    make = {"rated": _rated, "pairs": _pairs}.get(layout.rows, _evaluators)
    yield from (row for row in make(layout, held, specs) if any(cell.value is not None for cell in row.cells))


def _evaluators(layout: Layout, held: Agreements, specs: Sequence[ColumnSpec]) -> Iterator[TableRow]:
    for opinion in held.everyone.opinions:
        if opinion.kind in ("person", "people"):
            continue
        for score in [name for name in layout.scores if name in opinion.scores] + sorted(opinion.scales):
            pair = score if score == layout.against else f"{score} / {layout.against}"
            cells = tuple(held.cell(opinion.name, f"{spec.figure.agreement} {pair}", spec) for spec in specs)
            label = opinion.name if score in opinion.scales else f"{score} by {opinion.name}"
            yield TableRow(label, cells, about={"evaluator": opinion.name, "score": score})


def _pairs(layout: Layout, held: Agreements, specs: Sequence[ColumnSpec]) -> Iterator[TableRow]:
    """Yield the rows of people among themselves, of each judge with people, and of every two judges."""
    judges = sorted(one.name for one in held.everyone.opinions if one.kind in ("judge", "panel"))
    scores = [spec.figure.score for spec in specs]
    form = next((each for each in HUMAN_ICCS if any(held.find(ANYONE, f"{each} {name}") for name in scores)), "")
    listed = [(f"Human-Human {form}", ANYONE, held.people, form)] if form else []
    listed += [(f"{judge}-Human ρ", judge, held.people, "spearman") for judge in judges if held.people]
    listed += [(f"{one} vs {other} ρ", one, other, "spearman") for one, other in combinations(judges, 2)]
    for label, first, second, measure in listed:
        cells = tuple(held.cell(first, f"{measure} {spec.figure.score}", spec, second=second) for spec in specs)
        yield TableRow(label, cells, about={"evaluator": first, "with": second or ""})


def _rated(layout: Layout, held: Agreements, specs: Sequence[ColumnSpec]) -> Iterator[TableRow]:
    """Yield a row for every rated painter, in order of names."""
    columns = [_means(held, spec.figure.rated) for spec in specs]
    for painter in sorted({seen.painter for seen in held.everyone.seen.values()}):
        cells = []
        for spec, means in zip(specs, columns, strict=True):
            value = means.get(painter)
            if value is not None and spec.figure.place:
                value = 1.0 + sum(other < value for other in means.values())
            cells.append(interval_cell(value, None, None, spec.digits))
        yield TableRow(painter, tuple(cells), about={"painter": painter})


def _means(held: Agreements, names: Sequence[str]) -> dict[str, float]:
    """Return each painter's mean on the first scale with ratings; those of all people together take precedence."""
    for name in names:
        for opinion in sorted(held.everyone.opinions, key=lambda opinion: opinion.name != held.people):
            if opinion.kind == "person":
                continue
            if name in opinion.painters:
                return dict(opinion.painters[name])
            if name in opinion.scores:
                weights = held.everyone.weights.get(opinion.study or "", {})
                return _by_painter(opinion.scores[name], weights, held.everyone)
    return {}


def _by_painter(given: Mapping[str, float], weights: Mapping[str, float], everyone: ExamOpinions) -> dict[str, float]:
    sums: dict[str, list[float]] = {}
    for id, value in given.items():
        total = sums.setdefault(everyone.seen[id].painter, [0.0, 0.0])
        total[0] += weights.get(id, 1.0) * value
        total[1] += weights.get(id, 1.0)
    return {painter: top / bottom for painter, (top, bottom) in sums.items()}
