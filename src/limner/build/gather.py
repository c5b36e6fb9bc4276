"""The sources of a build's pictures: folders, tables such as those of `datasets`, lists of links."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.data_files import Problems, json_rows, read_lines
from ..core.errors import PARQUET, DataError, UsageError, check_tables
from ..core.images import SUFFIXES

PICTURES = frozenset(f".{suffix}" for suffix in (*SUFFIXES.values(), "jpeg"))
TEXTS = (".txt", ".md")
BATCH = 64
"""The number of rows of a table that are read at a time."""
COLUMN_NAMES = {
    "text": ("source_text", "text", "caption", "description", "alt", "lecture"),
    "licence": ("licence", "license"),
    "credit": ("credit", "author", "attribution"),
    "page": ("page", "page_url", "source", "source_url"),
    "title": ("title", "name"),
    "keyword": ("keyword", "query", "topic"),
    "prompt": ("prompt", "free_prompt", "expert_prompt"),
}
"""Field of a picture -> the columns that may contain it, by precedence."""
PICTURE_COLUMNS = ("image", "picture", "img")
LINK_COLUMNS = ("url", "image_url", "link")


@dataclass(frozen=True)
class SourcePicture:
    """A picture of a source: its bytes, a file or a link, with its metadata.

    Attributes:
        origin: The place where it was found, for provenance.
        about: ``text``, ``licence``, ``credit``, ``page``, ``title``, ``keyword``, ``prompt``, as far as known.
    """

    origin: str
    data: bytes | None = None
    file: Path | None = None
    link: str | None = None
    about: Mapping[str, str] = field(default_factory=dict)


def from_folder(folder: Path) -> Iterator[SourcePicture]:
    """Yield every picture in a folder and its subfolders, with the text in files of the same name.

    ``cell.txt`` or ``cell.md`` next to ``cell.png`` is its source text, ``cell.prompt.txt`` or ``cell.prompt.md`` the
    prompt that an expert wrote for it. ``cell.json`` may have more fields, named as in `COLUMN_NAMES`; so may
    ``metadata.jsonl`` for all pictures (by ``file_name``), as `datasets` writes it for folders.

    Raises:
        UsageError: There is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder of pictures")
    metadata = _metadata(folder / "metadata.jsonl")
    for file in sorted(folder.rglob("*")):
        if file.suffix.lower() not in PICTURES or not file.is_file():
            continue
        name = file.relative_to(folder).as_posix()
        about = dict(metadata.get(name, {}))
        for suffix in TEXTS:
            if (beside := file.with_suffix(suffix)).is_file():
                about["text"] = "\n".join(read_lines(beside)).strip()
            if (beside := file.with_suffix(f".prompt{suffix}")).is_file():
                about["prompt"] = "\n".join(read_lines(beside)).strip()
        if (beside := file.with_suffix(".json")).is_file():
            try:
                about |= _about(json.loads("\n".join(read_lines(beside))))
            except (ValueError, AttributeError) as error:
                raise DataError(f"not a JSON object: {error}", file=beside) from error
        yield SourcePicture(f"{folder.name}/{name}", file=file, about=about)


def _metadata(file: Path) -> dict[str, dict[str, str]]:
    if not file.is_file():
        return {}
    problems = Problems()
    rows = {str(row.get("file_name")): _about(row) for _, row in json_rows(file, problems)}
    problems.settle()
    return rows


def _about(row: Mapping[str, Any]) -> dict[str, str]:
    fields = {}
    for name, columns in COLUMN_NAMES.items():
        for column in columns:
            value = row.get(column)
            if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
                value = "\n".join(value)
            if isinstance(value, str) and value.strip():
                fields[name] = value.strip()
                break
    if "text" not in fields and isinstance(row.get("question"), str):
        # Question and answer replace the text of a textbook page.
        parts = [
            str(row[part]) for part in ("question", "choices", "answer", "explanation", "solution") if row.get(part)
        ]
        fields["text"] = "\n".join(parts)
    return fields


def from_table(path: Path) -> Iterator[SourcePicture]:
    """Yield every picture in a table (parquet of `datasets`, CSV, JSON lines) or a folder saved by `datasets`.

    A picture is bytes, ``{"bytes", "path"}``, or a file's path relative to the table's folder.

    Raises:
        UsageError: It cannot be read, or has no column of pictures.
    """
    for number, row in _table_rows(path):
        column = next((name for name in PICTURE_COLUMNS if row.get(name) is not None), None)
        link = next((row[name] for name in LINK_COLUMNS if isinstance(row.get(name), str)), None)
        origin = f"{path.name}:{number}"
        if column is None and link is None:
            raise UsageError(f"{path}: row {number} has no picture; columns for it: {', '.join(PICTURE_COLUMNS)}")
        value = row.get(column) if column else None
        if isinstance(value, Mapping):
            value = value.get("bytes") or value.get("path")
        if isinstance(value, bytes):
            yield SourcePicture(origin, data=value, about=_about(row))
        elif isinstance(value, str) and value:
            yield SourcePicture(origin, file=_inside(path, value), about=_about(row))
        elif link is not None:
            yield SourcePicture(origin, link=link, about=_about(row))
        else:
            raise UsageError(f"{path}: row {number}: {column} has no picture")


def _inside(table: Path, name: str) -> Path:
    folder = (table if table.is_dir() else table.parent).resolve()
    file = (folder / name).resolve()
    if not file.is_relative_to(folder):
        raise UsageError(f"{table}: the picture {name[:80]!r} lies outside the table's folder")
    return file


def _table_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if path.is_dir():
        yield from _saved(path)
    elif path.suffix == PARQUET:
        yield from _parquet(path)
    elif path.suffix == ".csv":
        import csv
        import io

        # Not line by line: a quoted text may span several lines.
        yield from enumerate(csv.DictReader(io.StringIO("\n".join(read_lines(path)), newline="")), 2)
    elif path.suffix in (".jsonl", ".json"):
        problems = Problems()
        yield from json_rows(path, problems)
        problems.settle()
    else:
        raise UsageError(f"{path}: a table is a .parquet, .csv, .json or .jsonl file, or a folder saved by `datasets`")


def _parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    check_tables([path])
    import polars

    try:
        table = polars.scan_parquet(path)
        whole = table.select(polars.len()).collect().item()
        for start in range(0, whole, BATCH):
            rows = table.slice(start, BATCH).collect().iter_rows(named=True)
            yield from enumerate(rows, start)
    except (polars.exceptions.PolarsError, OSError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error


def _saved(folder: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a folder that `datasets` saved; pictures as bytes."""
    try:
        import datasets
    except ImportError as error:
        raise UsageError(f"{folder}: install the package that saved it: pip install 'limner[datasets]'") from error
    try:
        dataset = datasets.load_from_disk(str(folder))
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder}: not saved by `datasets`: {error}") from error
    for split in dataset.values() if isinstance(dataset, datasets.DatasetDict) else [dataset]:
        for name, feature in split.features.items():
            if isinstance(feature, datasets.Image):
                split = split.cast_column(name, datasets.Image(decode=False))
        yield from enumerate(split)
