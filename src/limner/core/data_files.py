"""Reading of questions and reference images from data files, with every problem reported by file, line and id."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import AliasChoices, BaseModel, ValidationError

from .data_rows import TABLES, EmbeddedImage, Problems, Rows, read_rows, shorten
from .errors import UsageError
from .exam import Question, R, Reference
from .images import BadImage, inspect
from .schema import LONE_SURROGATE, M

# Exams in other packages import `Id` and `Words` from here.
from .schema import Id as Id
from .schema import Words as Words

Columns = Mapping[str, str]
"""Our name of a column -> its name in the data."""


def read_questions(
    path: Path,
    model: type[M],
    make: Callable[[M, Path], Iterable[Question[R]]],
    *,
    files: Sequence[Path] | None = None,
    rows: Callable[[Path, Problems], Rows] = read_rows,
    columns: Columns | None = None,
    key: str = "id",
    nothing: str = "no question in this file",
) -> tuple[Question[R], ...]:
    """Return the questions made from all rows.

    Args:
        path: The file, or the folder that contains `files`.
        model: The model of a row.
        make: Makes the questions of a row, given its file; raises ValueError if the row is invalid.
        files: The files to read, if `path` is a folder.
        rows: Reads one file.
        columns: Other names of columns; names are compared without case in any event.
        key: The column that identifies a row.
        nothing: The message if there are no rows.

    Raises:
        DataError: Something is wrong; the message has file, line and id of every problem.
        UsageError: `columns` has a name that the model lacks, or a file is Parquet and polars is not installed.
    """
    problems, places, questions = Problems(), dict[str, str](), list[Question[R]]()
    columns, absent = columns or {}, {column.casefold(): column for column in (columns or {}).values()}
    if unknown := sorted(columns.keys() - field_names(model)):
        raise UsageError(f"--columns: no column {unknown[0]!r} is needed; choose from: {', '.join(field_names(model))}")
    for file in [path] if files is None else files:
        for line, body in rows(file, problems):
            absent = {name: column for name, column in absent.items() if name not in map(str.casefold, body)}
            row = parse_row(model, rename_columns(body, model, columns), problems, file, line, key)
            if row is None:
                continue
            id = getattr(row, key)
            if id in places:
                problems.add(f"this {key} is already used in {places[id]}", file, line, id)
                continue
            within = file.relative_to(path) if path in file.parents else file.name
            places[id] = f"line {line}" if files is None else f"{within}:{line}"
            try:
                questions += make(row, file)
            except ValueError as error:
                problems.add(str(error), file, line, id)
    for column in absent.values():
        problems.add(f"no row has a column {column!r}", path)
    if not questions and not problems.found:
        problems.add(nothing, path)
    problems.settle()
    return tuple(questions)


def files_under(path: Path, *patterns: str) -> list[Path]:
    """Return `path` itself if it is a file, or the sorted files under it that match; by default, all data files."""
    patterns = patterns or tuple(f"*{suffix}" for suffix in TABLES)
    return sorted(file for pattern in patterns for file in path.rglob(pattern)) if path.is_dir() else [path]


def data_file(path: Path, name: str | Path) -> Path:
    """Return `path` itself if it is a file, or the data file `name` in this folder, in whatever format it is."""
    if path.is_file() or (path / name).is_file():
        return path if path.is_file() else path / name
    others = ((path / name).with_suffix(suffix) for suffix in TABLES)
    return next((file for file in others if file.is_file()), path / name)


def parse_row(
    model: type[M], row: dict[str, Any], problems: Problems, file: Path, line: int, key: str = "id"
) -> M | None:
    """Return the validated row, or record every wrong field and return None; `key` is the column with the id.

    Lists and objects may also be JSON text, as in the cells of a table.
    """
    try:
        return model.model_validate(row)
    except ValidationError as error:
        texts = {str(issue["loc"][0]) for issue in error.errors() if issue["loc"]}
        if parsed := {name: value for name in texts if (value := parse_json_text(row.get(name))) is not None}:
            return parse_row(model, row | parsed, problems, file, line, key)
        name = row.get(key)
        for issue in error.errors(include_url=False, include_input=False)[:5]:
            place = _path_to(row, issue["loc"])
            message = issue["msg"].removeprefix("Value error, ")
            if issue["type"] == "missing" and len(issue["loc"]) == 1:
                message = f"{message}; the columns are {shorten(', '.join(row)) or 'empty'}"
            id = shorten(name) if isinstance(name, str) else None
            problems.add(f"{place}: {message}" if place else message, file, line, id)
        return None


def parse_json_text(value: object) -> list[Any] | dict[str, Any] | None:
    """Return the list or object that is written in a text as JSON; None if it is not such a text."""
    if not (isinstance(value, str) and value.lstrip().startswith(("[", "{"))):
        return None
    try:
        return json.loads(value)  # type: ignore[no-any-return]
    except (ValueError, RecursionError):
        return None


def rename_columns(row: dict[str, Any], model: type[BaseModel], columns: Columns) -> dict[str, Any]:
    """Return a row whose columns have the names of the model's fields: those of `columns`, or equal but for case."""
    names = {name.casefold(): name for name in field_names(model)}
    names |= {column.casefold(): name for name, column in columns.items()}
    renamed = {name: value for column, value in row.items() if (name := names.get(column.casefold(), column)) != column}
    kept = {column: value for column, value in row.items() if names.get(column.casefold(), column) == column}
    return renamed | kept | {name: renamed[name] for name in columns if name in renamed}


