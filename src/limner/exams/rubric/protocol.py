"""The protocol of an exam that is data, and its calls: which criteria each has, and what it shows in which order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ...core.asks import FIELD, Ask, Contract, Part, Picture, Prompts, Reply, Text, Unreadable, Variant
from ...core.errors import Lacking
from ...core.exam import Question, Reference
from ...core.marks import Criterion, Mark, values
from ...core.protocol import Evidence, Protocol, Reading, Row, Score, mean_of_known
from .criteria import RubricCriterion, Sheet, as_words, question_sheet
from .definition import AskPlan, Definition, ShownText, SummaryPlan
from .layout import find_value
from .replies import WORDING, read_answers, reply_schema, reply_words
from .scores import is_monotone, score_drawing

WITHIN = "within "
"""The beginning of the names of means of single values of a tag, from which a mean of means is computed."""
SCORE_KEYS = {"weight", "group"}
"""Keys of a family that do not change what a judge is asked."""


class RubricExam(Protocol[Any]):
    """The protocol that a definition declares."""

    reasons = False

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        plans, summaries = definition.scores, definition.summaries.items()
        self.scored = tuple(
            Score(plan.name, definition.top(plan), plan.words, is_monotone(definition, plan), plan.digits, plan.main)
            for plan in plans
        ) + tuple(Score(name, plan.top, plan.words, True, plan.digits, plan.main) for name, plan in summaries)
        self.variants, self.options = definition.variants, definition.options
        self.label_kinds = frozenset(family.name for family in definition.criteria if family.labels)
        self.breakdowns, self.orders = definition.breakdowns.tags, definition.breakdowns.orders
        self.reply_tokens = {ask.name: ask.tokens for ask in definition.asks}
        self.dimensions = tuple(plan.name for plan in plans if not plan.main) and tuple(plan.name for plan in plans)
        names = {plan.name for plan in plans}
        self.weights = {
            plan.name: plan.of
            for plan in plans
            if plan.kind == "weighted" and isinstance(plan.of, dict) and plan.of.keys() <= names and not plan.otherwise
        }
        self._unread: Literal["open", "omit", "lowest", "drawing"] = "open"
        self.asked = _hash_asked(definition)
        self._sheets: dict[str, Sheet] = {}

    def read_as(self, reading: Reading) -> RubricExam:
        """Return the protocol with the scores of a reading."""
        plan = self.definition.readings.get(reading)
        if plan is None:
            return self
        other = RubricExam(self.definition.read_as(reading))
        other.asked, other._unread = self.asked, plan.unread
        return other

    def _decided(self, question: Question[Any], marks: Sequence[Mark]) -> tuple[Sheet, dict[str, int]]:
        """Return the criteria that count in this reading, and the values of those that are decided."""
        sheet, answers = self.sheet(question), values(marks)
        if self._unread == "lowest":
            answers = {each.criterion.id: each.criterion.low for each in sheet.criteria} | answers
        if self._unread == "drawing" and len(answers) < len(sheet.criteria):
            answers = {}
        if self._unread == "omit":
            sheet = replace(sheet, criteria=tuple(each for each in sheet.criteria if each.criterion.id in answers))
        return sheet, answers

    def sheet(self, question: Question[Any]) -> Sheet:
        """Return the criteria of a question with its columns and tags; it is made once."""
        sheet = self._sheets.get(question.hash)
        if sheet is None:
            sheet = self._sheets[question.hash] = question_sheet(self.definition, question)
        return sheet

    def criteria(self, question: Question[Any]) -> list[Criterion]:
        """See `limner.core.protocol.Protocol`."""
        return [each.criterion for each in self.sheet(question).criteria]

    def cluster(self, question: Question[Any]) -> str:
        """Return the value of the tag of clusters, by default the question's id."""
        return question.tags.get(self.definition.breakdowns.cluster, question.id)

    def templates(self, variant: Variant) -> tuple[str, ...]:
        """Return the templates of the variant's asks, or the release's."""
        asks = (ask for ask in self.definition.asks if is_asked(ask, variant))
        return variant.released or tuple(dict.fromkeys(name for ask in asks for name in ask.templates))

    def asks(self, question: Question[Any], image: str, evidence: Evidence, variant: Variant) -> list[Ask]:
        """Return the calls that mark one drawing, in the order of the definition."""
        return list(make_asks(self.definition, question, self.sheet(question), image, variant))

    def marks(self, question: Question[Any], replies: Sequence[Reply], reading: Reading) -> list[Mark]:
        """Return the marks in all replies; a criterion on which there is not exactly one reply is unread."""
        sheet, marks = self.sheet(question), dict[str, Mark]()
        by_name: dict[str, list[Reply]] = {}
        for reply in replies:
            by_name.setdefault(reply.ask, []).append(reply)
        for ask in self.definition.asks:
            for name, chosen in call_criteria(self.definition, ask, sheet).items():
                if name in by_name:
                    marks |= {mark.criterion: mark for mark in _read(ask, chosen, by_name[name])}
        ids = [each.criterion.id for each in sheet.criteria]
        return [marks.get(id) or Mark.unread(id, "expected one reply, not 0") for id in ids]

    def scores(self, question: Question[Any], marks: Sequence[Mark], evidence: Evidence) -> dict[str, float | None]:
        """Return the declared scores; None for those that the marks leave open, or that the question does not have."""
        return score_drawing(self.definition, *self._decided(question, marks))

    def parts(self, row: Row) -> dict[str, tuple[float, float]]:
        """Return the parts of each score's mean, and of each declared summary."""
        parts = super().parts(row)
        for name, plan in self.definition.summaries.items():
            if plan.over == "criteria":
                if (pair := self._over_criteria(plan, row)) is not None:
                    parts[name] = pair
            elif isinstance(plan.of, str) and (value := row.scores.get(plan.of)) is not None:
                group = next((row.question.tags[tag] for tag in plan.by if row.question.tags.get(tag)), None)
                if group is not None:
                    parts[f"{WITHIN}{name}: {group}"] = (value, 1.0)
        return parts

    def _over_criteria(self, plan: SummaryPlan, row: Row) -> tuple[float, float] | None:
        """Return the sum of the criteria's worths, and their number; None if not all are decided."""
        sheet, answers = self._decided(row.question, row.marks)
        chosen = [each for each in sheet.criteria if {each.family.name, each.family.group} & {*plan.parts}]
        if not chosen or any(each.criterion.id not in answers for each in chosen):
            return None
        return plan.top * sum(each.worth(answers[each.criterion.id]) for each in chosen), float(len(chosen))

    def derive(self, means: Mapping[str, Any]) -> dict[str, Any]:
        """Return the means, with those of a tag's values and of other numbers made into one."""
        numbers = {name: mean for name, mean in means.items() if not name.startswith(WITHIN)}
        for name, plan in self.definition.summaries.items():
            if plan.by:
                start = f"{WITHIN}{name}: "
                groups = {key.removeprefix(start): mean for key, mean in means.items() if key.startswith(start)}
                if groups and not plan.weights:
                    numbers[name] = mean_of_known(list(groups.values()))
                elif groups.keys() & plan.weights.keys():
                    numbers[name] = _weighted({key: groups[key] for key in groups if key in plan.weights}, plan.weights)
            elif plan.weighted:
                known = {part: numbers[part] for part in plan.weighted if part in numbers}
                if known:
                    numbers[name] = _weighted(known, plan.weighted)
        return numbers


