"""AIBench's data: one file of method texts with checklists, and a folder of figures."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, Field, field_validator, model_validator

from ...core.data_files import (
    Columns,
    data_file,
    files_under,
    find_reference,
    note_absent,
    parse_row,
    read_questions,
    write_json_lines,
)
from ...core.data_rows import Problems, json_lines
from ...core.errors import DataError
from ...core.evidence import AESTHETICS
from ...core.exam import Exam, Question, Reference
from ...core.schema import FrozenModel, Id, Words, without_controls
from .. import ImportedReply

FILE = "AIBench.jsonl"
SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
LEVELS = {
    "Level 1: Component Existence": "component",
    "Level 2: Local Topology": "topology",
    "Level 3: Phase Architecture": "phase",
    "Level 4: Global Semantics": "semantics",
}
"""The release's names of levels -> ours."""
OptionLetter = Literal["A", "B", "C", "D"]
RightLetter = Annotated[OptionLetter, BeforeValidator(lambda v: v.strip().upper() if isinstance(v, str) else v)]
"""The letter of the right answer; like in the release, lower case and surrounding blanks are accepted."""
SourceText = Annotated[Words, BeforeValidator(without_controls)]
"""Text from LaTeX sources, sometimes processed by a model; stray control characters become spaces."""
Number = Annotated[Id, Field(min_length=1, max_length=100), BeforeValidator(lambda v: str(v) if type(v) is int else v)]
"""The id of a checklist question; the release uses numbers."""


class ChoiceQuestion(FrozenModel):
    """A multiple-choice question about a drawing."""

    id: Number
    level: Literal[
        "Level 1: Component Existence",
        "Level 2: Local Topology",
        "Level 3: Phase Architecture",
        "Level 4: Global Semantics",
    ]
    question: SourceText = Field(min_length=1)
    options: dict[OptionLetter, Annotated[SourceText, Field(min_length=1)]] = Field(min_length=2)
    correct_option: RightLetter

    @property
    def dimension(self) -> str:
        """Our name of its level, which is also the name of its score."""
        return LEVELS[self.level]

    @property
    def key(self) -> str:
        """Its key within the checklist, which includes the level because generated questions are numbered by level."""
        return f"{self.dimension}/{self.id}"

    @field_validator("options", mode="before")
    @classmethod
    def _unwrapped(cls, options: Any) -> Any:
        """Unwrap options that are written as a list with one mapping, as in the paper's appendix."""
        return options[0] if isinstance(options, list) and len(options) == 1 else options

    @model_validator(mode="after")
    def _has_its_answer(self) -> Self:
        if self.correct_option not in self.options:
            raise ValueError(
                f"correct_option {self.correct_option} is not one of the options {', '.join(self.options)}"
            )
        return self


class QuestionsRubric(FrozenModel):
    """The checklist that a drawing is marked by."""

    checklist: tuple[ChoiceQuestion, ...] = Field(min_length=1)

    @field_validator("checklist")
    @classmethod
    def _tells_items_apart(cls, checklist: tuple[ChoiceQuestion, ...]) -> tuple[ChoiceQuestion, ...]:
        seen: set[str] = set()
        for item in checklist:
            if item.key in seen:
                raise ValueError(f"two questions of {item.level!r} have the id {item.id}")
            seen.add(item.key)
        return checklist


class MethodRow(QuestionsRubric):
    """One row of the release's file."""

    id: Id = Field(min_length=1, max_length=200)
    method_text: SourceText = Field(min_length=1)
    image: Words | None = None
    image_url: Words | None = None


def read(path: Path, name: str = "aibench", columns: Columns | None = None) -> Exam[QuestionsRubric]:
    """Read the exam from a file, or from the file with the release's name in a folder.

    Raises:
        DataError: Something is wrong; the message has file, line and id of every problem.
    """
    questions = read_questions(data_file(path, FILE), MethodRow, _questions, columns=columns)
    words = "those questions can be drawn and marked, controls made from the reference skip them"
    return Exam(name, "aibench", questions, notes=tuple(note_absent(questions, words, "original figures")))


def count_questions(question: Question[QuestionsRubric], *levels: str) -> int:
    """Return the number of questions in a checklist, by default all, or those of the given levels."""
    return sum(not levels or item.dimension in levels for item in question.rubric.checklist)


def _questions(row: MethodRow, file: Path) -> list[Question[QuestionsRubric]]:
    venue, slash, _ = row.id.partition("/")
    tags = {"venue": venue} if slash else {}
    reference = _reference(file.parent, row)
    return [Question(row.id, row.method_text, QuestionsRubric(checklist=row.checklist), tags, reference)]


def _reference(folder: Path, row: MethodRow) -> Reference | None:
    """Return the figure that a row names, in the data folder or images/, else the one in images/ with the row's id."""
    named = row.image or row.image_url
    places = [(folder / "images", row.id + suffix) for suffix in SUFFIXES]
    if named and "://" not in named:
        places[:0] = [(folder, named), (folder / "images", named)]
    for place, name in places:
        reference = find_reference(place, name)
        if reference.path is not None:
            return reference
    return Reference(named) if named else None


EXTRA_FIELDS = ("track", "rationale", "about")
"""Fields of a question that the release does not have."""


