"""Croissant metadata of an exam folder: what is in it, for programs that know nothing of Limner."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core.exam import Exam

CONTEXT: dict[str, Any] = {
    "@language": "en", "@vocab": "https://schema.org/", "citeAs": "cr:citeAs", "column": "cr:column",
    "conformsTo": "dct:conformsTo", "cr": "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"}, "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/", "examples": {"@id": "cr:examples", "@type": "@json"}, "extract": "cr:extract",
    "field": "cr:field", "fileProperty": "cr:fileProperty", "fileObject": "cr:fileObject", "fileSet": "cr:fileSet",
    "format": "cr:format", "includes": "cr:includes", "isLiveDataset": "cr:isLiveDataset", "jsonPath": "cr:jsonPath",
    "key": "cr:key", "md5": "cr:md5", "parentField": "cr:parentField", "path": "cr:path", "recordSet": "cr:recordSet",
    "references": "cr:references", "regex": "cr:regex", "repeated": "cr:repeated", "replace": "cr:replace",
    "sc": "https://schema.org/", "separator": "cr:separator", "source": "cr:source", "subField": "cr:subField",
    "transform": "cr:transform",
}  # fmt: skip
FIELDS = {
    "id": "the question's id",
    "prompt": "what a model is asked to draw",
    "rubric": "the criteria a drawing is marked by, as JSON",
    "tags": "what the question belongs to, as JSON",
    "image": "the reference image's path in this folder; empty where it may not be passed on",
    "licence": "the reference image's licence",
    "origin": "where the reference image was found",
    "url": "its address",
    "subsets": "the named subsets that the question is in",
    "canary": "a mark by which this data can be found in training data",
}
"""The fields of ``questions.jsonl``."""


def croissant(folder: Path, exam: Exam[Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of an exam folder, in Croissant 1.0 with its RAI part.

    Args:
        folder: With ``questions.jsonl`` and the pictures in ``data``.
        exam: As it is read from there.
        facts: ``name``, ``licence``, ``version``, ``canary`` and how many pictures are ``withheld``.
    """
    table = folder / "questions.jsonl"
    hashed = hashlib.sha256(table.read_bytes()).hexdigest()
    files: list[dict[str, Any]] = [
        {"@type": "cr:FileObject", "@id": table.name, "name": table.name, "contentUrl": table.name, "sha256": hashed,
         "encodingFormat": "application/jsonlines", "description": "one line for each question"},
    ]  # fmt: skip
    fields = [
        {"@type": "cr:Field", "@id": f"questions/{name}", "name": name, "description": about, "dataType": "sc:Text",
         "source": {"fileObject": {"@id": table.name}, "extract": {"column": name}}}
        for name, about in FIELDS.items()
    ]  # fmt: skip
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": facts["name"],
        "description": f"{len(exam.questions)} questions for text-to-image models, with criteria and reference images, "
        f"in the layout of the exam {exam.kind}; made with Limner.",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "license": _licence_url(facts["licence"]),
        "version": facts["version"],
        "url": "https://example.org/" + facts["name"],
        "citeAs": f"{facts['name']}, version {facts['version']}",
        "datePublished": facts["date"],
        "isLiveDataset": False,
        "rai:dataCollection": "Pictures were gathered, filtered by rules and ratings, and turned into questions by the "
        "steps that DATASHEET.md counts.",
        "rai:dataUseCases": "Examining text-to-image models. Not for training: the canary marks it.",
        "rai:personalSensitiveInformation": "None is sought; pictures are diagrams and figures.",
        "distribution": files,
        "recordSet": [
            {"@type": "cr:RecordSet", "@id": "questions", "name": "questions", "key": {"@id": "questions/id"},
             "description": "the questions of the exam", "field": fields},
        ],
    }  # fmt: skip


def _licence_url(name: str) -> str:
    """A licence as metadata has it: the address of a Creative Commons one, others by their name.

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
