"""The files of a data set that hubs and loaders read: the table of questions, the card and Croissant metadata."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.exam import Exam

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


def card(recipe: str, exam: Exam[Any], facts: Mapping[str, Any]) -> str:
    """Return the card of an exam for data set hubs."""
    table = table_name(exam)
    pictured = table == PICTURED
    held, painter = ("criteria and a reference image", "reference") if pictured else ("criteria", "text")
    owned = " Each picture has its own, in `provenance.csv`." if pictured else ""
    loaded = '"imagefolder", data_dir="."' if pictured else f'"json", data_files="{table}"'
    files = [table, *(["data/images/**"] if pictured else [])]
    return f"""{card_heading(facts, len(exam.questions), ["benchmark", "text-to-image", "limner"], files)}
{len(exam.questions)} questions for examining text-to-image models, each with {held}, in the layout of
the exam {exam.kind}. Made with Limner by the recipe {recipe}; `DATASHEET.md` says how, with counts.

```
limner exam check exam.toml
limner run exam.toml --painter control/{painter} --judge ocr
```

```python
from datasets import load_dataset
questions = load_dataset({loaded}, split="train")
```

Licence of questions and points: {facts["licence"]}.{owned} This data is for
examining models, not for training them. {facts["name"]} canary GUID {facts["canary"]}
"""


def card_heading(facts: Mapping[str, Any], size: int, tags: Sequence[str], files: Sequence[str]) -> str:
    """Return the beginning of a data set's card, with its metadata and title."""
    bucket = next(word for most, word in ((1000, "n<1K"), (10_000, "1K<n<10K"), (10**9, "10K<n<100K")) if size < most)
    return f"""---
pretty_name: {facts["name"]}
license: {facts["licence"].lower()}
language: [en]
task_categories: [text-to-image]
size_categories: [{bucket}]
tags: [{", ".join(tags)}]
configs:
- config_name: default
  data_files: {json.dumps(files)}
---

# {facts["name"]}
"""


CONTEXT: dict[str, Any] = {
    "@language": "en", "@vocab": "https://schema.org/", "citeAs": "cr:citeAs", "column": "cr:column",
    "conformsTo": "dct:conformsTo", "cr": "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"}, "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/", "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"}, "extract": "cr:extract",
    "field": "cr:field", "fileProperty": "cr:fileProperty", "fileObject": "cr:fileObject", "fileSet": "cr:fileSet",
    "format": "cr:format", "includes": "cr:includes", "isLiveDataset": "cr:isLiveDataset", "jsonPath": "cr:jsonPath",
    "key": "cr:key", "md5": "cr:md5", "parentField": "cr:parentField", "path": "cr:path", "recordSet": "cr:recordSet",
    "references": "cr:references", "regex": "cr:regex", "repeated": "cr:repeated", "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/", "separator": "cr:separator", "source": "cr:source", "subField": "cr:subField",
    "transform": "cr:transform",
}  # fmt: skip


def croissant(folder: Path, exam: Exam[Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of an exam folder, in Croissant 1.0 with its RAI part.

    Args:
        folder: The exam's folder, with the table of questions and the pictures.
        exam: The exam as read from that folder.
        facts: ``name``, ``licence``, ``version``, ``canary`` and, if the data set has an address, ``url``.
    """
    table = folder / table_name(exam)
    rows = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    hashed = hashlib.sha256(table.read_bytes()).hexdigest()
    files: list[dict[str, Any]] = [
        {"@type": "cr:FileObject", "@id": table.name, "name": table.name, "contentUrl": table.name, "sha256": hashed,
         "encodingFormat": "application/jsonlines", "description": "one line for each question"},
    ]  # fmt: skip
    records = [_record_set("questions", "the questions of the exam", "id", list(_question_fields(table.name, rows)))]
    if pictures := sorted(name for row in rows if (name := row.get("file_name"))):
        files.append({"@type": "cr:FileSet", "@id": "image-files", "name": "image-files", "encodingFormat": "image/png",
                      "includes": pictures, "description": "the reference images"})  # fmt: skip
        records.append(_record_set("images", "the reference images", "file_name", [
            {**_field("images/file_name", "the image's path, as in questions/file_name"),
             "source": {"fileSet": {"@id": "image-files"}, "extract": {"fileProperty": "fullpath"}}},
            {**_field("images/content", "the image", "sc:ImageObject"),
             "source": {"fileSet": {"@id": "image-files"}, "extract": {"fileProperty": "content"}}},
        ]))  # fmt: skip
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": facts["name"],
        "description": f"{len(exam.questions)} questions for text-to-image models, with criteria and reference images, "
        f"in the layout of the exam {exam.kind}; made with Limner.",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "license": _licence_url(facts["licence"]),
        "version": facts["version"],
        **({"url": facts["url"]} if facts.get("url") else {}),
        "citeAs": f"{facts['name']}, version {facts['version']}",
        "datePublished": facts["date"],
        "isLiveDataset": False,
        "rai:dataCollection": "Pictures were gathered, filtered by rules and ratings, and turned into questions by the "
        "steps that DATASHEET.md counts.",
        "rai:dataUseCases": "Examining text-to-image models. Not for training: the canary marks it.",
        "rai:personalSensitiveInformation": "None is sought; pictures are diagrams and figures.",
        "distribution": files,
        "recordSet": records,
    }  # fmt: skip


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
