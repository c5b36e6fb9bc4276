"""What is wrong with a data set, by file, line and id: collected row by row, and told all at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from .errors import DataError
from .schema import M

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
