"""Images stored by content hash as ``ab/<sha256>.ext``, in a folder, an S3 bucket, or anything fsspec supports."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from ..core.errors import DamagedImage, LostImage, StoreError, UsageError
from ..core.faults import Fault
from ..core.images import MAX_BYTES, SUFFIXES, ImageInfo, check_rows
from ..core.redaction import redact
from .trouble import RUN_AGAIN, no_room_message, unwritable_message

SET_ASIDE = "orphans"
"""The folder for images that the database does not refer to."""
PARALLEL_READS = 8
"""The number of images read in parallel."""
PLACE_BYTES = 16 * 2**20
"""The free space kept for each call for an image in flight; the next one needs room for the largest image."""


class Blobs:
    """A folder (or bucket) of images named by the hash of their bytes."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._files = open_files(root)
        self._places, self._lock = 0, threading.Lock()

    def put(self, data: bytes, info: ImageInfo | None = None) -> tuple[str, ImageInfo]:
        """Store an image and return its hash and header facts; storing it again is free and repairs a damaged copy.

        Args:
            data: The image's bytes.
            info: The result of `limner.core.images.check_whole`, if it is already known.

        Raises:
            limner.core.images.BadImage: The bytes are not an image within the limits.
            StoreError: The disk is full, or the place is not writable.
        """
        info = info or check_rows(data)
        sha256 = hashlib.sha256(data).hexdigest()
        name = f"{sha256[:2]}/{sha256}.{info.suffix}"
        try:
            self._files.write(name, data)
        except OSError as error:
            raise StoreError(unwritable_message(self.root, error)) from error
        return sha256, info

    def get(self, sha256: str) -> bytes:
        """Return the bytes of the image with this hash.

        Raises:
            LostImage: There is no such image, or it cannot be read.
            DamagedImage: Its bytes do not match the hash.
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

    def path(self, sha256: str | None) -> str | None:
        """Return the path of an image's file; None if there is none, or if images are in a bucket."""
        names = [f"{sha256[:2]}/{sha256}.{suffix}" for suffix in SUFFIXES.values()] if sha256 else []
        return next((str(path) for name in names if (path := Path(self.root) / name).is_file()), None)

    def each(self, hashes: Iterable[str]) -> Iterator[tuple[str, bytes | LostImage]]:
        """Yield each hash with the image's bytes or its error, in order; several images are read in parallel."""

        def one(sha256: str) -> bytes | LostImage:
            try:
                return self.get(sha256)
            except LostImage as error:
                return error

        with ThreadPoolExecutor(PARALLEL_READS) as pool:
            ahead: deque[tuple[str, Future[bytes | LostImage]]] = deque()
            for sha256 in hashes:
                ahead.append((sha256, pool.submit(one, sha256)))
                if len(ahead) > PARALLEL_READS:
                    first, future = ahead.popleft()
                    yield first, future.result()
            for last, future in ahead:
                yield last, future.result()

    @contextmanager
    def place(self) -> Iterator[None]:
        """Keep room for one more image inside the block, in which a call for it is paid for.

        Raises:
            Fault: ``setup``: the disk has no room for all images that are on their way; nothing was paid for.
        """
        with self._lock:
            self._places += 1
            needed = MAX_BYTES + (self._places - 1) * PLACE_BYTES
        try:
            free = self._files.free_bytes()
            if free is not None and free < needed:
                raise Fault("setup", no_room_message(self.root, free, needed))
            yield
        finally:
            with self._lock:
                self._places -= 1

    def check(self) -> None:
        """Check, before anything is paid for, that images can be stored.

        Raises:
            StoreError: The place does not exist or is not writable.
        """
        try:
            self._files.check()
        except OSError as error:
            raise StoreError(unwritable_message(self.root, error)) from error

    def names(self) -> Iterator[tuple[str, float]]:
        """Yield the relative name and modification time of every file, except files set aside."""
        return ((name, at) for name, at in self._files.names() if not name.startswith(f"{SET_ASIDE}/"))

    def set_aside(self, name: str) -> None:
        """Move a file to the folder `SET_ASIDE`."""
        self._files.move(name, f"{SET_ASIDE}/{name.rpartition('/')[2]}")

    def remove(self, name: str) -> None:
        """Delete a file."""
        self._files.remove(name)


S3 = "s3://"
"""The prefix of a bucket's address."""


def open_files(root: str) -> RemoteFiles | BucketFiles:
    """Return the storage of files below a path or address; a file gets its name only once it is complete."""
    if root.startswith(S3):
        return BucketFiles(root)
    return RemoteFiles(root) if "://" in root else LocalFiles(Path(root))


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return a value that changes if a file or folder is replaced by another; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


