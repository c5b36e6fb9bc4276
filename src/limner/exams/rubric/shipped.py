"""The declared exams that Limner ships: the folders of `limner.exams` with an ``exam.toml``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import FILE, load_declared

_FOLDER = Path(__file__).parents[1]


def __getattr__(name: str) -> Any:
    """Return the exam in the folder of this name."""
    path = _FOLDER / name / FILE
    if name.startswith("_") or not path.is_file():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load_declared(path)
