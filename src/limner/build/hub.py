"""The files of a data set that hubs and loaders read: the table of questions, the card and Croissant metadata."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.asks import Prompts
from ..core.exam import Exam

TEMPLATES = Path(__file__).parent / "templates"
PICTURED, PLAIN = "metadata.jsonl", "questions.jsonl"
"""The file with all questions: `datasets` joins the pictures to the first, which has the column ``file_name``."""
FIELDS = {
    "id": "the question's id",
    "prompt": "what a model is asked to draw",
    "rubric": "the criteria a drawing is marked by",
    "tags": "what the question belongs to",
    "file_name": "the reference image's path in this folder; null where it may not be passed on",
    "licence": "the reference image's licence",
    "origin": "where the reference image was found",
    "url": "its address",
    "subsets": "the named subsets that the question is in",
    "canary": "a mark by which this data can be found in training data",
}
"""The fields of a question; if the folder has no images, there is no ``file_name``."""


def table_name(exam: Exam[Any]) -> str:
    """Return the name of the file with all questions."""
    references = [question.reference for question in exam.questions]
    return PICTURED if any(reference and reference.path for reference in references) else PLAIN


def question_rows(
    folder: Path, exam: Exam[Any], rows: Sequence[Mapping[str, str]], canary: str
) -> Iterator[dict[str, Any]]:
    """Yield a row for every question; every exam has the same columns, rubric and tags are objects."""
    by_id = {row["id"]: row for row in rows}
    tags = sorted({tag for question in exam.questions for tag in question.tags})
    rubrics = {question.id: question.rubric.model_dump(mode="json") for question in exam.questions}
    texts = {path for path, (_, kind) in _leaves(rubrics.values()).items() if kind == "sc:Text"}
    pictured = table_name(exam) == PICTURED
    for question in exam.questions:
        source, reference = by_id.get(question.id, {}), question.reference
        path = reference.path if reference is not None else None
        picture = {"file_name": path.relative_to(folder).as_posix() if path is not None else None} if pictured else {}
        yield {
            "id": question.id, "prompt": question.prompt, "rubric": _as_text(rubrics[question.id], texts),
            "tags": {tag: question.tags.get(tag) for tag in tags}, **picture,
            **{name: source.get(name, "") for name in ("licence", "origin", "url")},
            "subsets": sorted(name for name, ids in exam.subsets.items() if question.id in ids), "canary": canary,
        }  # fmt: skip


def _as_text(value: Any, paths: Collection[tuple[str, ...]], path: tuple[str, ...] = ()) -> Any:
    """Return an object with the numbers at these paths as texts, since loaders take one type for each column."""
    if isinstance(value, dict):
        return {name: _as_text(part, paths, (*path, name)) for name, part in value.items()}
    if isinstance(value, list):
        return [_as_text(part, paths, path) for part in value]
    return str(value) if path in paths and type(value) in (int, float) else value


def card(recipe: str, exam: Exam[Any], facts: Mapping[str, str]) -> str:
    """Return the card of an exam for data set hubs."""
    table, size = table_name(exam), len(exam.questions)
    fields = {"name": facts["name"], "licence": facts["licence"], "canary": facts["canary"]}
    fields |= {"size": str(size), "kind": exam.kind, "recipe": recipe}
    files = [table]
    if table == PICTURED:
        files.append("data/images/**")
        fields |= {"held": "criteria and a reference image", "painter": "reference"}
        fields |= {"loaded": '"imagefolder", data_dir="."', "owned": " Each picture has its own, in `provenance.csv`."}
    else:
        fields |= {"held": "criteria", "painter": "text", "loaded": f'"json", data_files="{table}"', "owned": ""}
    heading = card_heading(facts, size, ["benchmark", "text-to-image", "limner"], files)
    return heading + Prompts(TEMPLATES).fill("card", **fields)


def card_heading(facts: Mapping[str, str], size: int, tags: Sequence[str], files: Sequence[str]) -> str:
    """Return the beginning of a data set's card, with its metadata and title."""
    bucket = next(word for most, word in ((1000, "n<1K"), (10_000, "1K<n<10K"), (10**9, "10K<n<100K")) if size < most)
    fields = {"name": facts["name"], "licence": facts["licence"].lower(), "size": bucket}
    return Prompts(TEMPLATES).fill("card-heading", **fields, tags=", ".join(tags), files=json.dumps(files))


