"""A folder of finished images, one per question id: ``folder/PATH``."""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import Iterable
from pathlib import Path

from ..calls import Calls, Fault
from ..core.errors import UsageError
from ..core.images import BadImage, inspect
from .base import FreePainter, Painting, PaintRequest, refuse_pictures
from .kinds import PainterInputs, PainterKind
from .near_names import near_names

ENDINGS = (".png", ".jpg", ".jpeg", ".webp")


class FolderPainter(FreePainter):
    """Finds ``<id>.png|jpg|jpeg|webp``; ids with slashes lie in subfolders."""

    changeable = True

    def __init__(self, name: str, spec: str, path: Path) -> None:
        if not path.is_dir():
            raise UsageError(f"{spec}: no such folder: {path}{_near_folder(path)}")
        self.name, self.spec, self._root = name, spec, path.resolve()
        self._exact: dict[str, list[Path]] = {}
        self._folded: dict[str, list[Path]] = {}
        for file in _images(self._root):
            identity = file.relative_to(self._root).as_posix()[: -len(file.suffix)]
            self._exact.setdefault(identity, []).append(file)
            self._folded.setdefault(identity.casefold(), []).append(file)
        if not self._exact:
            raise UsageError(f"{spec}: no image ({', '.join(ENDINGS)}) in {path}")

    def collisions(self) -> list[list[str]]:
        """Files that stand for the same id, or whose ids differ in capitals only."""
        found = [files for files in self._folded.values() if len(files) > 1]
        return [[_shown(file.relative_to(self._root)) for file in files] for files in found]

    def missing(self, ids: Iterable[str]) -> list[str]:
        """Those of the questions that no file stands for."""
        return [id for id in ids if id not in self._exact and id.casefold() not in self._folded]

    def misnamed(self, wanted: Iterable[str], known: Iterable[str]) -> list[tuple[str, str]]:
        """Files that look as if they were meant for questions without one, each with the name it should have.

        Args:
            wanted: The ids of the questions.
            known: All ids of the exam: files of other questions are not misnamed.
        """
        there = {id.casefold() for id in known}
        free = [name for name in self._exact if name.casefold() not in there and len(self._exact[name]) == 1]
        found = near_names(self.missing(wanted), free)
        files = {name: self._exact[name][0].relative_to(self._root) for name in found}
        return [(files[name].as_posix(), f"{id}{files[name].suffix}") for name, id in found.items()]

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        """The finished image; see `limner.painters.base.Painter`."""
        refuse_pictures(self, request)
        file = self.find(request.question)
        try:
            # The header first: a file beyond the limits is not read into memory.
            await asyncio.to_thread(inspect, file)
            return Painting(await asyncio.to_thread(file.read_bytes), notes={"file": str(file.relative_to(self._root))})
        except BadImage as error:
            raise Fault("image", f"{file}: {error}") from error
        except OSError as error:
            raise Fault("missing", f"{file} cannot be read: {error}") from error

    def find(self, question: str) -> Path:
        """The one file that stands for a question id.

        Raises:
            Fault: None, several, or one that leads out of the folder.
        """
        files = self._exact.get(question) or self._folded.get(question.casefold()) or []
        if len(files) > 1:
            names = ", ".join(_shown(file.relative_to(self._root)) for file in files)
            raise Fault("missing", f"{question}: several files fit: {names}; keep one of them")
        if not files:
            raise Fault("missing", f"{question}: no file {question}{{{','.join(ENDINGS)}}} in {self._root}")
        try:
            inside, readable = files[0].resolve().is_relative_to(self._root), files[0].is_file()
        except (OSError, RuntimeError, ValueError) as error:  # Links in a circle, a folder that lets nobody in.
            raise Fault("missing", f"{files[0]} cannot be read: {error}") from error
        if not inside:
            raise Fault("missing", f"{files[0]} leads out of the folder through a link")
        if not readable:
            raise Fault("missing", f"{files[0]} is no file that can be read")
        return files[0]


def _near_folder(path: Path) -> str:
    """Folders beside it that are called much the same, as the end of a message."""
    try:
        there = [other.name for other in path.parent.iterdir() if other.is_dir()]
    except OSError:
        return ""
    found = difflib.get_close_matches(path.name, there)
    return f"; there is: {', '.join(found)}" if found else ""


def _shown(path: Path) -> str:
    """A path as it may be told: what does not show, or is no text, stands in it escaped."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in str(path))


def _images(root: Path) -> list[Path]:
    found = []
    for folder, _, names in os.walk(root):
        found += [Path(folder) / name for name in names if Path(name).suffix.lower() in ENDINGS]
    return sorted(found)


def _open(given: PainterInputs) -> FolderPainter:
    return FolderPainter(given.name, given.spec, Path(given.rest).expanduser())


FOLDER = PainterKind("folder/PATH", "taking finished images from a folder", _open)