def _hash_asked(definition: Definition) -> str:
    """Return a hash of the criteria and asks, which are part of the identity of a judge beside its templates."""
    families = [family.model_dump(exclude=SCORE_KEYS, exclude_defaults=True) for family in definition.criteria]
    asks = [ask.model_dump(exclude={"tokens"}, exclude_defaults=True) for ask in definition.asks]
    body = json.dumps([families, asks, WORDING], sort_keys=True, default=list)
    return hashlib.sha256(body.encode()).hexdigest()[:12]


def _weighted(numbers: Mapping[str, Any], weights: Mapping[str, float]) -> Any:
    """Return the weighted mean of the numbers, or arrays of resamples, that are known."""
    import numpy as np

    table = np.array([numbers[name] for name in numbers], dtype=float)
    shares = np.array([weights[name] for name in numbers]).reshape(-1, *[1] * (table.ndim - 1))
    known = np.where(np.isnan(table), 0.0, shares)
    total = known.sum(axis=0)
    mean = (np.nan_to_num(table) * shares).sum(axis=0) / np.where(total, total, np.nan)
    return mean if mean.ndim else float(mean)


def _read(ask: Any, criteria: Sequence[RubricCriterion], replies: Sequence[Reply]) -> list[Mark]:
    try:
        if len(replies) != 1:
            raise Unreadable(f"expected one reply, not {len(replies)}")
        return read_answers(ask, criteria, replies[0].text)
    except Unreadable as error:
        return [Mark.unread(each.criterion.id, str(error)) for each in criteria]


