"""Images by content: ``ab/<sha256>.ext`` in a folder, in a bucket of S3, or in whatever else fsspec knows."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from ..core.errors import DamagedImage, LostImage, StoreError
from ..core.images import SUFFIXES, ImageInfo, inspect
from .files import open_files
from .trouble import unwritable

SET_ASIDE = "orphans"
"""The folder among the blobs for images that nothing in the database names."""
AT_ONCE = 8
"""So many images are read at a time where many are."""


class Blobs:
    """A folder (or bucket) of images named by the hash of their bytes."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._files = open_files(root)

    def put(self, data: bytes) -> tuple[str, ImageInfo]:
        """Store an image; storing it again is free, and mends a copy that was damaged. Returns its hash and header.

        Raises:
            limner.core.images.BadImage: The bytes are no image within the limits.
            StoreError: There is no room, or the place cannot be written to.
        """
        info = inspect(data)
        sha256 = hashlib.sha256(data).hexdigest()
        name = f"{sha256[:2]}/{sha256}.{info.suffix}"
        try:
            self._files.write(name, data)
        except OSError as error:
            raise StoreError(unwritable(self.root, error)) from error
        return sha256, info

    def get(self, sha256: str) -> bytes:
        """The bytes behind a hash, and no others.

        Raises:
            LostImage: There is no such blob, or it cannot be read.
            DamagedImage: Its bytes are not those of the hash.
        """
        kind: type[LostImage] = LostImage
        why = f"is not among the blobs under {self.root}; was the folder moved?"
        for suffix in SUFFIXES.values():
            name = f"{sha256[:2]}/{sha256}.{suffix}"
            try:
                data = self._files.read(name)
            except FileNotFoundError:
                continue
            except OSError as error:
                why = f"under {self.root} cannot be read: {error}"
                continue
            if hashlib.sha256(data).hexdigest() == sha256:
                return data
            kind, why = DamagedImage, f"is damaged: {name} under {self.root} has {len(data):,} bytes of another hash"
        raise kind(f"image {sha256} {why}; `limner verify --repair` looks for it elsewhere")

    def each(self, hashes: Iterable[str]) -> Iterator[tuple[str, bytes | LostImage]]:
        """Many images in their order, several read at a time; what cannot be had comes as its error."""

        def one(sha256: str) -> bytes | LostImage:
            try:
                return self.get(sha256)
            except LostImage as error:
                return error

        with ThreadPoolExecutor(AT_ONCE) as pool:
            ahead: deque[tuple[str, Future[bytes | LostImage]]] = deque()
            for sha256 in hashes:
                ahead.append((sha256, pool.submit(one, sha256)))
                if len(ahead) > AT_ONCE:
                    first, future = ahead.popleft()
                    yield first, future.result()
            for last, future in ahead:
                yield last, future.result()

    def check(self) -> None:
        """Raise early, before anything is paid for, where images could not be stored.

        Raises:
            StoreError: The place is not there or cannot be written to.
        """
        self._files.check()

    def names(self) -> Iterator[tuple[str, float]]:
        """Every file there is, by its name below the root, with when it was changed; those set aside are left out."""
        return ((name, at) for name, at in self._files.names() if not name.startswith(f"{SET_ASIDE}/"))

    def set_aside(self, name: str) -> None:
        """Move a file out of the way, to `SET_ASIDE`."""
        self._files.move(name, f"{SET_ASIDE}/{name.rpartition('/')[2]}")

    def remove(self, name: str) -> None:
        """Delete a file."""
        self._files.remove(name)
