"""Workers import only lower layers."""

from __future__ import annotations

import ast
from pathlib import Path

import limner.workers

BELOW = {"core.redaction", "core.errors", "core.images", "core.prepared", "core.settings"}


def test_workers_import_only_lower_layers() -> None:
    imported = set()
    for file in Path(limner.workers.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level > 1:
                imported.add(node.module or node.names[0].name)
            elif isinstance(node, ast.ImportFrom | ast.Import):
                assert not any(name.name.startswith("limner") for name in node.names), file
    assert imported
    assert imported <= BELOW