def write(folder: Path, items: Sequence[Mapping[str, Any]], save: Callable[[str, str], None]) -> dict[str, list[str]]:
    """Write a line for each paper, its figure to images/ and its logic graph to graphs/; return row ids by item."""
    made: dict[str, list[str]] = {}
    rows = []
    for item in items:
        id = _id(item)
        checklist = balance_letters([_question(n, question) for n, question in enumerate(item["checklist"], 1)], id)
        row = {"id": id, "method_text": item["method"], "image": f"images/{id}.png",
               "checklist": checklist}  # fmt: skip
        MethodRow.model_validate(row)
        save(item["image"], row["image"])
        save(item["graph_image"], f"graphs/{id}.png")
        (folder / "graphs" / f"{id}.svg").parent.mkdir(parents=True, exist_ok=True)
        (folder / "graphs" / f"{id}.svg").write_text(item["graph_svg"], encoding="utf-8")
        (folder / "graphs" / f"{id}.json").write_text(json.dumps(item["graph"], ensure_ascii=False), encoding="utf-8")
        rows.append(row)
        made[item["item"]] = [id]
    write_json_lines(folder / FILE, rows)
    return made


def _id(item: Mapping[str, Any]) -> str:
    """Return an item's id in the release's form: venue, slash, paper."""
    id, venue = str(item["item"]), str(item.get("venue") or "")
    paper = id.rpartition("/")[2]
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '_', venue)}/{paper}" if venue else id


def _question(number: int, row: Mapping[str, Any]) -> dict[str, Any]:
    question = {name: row[name] for name in ChoiceQuestion.model_fields} | {"id": number}
    return question | {name: row[name] for name in EXTRA_FIELDS if row.get(name)}


NO_IMAGE = "the released scorer could not fetch the image and wrote a zero, which is not a rating"
_SHORT = {name.partition(":")[0]: ours for name, ours in LEVELS.items()}


class Detail(BaseModel):
    """One answered question."""

    qid: Number
    level: str
    gt: str
    pred: str | None = None
    is_correct: bool | None = None

    @property
    def key(self) -> str | None:
        """The question's key, or None if the level is not one of the four."""
        level = _SHORT.get(self.level.partition(":")[0].strip())
        return None if level is None else f"{level}/{self.qid}"


class Step(BaseModel):
    """One part of a record: answers, or the aesthetics rating of the drawing."""

    task: str
    details: tuple[Detail, ...] = ()
    score: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] | None = None
    failed: bool = False

    @model_validator(mode="before")
    @classmethod
    def _unwrapped(cls, step: Any) -> Any:
        """Unwrap the mapping with a zero that takes the place of the rating if an image link failed."""
        nested = step.get("score") if isinstance(step, dict) else None
        if not isinstance(nested, dict):
            return step
        value = nested.get("score")
        return {**step, "score": value or None, "failed": not value}


class Record(BaseModel):
    """The record of one drawing after a task."""

    prompt_id: Id = Field(min_length=1, max_length=200)
    steps: tuple[Step, ...]


def read_results(path: Path) -> Iterator[ImportedReply]:
    """Yield the last record of every drawing in a file, or in each ``*.jsonl`` file of a folder.

    Like the release, this skips lines that are not JSON, such as those left unfinished by a killed run. They are
    mentioned in the notes of a result from the same file.

    Raises:
        DataError: Something is wrong; the message has file, line and id of every problem.
    """
    files = files_under(path, "*.jsonl")
    if not files:
        raise DataError("no *.jsonl result in this folder", file=path)
    replies, problems = list[ImportedReply](), Problems()
    for file in files:
        broken = Problems()
        of_file = [_reply(record, file, line, problems) for line, record in _last_records(file, problems, broken)]
        if of_file and broken.found:
            of_file[0] = replace(of_file[0], notes=tuple(f"{problem}; skipped" for problem in broken.found))
        else:
            problems.found += broken.found
        replies += of_file
    if not replies and not problems.found:
        problems.add("no result in this file", files[0])
    problems.settle()
    yield from replies


def _last_records(file: Path, problems: Problems, broken: Problems) -> Iterator[tuple[int, Record]]:
    """Yield the line number and record of the last entry for each drawing."""
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
            what = "is listed twice" if detail.key else f"has the level {detail.level!r}, which is not one of the four"
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
    """Return a function that says how a question's right answers differ from those of a result."""

    def misfit(question: Question[Any]) -> str | None:
        answers = {item.key: item.correct_option for item in question.rubric.checklist}
        for name, right in key.items():
            if name not in answers:
                return f"made with another checklist: this one has no question {name}"
            if answers[name] != right:
                return f"made with another checklist: its right answer to {name} is {right}, not {answers[name]}"
        return None

    return misfit


LETTERS = ("A", "B", "C", "D")


def balance_letters(rows: Sequence[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """Return questions with options reordered so that each letter is right about equally often.

    Questions with the same number of options are balanced together; `key` is the seed for remainders and for the order
    of wrong options. Questions that are already balanced are kept.
    """
    out = [dict(row) for row in rows]
    for size in sorted({len(row["options"]) for row in rows}):
        group = [row for row in out if len(row["options"]) == size]
        counts = Counter(row["correct_option"] for row in group)
        if max(counts.values()) - min(counts[letter] for letter in LETTERS[:size]) <= 1:
            continue
        dealt = _deal_letters(len(group), size, f"{key}/{size}")
        for row, letter in zip(group, dealt, strict=True):
            _reorder_options(row, letter, random.Random(f"{key}/{row['id']}"))
    return out


def _deal_letters(count: int, size: int, key: str) -> list[str]:
    """Return `count` letters, each about equally often, in an order determined by the key."""
    generator = random.Random(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big"))
    first = generator.sample(LETTERS[:size], size)
    letters = [first[n % size] for n in range(count)]
    generator.shuffle(letters)
    return letters


def _reorder_options(row: dict[str, Any], letter: str, generator: random.Random) -> None:
    options = row["options"]
    right = options[row["correct_option"]]
    wrong = [text for name, text in sorted(options.items()) if name != row["correct_option"]]
    generator.shuffle(wrong)
    letters = LETTERS[: len(options)]
    row["options"] = {name: right if name == letter else wrong.pop() for name in letters}
    row["correct_option"] = letter
