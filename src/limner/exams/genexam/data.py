"""Reads GenExam's release layout: annotations, reference images, the Mini list."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ...core.exam import Exam, Question, Reference
from ...core.reading import Id, Problems, Words, find_reference, json_lines, parse_row, read_lines, short

ANNOTATIONS = Path("annotations") / "All_Subjects.jsonl"
MINI = "mini_sample_ids.txt"


class Point(BaseModel):
    """A scoring point: a yes/no question and its weight."""

    model_config = ConfigDict(frozen=True)

    question: Words = Field(min_length=1)
    score: float = Field(gt=0, le=1, allow_inf_nan=False, strict=True)


class Rubric(BaseModel):
    """What a drawing is marked by: weighted points that sum to 1."""

    model_config = ConfigDict(frozen=True)

    scoring_points: tuple[Point, ...]

    @field_validator("scoring_points")
    @classmethod
    def _sums_to_one(cls, points: tuple[Point, ...]) -> tuple[Point, ...]:
        if not points:
            raise ValueError("there is no scoring point")
        total = round(sum(point.score for point in points), 4)
        if total != 1:
            raise ValueError(f"the weights sum to {total:g}, not 1")
        return points


class Annotation(Rubric):
    """One row of the release's annotation file."""

    id: Id = Field(min_length=1, max_length=200)
    prompt: Words = Field(min_length=1)
    image_path: Words = Field(min_length=1)
    taxonomy: Words
    img_type: Words = Field(min_length=1)
    subject: Words = Field(min_length=1)
    difficulty: Literal["easy", "medium", "hard"]


def read(folder: Path, name: str = "genexam") -> Exam[Rubric]:
    """Read the exam under `folder`.

    Raises:
        DataError: With file, line and id of everything that is wrong.
    """
    path, problems = folder / ANNOTATIONS, Problems()
    questions: list[Question[Rubric]] = []
    lines: dict[str, int] = {}
    for line, row in json_lines(path, problems):
        annotation = parse_row(Annotation, row, problems, path, line)
        if annotation is None:
            continue
        if annotation.id in lines:
            problems.add(f"this id stands already in line {lines[annotation.id]}", path, line, annotation.id)
            continue
        lines[annotation.id] = line
        try:
            reference = find_reference(folder / "images", annotation.image_path)
        except ValueError as error:
            problems.add(str(error), path, line, annotation.id)
            continue
        questions.append(_question(annotation, reference))
    if not questions and not problems.found:
        problems.add("no question in this file", path)
    problems.settle()
    subsets = _subsets(folder, set(lines), problems)
    problems.settle()
    return Exam(name, "genexam", tuple(questions), subsets, tuple(_notes(questions)))


def _question(row: Annotation, reference: Reference) -> Question[Rubric]:
    tags = {"subject": row.subject, "difficulty": row.difficulty, "img_type": row.img_type}
    levels = row.taxonomy.split("/")
    tags["taxonomy"] = row.taxonomy
    tags |= {f"taxonomy{n}": level for n, level in enumerate(levels, 1) if level}
    return Question(row.id, row.prompt, Rubric(scoring_points=row.scoring_points), tags, reference)


def _subsets(folder: Path, known: set[str], problems: Problems) -> dict[str, frozenset[str]]:
    path = folder / MINI
    if not path.exists():
        return {}
    ids = [line.strip() for line in read_lines(path)]
    for number, one in enumerate(ids, 1):
        if one and one not in known:
            problems.add("the subset names an id that the annotations lack", path, number, short(one))
    return {"mini": frozenset(one for one in ids if one)}


def _notes(questions: list[Question[Rubric]]) -> list[str]:
    states = Counter(q.reference is not None and q.reference.path is not None for q in questions)
    if not states[False]:
        return []
    return [
        f"{states[False]} of {len(questions)} reference images are absent: those questions can be drawn; "
        "marking them needs --reference none, controls skip them"
    ]
