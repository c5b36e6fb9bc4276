"""Tables of the documentation: read from its pages, and written into them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NOTHING = "–"


@dataclass(frozen=True)
class Table:
    """A table: the heading it stands under, the names of its columns, its rows."""

    section: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, name: str) -> list[str]:
        """The cells of one column."""
        return [row[self.head.index(name)] for row in self.rows]


def tables(page: Path) -> Iterator[Table]:
    """The page's tables in order."""
    section, kept = "", list[tuple[str, ...]]()
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            kept.append(tuple(cell.strip() for cell in line.strip().strip("|").split("|")))
        elif kept:
            head, rule, *rows = kept
            assert {"-"} <= set("".join(rule)) <= {"-", ":"}, f"{page.name}: {head}: no rule below the head"
            assert all(len(row) == len(head) for row in rows), f"{page.name}: {head}: rows of another length"
            yield Table(section, head, tuple(rows))
            kept = []
        if line.startswith("#"):
            section = line.lstrip("# ")


def table(page: Path, *head: str, section: str | None = None) -> Table:
    """The one table whose columns begin with these, in whatever section or in the one named."""
    matching = [each for each in tables(page) if each.head[: len(head)] == head and section in (None, each.section)]
    assert len(matching) == 1, f"{page.name}: {len(matching)} tables with the columns {', '.join(head)}"
    return matching[0]


def code(cell: str) -> str:
    """What a cell that holds nothing but code says."""
    named = re.fullmatch(r"\[?`([^`]+)`(?:\]\(.+\))?", cell)
    assert named, f"{cell!r} is no code"
    return named[1]


def number(cell: str) -> float | None:
    """What a cell with a number says; None for a dash."""
    return None if cell == NOTHING else float(cell.replace(",", ""))


def rewrite(page: Path, head: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Put these rows below a table's head; a head that is not there goes to the end of the page."""
    lines = page.read_text("utf-8").splitlines()
    if _line(head) not in lines:
        lines += ["", _line(head), "|" + "---|" * len(head)]
    first = lines.index(_line(head)) + 2
    last = next(n for n in range(first, len(lines) + 1) if n == len(lines) or not lines[n].startswith("|"))
    page.write_text("\n".join([*lines[:first], *map(_line, rows), *lines[last:]]) + "\n", "utf-8")


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
