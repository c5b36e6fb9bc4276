"""A declared exam's questions, and a release's results as replies in the exam's own form, made of records of files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ...core.data_rows import Problems
from ...core.errors import DataError
from ...core.exam import Exam, Question
from .. import ImportedReply
from .checks import absent_columns, add_wrong, used_columns
from .criteria import RubricQuestion, question_sheet
from .definition import AskPlan, Definition, ResultColumn
from .layout import DataLayout, Record, find_value, read_records
from .replies import answer_key


def read_questions(path: Path, name: str, definition: Definition, file: Path) -> Exam[RubricQuestion]:
    """Read an exam, defined in `file`, from a folder or file; columns that it does not use are noted.

    Raises:
        DataError: The data is wrong, or does not fit the definition; the message has the place of every problem.
    """
    problems, absent, questions = Problems(), Problems(), list[Question[RubricQuestion]]()
    found = read_records(path, definition, problems)
    prompts = file.parent / definition.prompts
    # Rows without such a column are wrong too, but there is one thing to correct.
    add_wrong(absent, file, [*found.absent, *absent_columns(definition, prompts, [*found.columns])])
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
    notes = [f"columns without use: {', '.join(unused)}"] if unused else []
    return Exam(name, definition.name, tuple(questions), notes=(*found.notes, *notes))


def _question(record: Record) -> Question[RubricQuestion]:
    rubric = RubricQuestion.model_validate({name: value for name, value in record.fields.items() if value is not None})
    return Question(record.id, record.prompt, rubric, record.tags, record.reference, record.inputs)


NOT_A_RECORD = "expected a JSON object, not "


def read_results(folder: Path, definition: Definition) -> Iterator[ImportedReply]:
    """Yield every result in a file or folder.

    Raises:
        DataError: The exam has no table ``[results]``, or the files do not fit it.
    """
    plan = definition.results
    if plan is None:
        raise DataError(f"the exam {definition.name} does not say what its results look like: [results] is missing")
    files = {"files": plan.files, "levels": plan.levels}
    layout = DataLayout.model_validate({"data": files, "columns": {"id": plan.id}})
    problems = Problems()
    records = read_records(folder, layout, problems, prompts=False).records
    # A number beside the results, such as their mean, is none itself.
    problems.found = [error for error in problems.found if NOT_A_RECORD not in str(error)]
    problems.settle()
    usual = {"variant": definition.variants[0], **{name: values[0] for name, values in definition.options.items()}}
    asks = [ask for ask in definition.asks if ask.only.items() <= usual.items()]
    for record in records:
        id = record.id.rpartition(plan.id_until)[0] if plan.id_until else record.id
        replies = tuple(reply for ask in asks for reply in _replies(ask, definition, record))
        fault = None if replies else "it has no rating"
        yield ImportedReply(id, replies, record.file, fault=fault, misfit=partial(_misfit, definition, record))


def _replies(ask: AskPlan, definition: Definition, record: Record) -> Iterator[tuple[str, str]]:
    """Yield the names of an ask's calls and their replies, as far as the result has them."""
    plan = definition.results
    assert plan is not None
    families = [family.name for name in ask.criteria for family in definition.family(name)]
    columns = {name: plan.values[name] for name in families if name in plan.values}
    whole = [record.field(column.reply) for column in columns.values() if column.reply]
    if whole:
        yield from ((ask.name, text) for text in whole if isinstance(text, str) and text.strip())
        return
    body: dict[str, Any] = {}
    for name, column in columns.items():
        if not column.key:
            if (value := record.field(column.column)) not in (None, "", "none"):
                body[answer_key(ask, name)] = _entry(ask, value, record.field(column.reason) if column.reason else "")
            continue
        entries = [_entry(ask, *pair) for pair in _listed(record, column)]
        if ask.each:
            for n, entry in enumerate(entries, 1):
                if _is_known(ask, entry):
                    yield f"{ask.name}/{n}", json.dumps({answer_key(ask, name): entry})
        elif entries and all(_is_known(ask, entry) for entry in entries):
            body[answer_key(ask, name)] = entries
    if body and not ask.each:
        yield ask.name, json.dumps(body, ensure_ascii=False)


def _listed(record: Record, column: ResultColumn) -> Iterator[tuple[Any, Any]]:
    """Yield value and reason of each entry of a list."""
    entries = record.field(column.column)
    for entry in entries if isinstance(entries, list) else ():
        known = entry if isinstance(entry, Mapping) else {}
        yield find_value(known, column.key), find_value(known, column.reason) if column.reason else ""


def _entry(ask: AskPlan, value: Any, reason: Any) -> Any:
    """Return a value in the form of a reply; yes and no are numbers there."""
    if isinstance(value, str):
        word = value.strip().casefold()
        known = {"yes": 1, "no": 0}.get(word[:3].rstrip(".,; "))
        value = known if known is not None else int(word) if word.isdecimal() else value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not ask.reasons:
        return value
    reasons = {answer_key(ask, "reason"): reason} if isinstance(reason, str) and reason.strip() else {}
    return {**reasons, answer_key(ask, "value"): value}


def _is_known(ask: AskPlan, entry: Any) -> bool:
    return (entry[answer_key(ask, "value")] if ask.reasons else entry) not in (None, "")


def _misfit(definition: Definition, record: Record, question: Question[RubricQuestion]) -> str | None:
    """Return how the result contradicts a question; None if it does not."""
    assert definition.results is not None
    criteria = question_sheet(definition, question).criteria
    for name, column in definition.results.values.items():
        wanted = sum(each.family.name == name for each in criteria)
        found = len(list(_listed(record, column))) if column.key else wanted
        if found != wanted:
            return f"the result has {found} entries in {column.column}; the question has {wanted} criteria ({name})"
    return None
