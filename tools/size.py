"""How large the package is: ``python -m tools.size [FOLDER]``.

A line of code has something on it beside blanks, comments and string statements (docstrings, notes on constants).
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "limner"
SMALL = 60
"""Lines under which a module is counted as small."""
_NOTHING = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
    tokenize.ENCODING,
}  # fmt: skip


TINY = 30
"""Lines of code up to which a module is hardly a concept of its own."""
STEPS = "build"
"""The folder whose steps are one small module each."""


@dataclass(frozen=True)
class Module:
    """One file: the folder it is in, its lines, its lines of code, and the files of the package that it imports."""

    file: Path
    room: str
    lines: int
    code: int
    imports: frozenset[Path] = frozenset()


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
    """Return every module under a folder."""
    listed = []
    for file in sorted(folder.rglob("*.py")):
        text, place = file.read_text(encoding="utf-8"), file.relative_to(folder)
        room = place.parts[0] if len(place.parts) > 1 else "(top)"
        imports = frozenset(_imports(text, place, folder))
        listed.append(Module(place, room, len(text.splitlines()), code_lines(text), imports))
    return listed


def _imports(source: str, place: Path, folder: Path) -> Iterator[Path]:
    """Yield the files below a folder that a module at a place imports from, by relative imports."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = place.parents[node.level - 1].joinpath(*(node.module or "").split("."))
        for name in node.names:
            candidates = [base / f"{name.name}.py", base / name.name / "__init__.py", base / "__init__.py"]
            if node.module:
                candidates.append(base.with_suffix(".py"))
            yield next((path for path in candidates if (folder / path).is_file()), base)


def aims(listed: Sequence[Module]) -> str:
    """Return how far the package is one module a concept: five counts, a line each."""
    inside = [module for module in listed if module.room != STEPS and module.file.stem != "__init__"]
    importers = Counter(path for module in listed for path in module.imports)
    near = Counter(path for module in listed for path in module.imports if path.parts[0] == module.room)
    lonely = [
        module for module in inside
        if module.lines < SMALL and importers[module.file] == 1 and near[module.file] == 1
    ]  # fmt: skip
    rows = {
        "code lines": sum(module.code for module in listed),
        "modules": len(listed),
        "folders": len({module.room for module in listed} - {"(top)"}),
        f"modules of at most {TINY} code lines, outside {STEPS}/": sum(module.code <= TINY for module in inside),
        f"modules under {SMALL} lines with one importer, in their own folder, outside {STEPS}/": len(lonely),
    }
    return "\n".join(f"{name:<76}{count:>8,}" for name, count in rows.items())


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
    counted = modules(Path(sys.argv[1]) if sys.argv[1:] else PACKAGE)
    print(table(counted), aims(counted), sep="\n\n")
