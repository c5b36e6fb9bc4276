"""A folder of finished images, one per question id: ``folder/PATH``."""

from __future__ import annotations

import asyncio
import difflib
import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz

from ..calls import Calls, Fault
from ..core.errors import UsageError
from ..core.exam import Question
from ..core.images import BadImage, inspect
from .base import FreePainter, PainterInputs, PainterKind, Painting, PaintRequest, refuse_pictures

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")


class FolderPainter(FreePainter):
    """A painter that takes ``<id>.png|jpg|jpeg|webp`` from a folder; ids with slashes are in subfolders.

    A subfolder may be named after one of the question's tags, as in releases with a folder for each level.

    Attributes:
        tags: Question id -> the values of its tags.
    """

    changeable = True

    def __init__(self, name: str, spec: str, path: Path, tags: Mapping[str, Collection[str]] | None = None) -> None:
        if not path.is_dir():
            raise UsageError(f"{spec}: no such folder: {path}{_near_folder(path)}")
        self.name, self.spec, self._root, self.tags = name, spec, path.resolve(), tags or {}
        self._exact: dict[str, list[Path]] = {}
        self._folded: dict[str, list[Path]] = {}
        for file in _images(self._root):
            identity = file.relative_to(self._root).as_posix()[: -len(file.suffix)]
            self._exact.setdefault(identity, []).append(file)
            self._folded.setdefault(identity.casefold(), []).append(file)
        if not self._exact:
            raise UsageError(f"{spec}: no image ({', '.join(SUFFIXES)}) in {path}")

    def collisions(self) -> list[list[str]]:
        """Return groups of files for the same id, or for ids that differ only in capitals."""
        groups = [files for files in self._folded.values() if len(files) > 1]
        return [[_printable(file.relative_to(self._root)) for file in files] for files in groups]

    def lacks(self, question: str) -> bool:
        """Return whether a question has no file."""
        return not self._files(question)

    def _files(self, id: str) -> list[Path]:
        tagged = [self._folded.get(f"{tag}/{id}".casefold(), []) for tag in self.tags.get(id, ())]
        return self._exact.get(id) or self._folded.get(id.casefold()) or [file for files in tagged for file in files]

    def misnamed(self, wanted: Iterable[str], exam_ids: Iterable[str]) -> list[tuple[str, str]]:
        """Return files probably meant for questions that have none, each with the name it should have.

        Args:
            wanted: The ids of the questions.
            exam_ids: All ids of the exam; files of other questions are not misnamed.
        """
        folded_ids = {id.casefold() for id in exam_ids}
        free = [name for name in self._exact if name.casefold() not in folded_ids and len(self._exact[name]) == 1]
        matches = match_names(filter(self.lacks, wanted), free)
        files = {name: self._exact[name][0].relative_to(self._root) for name in matches}
        return [(files[name].as_posix(), f"{id}{files[name].suffix}") for name, id in matches.items()]

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        """Return the finished image; see `limner.painters.base.Painter`."""
        refuse_pictures(self, request)
        file = self.find(request.question)
        try:
            # Check the header first, so that a file beyond the limits is not read into memory.
            await asyncio.to_thread(inspect, file)
            return Painting(await asyncio.to_thread(file.read_bytes), notes={"file": str(file.relative_to(self._root))})
        except BadImage as error:
            raise Fault("image", f"{file}: {error}") from error
        except OSError as error:
            raise Fault("missing", f"{file} cannot be read: {error}") from error

    def find(self, question: str) -> Path:
        """Return the file of a question id.

        Raises:
            Fault: There is none, there are several, or it leads out of the folder.
        """
        files = self._files(question)
        if len(files) > 1:
            names = ", ".join(_printable(file.relative_to(self._root)) for file in files)
            raise Fault("missing", f"{question}: several files fit: {names}; keep one of them")
        if not files:
            raise Fault("missing", f"{question}: no file {question}{{{','.join(SUFFIXES)}}} in {self._root}")
        try:
            inside, readable = files[0].resolve().is_relative_to(self._root), files[0].is_file()
        except (OSError, RuntimeError, ValueError) as error:  # Circular links, a folder without permission.
            raise Fault("missing", f"{files[0]} cannot be read: {error}") from error
        if not inside:
            raise Fault("missing", f"{files[0]} leads out of the folder through a link")
        if not readable:
            raise Fault("missing", f"{files[0]} is not a readable file")
        return files[0]


