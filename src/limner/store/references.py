"""Reference images on their way into the store, and with them the hashes of the questions they belong to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.errors import StoreError
from ..core.exam import Question, Reference, content_hash
from ..core.images import BadImage
from ..core.ledger import Recent
from ..core.spool import RawQuestion, SpooledQuestions
from .store import Store


def keep_references(store: Store, questions: Sequence[Question[Any]]) -> None:
    """Put the reference images into the store, and keep the hashes that are then known; of many none is made for it.

    Raises:
        StoreError: An image cannot be read, is none, or cannot be stored; says whose.
    """
    put = _Putting(store)
    if not isinstance(questions, SpooledQuestions):
        for question in questions:
            put.reference(question.id, question.reference)
        return
    for place in range(len(questions)):
        raw, (hash, _) = questions.raw(place), questions.hashes(place)
        body = json.loads(raw.body)
        sha256 = put.reference(raw.id, _reference(raw, body["reference"]))
        questions.remember(place, hash or content_hash(body, sha256), sha256)


def _reference(raw: RawQuestion, name: str | None) -> Reference | None:
    path = None if raw.path is None else Path(raw.path)
    return None if name is None else Reference(name, path, raw.known_sha256, raw.load)


class _Putting:
    """Puts images into one store, each file once where questions that follow each other share it."""

    def __init__(self, store: Store) -> None:
        self._blobs, self._recent = store.blobs, Recent[Path, str | None]()

    def reference(self, id: str, reference: Reference | None) -> str | None:
        """Put the reference of a question into the store, and let it know its hash, for which it was read."""
        if reference is None:
            return None
        try:
            if reference.path is None or reference.load is not None:
                found = self._put(reference)
            else:
                found = self._recent.get(reference.path, lambda: self._put(reference))
        except (OSError, BadImage) as error:
            raise StoreError(f"{id}: {reference.path or reference.name}: {error}") from error
        if found is not None and reference.known_sha256 is None:
            reference.__dict__["sha256"] = found
        return reference.sha256

    def _put(self, reference: Reference) -> str | None:
        data = reference.read()
        return None if data is None else self._blobs.put(data)[0]
