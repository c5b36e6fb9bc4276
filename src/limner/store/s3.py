"""Blobs in a bucket of S3 or a compatible service: ``s3://BUCKET/PREFIX``.

Keys, region and endpoint come only from the environment, by their usual names: ``AWS_ACCESS_KEY_ID``,
``AWS_SECRET_ACCESS_KEY``, ``AWS_SESSION_TOKEN``, ``AWS_REGION`` and ``AWS_ENDPOINT_URL``.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cached_property
from typing import Any, TypeVar

from ..core.errors import StoreError, UsageError
from ..core.images import MAX_BYTES
from ..core.redaction import redact
from .trouble import RUN_AGAIN

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
    """Storage of files in a bucket; a PUT stores an object completely or not at all."""

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
        """See `BlobFiles`."""
        import obstore

        def get() -> bytes:
            answer = obstore.get(self._store, name)
            # A larger object is not an image, and does not match its hash.
            return bytes(answer.bytes()) if answer.meta["size"] <= MAX_BYTES else b""

        return self._asked(get)

    def names(self) -> Iterator[tuple[str, float]]:
        """See `BlobFiles`."""
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
        """See `BlobFiles`."""
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
