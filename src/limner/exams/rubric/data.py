"""The questions of a declared exam, made of the records of its data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...core.data_files import Problems
from ...core.exam import Exam, Question
from .criteria import RubricQuestion, question_criteria
from .definition import Definition
from .layout import Record, read_records


def read_questions(path: Path, name: str, definition: Definition) -> Exam[RubricQuestion]:
    """Read an exam from a folder or file.

    Raises:
        DataError: The data is wrong, or does not fit the criteria; the message has the place of every problem.
    """
    problems, questions = Problems(), list[Question[RubricQuestion]]()
    found = read_records(path, definition, problems)
    for record in found.records:
        question = _question(record)
        try:
            if not question_criteria(definition, question):
                raise ValueError("it has no criterion")
        except ValueError as error:
            problems.add(f"{record.place}: {error}", path, None, record.id)
        questions.append(question)
    problems.settle()
    return Exam(name, definition.name, tuple(questions), notes=found.notes)


def _question(record: Record) -> Question[RubricQuestion]:
    rubric = RubricQuestion.model_validate({name: value for name, value in record.fields.items() if value is not None})
    more: dict[str, Any] = {"inputs": record.inputs} if record.inputs else {}
    return Question(record.id, record.prompt, rubric, record.tags, record.reference, **more)
