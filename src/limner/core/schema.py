"""The shapes data and settings must have: models that never change, texts and ids as fields, TOML held to them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from .errors import DataError

M = TypeVar("M", bound=BaseModel)
HALF_PAIR = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair: no text that can be written as UTF-8."""
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


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
    if HALF_PAIR.search(text):
        raise ValueError("half of a surrogate pair stands in it")
    return text


Words = Annotated[str, AfterValidator(_printable)]
"""Text for people: no control characters but line ends and tabs, so that terminals and databases can take it."""


def without_controls(text: object) -> object:
    """Return a text with a space in place of each control character, for data taken from the sources of papers.

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


def read_toml(path: Path) -> dict[str, Any]:
    """Return what a TOML file says."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"cannot be read: {error}", file=path) from error


def read_model(path: Path, model: type[M]) -> M:
    """Return what a TOML file says, checked.

    Raises:
        DataError: It cannot be read, or something in it does not fit; with where that is.
    """
    try:
        return model.model_validate(read_toml(path))
    except ValidationError as error:
        raise DataError(first_wrong(error), file=path) from error


def first_wrong(error: ValidationError) -> str:
    """Return the first thing that does not fit: where it is, and what is wrong with it."""
    first = error.errors(include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
