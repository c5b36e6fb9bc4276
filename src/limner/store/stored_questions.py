"""The questions of a stored exam, fetched when they are asked for: of many a run may need a few."""

from __future__ import annotations

import os
import pickle
import tempfile
import threading
from array import array
from collections.abc import Callable, Iterator
from typing import IO, Any

import sqlalchemy as sa

from ..core.errors import StoreError
from ..core.exam import Question
from ..core.spool import Outline, RawQuestion
from .schema import questions
from .store import Store

SHA256 = 32
BLOCK = 128
"""So many questions that follow each other are fetched at a time."""


class StoredQuestions:
    """See `limner.core.spool.QuestionSource`: questions by their hashes, in an order of their own.

    What was fetched lies in a file from then on, so that nothing is fetched twice, in whatever order it is asked for.
    """

    def __init__(
        self, store: Store, exam: str, rubric: type[Any], hashes: bytes, path: Callable[[int], str | None]
    ) -> None:
        """`path` is where the reference of a question lies outside the store."""
        self.store, self._exam, self._rubric, self._hashes, self._path = store, exam, rubric, hashes, path
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="limner-questions-", buffering=0)  # noqa: SIM115
        self._starts, self._sizes = array("Q", bytes(8 * len(self))), array("L", bytes(8 * len(self)))
        self._end, self._lock = 0, threading.Lock()

    def __len__(self) -> int:
        return len(self._hashes) // SHA256

    def _hash(self, number: int) -> str:
        return self._hashes[SHA256 * number : SHA256 * (number + 1)].hex()

    def get(self, number: int) -> Question[Any]:
        """See `QuestionSource`."""
        question = self.raw(number).made()
        question.know_hash(self._hash(number))
        return question

    def raw(self, number: int) -> RawQuestion:
        """See `QuestionSource`."""
        if not self._sizes[number]:
            with self._lock:
                self._fetch(number - number % BLOCK)
        data = os.pread(self._file.fileno(), self._sizes[number], self._starts[number])
        return RawQuestion(*pickle.loads(data))

    def _fetch(self, first: int) -> None:
        numbers = {self._hash(n): n for n in range(first, min(first + BLOCK, len(self))) if not self._sizes[n]}
        # As the text it is: nobody looks into it until its question is asked for.
        body = sa.cast(questions.c.body, sa.Text).label("body")
        query = sa.select(questions.c.hash, questions.c.id, body, questions.c.reference)
        rows = self.store.rows(query.where(questions.c.exam == self._exam), questions.c.hash, numbers)
        if len(rows) < len(numbers):
            raise StoreError(f"{self.store.url} lacks questions of {self._exam} that were stored; restore a copy of it")
        for row in rows:
            number = numbers[row.hash]
            raw = RawQuestion(row.id, row.body, self._rubric, self._path(number), row.reference)
            data = pickle.dumps(tuple(raw), pickle.HIGHEST_PROTOCOL)
            os.pwrite(self._file.fileno(), data, self._end)
            self._starts[number], self._end = self._end, self._end + len(data)
            self._sizes[number] = len(data)  # Last: from now on it can be read.

    def hashes(self, number: int) -> tuple[str | None, str | None]:
        """See `QuestionSource`."""
        return self._hash(number), self.raw(number).known_sha256

    def remember(self, number: int, hash: str, reference: str | None) -> None:
        """Both are known."""

    def find(self, id: str) -> Iterator[int]:
        """See `QuestionSource`."""
        query = sa.select(questions.c.hash, questions.c.position)
        with self.store.reading() as connection:
            rows = connection.execute(query.where(questions.c.exam == self._exam, questions.c.id == id)).all()
        return (number for row in rows if (number := self._number(row.hash, row.position)) is not None)

    def _number(self, hash: str, likely: int) -> int | None:
        """Where a question stands, most likely where it stood when it was stored."""
        if likely < len(self) and self._hash(likely) == hash:
            return likely
        wanted, at = bytes.fromhex(hash), -1
        while (at := self._hashes.find(wanted, at + 1)) >= 0:
            if at % SHA256 == 0:
                return at // SHA256
        return None

    def outlines(self) -> Iterator[Outline]:
        """See `QuestionSource`."""
        of = questions.c
        query = sa.select(of.hash, of.position, of.id, of.body["tags"].label("tags")).where(of.exam == self._exam)
        with self.store.reading() as connection:
            for row in connection.execution_options(yield_per=BLOCK).execute(query):
                if (number := self._number(row.hash, row.position)) is not None:
                    yield number, row.id, row.tags
