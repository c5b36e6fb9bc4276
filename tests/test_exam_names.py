"""What is specific to one exam is in its folder: no other code names an exam."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import limner
from limner.exams import SHIPPED

ROOT = Path(limner.__file__).parent
HELP = {"help", "short_help", "epilog", "show_default", "metavar"}
"""What commands say of themselves may name an exam."""


def named(text: str) -> bool:
    return any(name in text.casefold() for name in SHIPPED)


def spoken(tree: ast.AST) -> Iterator[str]:
    """Names of exams in code: in identifiers and strings, docstrings and help aside."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.keyword) and node.arg in HELP:
            continue
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and named(str(node.value.value)):
            yield ast.unparse(node.targets[0])
            continue
        words = [value for _, value in ast.iter_fields(node) if isinstance(value, str)]
        yield from (word for word in words if named(word))
        yield from spoken(node)


def test_no_exam_is_named_outside_its_folder() -> None:
    mentions = {
        (path.relative_to(ROOT).as_posix(), word)
        for path in ROOT.rglob("*.py")
        if ROOT / "exams" not in path.parents
        for word in spoken(ast.parse(path.read_text("utf-8")))
    }
    assert mentions == set()


def test_no_exam_is_named_in_scripts_of_site() -> None:
    assert list((ROOT / "report" / "site" / "static").glob("*.js"))
    scripts = [path for path in (ROOT / "report" / "site" / "static").glob("*.js") if named(path.read_text("utf-8"))]
    assert scripts == []
