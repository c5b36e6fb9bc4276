"""Many questions in little memory: they lie in a temporary file, and each is made when it is asked for."""

from __future__ import annotations

import json
import os
import pickle
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, overload

from pydantic_core import from_json

if TYPE_CHECKING:
    from .exam import Question

    R = TypeVar("R", bound=Any)
else:
    R = TypeVar("R")

Outline = tuple[int, str, Mapping[str, str]]
"""Where a question stands, its id and its tags."""
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


class RawQuestion(NamedTuple):
    """What a question is made of.

    Attributes:
        id: Its id, which stands in the body too.
        body: Its `Question.to_json`, as the text that a store keeps.
        rubric: What its rubric is.
        path: Where its reference image lies, `known_sha256` and `load` are as in `Reference`.
    """

    id: str
    body: str
    rubric: type[Any]
    path: str | None = None
    known_sha256: str | None = None
    load: Callable[[], bytes] | None = None

    @classmethod
    def of(cls, question: Question[Any]) -> RawQuestion:
        """What this one can be made of again."""
        body, reference = json.dumps(question.to_json()), question.reference
        if reference is None:
            return cls(question.id, body, type(question.rubric))
        path = None if reference.path is None else str(reference.path)
        return cls(question.id, body, type(question.rubric), path, reference.known_sha256, reference.load)

    def outline(self) -> tuple[str, Mapping[str, str]]:
        """Its id and tags."""
        return self.id, from_json(self.body)["tags"]

    def made(self) -> Question[Any]:
        """The question."""
        from .exam import Question

        path = None if self.path is None else Path(self.path)
        return Question.from_json(json.loads(self.body), self.rubric, self.known_sha256, path, self.load)


class QuestionSource(Protocol):
    """Where questions lie until they are made; each has a number, its place among all of them."""

    def get(self, number: int) -> Question[Any]:
        """One, made now."""

    def raw(self, number: int) -> RawQuestion:
        """What one is made of."""

    def hashes(self, number: int) -> tuple[str | None, str | None]:
        """Its hash and its reference's, as far as they are known."""

    def remember(self, number: int, hash: str, reference: str | None) -> None:
        """Keep its hash and its reference's."""

    def find(self, id: str) -> Iterator[int]:
        """The numbers under which it may be."""

    def outlines(self) -> Iterator[Outline]:
        """Number, id and tags of each one, in an order of its own; none is made."""


class _Spool:
    """A file of questions, where each begins in it, and their ids.

    Before each question there is room for its hash and its reference's: to find them, an image must be read.
    """

    def __init__(self) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile(prefix="limner-questions-", buffering=2**16)  # noqa: SIM115
        self.starts, self.ids = array("Q", [0]), IdPlaces()

    def add(self, raw: RawQuestion) -> None:
        data = pickle.dumps(tuple(raw), pickle.HIGHEST_PROTOCOL)
        self.file.write(UNKNOWN)
        self.file.write(data)
        self.starts.append(self.starts[-1] + len(UNKNOWN) + len(data))
        self.ids.add(raw.id)

    def get(self, number: int) -> Question[Any]:
        question = self.raw(number).made()
        hash, reference = self.hashes(number)
        if hash is not None:
            question.know_hash(hash)
        if question.reference is not None and reference is not None:
            question.reference.__dict__["sha256"] = reference
        return question

    def raw(self, number: int) -> RawQuestion:
        start, end = self.starts[number] + len(UNKNOWN), self.starts[number + 1]
        return RawQuestion(*pickle.loads(os.pread(self.file.fileno(), end - start, start)))

    def hashes(self, number: int) -> tuple[str | None, str | None]:
        known = os.pread(self.file.fileno(), len(UNKNOWN), self.starts[number])
        hash, reference = known[:SHA256], known[SHA256:]
        return hash.hex() if any(hash) else None, reference.hex() if any(reference) else None

    def remember(self, number: int, hash: str, reference: str | None) -> None:
        known = bytes.fromhex(hash) + (bytes(SHA256) if reference is None else bytes.fromhex(reference))
        os.pwrite(self.file.fileno(), known, self.starts[number])

    def find(self, id: str) -> Iterator[int]:
        return self.ids.find(id)

    def outlines(self) -> Iterator[Outline]:
        return ((number, *self.raw(number).outline()) for number in range(len(self.ids)))


class SpooledQuestions(Sequence["Question[R]"]):
    """The questions of an exam, or some of them; two times the same one is made twice."""

    def __init__(self, source: QuestionSource, places: Sequence[int]) -> None:
        self.source, self._places = source, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> Question[R]: ...
    @overload
    def __getitem__(self, at: slice) -> SpooledQuestions[R]: ...
    def __getitem__(self, at: int | slice) -> Question[R] | SpooledQuestions[R]:
        """A question, made now; or some of them, not made yet."""
        if isinstance(at, slice):
            return SpooledQuestions(self.source, self._places[at])
        return self.source.get(self._places[at])

    def __iter__(self) -> Iterator[Question[R]]:
        return map(self.source.get, self._places)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SpooledQuestions | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def take(self, places: Sequence[int]) -> SpooledQuestions[R]:
        """Those at these places."""
        return SpooledQuestions(self.source, array("L", (self._places[place] for place in places)))

    def find(self, id: str) -> Question[R] | None:
        """The question of this id."""
        for number in self.source.find(id):
            if self._has(number) and (question := self.source.get(number)).id == id:
                return question
        return None

    def outlines(self, ids: Iterable[str] | None = None) -> Iterator[Outline]:
        """Place, id and tags of each question, or at least of those with these ids; none is made."""
        if self._places != range(len(self._places)):
            yield from ((place, *self.source.raw(number).outline()) for place, number in enumerate(self._places))
        elif ids is None:
            yield from self.source.outlines()
        else:
            wanted = set(ids)
            for number in {number for id in wanted for number in self.source.find(id)}:
                yield number, *self.source.raw(number).outline()

    def _has(self, number: int) -> bool:
        if isinstance(self._places, range):
            return number in self._places
        at = bisect_left(self._in_order, number)
        return at < len(self._in_order) and self._in_order[at] == number

    @cached_property
    def _in_order(self) -> array[int]:
        return array("L", sorted(self._places))

    def raw(self, place: int) -> RawQuestion:
        """What the question at a place is made of."""
        return self.source.raw(self._places[place])

    def hashes(self, place: int) -> tuple[str | None, str | None]:
        """The hashes of the question at a place and of its reference, as far as they are known."""
        return self.source.hashes(self._places[place])

    def remember(self, place: int, hash: str, reference: str | None) -> None:
        """Keep the hashes of the question at a place, for which its reference image must be read."""
        self.source.remember(self._places[place], hash, reference)


def spooled(rows: Iterable[RawQuestion]) -> Sequence[Question[Any]]:
    """Questions from what they are made of: few are made and held, many lie in a file."""
    rest = iter(rows)
    first = list(islice(rest, HELD + 1))
    if len(first) <= HELD:
        return tuple(raw.made() for raw in first)
    spool = _Spool()
    for raw in chain(first, rest):
        spool.add(raw)
    spool.file.flush()
    return SpooledQuestions(spool, range(len(spool.ids)))


def gathered(questions: Iterable[Question[R]]) -> Sequence[Question[R]]:
    """The same questions: few are held, many lie in a file that only this process can see."""
    rest = iter(questions)
    first = list(islice(rest, HELD + 1))
    return tuple(first) if len(first) <= HELD else spooled(map(RawQuestion.of, chain(first, rest)))
