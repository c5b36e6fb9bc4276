"""Data files into questions: their rows, the reference images they name, and every problem by file, line and id."""

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
from .schema import HALF_PAIR, M

# As `Id` and `Words`: for exams of other packages.
from .schema import Id as Id
from .schema import Words as Words

Rows = Iterator[tuple[int, dict[str, Any]]]
"""Line number and columns of each row of a file."""
_BETWEEN = re.compile(r"[\s,]*+")


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
    """Line number and object of each line that holds one; the others become problems, or `broken` if no JSON at all."""
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
            problems.add(f"a JSON object is wanted, not {type(row).__name__}", path, number)


def json_rows(path: Path, problems: Problems) -> Rows:
    """Line number and object of each entry of a file that holds one JSON list, or JSON lines."""
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
    while (gap := _BETWEEN.match(text, at)) and text[gap.end()] != "]":
        row, at = decoder.raw_decode(text, gap.end())
        line, done = line + text.count("\n", done, gap.end()), gap.end()
        if isinstance(row, dict):
            yield line, row
        else:
            problems.add(f"a JSON object is wanted, not {type(row).__name__}", path, line)


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
    """Return the questions of all rows.

    Args:
        path: The file, or the folder of several `files`.
        model: The shape of a row.
        make: The questions of a row, given its file; what it cannot make them of is a ValueError.
        files: The files, where `path` is not the only one.
        rows: Reads one file.
        key: The column that tells rows apart.
        nothing: What is said where there is no row at all.

    Raises:
        DataError: With file, line and id of everything that is wrong.
    """
    problems, places, questions = Problems(), dict[str, str](), list[Question[R]]()
    for file in [path] if files is None else files:
        for line, body in rows(file, problems):
            row = parse_row(model, body, problems, file, line, key)
            if row is None:
                continue
            id = getattr(row, key)
            if id in places:
                problems.add(f"this {key} stands already in {places[id]}", file, line, id)
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
    """Return the file `path` itself, or all files of these names under the folder `path`, in order."""
    return sorted(file for pattern in patterns for file in path.rglob(pattern)) if path.is_dir() else [path]


SHOWN = 20
LONGEST = 80


def short(text: str) -> str:
    """As much of a text as a message can bear."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"


class Problems:
    """Collects what is wrong with a data set, so that one look shows all of it."""

    def __init__(self) -> None:
        self.found: list[DataError] = []

    def add(self, message: str, file: Path, line: int | None = None, id: str | None = None) -> None:
        """Note one problem."""
        self.found.append(DataError(message, file=file, line=line, id=id))

    def settle(self) -> None:
        """Raise when anything was found.

        Raises:
            DataError: One problem as itself, several as a list.
        """
        if len(self.found) == 1:
            raise self.found[0]
        if self.found:
            shown = [str(problem) for problem in self.found[:SHOWN]]
            if len(self.found) > SHOWN:
                shown.append(f"… and {len(self.found) - SHOWN} more")
            raise DataError(f"{len(self.found)} problems:\n  " + "\n  ".join(shown))


def parse_row(
    model: type[M], row: dict[str, Any], problems: Problems, file: Path, line: int, key: str = "id"
) -> M | None:
    """The typed row, or None with every wrong field noted as a problem; `key` is the column with the row's id."""
    try:
        return model.model_validate(row)
    except ValidationError as error:
        name = row.get(key)
        for wrong in error.errors(include_url=False, include_input=False)[:5]:
            place = _place(row, wrong["loc"])
            said = wrong["msg"].removeprefix("Value error, ")
            problems.add(
                f"{place}: {said}" if place else said, file, line, short(name) if isinstance(name, str) else None
            )
        return None


def _place(row: object, path: tuple[int | str, ...]) -> str:
    """Where in a row something is wrong; what stands in a list goes by its own id where it has one."""
    names = []
    for part in path:
        try:
            row = row[part]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            row = None
        own = row.get("id") if isinstance(part, int) and isinstance(row, dict) else None
        names.append(short(own) if isinstance(own, str) and own else str(part))
    return ".".join(names)


def find_reference(folder: Path, name: str) -> Reference:
    """Return the reference image `name` under `folder`; absent is a state, not an error.

    Raises:
        ValueError: The name leaves the folder, or the file is no image.
    """
    pure = PurePosixPath(name)
    if HALF_PAIR.search(name):
        raise ValueError("image path holds half of a surrogate pair")
    if pure.is_absolute() or ".." in pure.parts or "\\" in name or "\0" in name or not pure.parts:
        raise ValueError(f"image path {short(name)!r} leaves the folder {folder}")
    path = folder / pure
    try:
        if not path.is_file():
            return Reference(name)
        if _is_linked(folder, pure) and not path.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"image path {short(name)!r} leaves the folder {folder} through a link")
        inspect(path)
    except BadImage as error:
        raise ValueError(f"image {path}: {error}") from error
    except OSError as error:
        raise ValueError(f"image {short(name)!r} cannot be read: {error.strerror or error}") from error
    return Reference(name, path)


def _is_linked(folder: Path, below: PurePosixPath) -> bool:
    """Whether a link stands on the way from the folder to what is below it."""
    at = str(folder)
    for part in below.parts:
        at = os.path.join(at, part)
        if os.path.islink(at):
            return True
    return False


def absent_references(questions: Iterable[Question[Any]]) -> int:
    """How many of these questions have no reference image that could be shown."""
    return sum(q.reference is None or not (q.reference.path or q.reference.load) for q in questions)
