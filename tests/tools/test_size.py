"""The script that counts lines of code."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.size import SMALL, aims, code_lines, modules, table


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", 0),
        ("x = 1\n", 1),
        ("# only words\n\n", 0),
        ('"""A docstring\nof two lines."""\n', 0),
        ('X = 1\n"""What X is."""\n', 1),
        ('X = """one\ntwo"""\n', 2),
        ("f(\n    1,\n\n    # why\n    2,\n)\n", 4),
        ('def f():\n    """Words."""\n    return 1  # why\n', 2),
        ('def f():\n    "words"; return 1\n', 1),
    ],
)
def test_lines_of_code_are_counted(source: str, lines: int) -> None:
    assert code_lines(source) == lines


def test_modules_of_folder_are_counted(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "one.py").write_text("x = 1\n" * SMALL)
    (tmp_path / "two.py").write_text("# nothing\n")
    counted = modules(tmp_path)
    assert [(each.room, each.lines, each.code) for each in counted] == [("room", SMALL, SMALL), ("(top)", 1, 0)]
    assert table(counted).splitlines()[-1].split() == ["all", "2", "61", "60", "1"]


def test_small_modules_are_counted(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "build").mkdir()
    for name in ("room/__init__", "room/lonely", "room/shared", "build/step"):
        (tmp_path / f"{name}.py").write_text("x = 1\n")
    (tmp_path / "room" / "large.py").write_text("from .lonely import x\nfrom . import shared\n" + "x = 1\n" * SMALL)
    (tmp_path / "api.py").write_text("from .room.shared import x\n")
    counts = [int(line.split()[-1]) for line in aims(modules(tmp_path)).splitlines()]
    assert counts == [SMALL + 7, 6, 2, 3, 1]
