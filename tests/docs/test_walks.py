"""Whoever follows CONTRIBUTING word for word gets what it promises: each walk is taken in a copy of the repository."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, Block, Session, blocks

PAGE = ROOT / "CONTRIBUTING.md"
PARTS = (
    "src",
    "tests",
    "docs",
    "pyproject.toml",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE",
    "Makefile",
)
WALKS = list(dict.fromkeys(block.section for block in blocks(PAGE) if "walk" in block.notes))


def steps(walk: str) -> list[Block]:
    """The blocks of a section that are files, or commands to be run."""
    return [block for block in blocks(PAGE) if block.section == walk and (block.file or "walk" in block.notes)]


@pytest.mark.slow
@pytest.mark.parametrize("walk", WALKS)
def test_contributing_steps_work_as_written(walk: str, tmp_path: Path) -> None:
    for part in PARTS:
        source, copy = ROOT / part, tmp_path / part
        if source.is_dir():
            # Compiled files come along: they are as good for the copies, which keep their times.
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("*.egg-info"))
        else:
            shutil.copy(source, copy)
    with Session(tmp_path, PYTHONPATH=os.pathsep.join([str(tmp_path / "src"), str(tmp_path)])) as session:
        for block in steps(walk):
            if block.file:
                path = tmp_path / block.file
                before = path.read_text("utf-8") if path.exists() else ""
                between = "\n\n" if before and path.suffix == ".py" else ""
                path.write_text(before + between + block.text, "utf-8")
            else:
                session.follow(block, f"{PAGE.name}:{block.line}")
