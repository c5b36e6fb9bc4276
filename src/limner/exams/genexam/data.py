"""GenExam's data: annotations, reference images, and the Mini list."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from ...core.data_files import Columns, data_file, find_reference, note_absent, read_questions, write_json_lines
from ...core.data_rows import Problems, read_lines, shorten
from ...core.errors import DataError
from ...core.exam import Exam, Question
from ...core.json_text import parse_json
from ...core.schema import FrozenModel, Id, Words
from .. import ImportedReply

ANNOTATIONS = Path("annotations") / "All_Subjects.jsonl"
MINI = "mini_sample_ids.txt"


class ScoringPoint(FrozenModel):
    """A scoring point: a yes/no question and its weight."""

    question: Words = Field(min_length=1)
    score: float = Field(gt=0, le=1, allow_inf_nan=False, strict=True)


class ScoringPointsRubric(FrozenModel):
    """The weighted scoring points for marking a drawing; the weights sum to 1."""

    scoring_points: tuple[ScoringPoint, ...]

    @cached_property
    def weights(self) -> dict[str, float]:
        """The weight of each point, by criterion id."""
        return {f"point/{n}": point.score for n, point in enumerate(self.scoring_points, 1)}

    @field_validator("scoring_points")
    @classmethod
    def _sums_to_one(cls, points: tuple[ScoringPoint, ...]) -> tuple[ScoringPoint, ...]:
        if not points:
            raise ValueError("it has no scoring point")
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


def read(path: Path, name: str = "genexam", columns: Columns | None = None) -> Exam[ScoringPointsRubric]:
    """Read the exam in a folder, or of a file with annotations that has the other files next to it.

    Raises:
        DataError: Something is wrong; the message has file, line and id of every problem.
    """
    folder = path if path.is_dir() else path.parent
    file = data_file(path, ANNOTATIONS)
    questions = read_questions(file, Annotation, lambda row, _: [_question(row, folder)], columns=columns)
    words = "those questions can be drawn; marking them needs --reference none, controls skip them"
    return Exam(name, "genexam", questions, _subsets(folder, questions), tuple(note_absent(questions, words)))


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
    known_ids = {question.id for question in questions}
    ids = [line.strip() for line in read_lines(path)]
    for number, id in enumerate(ids, 1):
        if id and id not in known_ids:
            problems.add("the subset has an id that is not in the annotations", path, number, shorten(id))
    problems.settle()
    return {"mini": frozenset(id for id in ids if id)}


def write(
    folder: Path, items: Sequence[Mapping[str, Any]], save: Callable[[str, str], None]
) -> Mapping[str, Sequence[str]]:
    """Write annotations, reference images and the Mini list; return each item's question id.

    Args:
        folder: The exam's data folder.
        items: Mappings with ``image``, ``prompt``, ``scoring_points``, ``taxonomy``, ``difficulty`` and ``img_type``.
        save: Saves a picture in the folder, by its hash and path.
    """
    numbers: Counter[str] = Counter()
    rows, mini, made = [], [], dict[str, list[str]]()
    for item in items:
        subject = item["taxonomy"].partition("/")[0]
        numbers[subject] += 1
        id = f"{subject}_{numbers[subject]}"
        row = {
            "id": id,
            "prompt": item["prompt"],
            "image_path": f"{subject}/{id}.png",
            "scoring_points": item["scoring_points"],
            "taxonomy": item["taxonomy"],
            "img_type": item["img_type"],
            "subject": subject,
            "difficulty": item["difficulty"],
        }
        rows.append(Annotation.model_validate(row).model_dump(mode="json") | row)
        save(item["image"], f"images/{row['image_path']}")
        if item.get("mini"):
            mini.append(id)
        made[item["item"]] = [id]
    write_json_lines(folder / ANNOTATIONS, rows)
    if mini:
        (folder / MINI).write_text("".join(f"{id}\n" for id in mini), encoding="utf-8")
    return made


REPLY_KEYS = ("description", "answers", "global_evaluation")


def read_results(folder: Path) -> Iterator[ImportedReply]:
    """Yield every result under `folder`, ordered by file name.

    Raises:
        DataError: A file cannot belong to any question.
    """
    files = sorted(folder.rglob("*.json"))
    if not files:
        raise DataError("no *.json result in this folder", file=folder)
    for file in files:
        try:
            body = parse_json(file.read_bytes())
        except (OSError, ValueError) as error:
            # The name still identifies the question.
            name = file.relative_to(folder).with_suffix("").as_posix()
            yield ImportedReply(name, (), file, fault=f"not readable as JSON: {error}")
            continue
        if not isinstance(body, dict) or not isinstance(body.get("id"), str):
            raise DataError('a result must be an object with a text "id"', file=file)
        rubric = {"scoring_points": body["scoring_points"]} if "scoring_points" in body else None
        reply = json.dumps({key: body[key] for key in REPLY_KEYS if key in body}, ensure_ascii=False)
        yield ImportedReply(body["id"], (("mark", reply),), file, rubric)
