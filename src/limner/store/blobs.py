"""Images by content: ``ab/<sha256>.ext`` under any folder or object store that fsspec knows."""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..core.errors import StoreError
from ..core.images import SUFFIXES, ImageInfo, inspect


class Blobs:
    """A folder (or bucket) of images named by the hash of their bytes."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._local = Path(root) if "://" not in root else None

    def put(self, data: bytes) -> tuple[str, ImageInfo]:
        """Store an image; storing it again is free. Returns its hash and header.

        Raises:
            limner.core.images.BadImage: The bytes are no image within the limits.
        """
        info = inspect(data)
        sha256 = hashlib.sha256(data).hexdigest()
        name = f"{sha256[:2]}/{sha256}.{info.suffix}"
        if self._local is not None:
            _put_local(self._local / name, data)
        else:
            fs, root = self._remote()
            fs.pipe_file(f"{root}/{name}", data)
        return sha256, info

    def get(self, sha256: str) -> bytes:
        """The bytes behind a hash.

        Raises:
            StoreError: There is no such blob.
        """
        for suffix in SUFFIXES.values():
            with suppress(FileNotFoundError):
                return self._read(f"{sha256[:2]}/{sha256}.{suffix}")
        raise StoreError(f"image {sha256} is not among the blobs under {self.root}; was the folder moved?")

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
    if path.exists():
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
