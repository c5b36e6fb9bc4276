"""How tables are laid out: data in ``layouts/*.toml``, one file per exam, checked when it is read."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ...errors import DataError, UsageError
from .schema import JUDGES, Layout

FOLDER = Path(__file__).parent.parent / "layouts"


@cache
def known() -> dict[str, Layout]:
    """Every layout by its key, in the order of the files.

    >>> list(known())[:3]
    ['aibench:table3', 'aibench:table4', 'aibench:tableA1']
    """
    found = {}
    for path in sorted(FOLDER.glob("*.toml")):
        for layout in read(path):
            found[layout.key] = layout
    return found


def read(path: Path) -> list[Layout]:
    """The layouts in one file; the file's name is the exam's kind.

    Raises:
        DataError: The file is wrong; says where.
    """
    try:
        body = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"cannot be read: {error}", file=path) from error
    found = []
    for name, fields in body.get("tables", {}).items():
        given = {"groups": body.get("groups", []) if not fields.get("sections") else [], **fields}
        if isinstance(given.get("columns"), list):
            given["columns"] = [_named(part, body.get("values", {}), path) for part in given["columns"]]
        try:
            found.append(Layout.model_validate({**given, "exam": path.stem, "name": name, "paper": body.get("paper")}))
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise DataError(f"tables.{name}.{place}: {first['msg']}", file=path) from error
    return found


def _named(part: dict[str, Any], lists: dict[str, Any], path: Path) -> dict[str, Any]:
    """The part with the list of values it names in their place."""
    name = part.get("values")
    if not isinstance(name, str) or name == JUDGES:
        return part
    if name not in lists:
        raise DataError(f"no list of values {name!r}; there is: {', '.join(lists) or 'none'}", file=path)
    return {**part, "values": lists[name]}


def find(key: str) -> Layout:
    """The layout called ``EXAM:TABLE``; the word ``table`` may be left out.

    Raises:
        UsageError: There is none; says which there are.
    """
    exam, _, name = key.casefold().partition(":")
    for layout in known().values():
        if layout.exam == exam and layout.name.casefold() in (name, f"table{name}"):
            return layout
    raise UsageError(f"no table {key!r}; there is: {', '.join(known())}")