def call_criteria(definition: Definition, ask: AskPlan, sheet: Sheet) -> dict[str, list[RubricCriterion]]:
    """Return the calls of an ask about a question, by name, with the criteria of each; empty if it has none."""
    if not all(condition.holds(sheet.values) for condition in ask.when):
        return {}
    names = {family.name for name in ask.criteria for family in definition.family(name)}
    chosen = [each for each in sheet.criteria if each.family.name in names]
    if ask.each:
        return {f"{ask.name}/{n}": [each] for n, each in enumerate(chosen, 1)}
    return {ask.name: chosen} if chosen else {}


def is_asked(ask: AskPlan, variant: Variant) -> bool:
    """Return whether an ask belongs to this way of asking."""
    chosen = {**variant.options, "variant": variant.name}
    return all(chosen.get(option) == value for option, value in ask.only.items())


def make_asks(
    definition: Definition,
    question: Question[Any],
    sheet: Sheet,
    image: str,
    variant: Variant,
) -> Iterator[Ask]:
    """Yield the calls that mark one drawing.

    Raises:
        Lacking: A picture that is shown is absent.
    """
    for ask in definition.asks:
        if is_asked(ask, variant):
            for name, chosen in call_criteria(definition, ask, sheet).items():
                fields = _fields(ask, sheet.values, chosen, variant.prompts)
                yield _ask(ask, name, question, chosen, image, variant.prompts, fields)


def _ask(
    ask: AskPlan,
    name: str,
    question: Question[Any],
    criteria: Sequence[RubricCriterion],
    image: str,
    prompts: Prompts,
    fields: Mapping[str, str],
) -> Ask:
    shown: list[Part] = []
    for part in ask.shows:
        if isinstance(part, ShownText):
            shown.append(Text(part.text))
        elif part == "drawing":
            shown.append(Picture(image, ask.max_side, ask.detail))
        elif part in ("inputs", "reference"):
            shown += (Picture(sha256, ask.max_side, ask.detail) for sha256 in _pictures(question, part))
        else:
            shown.append(Text(_fill(prompts, ask.prompt if part == "prompt" else part, fields)))
    contract = Contract(lambda text: read_answers(ask, criteria, text), reply_schema(ask, criteria))
    system = _fill(prompts, ask.system, fields) if ask.system else None
    return Ask(name, tuple(shown), tuple(each.criterion for each in criteria), contract, system)


def _pictures(question: Question[Any], part: str) -> Iterator[str]:
    references: tuple[Reference | None, ...] = question.inputs if part == "inputs" else (question.reference,)
    for reference in references:
        if reference is not None:
            if reference.sha256 is None:
                raise Lacking(f"{question.id}: the picture {reference.name} is absent; add it to the data")
            yield reference.sha256


def _fields(
    ask: AskPlan, values: Mapping[str, Any], criteria: Sequence[RubricCriterion], prompts: Prompts
) -> dict[str, str]:
    """Return the values of all fields that a template may have."""
    fields = {name: as_words(value) for name, value in values.items()}
    for family in {each.family.name: each.family for each in criteria}.values():
        listed = _listed(ask, [each for each in criteria if each.family is family])
        fields |= {name: listed for name in (family.column, family.name) if name}
    fields |= {"criteria": _listed(ask, criteria), "count": str(len(criteria))}
    reply = _fill(prompts, ask.form, fields) if ask.form else reply_words(ask, criteria)
    return fields | {"reply": reply.strip()}


def _listed(ask: AskPlan, criteria: Sequence[RubricCriterion]) -> str:
    """Return the criteria as a numbered list; one of the exam or of a call of its own without a number."""
    if len(criteria) == 1 and (ask.each or not criteria[0].family.column):
        return criteria[0].listed
    lines = (each.listed.replace("\n", "\n   ") for each in criteria)
    return "\n".join(f"{n}. {line}" for n, line in enumerate(lines, 1))


def _fill(prompts: Prompts, name: str, fields: Mapping[str, Any]) -> str:
    """Return a template with its fields filled; the user's own must have those of the shipped one."""
    if name in prompts.released:
        gaps = prompts.released[name].pieces[1::2]
        return prompts.fill(name, **{field: as_words(find_value(fields, field)) for field in gaps})
    needed = _shipped_fields(prompts.shipped, name)
    wanted = needed | frozenset(FIELD.findall(prompts.text(name)))
    spare = (wanted - needed) | {"reply", "count"}
    return prompts.fill(name, spare=spare, **{field: as_words(find_value(fields, field)) for field in wanted})


@cache
def _shipped_fields(folder: Path, name: str) -> frozenset[str]:
    return frozenset(FIELD.findall((folder / f"{name}.md").read_text(encoding="utf-8")))
