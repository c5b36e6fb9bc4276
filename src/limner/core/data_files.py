"""Reading of questions and reference images from data files, with every problem reported by file, line and id."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError

from .errors import DataError
from .exam import Question, R, Reference
from .images import BadImage, inspect
from .schema import LONE_SURROGATE, M

# Exams in other packages import `Id` and `Words` from here.
from .schema import Id as Id
from .schema import Words as Words

Rows = Iterator[tuple[int, dict[str, Any]]]
"""The line number and columns of each row of a file."""
_ITEM_GAP = re.compile(r"[\s,]*+")


def read_lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 file."""
    return list(stream_lines(path))


def stream_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, one at a time."""
    try:
        with path.open("rb") as file:
            done = 0
            for number, data in enumerate(file, 1):
                data = data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data
                try:
                    yield data.decode().removesuffix("\n")
                except UnicodeDecodeError as error:
                    raise DataError(f"not UTF-8 (byte {done + error.start})", file=path, line=number) from error
                done += len(data)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=path) from error


def json_lines(path: Path, problems: Problems, broken: Problems | None = None) -> Rows:
    """Yield the number and object of each line; other lines go to `problems`, or to `broken` if they are not JSON."""
    for number, line in enumerate(stream_lines(path), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            (problems if broken is None else broken).add(f"not JSON: {error}", path, number)
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            problems.add(f"expected a JSON object, not {type(row).__name__}", path, number)


def json_rows(path: Path, problems: Problems) -> Rows:
    """Yield the line number and object of each entry in a file of JSON lines or with one JSON list."""
    first = next((line for line in stream_lines(path) if line.strip()), "")
    if not first.lstrip().startswith("["):
        yield from json_lines(path, problems)
        return
    text = "\n".join(read_lines(path))
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        problems.add(f"not JSON: {error}", path, getattr(error, "lineno", None))
        return
    decoder, line, done = json.JSONDecoder(), 1, 0
    at = text.index("[") + 1
    while (gap := _ITEM_GAP.match(text, at)) and text[gap.end()] != "]":
        row, at = decoder.raw_decode(text, gap.end())
        line, done = line + text.count("\n", done, gap.end()), gap.end()
        if isinstance(row, dict):
            yield line, row
        else:
            problems.add(f"expected a JSON object, not {type(row).__name__}", path, line)


def read_questions(
    path: Path,
    model: type[M],
    make: Callable[[M, Path], Iterable[Question[R]]],
    *,
    files: Sequence[Path] | None = None,
    rows: Callable[[Path, Problems], Rows] = json_lines,
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
        key: The column that identifies a row.
        nothing: The message if there are no rows.

    Raises:
        DataError: Something is wrong; the message has file, line and id of every problem.
    """
    problems, places, questions = Problems(), dict[str, str](), list[Question[R]]()
    for file in [path] if files is None else files:
        for line, body in rows(file, problems):
            row = parse_row(model, body, problems, file, line, key)
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
    if not questions and not problems.found:
        problems.add(nothing, path)
    problems.settle()
    return tuple(questions)


def files_under(path: Path, *patterns: str) -> list[Path]:
    """Return `path` itself if it is a file, or the sorted files under it whose names match the patterns."""
    return sorted(file for pattern in patterns for file in path.rglob(pattern)) if path.is_dir() else [path]


MAX_PROBLEMS_SHOWN = 20
MAX_TEXT_SHOWN = 80


def shorten(text: str) -> str:
    """Shorten a text so that it fits into a message."""
    return text if len(text) <= MAX_TEXT_SHOWN else f"{text[:MAX_TEXT_SHOWN]}… ({len(text):,} characters)"


class Problems:
    """The problems of a data set, collected to be reported together."""

    def __init__(self) -> None:
        self.found: list[DataError] = []

    def add(self, message: str, file: Path, line: int | None = None, id: str | None = None) -> None:
        """Record a problem."""
        self.found.append(DataError(message, file=file, line=line, id=id))

    def settle(self) -> None:
        """Raise an error if there are any problems.

        Raises:
            DataError: There are problems; several are listed in one message.
        """
        if len(self.found) == 1:
            raise self.found[0]
        if self.found:
            shown = [str(problem) for problem in self.found[:MAX_PROBLEMS_SHOWN]]
            if len(self.found) > MAX_PROBLEMS_SHOWN:
                shown.append(f"… and {len(self.found) - MAX_PROBLEMS_SHOWN} more")
            raise DataError(f"{len(self.found)} problems:\n  " + "\n  ".join(shown))


def parse_row(
    model: type[M], row: dict[str, Any], problems: Problems, file: Path, line: int, key: str = "id"
) -> M | None:
    """Return the validated row, or record every wrong field and return None; `key` is the column with the id."""
    try:
        return model.model_validate(row)
    except ValidationError as error:
        name = row.get(key)
        for issue in error.errors(include_url=False, include_input=False)[:5]:
            place = _path_to(row, issue["loc"])
            message = issue["msg"].removeprefix("Value error, ")
            id = shorten(name) if isinstance(name, str) else None
            problems.add(f"{place}: {message}" if place else message, file, line, id)
        return None


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
        ValueError: The name leaves the folder, or the file is not an image.
    """
    pure = PurePosixPath(name)
    if LONE_SURROGATE.search(name):
        raise ValueError("image path contains half of a surrogate pair")
    if pure.is_absolute() or ".." in pure.parts or "\\" in name or "\0" in name or not pure.parts:
        raise ValueError(f"image path {shorten(name)!r} leaves the folder {folder}")
    path = folder / pure
    try:
        if not path.is_file():
            return Reference(name)
        if _is_linked(folder, pure) and not path.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"image path {shorten(name)!r} leaves the folder {folder} through a link")
        inspect(path)
    except BadImage as error:
        raise ValueError(f"image {path}: {error}") from error
    except OSError as error:
        raise ValueError(f"image {shorten(name)!r} cannot be read: {error.strerror or error}") from error
    return Reference(name, path)


def find_input(folder: Path, name: str) -> Reference:
    """Return the input picture `name` under `folder`, which must exist.

    Raises:
        ValueError: It is absent, the name leaves the folder, or the file is not an image.
    """
    picture = find_reference(folder, name)
    if picture.path is None:
        raise ValueError(f"input picture {shorten(name)!r} is not in {folder}")
    return picture


def _is_linked(folder: Path, below: PurePosixPath) -> bool:
    """Return whether the path from the folder to something below it contains a symbolic link."""
    at = str(folder)
    for part in below.parts:
        at = os.path.join(at, part)
        if os.path.islink(at):
            return True
    return False


def absent_references(questions: Iterable[Question[Any]]) -> int:
    """Count the questions that have no reference image, or whose image is absent."""
    return sum(q.reference is None or not (q.reference.path or q.reference.load) for q in questions)
