"""What a server sends, read under a cap: on the bytes that come, and on those they unpack to."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Protocol

ENCODINGS = "gzip, deflate"
"""What replies may be packed with: what can be unpacked a piece at a time."""
PIECE = 2**18


class TooLarge(Exception):
    """More came than may come."""

    def __init__(self, most: int, head: bytes) -> None:
        super().__init__(f"the reply is over {most:,} bytes")
        self.head = head


class BadPacking(Exception):
    """What came cannot be unpacked."""


class Body(Protocol):
    """A reply whose body is still to come."""

    @property
    def headers(self) -> Mapping[str, str]:
        """What it says of itself."""
        ...

    def aiter_raw(self) -> AsyncIterator[bytes]:
        """Its pieces as they come."""
        ...


async def read_bounded(reply: Body, most: int) -> bytearray:
    """The body of a reply that is open, unpacked.

    Args:
        reply: Open, as a client's `stream` gives it.
        most: Bytes the body may have, packed and unpacked.

    Raises:
        TooLarge: It has more; at most one piece more was taken in.
        BadPacking: It is packed in a way that was not asked for, or broken.
    """
    unpacker = _unpacker(reply.headers.get("content-encoding", ""))
    body, came = bytearray(), 0
    async for chunk in reply.aiter_raw():
        came += len(chunk)
        for piece in unpacker.unpack(chunk):
            body += piece
            if len(body) > most:
                raise TooLarge(most, bytes(body[:PIECE]))
        if came > most:
            raise TooLarge(most, bytes(body[:PIECE]))
    if not unpacker.whole:
        raise BadPacking("the reply ends before what is packed in it does")
    return body


class Unpacked:
    """A body as it is."""

    whole = True

    def unpack(self, chunk: bytes) -> Iterator[bytes]:
        """The same."""
        yield chunk


class Unpacker:
    """Unpacks gzip or deflate piece by piece, however much is packed into how little.

    Attributes:
        whole: Whether the end was reached, or nothing came at all.
    """

    def __init__(self, *windows: int) -> None:
        self._windows = list(windows)
        self._inflate = zlib.decompressobj(self._windows.pop(0))
        self._began = False
        self.whole = True

    def unpack(self, chunk: bytes) -> Iterator[bytes]:
        """What the chunk holds, in pieces of at most `PIECE` bytes."""
        left = chunk
        while left and not self._inflate.eof:
            try:
                piece = self._inflate.decompress(left, PIECE)
            except zlib.error as error:
                if self._began or not self._windows:
                    raise BadPacking(f"the reply cannot be unpacked: {error}") from error
                # Some servers send deflate without its frame.
                self._inflate = zlib.decompressobj(self._windows.pop(0))
                continue
            left, self._began = self._inflate.unconsumed_tail, True
            if piece:
                yield piece
        # A full last piece may have left more behind, with no input for it.
        while not self._inflate.eof and (piece := self._inflate.decompress(b"", PIECE)):
            yield piece
        self.whole = self._inflate.eof


def _unpacker(encoding: str) -> Unpacked | Unpacker:
    how = encoding.strip().lower()
    if how in ("", "identity"):
        return Unpacked()
    if how in ("gzip", "x-gzip"):
        return Unpacker(31)
    if how == "deflate":
        return Unpacker(15, -15)
    raise BadPacking(f"the reply is packed as {encoding[:40]!r}, which was not asked for")
