"""Many questions in little memory: they lie in a temporary file, and each is made when it is asked for."""

from __future__ import annotations

import os
import pickle
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    from .exam import Question

    R = TypeVar("R", bound=Any)
else:
    R = TypeVar("R")

HELD = 500
"""Up to so many questions are held in memory."""
SHA256 = 32


class _Spool(Generic[R]):
    """The file, where each question begins in it, and what is known of each without making it."""

    def __init__(self, make: Callable[[bytes], Question[R]]) -> None:
        self.make = make
        self.file: IO[bytes] = tempfile.TemporaryFile(prefix="limner-questions-", buffering=2**16)  # noqa: SIM115
        self.starts, self.names = array("Q", [0]), array("q")
        self.known = {name: bytearray() for name in ("hash", "reference")}

    def add(self, id: str, raw: bytes) -> None:
        self.file.write(raw)
        self.starts.append(self.starts[-1] + len(raw))
        self.names.append(hash(id))

    def close(self) -> None:
        self.file.flush()
        for kept in self.known.values():
            kept.extend(bytes(SHA256 * len(self.names)))

    def get(self, number: int) -> Question[R]:
        start, end = self.starts[number], self.starts[number + 1]
        question = self.make(os.pread(self.file.fileno(), end - start, start))
        self._tell(question.__dict__, "hash", number)
        if question.reference is not None:
            self._tell(question.reference.__dict__, "reference", number)
        return question

    def _tell(self, cached: dict[str, Any], name: str, number: int) -> None:
        found = self.known[name][SHA256 * number : SHA256 * (number + 1)]
        if any(found):
            cached["hash" if name == "hash" else "sha256"] = found.hex()

    def remember(self, number: int, name: str, sha256: str | None) -> None:
        if sha256 is not None:
            self.known[name][SHA256 * number : SHA256 * (number + 1)] = bytes.fromhex(sha256)


class SpooledQuestions(Sequence["Question[R]"]):
    """The questions of an exam, or some of them; two times the same one is made twice."""

    def __init__(self, spool: _Spool[R], places: Sequence[int]) -> None:
        self._spool, self._places = spool, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> Question[R]: ...
    @overload
    def __getitem__(self, at: slice) -> SpooledQuestions[R]: ...
    def __getitem__(self, at: int | slice) -> Question[R] | SpooledQuestions[R]:
        """A question, made now; or some of them, not made yet."""
        if isinstance(at, slice):
            return SpooledQuestions(self._spool, self._places[at])
        return self._spool.get(self._places[at])

    def __iter__(self) -> Iterator[Question[R]]:
        return map(self._spool.get, self._places)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SpooledQuestions | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def take(self, places: Sequence[int]) -> SpooledQuestions[R]:
        """Those at these places."""
        return SpooledQuestions(self._spool, array("L", (self._places[place] for place in places)))

    def find(self, id: str) -> Question[R] | None:
        """The question of this id."""
        wanted, at = hash(id), bisect_left(self._index, hash(id), key=lambda place: self._name(place))
        while at < len(self._index) and self._name(self._index[at]) == wanted:
            if (question := self[self._index[at]]).id == id:
                return question
            at += 1
        return None

    @cached_property
    def _index(self) -> array[int]:
        return array("L", sorted(range(len(self)), key=self._name))

    def _name(self, place: int) -> int:
        return self._spool.names[self._places[place]]

    def remember(self, place: int, question: Question[R]) -> None:
        """Keep the hashes of the question at a place, for which its reference image must be read."""
        number = self._places[place]
        self._spool.remember(number, "hash", question.hash)
        if question.reference is not None:
            self._spool.remember(number, "reference", question.reference.sha256)


def spooled(rows: Iterable[tuple[str, bytes]], make: Callable[[bytes], Question[R]]) -> Sequence[Question[R]]:
    """Questions from their ids and what `make` makes them of: few are made and held, many lie in a file."""
    rest = iter(rows)
    first = list(islice(rest, HELD + 1))
    if len(first) <= HELD:
        return tuple(make(raw) for _, raw in first)
    spool = _Spool(make)
    for id, raw in chain(first, rest):
        spool.add(id, raw)
    spool.close()
    return SpooledQuestions(spool, range(len(spool.names)))


def gathered(questions: Iterable[Question[R]]) -> Sequence[Question[R]]:
    """The same questions: few are held, many lie in a file that only this process can see."""
    rest = iter(questions)
    first = list(islice(rest, HELD + 1))
    if len(first) <= HELD:
        return tuple(first)
    rows = ((question.id, pickle.dumps(question, pickle.HIGHEST_PROTOCOL)) for question in chain(first, rest))
    return spooled(rows, pickle.loads)
