"""The frames in a worker's pipes: JSON and bytes, limited in size, with nothing executable.

A frame is a mark, two lengths, a JSON object, and the bytes of its bodies one after another. The module is also used by
other Pythons (3.8 or newer), so it needs only the standard library.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

MARK = b"LMN1"
LENGTHS = struct.Struct(">4sIQ")
HEADER = 8 * 2**20
"""Bytes of the longest JSON object."""
BODIES = 2**30
"""Bytes of everything sent beside one request."""


class BadFrame(ValueError):
    """The error for bytes that are not a frame, or a frame that is too long."""


def packed(header: dict[str, Any], bodies: Sequence[bytes] = (), most: int = BODIES) -> list[bytes]:
    """Return a frame in pieces, to be written one after another.

    Raises:
        BadFrame: It is too long.
        TypeError: The header is not JSON.
        ValueError: The header is not JSON.
    """
    head = json.dumps({**header, "sizes": [len(body) for body in bodies]}, allow_nan=False).encode()
    total = sum(len(body) for body in bodies)
    _check(len(head), total, most)
    return [LENGTHS.pack(MARK, len(head), total) + head, *bodies]


def read(take: Callable[[int], bytes], most: int = BODIES) -> tuple[dict[str, Any], list[bytes]] | None:
    """Return the next frame; None at the end of the stream.

    Args:
        take: Returns this many bytes, fewer only at the end of the stream.
        most: The most bytes allowed beside the header.

    Raises:
        BadFrame: It is not a frame, or is too long; its content has not been read.
    """
    lengths = take(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    mark, head, total = LENGTHS.unpack(lengths)
    if mark != MARK:
        raise BadFrame("bytes that are not a frame")
    _check(head, total, most)
    words, rest = take(head), take(total)
    if len(words) < head or len(rest) < total:
        return None
    try:
        header = json.loads(words, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise BadFrame("a header that is not JSON") from error
    sizes = header.pop("sizes", None) if isinstance(header, dict) else None
    if not isinstance(sizes, list) or any(type(size) is not int or size < 0 for size in sizes) or sum(sizes) != total:
        raise BadFrame("a header that does not fit its frame")
    bodies, start = [], 0
    for size in sizes:
        bodies.append(rest[start : start + size])
        start += size
    return header, bodies


def _check(head: int, total: int, most: int) -> None:
    for size, limit in ((head, HEADER), (total, most)):
        if size > limit:
            raise BadFrame(f"{size:,} bytes in one message; at most {limit:,} are allowed")


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")
