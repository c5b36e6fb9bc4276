"""The reference images that data name: found inside their folder, and looked at before they are taken."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from .exam import Question, Reference
from .images import BadImage, inspect
from .problems import short
from .schema import HALF_PAIR


def find_reference(folder: Path, name: str) -> Reference:
    """The reference image `name` under `folder`; absent is a state, not an error.

    Raises:
        ValueError: The name leaves the folder, or the file is no image.
    """
    pure = PurePosixPath(name)
    if HALF_PAIR.search(name):
        raise ValueError("image path holds half of a surrogate pair")
    if pure.is_absolute() or ".." in pure.parts or "\\" in name or "\0" in name or not pure.parts:
        raise ValueError(f"image path {short(name)!r} leaves the folder {folder}")
    path = folder / pure
    try:
        if not path.is_file():
            return Reference(name)
        if _is_linked(folder, pure) and not path.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"image path {short(name)!r} leaves the folder {folder} through a link")
        inspect(path)
    except BadImage as error:
        raise ValueError(f"image {path}: {error}") from error
    except OSError as error:
        raise ValueError(f"image {short(name)!r} cannot be read: {error.strerror or error}") from error
    return Reference(name, path)


def _is_linked(folder: Path, below: PurePosixPath) -> bool:
    """Whether a link stands on the way from the folder to what is below it."""
    at = str(folder)
    for part in below.parts:
        at = os.path.join(at, part)
        if os.path.islink(at):
            return True
    return False


def absent_references(questions: Iterable[Question[Any]]) -> int:
    """How many of these questions have no reference image that could be shown."""
    return sum(q.reference is None or not (q.reference.path or q.reference.load) for q in questions)
