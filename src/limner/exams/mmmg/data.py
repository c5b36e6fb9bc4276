"""MMMG's data: Parquet files or JSON lines, with one knowledge graph per row."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, field_validator

from ...core.data_files import (
    Columns,
    embedded_reference,
    files_under,
    find_reference,
    note_absent,
    read_questions,
    write_json_lines,
)
from ...core.data_rows import EmbeddedImage, shorten
from ...core.errors import DataError
from ...core.exam import Exam, Question, Reference
from ...core.json_text import parse_json
from ...core.schema import FrozenModel, Id, Words
from .. import ImportedReply
from . import graph
from .replies import FREE

LEVELS = ("preschool", "primaryschool", "secondaryschool", "highschool", "undergraduate", "PhD")
_LEVELS = {name.lower(): level for n, level in enumerate(LEVELS) for name in (level, f"{n}_{level}")}
Name = Annotated[Words, Field(min_length=1, max_length=1000)]


def _parse_graph(value: object) -> object:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, default=str)


class KnowledgeGraph(FrozenModel):
    """A knowledge graph of the data; duplicate items are dropped."""

    elements: tuple[Name, ...] = Field(min_length=1)
    dependencies: tuple[Name, ...] = ()

    @field_validator("elements", "dependencies")
    @classmethod
    def _once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(names))


class GraphRubric(KnowledgeGraph):
    """The entities and dependencies against which a drawing is marked, and their explanation."""

    annotation: Words = ""


class GraphRow(BaseModel):
    """One row of the release; the case of column names does not matter."""

    key: Id = Field(min_length=1, max_length=200)
    education: str
    knowledge_graph: Annotated[KnowledgeGraph, BeforeValidator(_parse_graph)]
    annotation: Annotated[Words, BeforeValidator(_text)] = ""
    prompt: Words = Field(min_length=1, validation_alias=AliasChoices("prompt", "question"))
    image: Any = Field(default=None, validation_alias=AliasChoices("image", "image_path"))
    discipline: Words | None = None
    concept: Words | None = None
    origin: Words | None = None

    @field_validator("education")
    @classmethod
    def _known(cls, name: str) -> str:
        if name.lower() not in _LEVELS:
            raise ValueError(f"no level {shorten(name)!r}; choose from: {', '.join(LEVELS)}")
        return _LEVELS[name.lower()]

    def tags(self) -> dict[str, str]:
        """Return level and discipline, which is the second part of the key or else the column of that name.

        An exam made by a build also has tags for the concept, and for whether the picture is real or synthetic.
        """
        parts = self.key.split("_")
        discipline = parts[1] if len(parts) > 1 and parts[1] else self.discipline
        if not discipline:
            raise ValueError("the key has no discipline, as in preschool_Biology_1")
        both = f"{self.education}_{discipline}"
        more = {"concept": self.concept, "origin": self.origin}
        given = {name: value for name, value in more.items() if value}
        return {"level": self.education, "discipline": discipline, "level_discipline": both, **given}


def read(path: Path, name: str = "mmmg", columns: Columns | None = None) -> Exam[GraphRubric]:
    """Read the exam from a file, or from all data files in a folder.

    Raises:
        DataError: Something is wrong; the message has file, line (in Parquet, row) and id of every problem.
        UsageError: A file is Parquet, and polars is not installed.
    """
    files = files_under(path)
    questions = read_questions(
        path, GraphRow, _questions, files=files, columns=columns, key="key", nothing="no question here"
    )
    return Exam(name, "mmmg", questions, {}, tuple(_notes(questions)))


def _questions(row: GraphRow, file: Path) -> list[Question[GraphRubric]]:
    rubric = GraphRubric(**row.knowledge_graph.model_dump(), annotation=row.annotation)
    return [Question(row.key, row.prompt, rubric, row.tags(), _reference(row, file))]


def _reference(row: GraphRow, file: Path) -> Reference | None:
    image = row.image.get("path") if isinstance(row.image, dict) else row.image
    if image is None:
        return None
    if isinstance(image, str):
        return find_reference(file.parent, image)
    if not isinstance(image, EmbeddedImage):
        raise ValueError("image: expected a path")
    return embedded_reference(image, row.key)


def _notes(questions: Sequence[Question[GraphRubric]]) -> list[str]:
    lost, stops, notes = 0, list[str](), note_absent(questions, "controls skip those")
    for question in questions:
        rubric = question.rubric
        lost += sum(not edges for edges in graph.resolve_graph(rubric.elements, rubric.dependencies).edges)
        stops += [question.id] if graph.why_scorer_stops(rubric.dependencies) else []
    if lost:
        problem = "dependencies name no entity of their graph: they count only in u_acc and dependency_accuracy"
        notes.append(f"{lost} {problem}")
    if stops:
        problem = f"the released scorer stops at {len(stops)} questions, which have no fidelity_release: "
        notes.append(problem + ", ".join(stops[:5]) + (" …" if len(stops) > 5 else ""))
    return notes


FILE = "mmmg.jsonl"


def write(
    folder: Path, items: Sequence[Mapping[str, Any]], save: Callable[[str, str], None]
) -> Mapping[str, Sequence[str]]:
    """Write a line and the reference image for each item; return each item's key.

    Args:
        folder: The exam's data folder.
        items: Mappings with ``image``, ``prompt``, ``level``, ``discipline``, ``concept``, ``elements``,
            ``dependencies`` and ``definitions``.
        save: Saves a picture in the folder, by its hash and path.
    """
    numbers: Counter[str] = Counter()
    rows, made = [], dict[str, list[str]]()
    for item in items:
        cell = f"{item['level']}_{item['discipline']}"
        numbers[cell] += 1
        key = f"{cell}_{numbers[cell]}"
        row = {
            "key": key,
            "Education": item["level"],
            "prompt": item["prompt"],
            "Knowledge_Graph": json.dumps(graph_record(item), ensure_ascii=False),
            "Annotation": json.dumps(annotation(item), ensure_ascii=False),
            "image": f"images/{key}.png",
            "concept": item["concept"],
            "origin": item["origin"],
        }
        GraphRow.model_validate({name.lower(): value for name, value in row.items()})
        save(item["image"], f"images/{key}.png")
        rows.append(row)
        made[item["item"]] = [key]
    write_json_lines(folder / FILE, rows)
    return made


def graph_record(item: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the graph in the release's form."""
    return {
        "elements": [entry["name"] for entry in item["elements"]],
        "dependencies": [entry["says"] for entry in item["dependencies"]],
    }


