"""The map of the house as ``docs/architecture.md`` has it: ``python -m tools.house`` writes it anew.

The rooms, their order and what they may import come from the contracts in ``pyproject.toml``, what a room is from its
docstring, its modules from the folder, and the walks from `tools.walk`.
"""

from __future__ import annotations

import ast
import textwrap
import tomllib
from pathlib import Path

from tools.pages import written
from tools.size import PACKAGE
from tools.walk import report

ROOT = PACKAGE.parents[1]
PAGE = ROOT / "docs" / "architecture.md"
WIDTH = 118
SIBLINGS = " | "


def law() -> list[list[str]]:
    """The layers of rooms, the highest first; rooms of one layer do not import each other."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract.get("containers") == ["limner"])
    return [layer.split(SIBLINGS) for layer in layers]


def about(file: Path) -> str:
    """The first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").partition("\n")[0]


def room_lines(room: str) -> list[str]:
    """A room, what it is, and the modules in it; those of inner folders stand in brackets."""
    single, folder = PACKAGE / f"{room}.py", PACKAGE / room
    if single.exists():
        return _wrapped(f"{room}.py", about(single))
    inner = {}
    for place in sorted(path for path in folder.rglob("__init__.py") if path.parent != folder):
        inner[str(place.parent.relative_to(folder))] = _names(place.parent)
    modules = [*_names(folder), *(f"{name}/ ({', '.join(inside)})" for name, inside in inner.items() if inside)]
    return [*_wrapped(f"{room}/", about(folder / "__init__.py")), *_wrapped("", ", ".join(modules))]


def _names(folder: Path) -> list[str]:
    return sorted(file.stem for file in folder.glob("*.py") if file.stem != "__init__")


def _wrapped(head: str, words: str) -> list[str]:
    lines = textwrap.wrap(words, WIDTH - 13, break_on_hyphens=False) or [""]
    return [f"{head if n == 0 else '':<12} {line}".rstrip() for n, line in enumerate(lines)]


def tree() -> str:
    """All rooms in the order of the law."""
    return "\n".join(line for layer in law() for room in layer for line in room_lines(room))


def parts(walks: str) -> dict[str, str]:
    """What is written between ``<!-- NAME -->`` and the next ``<!-- end -->``."""
    # A layer is not broken over lines.
    chain = " > ".join(SIBLINGS.join(layer).replace(" ", "\0") for layer in law())
    lines = "\n".join(textwrap.wrap(chain, WIDTH, break_on_hyphens=False)).replace("\0", " ")
    return {"tree": f"```\n{tree()}\n```", "law": f"```\n{lines}\n```", "walks": walks}


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8"), parts(report())), "utf-8")
