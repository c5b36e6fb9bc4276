"""Reads what the released scorer writes: JSON lines, one record a drawing, with every answer and the rating."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from ...core.data_files import Id, Problems, files_under, json_lines, parse_row
from ...core.errors import DataError
from ...core.exam import Question
from .. import ImportedReply
from .data import LEVELS, Number

_SHORT = {name.partition(":")[0]: ours for name, ours in LEVELS.items()}


class Detail(BaseModel):
    """One question as it was answered."""

    qid: Number
    level: str
    gt: str
    pred: str | None = None
    is_correct: bool | None = None

    @property
    def key(self) -> str | None:
        """The question's name in our words, or None where the level is none of the four."""
        level = _SHORT.get(self.level.partition(":")[0].strip())
        return None if level is None else f"{level}/{self.qid}"


class Step(BaseModel):
    """One part of a record: answers, or the rating of the drawing's looks."""

    task: str
    details: tuple[Detail, ...] = ()
    score: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] | None = None


class Record(BaseModel):
    """One drawing."""

    prompt_id: Id = Field(min_length=1, max_length=200)
    steps: tuple[Step, ...]


def read_results(path: Path) -> Iterator[ImportedReply]:
    """Every record of the file, or of the ``*.jsonl`` files in the folder, `path`.

    Raises:
        DataError: With file, line and id of everything that is wrong.
    """
    files = files_under(path, "*.jsonl")
    if not files:
        raise DataError("no *.jsonl result in this folder", file=path)
    found, problems = list[ImportedReply](), Problems()
    for file in files:
        for line, row in json_lines(file, problems):
            record = parse_row(Record, row, problems, file, line, "prompt_id")
            if record is not None:
                found.append(_reply(record, file, line, problems))
    if not found and not problems.found:
        problems.add("no result in this file", files[0])
    problems.settle()
    yield from found


def _reply(record: Record, file: Path, line: int, problems: Problems) -> ImportedReply:
    details = [detail for step in record.steps if step.task == "visual_qa" for detail in step.details]
    ratings = [step.score for step in record.steps if step.task == "aesthetic" and step.score is not None]
    key: dict[str, str] = {}
    for detail in details:
        if detail.key is None or detail.key in key:
            what = "stands there twice" if detail.key else f"has the level {detail.level!r}, which is none of the four"
            problems.add(f"question {detail.qid} {what}", file, line, record.prompt_id)
        elif detail.is_correct is not None and detail.is_correct != (detail.pred == detail.gt):
            problems.add(f"question {detail.key}: is_correct disagrees with pred and gt", file, line, record.prompt_id)
        key[detail.key or ""] = detail.gt
    replies = tuple((detail.key or "", detail.pred or "") for detail in details)
    evidence: dict[str, Any] = {"aesthetics": ratings[-1]} if ratings else {}
    fault = None if details else "the record has no answers"
    return ImportedReply(record.prompt_id, replies, file, fault=fault, evidence=evidence, misfit=_misfit(key))


def _misfit(key: dict[str, str]) -> Callable[[Question[Any]], str | None]:
    """Holds the right answers of a result against those of a question."""

    def misfit(question: Question[Any]) -> str | None:
        known = {item.key: item.correct_option for item in question.rubric.checklist}
        for name, right in key.items():
            if name not in known:
                return f"made with another checklist: there is no question {name} here"
            if known[name] != right:
                return f"made with another checklist: the right answer to {name} is {right} there, {known[name]} here"
        return None

    return misfit