def field_names(model: type[BaseModel]) -> list[str]:
    """Return the names of the columns that a model reads, with their other spellings."""
    names = []
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        names += [str(choice) for choice in alias.choices] if isinstance(alias, AliasChoices) else [name]
    return names


def _path_to(row: object, path: tuple[int | str, ...]) -> str:
    """Return the path to a wrong value in a row; list items are identified by their id if they have one."""
    names = []
    for part in path:
        try:
            row = row[part]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            row = None
        own = row.get("id") if isinstance(part, int) and isinstance(row, dict) else None
        names.append(shorten(own) if isinstance(own, str) and own else str(part))
    return ".".join(names)


def find_reference(folder: Path, name: str) -> Reference:
    """Return the reference image `name` under `folder`; an absent image is not an error.

    Raises:
        ValueError: The name leaves the folder.
        BadImage: The file is not an image, or too large.
    """
    pure = PurePosixPath(name)
    if LONE_SURROGATE.search(name):
        raise ValueError("image path contains half of a surrogate pair")
    if leaves_folder(name):
        raise ValueError(f"image path {shorten(name)!r} leaves the folder {folder}")
    path = folder / pure
    try:
        if not path.is_file():
            return Reference(name)
        if _is_linked(folder, pure) and not path.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"image path {shorten(name)!r} leaves the folder {folder} through a link")
        inspect(path)
    except BadImage as error:
        raise type(error)(f"image {path}: {error}") from error
    except OSError as error:
        raise ValueError(f"image {shorten(name)!r} cannot be read: {error.strerror or error}") from error
    return Reference(name, path)


def embedded_reference(image: EmbeddedImage, name: str) -> Reference:
    """Return the reference image that is embedded in a data file.

    Raises:
        BadImage: It is not an image, or too large.
    """
    data = image.load()
    try:
        inspect(data)
    except BadImage as error:
        raise type(error)(f"image {name}: {error}") from error
    return Reference(name, None, hashlib.sha256(data).hexdigest(), image.load)


def leaves_folder(name: str) -> bool:
    """Return whether a path in the data names nothing inside its folder."""
    pure = PurePosixPath(name)
    return pure.is_absolute() or ".." in pure.parts or "\\" in name or "\0" in name or not pure.parts


def _is_linked(folder: Path, below: PurePosixPath) -> bool:
    """Return whether the path from the folder to something below it contains a symbolic link."""
    at = str(folder)
    for part in below.parts:
        at = os.path.join(at, part)
        if os.path.islink(at):
            return True
    return False


def note_absent(questions: Sequence[Question[Any]], words: str, what: str = "reference images") -> list[str]:
    """Return a note on the questions that have no reference image, or whose image is absent, if there are any."""
    absent = sum(q.reference is None or not (q.reference.path or q.reference.load) for q in questions)
    return [f"{absent} of {len(questions)} {what} are absent: {words}"] if absent else []


def write_json_lines(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as JSON lines."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
