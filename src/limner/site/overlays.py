"""Boxes that lie over pictures: lines of text that OCR read, and regions that were counted."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ..core.errors import StoreError
from ..core.images import BadImage, inspect
from ..store import Store
from ..store.schema import attempts, calls, evidence
from .chunks import Chunks

MOST = 600
"""So many boxes of one sort are shown on a picture."""

Wanted = Mapping[str, Sequence[tuple[Chunks, str]]]
"""Image -> the questions on whose pages it is shown, each with where its data goes."""


def write_boxes(store: Store, wanted: Wanted, unsized: Container[str] = ()) -> int:
    """Write the boxes of all pictures that have some; returns how many pictures that are.

    They go to files of their own, loaded when a reader asks for them; the question's own file says how many there are.

    Args:
        store: Where what was measured lies.
        wanted: The pictures.
        unsized: Those whose sizes no drawing tells: references. Boxes are in a picture's own pixels, and a site may
            show it scaled down.
    """
    seen = set()
    for image, sort, backend, boxes in _found(store):
        if (image, sort) in seen or image not in wanted or not boxes:
            continue
        seen.add((image, sort))
        body = {"image": image, "sort": sort, "backend": backend[:200], "boxes": boxes[:MOST], "count": len(boxes)}
        told: dict[str, Any] = {"image": image, "sort": sort, "count": len(boxes)}
        if image in unsized and (size := _size(store, image)):
            told["size"] = size
        for chunks, key in wanted[image]:
            chunks.add(f"boxes/{key}", body)
            chunks.add(f"q/{key}", {"boxes": told})
    return len({image for image, _ in seen})


def _size(store: Store, image: str) -> list[int] | None:
    try:
        info = inspect(store.blobs.get(image))
    except (BadImage, StoreError, OSError):
        return None  # It cannot be shown either.
    return [info.width, info.height]


def _found(store: Store) -> Iterator[tuple[str, str, str, list[Any]]]:
    """Image, sort, backend and boxes of everything measured, the newest first."""
    accepted = calls.join(attempts, (attempts.c.call == calls.c.key) & (attempts.c.n == calls.c.accepted))
    query = sa.select(calls.c.target, calls.c.request, attempts.c.result).select_from(accepted)
    query = query.where(calls.c.kind == "probe").order_by(calls.c.created.desc(), calls.c.key)
    with store.reading() as connection:
        for row in connection.execution_options(yield_per=100).execute(query):
            sort, _, backend = row.target.partition("/")
            image = (row.request.get("body") or {}).get("image")
            if isinstance(image, str):
                yield image, sort, backend, boxes_in(row.result)
    rows = sa.select(evidence).order_by(evidence.c.created.desc(), evidence.c.backend)
    with store.reading() as connection:
        for row in connection.execution_options(yield_per=100).execute(rows):
            yield row.subject, row.name, row.backend, boxes_in(row.value)


def boxes_in(value: Any) -> list[Any]:
    """The boxes in what a probe found: ``[corners]``, with words and confidence where there are some.

    Corners are eight numbers, clockwise from top left; a box of left, top, right and bottom is turned into them.

    >>> boxes_in({"count": 1, "boxes": [[1, 2, 3, 4]]})
    [[[1.0, 2.0, 3.0, 2.0, 3.0, 4.0, 1.0, 4.0]]]
    """
    if isinstance(value, Mapping):
        found = value.get("lines") if isinstance(value.get("lines"), list) else value.get("boxes")
        return boxes_in(found if found is not None else value.get("value"))
    if not isinstance(value, list):
        return []
    boxes = []
    for item in value:
        corners = _corners(item.get("box") if isinstance(item, Mapping) else item)
        if corners is None:
            continue
        if isinstance(item, Mapping):
            boxes.append([corners, str(item.get("text", ""))[:500], item.get("confidence")])
        else:
            boxes.append([corners])
    return boxes


def _corners(box: Any) -> list[float] | None:
    try:
        flat = [float(v) for point in box for v in (point if isinstance(point, list | tuple) else [point])]
    except (TypeError, ValueError):
        return None
    if len(flat) == 4:
        left, top, right, bottom = flat
        flat = [left, top, right, top, right, bottom, left, bottom]
    return [round(v, 1) for v in flat] if len(flat) == 8 else None
