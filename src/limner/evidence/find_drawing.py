"""Which drawing a row of a table is about: by its question, painter, strategy and seed, or by its image."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from ..store.records import Drawing

BY_IMAGE = ("id", "painter", "seed", "image")
BY_SLOT = ("id", "painter", "strategy", "seed")
"""The columns by which the rows of a table may name a drawing."""
_HASH = re.compile(r"[0-9a-f]{64}")


class DrawingFinder:
    """Finds the drawing that a row of a table is about.

    Args:
        drawings: Those of the exam; only those that are done count.
        folder: Where images are that a row may name.
        keys: The columns that a row may name it by.
    """

    def __init__(self, drawings: Iterable[Drawing], folder: Path, keys: tuple[str, ...] = BY_IMAGE) -> None:
        self._folder, self._keys = folder, keys
        self._done = [drawing for drawing in drawings if drawing.status == "done"]
        self._of: dict[str, list[Drawing]] = {}
        for drawing in self._done:
            self._of.setdefault(drawing.question_id, []).append(drawing)

    def of(self, question: str) -> list[Drawing]:
        """All drawings of a question."""
        return self._of.get(question, [])

    def fitting(self, row: Mapping[str, Any]) -> list[Drawing]:
        """Every drawing that all the row's columns fit; a column that says nothing fits all."""
        found, _ = self._fitting(row)
        return found

    def find(self, row: Mapping[str, Any]) -> Drawing:
        """The drawing, or one of several with the same image.

        Raises:
            ValueError: None fits, or several images do.
        """
        return self.find_all(row)[0]

    def find_all(self, row: Mapping[str, Any]) -> list[Drawing]:
        """The drawing, with all others that have the same image and fit the row as well.

        Raises:
            ValueError: None fits, or several images do.
        """
        found, last = self._fitting(row)
        if not found:
            raise ValueError(f"no drawing in the store with {last} {_said(row, last)!r}{self._hint(last)}")
        if not _said(row, "id") and not ("image" in self._keys and _said(row, "image")):
            raise ValueError("an id or an image is wanted")
        # One image that several painters handed in is one subject.
        if len({drawing.image or drawing.id for drawing in found}) > 1:
            telling = [key for key in ("painter", "strategy") if key in self._keys and len(_values(found, key)) > 1]
            raise ValueError(f"{_said(row, 'id')!r}: {len(found)} drawings fit; add the column {[*telling, 'seed'][0]}")
        return found

    def _fitting(self, row: Mapping[str, Any]) -> tuple[list[Drawing], str]:
        """What fits, and the last column that was looked at: where nothing fits, the one to blame."""
        found, key = self._done, self._keys[0]
        for key in self._keys:
            if value := _said(row, key):
                found = self.of(value) if key == "id" else self._kept(found, key, value)
                if not found:
                    break
        return found, key

    def _kept(self, drawings: list[Drawing], key: str, value: str) -> list[Drawing]:
        if key == "painter":
            return _by_painter(drawings, value)
        wanted = self._hash(value) if key == "image" else value
        return [drawing for drawing in drawings if str(getattr(drawing, key)) == wanted]

    def _hint(self, key: str) -> str:
        known = sorted({name for one in self._done for name in (one.painter, one.label)}) if key == "painter" else []
        return f"; there is: {', '.join(known)}" if known else ""

    def _hash(self, word: str) -> str:
        if _HASH.fullmatch(word.lower()):
            return word.lower()
        pure = PurePosixPath(word)
        path = self._folder / pure
        if pure.is_absolute() or ".." in pure.parts or "\0" in word:
            raise ValueError(f"image {word!r} leaves the folder {self._folder}")
        try:
            if not path.resolve().is_relative_to(self._folder.resolve()):
                raise ValueError(f"image {word!r} leaves the folder {self._folder} through a link")
            return hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise ValueError(f"image {word!r} is neither a sha256 nor a file beside the table") from error


def _by_painter(drawings: Iterable[Drawing], name: str) -> list[Drawing]:
    """Those by a painter, or by one that a table calls ``painter + strategy #seed``."""
    if found := [drawing for drawing in drawings if name in (drawing.painter, drawing.label)]:
        return found
    row, mark, seed = name.rpartition(" #")
    row, seed = (row, seed) if mark and seed.isdigit() else (name, "")
    painter, _, strategy = row.partition(" + ")
    return [
        drawing
        for drawing in drawings
        if painter in (drawing.painter, drawing.label)
        and strategy in ("", drawing.strategy)
        and seed in ("", str(drawing.seed))
    ]


def _said(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    return "" if value is None else str(value).strip()


def _values(drawings: Iterable[Drawing], key: str) -> set[str]:
    return {str(getattr(drawing, key)) for drawing in drawings}
