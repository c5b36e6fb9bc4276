"""Exams that are data: an ``exam.toml``, prompts in Markdown and data files, without code of their own."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.data_files import Columns
from ...core.errors import StoreError
from ...core.exam import Exam
from .checks import read_definition
from .criteria import RubricQuestion, question_sheet
from .data import read_questions, read_results
from .protocol import RubricExam

if TYPE_CHECKING:
    from .. import ImportedReply, Kind

FILE = "exam.toml"
_FILE_NAME = re.compile(r"exam\.toml|\w[\w.-]*/\w[\w.-]*\.md")
_OWN: dict[str, Kind[Any]] = {}
"""Hash of its files -> an exam of the user's own."""


def load_declared(path: Path) -> Kind[Any]:
    """Return the exam that an ``exam.toml`` declares; the folder of the file may have what other exams have too.

    Raises:
        DataError: The file is wrong; the message has the line of every problem.
    """
    from .. import Kind, usual_parts

    definition, folder = read_definition(path), path.parent

    def read(data: Path, name: str, columns: Columns) -> Exam[RubricQuestion]:
        return read_questions(data, name, definition.with_columns(columns), path)

    def read_released(results: Path) -> Iterator[ImportedReply]:
        return read_results(results, definition)

    kind = Kind(
        **usual_parts(folder, definition.prompts),
        name=definition.name,
        title=definition.title,
        rubric=RubricQuestion,
        protocol=RubricExam(definition),
        read=read,
        read_results=read_released if definition.results else None,
        licence=definition.licence,
        statistics={"criteria": lambda question: len(question_sheet(definition, question).criteria)},
    )
    return replace(kind, presets=definition.presets)


def __getattr__(name: str) -> Any:
    """Return the exam that Limner ships as the ``exam.toml`` in the folder of this name."""
    path = Path(__file__).parents[1] / name / FILE
    if name.startswith("_") or not path.is_file():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load_declared(path)


def data_path(path: Path, kind: Kind[Any]) -> Path:
    """Return the place of the data of an exam declared in the file at `path`."""
    assert isinstance(kind.protocol, RubricExam)
    return path.parent / kind.protocol.definition.data.path


def load_own(path: Path) -> Kind[Any]:
    """Return the user's own exam in an ``exam.toml``, with the files that it needs in a store."""
    kind = load_declared(path)
    files = {FILE: path.read_text(encoding="utf-8")}
    for template in sorted(kind.prompts.glob("*.md")):
        files[f"{kind.prompts.name}/{template.name}"] = template.read_text(encoding="utf-8")
    kind = _OWN[_hash(files)] = replace(kind, files=files)
    return kind


def open_stored(files: Mapping[str, str]) -> Kind[Any]:
    """Return the user's own exam from the files that a store keeps."""
    if (kind := _OWN.get(_hash(files))) is not None:
        return kind
    folder = Path(_folder().name) / _hash(files)
    for name, text in files.items():
        if not _FILE_NAME.fullmatch(name):
            raise StoreError(f"an exam of the store has a file with the name {name[:80]!r}")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return load_own(folder / FILE)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder that is deleted when the process ends."""
    return tempfile.TemporaryDirectory(prefix="limner-exam-")


def _hash(files: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:16]
