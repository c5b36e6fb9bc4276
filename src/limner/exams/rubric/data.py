"""The questions of a declared exam, made of the records of its data."""

from __future__ import annotations

from pathlib import Path

from ...core.data_layout import Record, read_records
from ...core.data_rows import Problems
from ...core.exam import Exam, Question
from .criteria import RubricQuestion, question_sheet
from .definition import FIELD, Definition


def read_questions(path: Path, name: str, definition: Definition, prompts: Path) -> Exam[RubricQuestion]:
    """Read an exam from a folder or file; the columns that neither it nor its templates use are noted.

    Raises:
        DataError: The data is wrong, or does not fit the criteria; the message has the place of every problem.
    """
    problems, questions = Problems(), list[Question[RubricQuestion]]()
    found = read_records(path, definition, problems)
    for record in found.records:
        question = _question(record)
        try:
            if not question_sheet(definition, question).criteria:
                raise ValueError("it has no criterion")
        except ValueError as error:
            problems.add(f"{record.place}: {error}", path, None, record.id)
        questions.append(question)
    problems.settle()
    unused = found.unused(used_fields(definition, prompts))
    notes = (f"columns without use: {', '.join(unused)}",) if unused else ()
    return Exam(name, definition.name, tuple(questions), notes=found.notes + notes)


def used_fields(definition: Definition, prompts: Path) -> dict[str, tuple[str | int, ...]]:
    """Return the columns and tags that criteria, conditions and templates use, with their places in the definition."""
    fields: dict[str, tuple[str | int, ...]] = {}
    plans = {
        "criteria": [family.when for family in definition.criteria],
        "asks": [ask.when for ask in definition.asks],
        "scores": [score.when for score in definition.scores],
    }
    for table, conditions in plans.items():
        fields |= {each.field: (table, n, "when") for n, when in enumerate(conditions) for each in when}
    for n, family in enumerate(definition.criteria):
        if family.column:
            fields[family.column] = ("criteria", n, "from")
        else:
            fields |= dict.fromkeys(FIELD.findall(family.text), ("criteria", n, "text"))
            fields |= {family.weight: ("criteria", n, "weight")} if isinstance(family.weight, str) else {}
    for n, ask in enumerate(definition.asks):
        for template in ask.templates:
            text = (prompts / f"{template}.md").read_text(encoding="utf-8")
            fields |= dict.fromkeys(FIELD.findall(text), ("asks", n, template))
    return fields


def _question(record: Record) -> Question[RubricQuestion]:
    rubric = RubricQuestion.model_validate({name: value for name, value in record.fields.items() if value is not None})
    return Question(record.id, record.prompt, rubric, record.tags, record.reference, record.inputs)
