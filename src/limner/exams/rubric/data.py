"""The questions of a declared exam, made of the records of its data."""

from __future__ import annotations

from pathlib import Path

from ...core.data_layout import Record, read_records
from ...core.data_rows import Problems
from ...core.exam import Exam, Question
from .checks import absent_columns, add_wrong, used_columns
from .criteria import RubricQuestion, question_sheet
from .definition import Definition


def read_questions(path: Path, name: str, definition: Definition, file: Path) -> Exam[RubricQuestion]:
    """Read an exam, defined in `file`, from a folder or file; columns that it does not use are noted.

    Raises:
        DataError: The data is wrong, or does not fit the definition; the message has the place of every problem.
    """
    problems, absent, questions = Problems(), Problems(), list[Question[RubricQuestion]]()
    found = read_records(path, definition, problems)
    prompts = file.parent / definition.prompts
    # Rows without such a column are wrong too, but there is one thing to correct.
    add_wrong(absent, file, [*found.absent, *absent_columns(definition, prompts, found.columns)])
    absent.settle()
    for record in found.records:
        question = _question(record)
        try:
            if not question_sheet(definition, question).criteria:
                raise ValueError("it has no criterion")
        except ValueError as error:
            problems.add(str(error), record.file, record.line, record.id)
        questions.append(question)
    problems.settle()
    unused = found.unused(name for name, _ in used_columns(definition, prompts))
    notes = (f"columns without use: {', '.join(unused)}",) if unused else ()
    return Exam(name, definition.name, tuple(questions), notes=found.notes + notes)


def _question(record: Record) -> Question[RubricQuestion]:
    rubric = RubricQuestion.model_validate({name: value for name, value in record.fields.items() if value is not None})
    return Question(record.id, record.prompt, rubric, record.tags, record.reference, record.inputs)