class RemoteFiles:
    """Storage of files through fsspec."""

    def __init__(self, root: str) -> None:
        self._root = root

    def write(self, name: str, data: bytes) -> None:
        """Write a file with a single PUT, because object stores show an object only once it is complete."""
        fs, root = self._open()
        fs.pipe_file(f"{root}/{name}", data)

    def read(self, name: str) -> bytes:
        """Return a file's bytes.

        Raises:
            FileNotFoundError: There is no such file.
        """
        fs, root = self._open()
        return bytes(fs.cat_file(f"{root}/{name}", end=MAX_BYTES + 1))

    def names(self) -> Iterator[tuple[str, float]]:
        """Yield the name and modification time of every file, in order."""
        fs, root = self._open()
        if not fs.exists(root):
            return
        for path, about in sorted(fs.find(root, detail=True).items()):
            changed = about.get("mtime") or about.get("LastModified") or about.get("created") or 0.0
            when = changed if isinstance(changed, int | float) else changed.timestamp()
            yield str(path).removeprefix(root).lstrip("/"), when

    def move(self, name: str, to: str) -> None:
        """Rename a file."""
        fs, root = self._open()
        fs.makedirs(f"{root}/{to}".rpartition("/")[0], exist_ok=True)
        fs.mv(f"{root}/{name}", f"{root}/{to}")

    def remove(self, name: str) -> None:
        """Delete a file."""
        fs, root = self._open()
        fs.rm_file(f"{root}/{name}")

    def check(self) -> None:
        """Check that files can be written: here, storing the first image will show it."""

    def free_bytes(self) -> int | None:
        """Return the free space in bytes; None, because it is not known."""
        return None

    def _open(self) -> tuple[Any, str]:
        import fsspec

        fs, root = fsspec.core.url_to_fs(self._root)
        return fs, str(root).rstrip("/")


