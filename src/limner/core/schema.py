"""Base models for data and settings, field types for texts and ids, and validated TOML, with the lines of errors."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError

from .data_rows import Problems
from .errors import DataError

M = TypeVar("M", bound=BaseModel)
ONE_OR_MORE = BeforeValidator(lambda value: value if isinstance(value, list | tuple) else (value,))
"""The validator of a list in whose place a single entry may stand."""
Names = Annotated[tuple[str, ...], ONE_OR_MORE]
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which UTF-8 cannot encode."""
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class FrozenModel(BaseModel):
    """A base model for immutable data, such as rows and rubrics."""

    model_config = ConfigDict(frozen=True)


class StrictModel(FrozenModel):
    """A base model for immutable data that refuses unknown fields."""

    model_config = ConfigDict(extra="forbid")


def _check_printable(text: str) -> str:
    if text.isprintable():
        return text
    if control := _CONTROL.search(text):
        raise ValueError(f"it contains the control character U+{ord(control[0]):04X}")
    if LONE_SURROGATE.search(text):
        raise ValueError("it contains half of a surrogate pair")
    return text


Words = Annotated[str, AfterValidator(_check_printable)]
"""Text without control characters other than line ends and tabs, so that it can be shown and stored."""


def without_controls(text: object) -> object:
    """Return a text with each control character replaced by a space, for data from the sources of papers.

    >>> without_controls("a\\x0cb\\n")
    'a b\\n'
    """
    return _CONTROL.sub(" ", text) if isinstance(text, str) else text


def _check_id(value: str) -> str:
    parts = value.split("/")
    if value != value.strip() or any(part in ("", ".", "..") for part in parts) or "\\" in value:
        raise ValueError("an id is used as a file name: no empty part, no part of dots, no backslash")
    if not value.isprintable():
        raise ValueError("an id is used as a file name: no line end, tab or other invisible character")
    return value


Id = Annotated[str, AfterValidator(_check_id)]
"""A question's id, which also serves as the file name of drawings."""


def read_toml(path: Path) -> dict[str, Any]:
    """Return the contents of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        line = re.search(r" \(at line (\d+), (column \d+)\)", str(error))
        message = f"cannot be read as TOML: {str(error)[: line.start()] if line else error}"
        raise DataError(message, file=path, line=int(line[1]) if line else None) from error
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read: {error}", file=path) from error


def known_keys(model: type[BaseModel], place: Sequence[str | int]) -> list[str]:
    """Return the keys that are allowed at the place of an error in data of a model.

    >>> from pydantic import create_model
    >>> Leaf = create_model("Leaf", green=(bool, ...))
    >>> Tree = create_model("Tree", leaves=(tuple[Leaf, ...], ...))
    >>> known_keys(Tree, ("leaves", 3, "red"))
    ['green']
    """
    kinds = [model]
    for part in place[:-1]:
        fields = [{field.alias or name: field for name, field in kind.model_fields.items()} for kind in kinds]
        inner = [kind for each in fields if part in each for kind in _models(each[str(part)].annotation)]
        kinds = inner or kinds
    return [field.alias or name for kind in kinds for name, field in kind.model_fields.items()]


def _models(kind: Any) -> list[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    return [model for part in get_args(kind) for model in _models(part)]


def first_error(error: ValidationError) -> str:
    """Return the first validation error: its place and its message."""
    first = error.errors(include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def read_model(path: Path, model: type[M]) -> M:
    """Return the contents of a TOML file, validated by a model.

    Raises:
        DataError: The file cannot be read, or values are invalid; every problem has its line.
    """
    body = read_toml(path)
    problems = Problems()
    try:
        return model.model_validate(body)
    except ValidationError as error:
        add_problems(problems, error, path, model)
    problems.settle()
    raise AssertionError("an invalid file has problems")


def add_problems(
    problems: Problems, error: ValidationError, path: Path, model: type[BaseModel], place: tuple[str | int, ...] = ()
) -> None:
    """Add every error of a validation with the line of its key in a TOML file; `place` leads to the validated part."""
    text = path.read_text(encoding="utf-8")
    found = error.errors(include_input=False, include_url=False)
    for entry in found:
        inside = (other["loc"][: len(entry["loc"])] == entry["loc"] for other in found if other is not entry)
        if entry["type"] == "too_short" and any(inside):
            continue  # Its entries are not valid, which is reported with their lines.
        message = str(entry["msg"]).removeprefix("Value error, ")
        if entry["type"] == "extra_forbidden":
            message = f"no such key; choose from: {', '.join(known_keys(model, entry['loc']))}"
        words = {"missing": "is missing", "too_short": "at least one is needed"}.get(entry["type"], message)
        problems.add(f"{name_place(entry['loc'])}: {words}", path, line_of(text, (*place, *entry["loc"])))


def name_place(place: Sequence[str | int]) -> str:
    """Return the name of a place in a TOML file whose line is given too, without the numbers of entries."""
    return ".".join(part for part in place if isinstance(part, str)) or "the file"


_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = r"""(?:^|[\s,{{])["']?{0}["']?\s*=|["']{0}["']"""
"""A key, or a text with its name."""


def line_of(text: str, path: Sequence[str | int]) -> int:
    """Return the number of the line of a TOML text that has a key, or else what is nearest above it.

    >>> line_of("[[a]]\\nb = 1\\n[[a]]\\nc = [\\n  { d = 1 },\\n  { d = 2 },\\n]", ("a", 1, "c", 1, "d"))
    6
    """
    lines = ["" if line.lstrip().startswith("#") else line for line in text.splitlines()]
    best, start, used = 1, 0, 0
    counts: dict[str, int] = {}
    for number, line in enumerate(lines):
        header = _HEADER.match(line)
        if header is None:
            continue
        name = header[2].replace('"', "").replace("'", "")
        if header[1] == "[[":
            counts[name] = counts.get(name, -1) + 1
        here = _indexed(name, counts)
        if len(here) > used and tuple(path[: len(here)]) == here:
            best, start, used = number + 1, number + 1, len(here)
    end = next((n for n in range(start, len(lines)) if _HEADER.match(lines[n])), len(lines))
    for part in path[used:]:
        if isinstance(part, int):
            entries = [n for n in range(start, end) if lines[n].lstrip().startswith("{")]
            start = entries[part] if part < len(entries) else start
            best = start + 1
            continue
        key = re.compile(_KEY.format(re.escape(str(part))))
        match = next((n for n in range(start, end) if key.search(lines[n])), None)
        if match is not None:
            best, start = match + 1, match
    return best


def _indexed(name: str, counts: Mapping[str, int]) -> tuple[str | int, ...]:
    """Return the path of a table, with the number of each list of tables on its way."""
    path: list[str | int] = []
    parts = name.split(".")
    for n, part in enumerate(parts, 1):
        path.append(part.strip())
        if (number := counts.get(".".join(parts[:n]))) is not None:
            path.append(number)
    return tuple(path)
