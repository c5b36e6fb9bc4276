"""Puts the reference images of questions into the store."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..core.errors import StoreError
from ..core.exam import Question, Reference
from ..core.images import BadImage
from .store import Store


def keep_references(store: Store, questions: Iterable[Question[Any]]) -> None:
    """Put the reference images into the store, each file once; references get to know their hashes on the way.

    Raises:
        StoreError: An image cannot be read, is none, or cannot be stored; says whose.
    """
    stored: dict[Path, str | None] = {}
    for question in questions:
        if (reference := question.reference) is None:
            continue
        shared = reference.path if reference.load is None else None
        try:
            sha256 = stored[shared] if shared in stored else _put(store, reference)
        except (OSError, BadImage) as error:
            raise StoreError(f"{question.id}: {reference.path or reference.name}: {error}") from error
        if shared is not None:
            stored[shared] = sha256
        if sha256 is not None and reference.known_sha256 is None:
            reference.__dict__["sha256"] = sha256


def _put(store: Store, reference: Reference) -> str | None:
    data = reference.read()
    return None if data is None else store.blobs.put(data)[0]
