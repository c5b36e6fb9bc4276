"""A simple layout of data: JSON lists and JSON lines with named columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from ...core.data_files import Problems, files_under, find_reference, json_rows
from ...core.exam import Reference
from ...core.schema import StrictModel


class DataLayout(StrictModel):
    """The part of an exam.toml that says where the data is and what its columns mean."""

    data: str = "data"
    columns: dict[str, Any] = Field(default_factory=dict)
    tags: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True)
class Record:
    """One record of the data."""

    id: str
    prompt: str
    tags: Mapping[str, str] = field(default_factory=dict)
    reference: Reference | None = None
    inputs: tuple[Reference, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""


@dataclass(frozen=True)
class Records:
    """All records of the data."""

    records: tuple[Record, ...]
    notes: tuple[str, ...] = ()


def find_value(row: Mapping[str, Any], name: str) -> Any:
    """Return the value of a column, compared without case, or at a path such as ``a.b``; None if there is none."""
    if name in row:
        return row[name]
    wanted = name.casefold()
    for column, value in row.items():
        if column.casefold() == wanted:
            return value
    head, dot, rest = name.partition(".")
    inside = find_value(row, head) if dot else None
    return find_value(inside, rest) if isinstance(inside, Mapping) else None


def read_records(path: Path, layout: DataLayout, problems: Problems) -> Records:
    """Return the records of a file or folder."""
    folder = path if path.is_dir() else path.parent
    return Records(tuple(_records(path, folder, layout, problems)))


def _records(path: Path, folder: Path, layout: DataLayout, problems: Problems) -> Iterator[Record]:
    used = {word: layout.columns.get(word, word) for word in ("id", "prompt")}
    pictures = layout.columns.get("inputs", [])
    pictures = [pictures] if isinstance(pictures, str) else pictures
    for file in files_under(path, "*.json", "*.jsonl"):
        for line, row in json_rows(file, problems):
            id, prompt = (find_value(row, used[word]) for word in ("id", "prompt"))
            if id is None or not isinstance(prompt, str):
                problems.add(f"a row needs the columns {used['id']} and {used['prompt']}", file, line)
                continue
            names = [find_value(row, column) for column in pictures]
            reference = find_value(row, layout.columns.get("reference", "")) or None
            apart = {*used.values(), *pictures, layout.columns.get("reference")}
            yield Record(
                str(id),
                prompt,
                {tag: str(value) for tag, column in layout.tags.items() if (value := find_value(row, column))},
                find_reference(folder, reference) if reference else None,
                tuple(find_reference(folder, name) for name in names if name),
                {name: value for name, value in row.items() if name not in apart},
                f"{file.name}:{line}",
            )


_BULLET = re.compile(r"^\s*(?:[-*•]|\(?\d{1,3}[.):])\s+")


def read_list(value: Any) -> list[Any]:
    """Return the entries of a list in a cell; empty if there is nothing."""
    if value is None or value == "":
        return []
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, str):
        if value.lstrip()[:1] in ("[", "{"):
            try:
                return read_list(json.loads(value))
            except ValueError:
                pass
        return [_BULLET.sub("", line).strip() for line in value.splitlines() if line.strip()]
    return [value]
