"""How tables are laid out: data in the exams' paper folders, one file per exam, checked when it is read."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ...core.errors import DataError, UsageError
from ...core.schema import first_wrong, read_toml
from ...exams import each, paper
from .schema import JUDGES, Layout

FILE = "tables.toml"


def known() -> dict[str, Layout]:
    """Every layout by its key, exam by exam; those of exams with a wrong file are left out, see `wrong`.

    >>> list(known())[:3]
    ['aibench:table3', 'aibench:table4', 'aibench:tableA1']
    """
    return _known()[0]


def wrong() -> dict[str, DataError]:
    """Exams whose layouts cannot be read, and why."""
    return _known()[1]


@cache
def _known() -> tuple[dict[str, Layout], dict[str, DataError]]:
    found: dict[str, Layout] = {}
    bad: dict[str, DataError] = {}
    for kind in each():
        path = paper.paper_file(kind.name, FILE)
        try:
            with paper.naming_exam(kind.name):
                found |= {layout.key: layout for layout in (read(path, kind.name) if path else ())}
        except DataError as error:
            bad[kind.name] = error
    return found, bad


def read(path: Path, exam: str) -> list[Layout]:
    """The layouts in one file, which belong to this kind of exam.

    Raises:
        DataError: The file is wrong; says where.
    """
    body = read_toml(path)
    found = []
    for name, fields in _table(body, "tables", path).items():
        _table(body["tables"], name, path)
        given = {"groups": body.get("groups", []) if not fields.get("sections") else [], **fields}
        if isinstance(given.get("columns"), list):
            given["columns"] = [_named(part, _table(body, "values", path), path) for part in given["columns"]]
        try:
            found.append(Layout.model_validate({**given, "exam": exam, "name": name, "paper": body.get("paper")}))
        except ValidationError as error:
            raise DataError(f"tables.{name}.{first_wrong(error)}", file=path) from error
    return found


def _table(body: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    found = body.get(name, {})
    if not isinstance(found, dict):
        raise DataError(f"{name} is no table", file=path)
    return found


def _named(part: Any, lists: dict[str, Any], path: Path) -> Any:
    """The part with the list of values it names in their place."""
    name = part.get("values") if isinstance(part, dict) else None
    if not isinstance(name, str) or name == JUDGES:
        return part
    if name not in lists:
        raise DataError(f"no list of values {name!r}; there is: {', '.join(lists) or 'none'}", file=path)
    return {**part, "values": lists[name]}


def find(key: str) -> Layout:
    """The layout called ``EXAM:TABLE``; the word ``table`` may be left out.

    Raises:
        UsageError: There is none; says which there are.
        DataError: The exam's file of layouts is wrong.
    """
    exam, _, name = key.casefold().partition(":")
    for layout in known().values():
        if layout.exam == exam and layout.name.casefold() in (name, f"table{name}"):
            return layout
    if exam in wrong():
        raise wrong()[exam]
    raise UsageError(f"no table {key!r}; there is: {', '.join(known())}")