def _near_folder(path: Path) -> str:
    """Return the names of similar folders in the same place, as the end of a message."""
    try:
        folders = [other.name for other in path.parent.iterdir() if other.is_dir()]
    except OSError:
        return ""
    similar = difflib.get_close_matches(path.name, folders)
    return f"; did you mean {' or '.join(similar)}?" if similar else ""


def _printable(path: Path) -> str:
    """Return a path with its unprintable characters escaped."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in str(path))


def _images(root: Path) -> list[Path]:
    files = []
    for folder, _, names in os.walk(root):
        files += [Path(folder) / name for name in names if Path(name).suffix.lower() in SUFFIXES]
    return sorted(files)


def _open(given: PainterInputs) -> FolderPainter:
    return FolderPainter(given.name, given.spec, Path(given.rest).expanduser(), tags_by_id(given.exam.questions))


def tags_by_id(questions: Iterable[Question[Any]]) -> dict[str, Collection[str]]:
    """Return question id -> the values of its tags, each once."""
    return {question.id: set(question.tags.values()) for question in questions}


FOLDER = PainterKind("folder/PATH", "taking finished images from a folder", _open)
MIN_SIMILARITY = 80.0
"""The minimum similarity (0-100) at which a name counts as a misspelling rather than another word."""
MAX_COMPARISONS = 200_000
"""The most pairs that are compared letter by letter."""


def match_names(ids: Iterable[str], names: Iterable[str]) -> dict[str, str]:
    """Return the id that each name probably means, if the match is unique in both directions.

    Names that differ only in capitals, signs, leading zeros or folders are matched first, then names that contain the
    id, then misspelt ones. Numbers must always be equal: ``Biology_1`` does not match ``Biology_11``.

    >>> match_names(["Biology_1", "Biology_11"], ["biology-01", "biolgy 11", "notes"])
    {'biology-01': 'Biology_1', 'biolgy 11': 'Biology_11'}
    """
    left, free = list(dict.fromkeys(ids)), list(dict.fromkeys(names))
    matches: dict[str, str] = {}
    for fits in (_same, _same_at_the_end, _within, _alike):
        matches |= _pairs(left, free, fits)
        left = [id for id in left if id not in matches.values()]
        free = [name for name in free if name not in matches]
    return matches


Fits = Callable[[tuple[str, ...], tuple[str, ...]], bool]


def _pairs(ids: list[str], names: list[str], fits: Fits) -> dict[str, str]:
    """Return the id of each name where both match each other and nothing else."""
    by_numbers: dict[frozenset[str], list[str]] = defaultdict(list)
    for name in names:
        by_numbers[_numbers(name)].append(name)
    of_id: dict[str, list[str]] = defaultdict(list)
    of_name: dict[str, list[str]] = defaultdict(list)
    left = MAX_COMPARISONS
    for id in ids:
        own, pieces = _numbers(id), _pieces(id)
        for numbers, some in by_numbers.items():
            # A name may have more numbers than the id that it contains, but not fewer.
            if not own <= numbers or (left := left - len(some)) < 0:
                continue
            for name in some:
                if fits(pieces, _pieces(name)):
                    of_id[id].append(name)
                    of_name[name].append(id)
    return {some[0]: id for id, some in of_id.items() if len(some) == 1 and len(of_name[some[0]]) == 1}


def _pieces(text: str) -> tuple[str, ...]:
    """Split a text into letters and numbers, without signs, capitals and leading zeros."""
    pieces = re.findall(r"\d+|[^\W\d_]+", text.casefold())
    return tuple(piece.lstrip("0") or "0" if piece.isdecimal() else piece for piece in pieces)


def _numbers(text: str) -> frozenset[str]:
    return frozenset(piece for piece in _pieces(text) if piece.isdecimal())


def _same(id: tuple[str, ...], name: tuple[str, ...]) -> bool:
    return bool(id) and "".join(id) == "".join(name)


def _same_at_the_end(id: tuple[str, ...], name: tuple[str, ...]) -> bool:
    return bool(id) and (name[-len(id) :] == id or id[-len(name) :] == name != ())


def _within(id: tuple[str, ...], name: tuple[str, ...]) -> bool:
    return bool(id) and any(name[n : n + len(id)] == id for n in range(len(name) - len(id) + 1))


def _alike(id: tuple[str, ...], name: tuple[str, ...]) -> bool:
    numbers = [[piece for piece in pieces if piece.isdecimal()] for pieces in (id, name)]
    letters, other = ("".join(piece for piece in pieces if not piece.isdecimal()) for pieces in (id, name))
    if numbers[0] != numbers[1] or not (letters and other):
        return False
    return fuzz.ratio(letters, other) >= MIN_SIMILARITY
