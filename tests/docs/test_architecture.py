"""The map in docs/architecture.md: every folder is on it, what it names exists, the order is the checked one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "limner"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
FOLDERS, WHERE, ORDER = (
    PAGE.partition(head)[2].partition(end)[0]
    for head, end in (
        ("| folder |", "Each exam's folder"),
        ("looked for often:", "## What may import what"),
        ("do not import each other:\n\n```\n", "\n```"),
    )
)


def test_every_folder_is_listed() -> None:
    named = {name.split("/")[0] for name in re.findall(r"^\| `([\w/]+)/`", FOLDERS, re.MULTILINE)}
    assert named == {folder.name for folder in PACKAGE.iterdir() if (folder / "__init__.py").exists()}


def test_listed_modules_exist() -> None:
    checked = 0
    for row in re.findall(r"^\| `([\w/]+)/` \|[^|]*\|(.*)\|$", FOLDERS, re.MULTILINE):
        for name in re.findall(r"`([\w/]+)`", row[1]):
            place = PACKAGE / row[0] / name.rstrip("/")
            assert place.is_dir() or place.with_suffix(".py").is_file(), f"{row[0]}: {name}"
            checked += 1
    for name in re.findall(r"`([\w/]+\.py)`", WHERE):
        assert (PACKAGE / name).is_file(), name
        checked += 1
    assert checked > 80


def test_layer_order_equals_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    whole, inner = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    assert " ".join(ORDER.split()) == " > ".join(whole)
    assert f"Inside `report`: `{' > '.join(inner)}`" in PAGE
