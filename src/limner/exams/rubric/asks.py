"""The calls that mark a drawing: which criteria each has, and what it shows in which order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ...core.asks import Ask, Contract, Part, Picture, Text, Variant
from ...core.data_layout import find_value
from ...core.errors import Lacking
from ...core.exam import Question, Reference
from ...core.prompts import Prompts
from .criteria import RubricCriterion, Sheet, as_words
from .definition import FIELD, AskPlan, Definition, ShownText
from .replies import read_answers, reply_schema, reply_words


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
