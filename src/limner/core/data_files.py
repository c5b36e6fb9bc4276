"""Reads data files into questions: every row by file, line and id, paths that stay inside, all problems at once."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count, islice
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from .errors import DataError
from .exam import Question, R, Reference
from .images import BadImage, inspect
from .ledger import file_hash, ledger, names_under
from .spool import IdPlaces, SpooledQuestions, gathered

M = TypeVar("M", bound=BaseModel)
Rows = Iterator[tuple[int, dict[str, Any]]]
"""Line number and columns of each row of a file."""
SHOWN = 20
LONGEST = 80
_BETWEEN = re.compile(r"[\s,]*+")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_HALF = re.compile("[\ud800-\udfff]")


class FrozenModel(BaseModel):
    """A part of a row or a rubric; it never changes."""

    model_config = ConfigDict(frozen=True)


class StrictModel(FrozenModel):
    """The same, with no other fields than those it names."""

    model_config = ConfigDict(extra="forbid")


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    if found := _CONTROL.search(text):
        raise ValueError(f"the control character U+{ord(found[0]):04X} stands in it")
    if _HALF.search(text):
        raise ValueError("half of a surrogate pair stands in it")
    return text


Words = Annotated[str, AfterValidator(_printable)]
"""Text for people: no control characters but line ends and tabs, so that terminals and databases can take it."""


def without_controls(text: object) -> object:
    """A text with a space in place of each control character, for data taken from the sources of papers.

    >>> without_controls("a\\x0cb\\n")
    'a b\\n'
    """
    return _CONTROL.sub(" ", text) if isinstance(text, str) else text


def _id(value: str) -> str:
    parts = value.split("/")
    if value != value.strip() or any(part in ("", ".", "..") for part in parts) or "\\" in value:
        raise ValueError("an id names a file: no empty part, no dots alone, no backslash")
    if not value.isprintable():
        raise ValueError("an id names a file: no line end, tab or other character that does not show")
    return value


Id = Annotated[str, AfterValidator(_id)]
"""A question's id: drawings are files of this name."""


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


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=path) from error
    if (kept := ledger()) is not None:
        kept.read(path, hashlib.sha256(data).hexdigest())
    try:
        return data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(f"not UTF-8 (byte {error.start})", file=path, line=line) from error


def stream_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, one at a time."""
    kept, content = ledger(), hashlib.sha256()
    if kept is not None:
        kept.begin(path)
    try:
        with path.open("rb") as file:
            done = 0
            for number, data in enumerate(file, 1):
                if kept is not None:
                    content.update(data)
                data = data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data
                try:
                    yield data.decode().removesuffix("\n")
                except UnicodeDecodeError as error:
                    raise DataError(f"not UTF-8 (byte {done + error.start})", file=path, line=number) from error
                done += len(data)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=path) from error
    if kept is not None:
        kept.read(path, content.hexdigest())


def read_otherwise(path: Path) -> None:
    """Note that a file is read by other means than those of this module."""
    if (kept := ledger()) is not None:
        kept.begin(path)
        with suppress(OSError):
            kept.read(path, file_hash(path))


def is_there(path: Path) -> bool:
    """Whether there is such a file; that it was looked for is noted."""
    found = path.exists()
    if not found and (kept := ledger()) is not None:
        kept.lacks(path)
    return found


def read_toml(path: Path) -> dict[str, Any]:
    """What a TOML file says."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"cannot be read: {error}", file=path) from error


def read_model(path: Path, model: type[M]) -> M:
    """What a TOML file says, checked.

    Raises:
        DataError: It cannot be read, or something in it does not fit; with where that is.
    """
    try:
        return model.model_validate(read_toml(path))
    except ValidationError as error:
        raise DataError(first_wrong(error), file=path) from error


def first_wrong(error: ValidationError) -> str:
    """The first thing that does not fit: where it is, and what is wrong with it."""
    first = error.errors(include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


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


def read_questions(
    path: Path,
    model: type[M],
    make: Callable[[M, Path], Iterable[Question[R]]],
    *,
    files: Sequence[Path] | None = None,
    rows: Callable[[Path, Problems], Rows] = json_lines,
    key: str = "id",
    nothing: str = "no question in this file",
) -> Sequence[Question[R]]:
    """The questions of all rows; every one is looked at, and many are then put aside, see `limner.core.spool`.

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
    problems = Problems()
    listed = [path] if files is None else files

    def all_questions() -> Iterator[Question[R]]:
        # Until one may stand there twice, the ids themselves need not be kept.
        seen, places = IdPlaces(), dict[str, str]()
        for place, file, line, row in all_rows(problems):
            id = getattr(row, key)
            if any(True for _ in seen.find(id)):
                places = places or first_places(place)
                if id in places:
                    problems.add(f"this {key} stands already in {places[id]}", file, line, id)
                    continue
            seen.add(id)
            if places:
                places[id] = told(file, line)
            try:
                yield from make(row, file)
            except ValueError as error:
                problems.add(str(error), file, line, id)

    def all_rows(problems: Problems) -> Iterator[tuple[int, Path, int, M]]:
        numbers = count()
        for file in listed:
            for line, body in rows(file, problems):
                row = parse_row(model, body, problems, file, line, key)
                if row is not None:
                    yield next(numbers), file, line, row

    def first_places(before: int) -> dict[str, str]:
        """Where each id stands for the first time, of so many rows."""
        found: dict[str, str] = {}
        for _, file, line, row in islice(all_rows(Problems()), before):
            found.setdefault(getattr(row, key), told(file, line))
        return found

    def told(file: Path, line: int) -> str:
        within = file.relative_to(path) if path in file.parents else file.name
        return f"line {line}" if files is None else f"{within}:{line}"

    found = gathered(all_questions())
    if not found and not problems.found:
        problems.add(nothing, path)
    problems.settle()
    return found


def files_under(path: Path, *patterns: str) -> list[Path]:
    """The file `path` itself, or all files of these names under the folder `path`, in order."""
    found = names_under(path, *patterns)
    if (kept := ledger()) is not None:
        kept.searched(path, patterns, found)
    return found


def absent_references(questions: Iterable[Question[Any]]) -> int:
    """How many of these questions have no reference image that could be shown."""
    if isinstance(questions, SpooledQuestions):
        raws = (questions.raw(place) for place in range(len(questions)))
        return sum(raw.path is None and raw.load is None for raw in raws)
    return sum(q.reference is None or not (q.reference.path or q.reference.load) for q in questions)


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
    """The reference image `name` under `folder`; absent is a state, not an error.

    Raises:
        ValueError: The name leaves the folder, or the file is no image.
    """
    if (kept := ledger()) is None:
        return _look_for(folder, name)
    found: Reference = kept.recent.get((str(folder), name), lambda: _look_for(folder, name))
    return found


def _look_for(folder: Path, name: str) -> Reference:
    pure = PurePosixPath(name)
    if _HALF.search(name):
        raise ValueError("image path holds half of a surrogate pair")
    if pure.is_absolute() or ".." in pure.parts or "\\" in name or "\0" in name or not pure.parts:
        raise ValueError(f"image path {short(name)!r} leaves the folder {folder}")
    path = folder / pure
    try:
        if not path.is_file():
            if (kept := ledger()) is not None:
                kept.lacks(path)
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
