"""Painters: what draws, found by ``kind/rest`` and named by ``name=kind/rest``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..evidence.probe import OcrProbe
from ..exam import Exam
from ..store import Blobs
from .api import ApiPainter
from .base import Painter, Painting, PaintRequest
from .controls import NAMES as CONTROLS
from .controls import ControlPainter
from .folder import FolderPainter

__all__ = [
    "CONTROLS",
    "ApiPainter",
    "ControlPainter",
    "FolderPainter",
    "PaintRequest",
    "Painter",
    "Painting",
    "open_painter",
]


def open_painter(word: str, exam: Exam[Any], blobs: Blobs, ocr: OcrProbe) -> Painter:
    """The painter behind ``folder/PATH`` or ``control/NAME``, with a short name by ``mine=folder/PATH``."""
    named = re.match(r"([\w.:+-]+)=(.+)", word)
    name, spec = (named[1], named[2]) if named else (word, word)
    kind, slash, rest = spec.partition("/")
    if kind == "folder" and rest:
        return FolderPainter(name, spec, Path(rest).expanduser())
    if kind == "control":
        return ControlPainter(name, spec, rest, exam, blobs, ocr)
    raise UsageError(f"{spec!r} is no painter: write folder/PATH or control/{{{','.join(CONTROLS)}}}")
