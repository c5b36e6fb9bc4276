"""Base models for data and settings, field types for texts and ids, and validated TOML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from .errors import DataError

M = TypeVar("M", bound=BaseModel)
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


def read_model(path: Path, model: type[M]) -> M:
    """Return the contents of a TOML file, validated by a model.

    Raises:
        DataError: The file cannot be read, or a value is invalid; the message says where.
    """
    try:
        return model.model_validate(read_toml(path))
    except ValidationError as error:
        raise DataError(first_error(error), file=path) from error


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
