"""What a store has, in little memory: which ids, and the rows behind them when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import sqlalchemy as sa

from .markings import Marking, marking_ids
from .records import Drawing
from .rows import AT_ONCE
from .schema import drawings, markings
from .store import Store

SHA256 = 32
KEPT = 3
"""The markings of so many lookups are kept."""


def short_id(sha256: str) -> int:
    """The beginning of a hash as a number: enough to tell what is surely not there.

    >>> short_id("00000000000000ff" + 48 * "0")
    255
    """
    return int(sha256[:16], 16)


def known_drawings(store: Store, exam: str) -> set[int]:
    """The ids of the exam's drawings, each as `short_id`."""
    return _ids(store, sa.select(drawings.c.id).where(drawings.c.exam == exam))


class PackedIds:
    """A list of ids that takes half a hash's letters for each."""

    def __init__(self) -> None:
        self._packed = bytearray()

    def add(self, id: str) -> None:
        """Add one at the end."""
        self._packed += bytes.fromhex(id)

    def __len__(self) -> int:
        return len(self._packed) // SHA256

    def in_order(self, places: Iterable[int]) -> PackedIds:
        """Those that stand at these places, one after the other."""
        found = PackedIds()
        for at in places:
            found._packed += self._packed[SHA256 * at : SHA256 * (at + 1)]
        return found

    def __getitem__(self, at: int) -> str:
        return self._packed[SHA256 * at : SHA256 * (at + 1)].hex()


def drawing_places(store: Store, exam: str) -> Iterator[tuple[str, str, str]]:
    """Id, question's hash and painter of the exam's drawings, the oldest first."""
    query = sa.select(drawings.c.id, drawings.c.question_hash, drawings.c.painter).where(drawings.c.exam == exam)
    with store.reading() as connection:
        rows = connection.execution_options(yield_per=AT_ONCE).execute(
            query.order_by(drawings.c.created, drawings.c.id)
        )
        yield from ((row.id, row.question_hash, row.painter) for row in rows)


def drawings_of(store: Store, ids: Iterable[str]) -> Iterator[Drawing]:
    """The drawings of these ids."""
    return (Drawing(**row._mapping) for row in store.rows(sa.select(drawings), drawings.c.id, ids))


def _ids(store: Store, query: sa.Select[Any]) -> set[int]:
    with store.reading() as connection:
        return {short_id(id) for id in connection.execution_options(yield_per=AT_ONCE).scalars(query)}


class StoredMarkings:
    """The markings under some setups: their ids are known, the last that were looked up are at hand."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ids: set[int] = set()
        self._kept: list[dict[str, Marking]] = []
        self._made: dict[str, Marking] = {}

    def load(self, exam: str, setups: Iterable[str]) -> None:
        """Look up which there are."""
        chosen = sorted(setups)
        self._ids = _ids(self._store, marking_ids(exam, chosen)) if chosen else set()

    def look_up(self, ids: Iterable[str]) -> None:
        """Fetch those of these ids that are there."""
        self._fetch([id for id in ids if short_id(id) in self._ids])

    def look_again(self, ids: Iterable[str]) -> None:
        """Fetch those of these ids that are there by now, whoever put them there."""
        self._ids.update(short_id(id) for id in self._fetch(list(ids)))

    def remember(self, marking: Marking) -> None:
        """This one is made now, and at hand from now on."""
        self._made[marking.id] = marking

    def _fetch(self, ids: list[str]) -> Iterable[str]:
        if not ids:
            return ()
        rows = self._store.rows(sa.select(markings), markings.c.id, ids)
        found = {row.id: Marking(**row._mapping) for row in rows}
        self._kept = [*self._kept[1 - KEPT :], found]
        return found

    def get(self, id: str) -> Marking | None:
        """The marking of this id, where there is one."""
        if id in self._made:
            return self._made[id]
        if short_id(id) not in self._ids:
            return None
        if not any(id in some for some in self._kept):
            self.look_up([id])
        return next((some[id] for some in reversed(self._kept) if id in some), None)
