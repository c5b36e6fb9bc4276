"""Reads what the released scorer writes: JSON lines, a record of a drawing after every task; the last one counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, model_validator

from ...core.data_files import Problems, files_under, json_lines, parse_row
from ...core.errors import DataError
from ...core.evidence import AESTHETICS
from ...core.exam import Question
from ...core.schema import Id
from .. import ImportedReply
from .data import LEVELS, Number

NO_IMAGE = "the released scorer could not fetch the image and wrote a zero, which is no rating"
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
    failed: bool = False

    @model_validator(mode="before")
    @classmethod
    def _unwrapped(cls, step: Any) -> Any:
        """Where the link to an image failed, a mapping with a zero in it stands in place of the rating."""
        nested = step.get("score") if isinstance(step, dict) else None
        if not isinstance(nested, dict):
            return step
        value = nested.get("score")
        return {**step, "score": value or None, "failed": not value}


class Record(BaseModel):
    """One drawing, as it stood after a task."""

    prompt_id: Id = Field(min_length=1, max_length=200)
    steps: tuple[Step, ...]


def read_results(path: Path) -> Iterator[ImportedReply]:
    """The last record of every drawing in the file, or in each of the ``*.jsonl`` files in the folder, `path`.

    As the release does, lines that are no JSON (what a run that was ended left half written) are passed over; they are
    told in the notes of a result of their file.

    Raises:
        DataError: With file, line and id of everything that is wrong.
    """
    files = files_under(path, "*.jsonl")
    if not files:
        raise DataError("no *.jsonl result in this folder", file=path)
    found, problems = list[ImportedReply](), Problems()
    for file in files:
        broken = Problems()
        here = [_reply(record, file, line, problems) for line, record in _last(file, problems, broken)]
        if here and broken.found:
            here[0] = replace(here[0], notes=tuple(f"{problem}; passed over" for problem in broken.found))
        else:
            problems.found += broken.found
        found += here
    if not found and not problems.found:
        problems.add("no result in this file", files[0])
    problems.settle()
    yield from found


def _last(file: Path, problems: Problems, broken: Problems) -> Iterator[tuple[int, Record]]:
    """Line and record of what was last written of each drawing."""
    rows: dict[Any, tuple[int, dict[str, Any]]] = {}
    for line, row in json_lines(file, problems, broken):
        id = row.get("prompt_id")
        rows[id if isinstance(id, str) else line] = line, row
    for line, row in rows.values():
        record = parse_row(Record, row, problems, file, line, "prompt_id")
        if record is not None:
            yield line, record


def _reply(record: Record, file: Path, line: int, problems: Problems) -> ImportedReply:
    details = [detail for step in record.steps if step.task == "visual_qa" for detail in step.details]
    looks = [step for step in record.steps if step.task == "aesthetic"]
    ratings = [step.score for step in looks if step.score is not None]
    key: dict[str, str] = {}
    for detail in details:
        if detail.key is None or detail.key in key:
            what = "stands there twice" if detail.key else f"has the level {detail.level!r}, which is none of the four"
            problems.add(f"question {detail.qid} {what}", file, line, record.prompt_id)
        elif detail.is_correct is not None and detail.is_correct != (detail.pred == detail.gt):
            problems.add(f"question {detail.key}: is_correct disagrees with pred and gt", file, line, record.prompt_id)
        key[detail.key or ""] = detail.gt
    replies = tuple((detail.key or "", detail.pred or "") for detail in details)
    return ImportedReply(
        record.prompt_id,
        replies,
        file,
        fault=None if details else "the record has no answers",
        evidence={AESTHETICS: ratings[-1]} if ratings else {},
        unmeasured={AESTHETICS: NO_IMAGE} if not ratings and any(step.failed for step in looks) else {},
        misfit=_misfit(key),
    )


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
