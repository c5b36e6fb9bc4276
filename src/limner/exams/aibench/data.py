"""Reads AIBench's release layout: one file of method texts with their checklists, and figures beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from ...core.data_files import absent_references, find_reference, read_questions
from ...core.exam import Exam, Question, Reference
from ...core.schema import FrozenModel, Id, Words, without_controls

FILE = "AIBench.jsonl"
SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
LEVELS = {
    "Level 1: Component Existence": "component",
    "Level 2: Local Topology": "topology",
    "Level 3: Phase Architecture": "phase",
    "Level 4: Global Semantics": "semantics",
}
"""The release's names of the levels, and ours."""

OptionLetter = Literal["A", "B", "C", "D"]
RightLetter = Annotated[OptionLetter, BeforeValidator(lambda v: v.strip().upper() if isinstance(v, str) else v)]
"""The right answer; written small or with blanks around it, the release takes it, too."""
SourceText = Annotated[Words, BeforeValidator(without_controls)]
"""Text that comes from LaTeX, at times by way of a model: a stray control character is read as a space."""
Number = Annotated[Id, Field(min_length=1, max_length=100), BeforeValidator(lambda v: str(v) if type(v) is int else v)]
"""A checklist question's id; the release numbers them."""


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
        """Our name of its level, which is the score it counts for."""
        return LEVELS[self.level]

    @property
    def key(self) -> str:
        """Names it within its checklist: generated questions are numbered level by level."""
        return f"{self.dimension}/{self.id}"

    @field_validator("options", mode="before")
    @classmethod
    def _unwrapped(cls, options: Any) -> Any:
        """The paper's appendix writes the options as a list that holds one mapping."""
        return options[0] if isinstance(options, list) and len(options) == 1 else options

    @model_validator(mode="after")
    def _has_its_answer(self) -> Self:
        if self.correct_option not in self.options:
            raise ValueError(f"correct_option {self.correct_option} is none of the options {', '.join(self.options)}")
        return self


class QuestionsRubric(FrozenModel):
    """What a drawing is marked by: its checklist."""

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


def read(path: Path, name: str = "aibench") -> Exam[QuestionsRubric]:
    """Read the exam in the file `path`, or in the file of the release's name in the folder `path`.

    Raises:
        DataError: With file, line and id of everything that is wrong.
    """
    questions = read_questions(path / FILE if path.is_dir() else path, MethodRow, _questions)
    return Exam(name, "aibench", questions, notes=tuple(_notes(questions)))


def count_questions(question: Question[QuestionsRubric], *levels: str) -> int:
    """The questions of a checklist, or those of the levels that `levels` names."""
    return sum(not levels or item.dimension in levels for item in question.rubric.checklist)


def _questions(row: MethodRow, file: Path) -> list[Question[QuestionsRubric]]:
    venue, slash, _ = row.id.partition("/")
    tags = {"venue": venue} if slash else {}
    reference = _reference(file.parent, row)
    return [Question(row.id, row.method_text, QuestionsRubric(checklist=row.checklist), tags, reference)]


def _reference(folder: Path, row: MethodRow) -> Reference | None:
    """The figure a row names, beside the data or under images/; else the one under images/ that has the row's id."""
    named = row.image or row.image_url
    places = [(folder / "images", row.id + suffix) for suffix in SUFFIXES]
    if named and "://" not in named:
        places[:0] = [(folder, named), (folder / "images", named)]
    for place, name in places:
        found = find_reference(place, name)
        if found.path is not None:
            return found
    return Reference(named) if named else None


def _notes(questions: Sequence[Question[QuestionsRubric]]) -> list[str]:
    if not (absent := absent_references(questions)):
        return []
    skipped = "those questions can be drawn and marked, controls made from the reference skip them"
    return [f"{absent} of {len(questions)} original figures are absent: {skipped}"]