class LocalFiles(RemoteFiles):
    """Storage of files in a local folder."""

    def __init__(self, root: Path) -> None:
        super().__init__(str(root))
        self._folder = root
        self._opened = file_identity(self._folder)

    def write(self, name: str, data: bytes) -> None:
        """Write to a temporary file in the same folder, then rename it."""
        path = self._folder / name
        if self._opened is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._opened = file_identity(self._folder)
        self._check_same()
        with suppress(OSError):
            if path.exists() and self.read(name) == data:
                return
        path.parent.mkdir(exist_ok=True)
        temporary = path.with_name(f".part-{secrets.token_hex(8)}")
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def read(self, name: str) -> bytes:
        """Return a file's bytes, but at most one more than an image may have; never follow links or wait for a pipe."""
        flags, place = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), self._folder / name
        try:
            folder = os.open(place.parent, flags | getattr(os, "O_DIRECTORY", 0))
        except FileNotFoundError:
            self._check_same()
            raise
        try:
            handle = os.open(place.name, flags, dir_fd=folder)
        finally:
            os.close(folder)
        with open(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(errno.EINVAL, f"{name} is not a file")
            return file.read(MAX_BYTES + 1)

    def check(self) -> None:
        """Check that a file can be written."""
        folder = next(path for path in (self._folder, *self._folder.absolute().parents) if path.exists())
        tempfile.TemporaryFile(dir=folder).close()

    def free_bytes(self) -> int | None:
        """See `RemoteFiles`."""
        folder = next(path for path in (self._folder, *self._folder.absolute().parents) if path.exists())
        return shutil.disk_usage(folder).free

    def _check_same(self) -> None:
        """Check that the folder was not deleted or replaced since it was first used.

        Raises:
            StoreError: It was.
        """
        if self._opened is not None and file_identity(self._folder) != self._opened:
            gone = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            raise StoreError(unwritable_message(str(self._folder), gone))


T = TypeVar("T")
KEYS = {
    "AWS_ACCESS_KEY_ID": "access_key_id", "AWS_SECRET_ACCESS_KEY": "secret_access_key",
    "AWS_SESSION_TOKEN": "session_token",
}  # fmt: skip
"""Environment variable -> its name in the library; the first two must be set."""
REGION = "us-east-1"
CHECK_OBJECT = ".limner"
"""An object written to check, before anything is paid for, that the bucket is writable."""
RETRIES = 8
RETRY_S = 90.0
"""The maximum number of retries, and their total time in seconds, if the service fails (5xx) or is unreachable."""
BACKOFF_S = 0.1
"""Seconds before the first retry; later pauses are longer."""
ATTEMPT_S = 60.0
CONNECT_S = 10.0
ADDRESS = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/([^?#@]*))?")
PERMISSIONS = "s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket"


class BucketFiles:
    """Storage of files in a bucket of S3 or a compatible service; a PUT stores an object completely or not at all.

    Keys, region and endpoint come only from the environment, by their usual names: ``AWS_ACCESS_KEY_ID``,
    ``AWS_SECRET_ACCESS_KEY``, ``AWS_SESSION_TOKEN``, ``AWS_REGION`` and ``AWS_ENDPOINT_URL``.
    """

    def __init__(self, root: str) -> None:
        match = ADDRESS.fullmatch(root)
        if match is None:
            # The address is not shown, because it may contain a key.
            raise UsageError("blobs=s3://… must be s3://BUCKET/PREFIX; keys come from the environment (AWS_…)")
        self.root, self._bucket, self._prefix = root, match[1], (match[2] or "").strip("/")

    def write(self, name: str, data: bytes) -> None:
        """Send one PUT, unless the service already has these bytes."""
        import obstore

        # Most services use the MD5 of the bytes as the ETag; with others, the bytes are sent again.
        tag = hashlib.md5(data, usedforsecurity=False).hexdigest()
        if self._asked(lambda: _tag(obstore.head(self._store, name)), None) != tag:
            self._asked(lambda: obstore.put(self._store, name, data, use_multipart=False))

    def read(self, name: str) -> bytes:
        """See `RemoteFiles`."""
        import obstore

        def get() -> bytes:
            answer = obstore.get(self._store, name)
            # A larger object is not an image, and does not match its hash.
            return bytes(answer.bytes()) if answer.meta["size"] <= MAX_BYTES else b""

        return self._asked(get)

    def names(self) -> Iterator[tuple[str, float]]:
        """See `RemoteFiles`."""
        import obstore

        objects = self._asked(lambda: [one for page in obstore.list(self._store) for one in page])
        for entry in sorted(objects, key=lambda one: str(one["path"])):
            if entry["path"] != CHECK_OBJECT:
                yield entry["path"], entry["last_modified"].timestamp()

    def move(self, name: str, to: str) -> None:
        """Copy a file, then delete the original."""
        import obstore

        self._asked(lambda: obstore.copy(self._store, name, to))
        self.remove(name)

    def remove(self, name: str) -> None:
        """See `RemoteFiles`."""
        import obstore

        self._asked(lambda: obstore.delete(self._store, name))

    def check(self) -> None:
        """Check that the bucket exists and is writable."""
        self.write(CHECK_OBJECT, b"Images of a Limner store lie here.\n")

    def free_bytes(self) -> int | None:
        """Return None: a bucket has no limit that can be asked for."""
        return None

    @cached_property
    def _store(self) -> Any:
        try:
            from obstore.store import S3Store
        except ModuleNotFoundError as error:
            raise StoreError(f"{self.root}: {error}; install it with: pip install 'limner[s3]'") from error
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or REGION
        backoff = {"init_backoff": timedelta(seconds=BACKOFF_S), "max_backoff": timedelta(seconds=10), "base": 2}
        how = {
            "max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_S), "backoff": backoff,
        }  # fmt: skip
        client = {
            "timeout": timedelta(seconds=ATTEMPT_S), "connect_timeout": timedelta(seconds=CONNECT_S),
            "allow_http": bool(endpoint and endpoint.startswith("http://")),
        }  # fmt: skip
        given = {"endpoint": endpoint} if endpoint else {}
        given |= {name: os.environ[variable] for variable, name in KEYS.items() if os.environ.get(variable)}
        if missing := [variable for variable in list(KEYS)[:2] if KEYS[variable] not in given]:
            # Without them, the library would look for keys elsewhere, for example on the network.
            raise StoreError(f"{self.root}: {' and '.join(missing)} not set; keys come only from the environment")
        return S3Store(
            self._bucket, prefix=self._prefix or None, region=region, client_options=client, retry_config=how, **given
        )

    def _asked(self, ask: Callable[[], T], *absent: T) -> T:
        """Return the service's answer, or `absent` if there is no such object.

        Raises:
            FileNotFoundError: There is no such object, and `absent` is not given.
            StoreError: The bucket cannot be reached or used; the message says what to do.
        """
        from obstore.exceptions import BaseError

        try:
            return ask()
        except (BaseError, OSError) as error:
            message = _error_message(error)
            if _is_absent(error) and "NoSuchBucket" not in message:
                if absent:
                    return absent[0]
                raise FileNotFoundError(message) from error
            raise StoreError(f"{self.root}: {self._advice(error, message)}") from error

    def _advice(self, error: Exception, message: str) -> str:
        from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

        if "NoSuchBucket" in message:
            return f"there is no bucket {self._bucket!r}; create it, or correct blobs= in --store. Nothing is lost"
        denied = isinstance(error, PermissionError | PermissionDeniedError | UnauthenticatedError)
        if denied or "AccessDenied" in message:
            return f"the keys in the environment lack permissions; they need {PERMISSIONS} ({message})"
        check = "check AWS_ENDPOINT_URL and the network"
        return f"the service cannot be reached or fails: {message}; {check}, then {RUN_AGAIN}"


def _tag(about: Any) -> str | None:
    tag = about["e_tag"]
    return str(tag).strip('"') if tag else None


def _is_absent(error: Exception) -> bool:
    from obstore.exceptions import NotFoundError

    return isinstance(error, FileNotFoundError | NotFoundError)


def _error_message(error: Exception) -> str:
    """Return the beginning of an error message, without anything that could be a key."""
    return " ".join(redact(str(error).partition("Debug source")[0]).split())[:400]