def annotation(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the explanations that a judge is shown with the graph."""
    return {
        "Definitions": item["definitions"],
        "Element Explanation": [entry["why"] for entry in item["elements"]],
        "Dependency Explanation": [entry["why"] for entry in item["dependencies"]],
    }


NAME = re.compile(r"[^_]+?__(?P<key>.+)__eval_by__(?P<judge>.+)\.json")
_NUMBERED = re.compile(rf"\d_(?=(?:{'|'.join(LEVELS)})_)")
"""The number of a level, which the scorer puts before some keys when it looks for their images."""


def read_results(folder: Path, regions: Path | None = None) -> Iterator[ImportedReply]:
    """Yield the result in each ``<level>__<key>__eval_by__<judge>.json`` under `folder`, with its region count, if any.

    Raises:
        DataError: There are no results, they are of several judges, or the region counts cannot be read.
    """
    files = {file: match for file in sorted(folder.rglob("*.json")) if (match := NAME.fullmatch(file.name))}
    if not files:
        raise DataError("no <level>__<key>__eval_by__<judge>.json in this folder", file=folder)
    judges = sorted({match["judge"] for match in files.values()})
    if len(judges) > 1:
        raise DataError(f"results of several judges ({', '.join(judges)}): use a separate folder for each", file=folder)
    counts = {} if regions is None else read_regions(regions)
    for file, match in files.items():
        key = _NUMBERED.sub("", match["key"])
        evidence = {"regions": counts[key]} if key in counts else {}
        try:
            text = _reply(parse_json(file.read_bytes()), match["judge"])
        except (OSError, ValueError) as error:
            yield ImportedReply(key, (), file, fault=str(error), evidence=evidence)
        else:
            yield ImportedReply(key, ((FREE, text),), file, evidence=evidence)


def _reply(body: Any, judge: str) -> str:
    if not isinstance(body, dict) or not isinstance(text := body.get(judge), str):
        raise ValueError(f"no reply under the judge's name, {judge!r}")
    return text


def read_regions(file: Path) -> dict[str, int]:
    """Return the region counts in a file ``{key: {"region_count": n}}``, without negative ones.

    Raises:
        DataError: The file cannot be read, or a count is not a whole number.
    """
    try:
        body = parse_json(file.read_bytes())
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be read: {error}", file=file) from error
    if not isinstance(body, dict):
        raise DataError('expected an object {key: {"region_count": n}}', file=file)
    counts = {}
    for key, entry in body.items():
        count = entry.get("region_count") if isinstance(entry, dict) else None
        if not isinstance(count, int) or isinstance(count, bool):
            raise DataError('"region_count" must be a whole number', file=file, id=key)
        if count >= 0:
            counts[_NUMBERED.sub("", key)] = count
    return counts
