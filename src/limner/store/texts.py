"""The long words of drawings and markings, read apart from their numbers: a few at a time, by their ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import sqlalchemy as sa

from .records import Drawing
from .schema import drawings, markings
from .store import Store


class MarkingTexts(NamedTuple):
    """What a marking says in words: its marks with their reasons, or the keys of the replies behind them."""

    id: str
    created: float
    replies: list[list[str]]
    marks: list[dict[str, Any]] | None


def marking_texts(store: Store, ids: Iterable[str]) -> Iterator[MarkingTexts]:
    """The words of these markings, in no order; one that is no longer there is left out."""
    columns = (markings.c[name] for name in MarkingTexts._fields)
    for row in store.rows(sa.select(*columns), markings.c.id, ids):
        yield MarkingTexts(*row)


def whole_drawings(store: Store, ids: Iterable[str]) -> list[Drawing]:
    """These drawings, the oldest first; one that is no longer there is left out."""
    found = [Drawing(**row._mapping) for row in store.rows(sa.select(drawings), drawings.c.id, ids)]
    return sorted(found, key=lambda drawing: (drawing.created, drawing.id))
