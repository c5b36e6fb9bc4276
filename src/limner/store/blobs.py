"""Images by content: ``ab/<sha256>.ext`` under any folder or object store that fsspec knows."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..core.errors import DamagedImage, LostImage, StoreError
from ..core.images import SUFFIXES, ImageInfo, inspect
from .trouble import unwritable

SET_ASIDE = "orphans"
"""The folder among the blobs for images that nothing in the database names."""


class Blobs:
    """A folder (or bucket) of images named by the hash of their bytes."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._local = Path(root) if "://" not in root else None

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
            if self._local is not None:
                _put_local(self._local / name, data)
            else:
                fs, root = self._remote()
                fs.pipe_file(f"{root}/{name}", data)
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
                data = self._read(name)
            except FileNotFoundError:
                continue
            except OSError as error:
                why = f"under {self.root} cannot be read: {error}"
                continue
            if hashlib.sha256(data).hexdigest() == sha256:
                return data
            kind, why = DamagedImage, f"is damaged: {name} under {self.root} has {len(data):,} bytes of another hash"
        raise kind(f"image {sha256} {why}; `limner verify --repair` looks for it elsewhere")

    def names(self) -> Iterator[tuple[str, float]]:
        """Every file there is, by its name below the root, with when it was changed; those set aside are left out."""
        fs, root = self._remote()
        if not fs.exists(root):
            return
        for path, about in sorted(fs.find(root, detail=True).items()):
            name = str(path).removeprefix(root).lstrip("/")
            changed = about.get("mtime") or about.get("LastModified") or about.get("created") or 0.0
            if not name.startswith(f"{SET_ASIDE}/"):
                yield name, changed if isinstance(changed, int | float) else changed.timestamp()

    def set_aside(self, name: str) -> None:
        """Move a file out of the way, to `SET_ASIDE`."""
        fs, root = self._remote()
        fs.makedirs(f"{root}/{SET_ASIDE}", exist_ok=True)
        fs.mv(f"{root}/{name}", f"{root}/{SET_ASIDE}/{name.rpartition('/')[2]}")

    def remove(self, name: str) -> None:
        """Delete a file."""
        fs, root = self._remote()
        fs.rm_file(f"{root}/{name}")

    def _read(self, name: str) -> bytes:
        if self._local is not None:
            return (self._local / name).read_bytes()
        fs, root = self._remote()
        return bytes(fs.cat_file(f"{root}/{name}"))

    def _remote(self) -> tuple[Any, str]:
        import fsspec

        fs, root = fsspec.core.url_to_fs(self.root)
        return fs, str(root).rstrip("/")


def _put_local(path: Path, data: bytes) -> None:
    with suppress(OSError):
        if path.read_bytes() == data:
            return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
