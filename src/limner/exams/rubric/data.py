"""The questions of a declared exam, made of the records of its data."""

from __future__ import annotations

from pathlib import Path

from ...core.data_layout import Record, read_records
from ...core.data_rows import Problems
from ...core.exam import Exam, Question
from .criteria import RubricQuestion, question_sheet
from .definition import Definition
from .lint import absent_fields, used_fields


def read_questions(path: Path, name: str, definition: Definition, file: Path) -> Exam[RubricQuestion]:
    """Read an exam, defined in `file`, from a folder or file; columns that it does not use are noted.

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
    if problems.found and found.records:
        absent = absent_fields(file, definition, {column.casefold() for column in found.columns})
        problems.found[:0] = [error for error in absent if error.file == file]
    problems.settle()
    unused = found.unused(field for field, _ in used_fields(definition, file.parent / definition.prompts))
    notes = (f"columns without use: {', '.join(unused)}",) if unused else ()
    return Exam(name, definition.name, tuple(questions), notes=found.notes + notes)


def _question(record: Record) -> Question[RubricQuestion]:
    rubric = RubricQuestion.model_validate({name: value for name, value in record.fields.items() if value is not None})
    return Question(record.id, record.prompt, rubric, record.tags, record.reference, record.inputs)
