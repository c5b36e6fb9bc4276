"""Reads GenExam's release layout: annotations, reference images, the Mini list."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from ...core.data_files import Problems, absent_references, find_reference, read_lines, read_questions, short
from ...core.exam import Exam, Question
from ...core.schema import FrozenModel, Id, Words

ANNOTATIONS = Path("annotations") / "All_Subjects.jsonl"
MINI = "mini_sample_ids.txt"


class ScoringPoint(FrozenModel):
    """A scoring point: a yes/no question and its weight."""

    question: Words = Field(min_length=1)
    score: float = Field(gt=0, le=1, allow_inf_nan=False, strict=True)


class ScoringPointsRubric(FrozenModel):
    """What a drawing is marked by: weighted points that sum to 1."""

    scoring_points: tuple[ScoringPoint, ...]

    @cached_property
    def weights(self) -> dict[str, float]:
        """The weight of every point, by its criterion."""
        return {f"point/{n}": point.score for n, point in enumerate(self.scoring_points, 1)}

    @field_validator("scoring_points")
    @classmethod
    def _sums_to_one(cls, points: tuple[ScoringPoint, ...]) -> tuple[ScoringPoint, ...]:
        if not points:
            raise ValueError("there is no scoring point")
        total = round(sum(point.score for point in points), 4)
        if total != 1:
            raise ValueError(f"the weights sum to {total:g}, not 1")
        return points


class Annotation(ScoringPointsRubric):
    """One row of the release's annotation file."""

    id: Id = Field(min_length=1, max_length=200)
    prompt: Words = Field(min_length=1)
    image_path: Words = Field(min_length=1)
    taxonomy: Words
    img_type: Words = Field(min_length=1)
    subject: Words = Field(min_length=1)
    difficulty: Literal["easy", "medium", "hard"]


def read(folder: Path, name: str = "genexam") -> Exam[ScoringPointsRubric]:
    """Read the exam under `folder`.

    Raises:
        DataError: With file, line and id of everything that is wrong.
    """
    questions = read_questions(folder / ANNOTATIONS, Annotation, lambda row, _file: [_question(row, folder)])
    notes = _notes(absent_references(questions), len(questions))
    return Exam(name, "genexam", questions, _subsets(folder, questions), notes)


def _question(row: Annotation, folder: Path) -> Question[ScoringPointsRubric]:
    tags = {"subject": row.subject, "difficulty": row.difficulty, "img_type": row.img_type}
    levels = row.taxonomy.split("/")
    tags["taxonomy"] = row.taxonomy
    tags |= {f"taxonomy{n}": level for n, level in enumerate(levels, 1) if level}
    reference = find_reference(folder / "images", row.image_path)
    return Question(row.id, row.prompt, ScoringPointsRubric(scoring_points=row.scoring_points), tags, reference)


def _subsets(folder: Path, questions: Sequence[Question[ScoringPointsRubric]]) -> dict[str, frozenset[str]]:
    path, problems = folder / MINI, Problems()
    if not path.exists():
        return {}
    known = {question.id for question in questions}
    ids = [line.strip() for line in read_lines(path)]
    for number, one in enumerate(ids, 1):
        if one and one not in known:
            problems.add("the subset names an id that the annotations lack", path, number, short(one))
    problems.settle()
    return {"mini": frozenset(one for one in ids if one)}


def _notes(absent: int, count: int) -> tuple[str, ...]:
    if not absent:
        return ()
    return (
        f"{absent} of {count} reference images are absent: those questions can be drawn; "
        "marking them needs --reference none, controls skip them",
    )
