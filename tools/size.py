"""How large the package is: ``python -m tools.size [FOLDER]``.

A line of code has something on it beside blanks, comments and string statements (docstrings, notes on constants).
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "limner"
SMALL = 60
"""Lines under which a module is counted as small."""
_NOTHING = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
    tokenize.ENCODING,
}  # fmt: skip


@dataclass(frozen=True)
class Module:
    """One file: the room it stands in, its lines, and its lines of code."""

    file: Path
    room: str
    lines: int
    code: int


def code_lines(source: str) -> int:
    """The lines of code in a module's text.

    >>> code_lines('x = 1  # one\\n\\n# two\\n"three"\\ny = "four"\\n')
    2
    """
    stated: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            stated.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NOTHING:
            found.update(range(token.start[0], token.end[0] + 1))
    return len(found - stated)


def modules(folder: Path = PACKAGE) -> list[Module]:
    """Every module under a folder."""
    found = []
    for file in sorted(folder.rglob("*.py")):
        text, place = file.read_text(encoding="utf-8"), file.relative_to(folder)
        room = place.parts[0] if len(place.parts) > 1 else "(top)"
        found.append(Module(place, room, len(text.splitlines()), code_lines(text)))
    return found


def table(found: Iterable[Module]) -> str:
    """Rooms with their modules, lines and lines of code, and all of them together."""
    every = list(found)
    rooms = {room: [each for each in every if each.room == room] for room in sorted({each.room for each in every})}
    rows = [f"{'room':<12}{'modules':>8}{'lines':>8}{'code':>8}{f'<{SMALL}':>6}"]
    for name, inside in [*rooms.items(), ("all", every)]:
        small = sum(each.lines < SMALL for each in inside)
        lines, code = sum(each.lines for each in inside), sum(each.code for each in inside)
        rows.append(f"{name:<12}{len(inside):>8,}{lines:>8,}{code:>8,}{small:>6}")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table(modules(Path(sys.argv[1]) if sys.argv[1:] else PACKAGE)))
