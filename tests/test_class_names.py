"""A class name means one thing in the whole package."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import limner

ROOT = Path(str(limner.__file__)).parent


def test_no_two_classes_have_one_name() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for file in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(file.relative_to(ROOT)))
    assert len(found) > 100
    assert {name: files for name, files in found.items() if len(files) > 1} == {}