def croissant(folder: Path, exam: Exam[Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of an exam folder, in Croissant 1.0 with its RAI part.

    Args:
        folder: The exam's folder, with the table of questions and the pictures.
        exam: The exam as read from that folder.
        facts: ``name``, ``licence``, ``version``, ``canary`` and, if the data set has an address, ``url``.
    """
    table = folder / table_name(exam)
    rows = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    files = [_file("cr:FileObject", table.name, "application/jsonlines", "one line for each question")]
    files[0] |= {"contentUrl": table.name, "sha256": hashlib.sha256(table.read_bytes()).hexdigest()}
    records = [_record_set("questions", "the questions of the exam", "id", list(_question_fields(table.name, rows)))]
    if pictures := sorted(name for row in rows if (name := row.get("file_name"))):
        files.append(_file("cr:FileSet", "image-files", "image/png", "the reference images") | {"includes": pictures})
        fields = [
            {**_field("images/file_name", "the image's path, as in questions/file_name"), **_image_source("fullpath")},
            {**_field("images/content", "the image", "sc:ImageObject"), **_image_source("content")},
        ]
        records.append(_record_set("images", "the reference images", "file_name", fields))
    static: dict[str, Any] = json.loads((TEMPLATES / "croissant.json").read_text(encoding="utf-8"))
    return static | {
        "name": facts["name"],
        "description": f"{len(exam.questions)} questions for text-to-image models, with criteria and reference images, "
        f"in the layout of the exam {exam.kind}; made with Limner.",
        "license": _licence_url(facts["licence"]),
        "version": facts["version"],
        **({"url": facts["url"]} if facts["url"] else {}),
        "citeAs": f"{facts['name']}, version {facts['version']}",
        "datePublished": facts["date"],
        "distribution": files,
        "recordSet": records,
    }


def _file(kind: str, name: str, form: str, about: str) -> dict[str, Any]:
    return {"@type": kind, "@id": name, "name": name, "encodingFormat": form, "description": about}


def _image_source(part: str) -> dict[str, Any]:
    return {"source": {"fileSet": {"@id": "image-files"}, "extract": {"fileProperty": part}}}


def _record_set(name: str, about: str, key: str, fields: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "key": {"@id": f"{name}/{key}"}, "description": about,
            "field": fields}  # fmt: skip


def _field(id: str, about: str, kind: str = "sc:Text") -> dict[str, Any]:
    name = id.rpartition("/")[2]
    return {"@type": "cr:Field", "@id": id, "name": name, "description": about, "dataType": kind}


def _question_fields(table: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the fields of the questions; tags and rubric have their texts and numbers as parts."""
    for name, about in FIELDS.items():
        if name not in rows[0]:
            continue
        id, source = f"questions/{name}", {"fileObject": {"@id": table}, "extract": {"column": name}}
        if not isinstance(rows[0][name], dict):
            repeated = {"repeated": True} if isinstance(rows[0][name], list) else {}
            yield {**_field(id, about), **repeated, "source": source}
            continue
        parts = [
            {**_field("/".join((id, *path)), " ".join(path), kind), **({"repeated": True} if repeated else {}),
             "source": {**source, "transform": [{"jsonPath": f"$.'{part}'"} for part in path]}}
            for path, (repeated, kind) in _leaves(row[name] for row in rows).items()
        ]  # fmt: skip
        yield {"@type": "cr:Field", "@id": id, "name": name, "description": about, "subField": parts}


Leaf = tuple[tuple[str, ...], tuple[bool, str]]
"""A path in an object to texts or numbers; whether it leads through a list, and their type."""


def _leaves(objects: Iterable[Any]) -> dict[tuple[str, ...], tuple[bool, str]]:
    """Return the leaves of all objects; where some have a text and others a number, the type is text."""
    leaves: dict[tuple[str, ...], tuple[bool, str]] = {}
    for path, kind in (leaf for each in objects for leaf in _walk(each, (), False)):
        leaves[path] = max(leaves.get(path, kind), kind)
    return leaves


def _walk(value: Any, path: tuple[str, ...], repeated: bool) -> Iterator[Leaf]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _walk(part, (*path, name), repeated)
    elif isinstance(value, list):
        for part in value:
            yield from _walk(part, path, True)
    elif value is not None:
        yield path, (repeated, "sc:Float" if type(value) in (int, float) else "sc:Text")


def _licence_url(name: str) -> str:
    """Return a licence for the metadata: the address of a Creative Commons licence, or the name of another.

    >>> _licence_url("CC-BY-SA-4.0")
    'https://creativecommons.org/licenses/by-sa/4.0/'
    """
    word = name.casefold()
    if word == "cc0-1.0":
        return "https://creativecommons.org/publicdomain/zero/1.0/"
    if word.startswith("cc-by"):
        terms, _, number = word.removeprefix("cc-").rpartition("-")
        return f"https://creativecommons.org/licenses/{terms}/{number}/"
    return f"https://spdx.org/licenses/{name}.html"
