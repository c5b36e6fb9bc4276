"""Where the files of blobs lie: in a folder, or wherever fsspec reaches. Buckets have a module of their own, `s3`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

S3 = "s3://"
"""What the address of a bucket begins with."""


class BlobFiles(Protocol):
    """Files by name; a file has its name only when it is whole."""

    def write(self, name: str, data: bytes) -> None:
        """Write a file, or leave it where it has these bytes."""

    def read(self, name: str) -> bytes:
        """A file's bytes.

        Raises:
            FileNotFoundError: There is none.
        """

    def names(self) -> Iterator[tuple[str, float]]:
        """Every file in order, with when it was changed."""

    def move(self, name: str, to: str) -> None:
        """Give a file another name."""

    def remove(self, name: str) -> None:
        """Delete a file."""

    def check(self) -> None:
        """Raise early where nothing can be written."""


def open_files(root: str) -> BlobFiles:
    """The files under an address."""
    if root.startswith(S3):
        from .s3 import BucketFiles

        return BucketFiles(root)
    return RemoteFiles(root) if "://" in root else LocalFiles(Path(root))


class RemoteFiles:
    """Files in what fsspec reaches."""

    def __init__(self, root: str) -> None:
        self._root = root

    def write(self, name: str, data: bytes) -> None:
        """One PUT: object stores show it when it is whole."""
        fs, root = self._open()
        fs.pipe_file(f"{root}/{name}", data)

    def read(self, name: str) -> bytes:
        """See `BlobFiles`."""
        fs, root = self._open()
        return bytes(fs.cat_file(f"{root}/{name}"))

    def names(self) -> Iterator[tuple[str, float]]:
        """See `BlobFiles`."""
        fs, root = self._open()
        if not fs.exists(root):
            return
        for path, about in sorted(fs.find(root, detail=True).items()):
            changed = about.get("mtime") or about.get("LastModified") or about.get("created") or 0.0
            when = changed if isinstance(changed, int | float) else changed.timestamp()
            yield str(path).removeprefix(root).lstrip("/"), when

    def move(self, name: str, to: str) -> None:
        """See `BlobFiles`."""
        fs, root = self._open()
        fs.makedirs(f"{root}/{to}".rpartition("/")[0], exist_ok=True)
        fs.mv(f"{root}/{name}", f"{root}/{to}")

    def remove(self, name: str) -> None:
        """See `BlobFiles`."""
        fs, root = self._open()
        fs.rm_file(f"{root}/{name}")

    def check(self) -> None:
        """The first image tells."""

    def _open(self) -> tuple[Any, str]:
        import fsspec

        fs, root = fsspec.core.url_to_fs(self._root)
        return fs, str(root).rstrip("/")


class LocalFiles(RemoteFiles):
    """Files in a folder."""

    def __init__(self, root: Path) -> None:
        super().__init__(str(root))
        self._folder = root

    def write(self, name: str, data: bytes) -> None:
        """To a temporary name in the same folder, then renamed."""
        path = self._folder / name
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

    def read(self, name: str) -> bytes:
        """See `BlobFiles`."""
        return (self._folder / name).read_bytes()
