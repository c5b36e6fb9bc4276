"""Many questions in little memory: they lie in a temporary file, and each is made when it is asked for."""

from __future__ import annotations

import os
import pickle
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    from .exam import Question

    R = TypeVar("R", bound=Any)
else:
    R = TypeVar("R")

T = TypeVar("T")
PUT_ASIDE_BYTES = 2**20
"""Up to so many bytes of what is put aside are held in memory."""
HELD = 500
"""Up to so many questions are held in memory."""
SHA256 = 32
UNKNOWN = bytes(2 * SHA256)
"""What stands before a question whose hashes nobody has worked out yet."""


class IdPlaces:
    """Where ids stand in a list of them; of each its hash is kept, so that what is found may be another of the same."""

    def __init__(self) -> None:
        self._hashes, self._table = array("q"), array("i", bytes(4 * 1024))

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, id: str) -> None:
        """Put one at the end."""
        self._hashes.append(hash(id))
        if 2 * len(self) > len(self._table):
            self._table = array("i", bytes(8 * len(self._table)))
            for place in range(len(self)):
                self._enter(place)
        else:
            self._enter(len(self) - 1)

    def _enter(self, place: int) -> None:
        table, mask = self._table, len(self._table) - 1
        at = self._hashes[place] & mask
        while table[at]:
            at = (at + 1) & mask
        table[at] = place + 1  # Nought is nobody's.

    def find(self, id: str) -> Iterator[int]:
        """The places where it may stand."""
        wanted, mask = hash(id), len(self._table) - 1
        at = wanted & mask
        while number := self._table[at]:
            if self._hashes[number - 1] == wanted:
                yield number - 1
            at = (at + 1) & mask


class _Spool(Generic[R]):
    """The file, where each question begins in it, and their ids.

    Before each question there is room for its hash and its reference's: to find them, an image must be read.
    """

    def __init__(self, make: Callable[[bytes], Question[R]]) -> None:
        self.make = make
        self.file: IO[bytes] = tempfile.TemporaryFile(prefix="limner-questions-", buffering=2**16)  # noqa: SIM115
        self.starts, self.ids = array("Q", [0]), IdPlaces()

    def add(self, id: str, raw: bytes) -> None:
        self.file.write(UNKNOWN)
        self.file.write(raw)
        self.starts.append(self.starts[-1] + len(UNKNOWN) + len(raw))
        self.ids.add(id)

    def get(self, number: int) -> Question[R]:
        start, end = self.starts[number], self.starts[number + 1]
        raw = os.pread(self.file.fileno(), end - start, start)
        question = self.make(raw[len(UNKNOWN) :])
        _tell(question.__dict__, "hash", raw[:SHA256])
        if question.reference is not None:
            _tell(question.reference.__dict__, "sha256", raw[SHA256 : len(UNKNOWN)])
        return question

    def remember(self, number: int, hash: str, reference: str | None) -> None:
        known = bytes.fromhex(hash) + (bytes(SHA256) if reference is None else bytes.fromhex(reference))
        os.pwrite(self.file.fileno(), known, self.starts[number])


def _tell(cached: dict[str, Any], name: str, known: bytes) -> None:
    if any(known):
        cached[name] = known.hex()


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
        for number in self._spool.ids.find(id):
            if self._has(number) and (question := self._spool.get(number)).id == id:
                return question
        return None

    def _has(self, number: int) -> bool:
        if isinstance(self._places, range):
            return number in self._places
        at = bisect_left(self._in_order, number)
        return at < len(self._in_order) and self._in_order[at] == number

    @cached_property
    def _in_order(self) -> array[int]:
        return array("L", sorted(self._places))

    def remember(self, place: int, question: Question[R]) -> None:
        """Keep the hashes of the question at a place, for which its reference image must be read."""
        reference = question.reference.sha256 if question.reference is not None else None
        self._spool.remember(self._places[place], question.hash, reference)


def spooled(rows: Iterable[tuple[str, bytes]], make: Callable[[bytes], Question[R]]) -> Sequence[Question[R]]:
    """Questions from their ids and what `make` makes them of: few are made and held, many lie in a file."""
    rest = iter(rows)
    first = list(islice(rest, HELD + 1))
    if len(first) <= HELD:
        return tuple(make(raw) for _, raw in first)
    spool = _Spool(make)
    for id, raw in chain(first, rest):
        spool.add(id, raw)
    spool.file.flush()
    return SpooledQuestions(spool, range(len(spool.ids)))


def gathered(questions: Iterable[Question[R]]) -> Sequence[Question[R]]:
    """The same questions: few are held, many lie in a file that only this process can see."""
    rest = iter(questions)
    first = list(islice(rest, HELD + 1))
    if len(first) <= HELD:
        return tuple(first)
    rows = ((question.id, pickle.dumps(question, pickle.HIGHEST_PROTOCOL)) for question in chain(first, rest))
    return spooled(rows, pickle.loads)


class PutAside(Generic[T]):
    """Things that are made now and used later, in their order; many lie in a file that only this process can see."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(PUT_ASIDE_BYTES, prefix="limner-aside-")  # noqa: SIM115

    def add(self, one: T) -> None:
        """Put one at the end."""
        pickle.dump(one, self._file, pickle.HIGHEST_PROTOCOL)

    def __iter__(self) -> Iterator[T]:
        self._file.seek(0)
        with suppress(EOFError):
            while True:
                yield pickle.load(self._file)
        self._file.seek(0, os.SEEK_END)

    def __enter__(self) -> PutAside[T]:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()
