"""Blobs in a bucket of S3 or of what speaks like it: ``s3://BUCKET/PREFIX``.

Keys, region and endpoint come from the environment alone, by the names that other programs know: ``AWS_ACCESS_KEY_ID``,
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
from ..core.redaction import redacted
from .trouble import AGAIN

T = TypeVar("T")
KEYS = {
    "AWS_ACCESS_KEY_ID": "access_key_id", "AWS_SECRET_ACCESS_KEY": "secret_access_key",
    "AWS_SESSION_TOKEN": "session_token",
}  # fmt: skip
"""Variable -> what the library calls it; the first two must be set."""
REGION = "us-east-1"
MARK = ".limner"
"""The object that shows, before anything is paid for, that the bucket can be written."""
RETRIES = 8
RETRY_S = 90.0
"""A service that fails (5xx) or cannot be reached is asked so often, for so long."""
BACKOFF_S = 0.1
"""The first pause between two tries; the next are longer."""
ATTEMPT_S = 60.0
CONNECT_S = 10.0
ADDRESS = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/([^?#@]*))?")
RIGHTS = "s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket"


class BucketFiles:
    """Files in a bucket; a PUT is whole or not there at all."""

    def __init__(self, root: str) -> None:
        found = ADDRESS.fullmatch(root)
        if found is None:
            # Not shown: there may be a key in it.
            raise UsageError("blobs=s3://… takes s3://BUCKET/PREFIX alone; keys come from the environment (AWS_…)")
        self.root, self._bucket, self._prefix = root, found[1], (found[2] or "").strip("/")

    def write(self, name: str, data: bytes) -> None:
        """One PUT, unless the service says that it has these very bytes."""
        import obstore

        # Most services give the MD5 of the bytes as the ETag; where it is something else, they are sent again.
        tag = hashlib.md5(data, usedforsecurity=False).hexdigest()
        if self._asked(lambda: _tag(obstore.head(self._store, name)), None) != tag:
            self._asked(lambda: obstore.put(self._store, name, data, use_multipart=False))

    def read(self, name: str) -> bytes:
        """See `BlobFiles`."""
        import obstore

        return self._asked(lambda: bytes(obstore.get(self._store, name).bytes()))

    def names(self) -> Iterator[tuple[str, float]]:
        """See `BlobFiles`."""
        import obstore

        found = self._asked(lambda: [one for page in obstore.list(self._store) for one in page])
        for about in sorted(found, key=lambda one: str(one["path"])):
            if about["path"] != MARK:
                yield about["path"], about["last_modified"].timestamp()

    def move(self, name: str, to: str) -> None:
        """Copied, then deleted."""
        import obstore

        self._asked(lambda: obstore.copy(self._store, name, to))
        self.remove(name)

    def remove(self, name: str) -> None:
        """See `BlobFiles`."""
        import obstore

        self._asked(lambda: obstore.delete(self._store, name))

    def check(self) -> None:
        """Whether the bucket is there and can be written."""
        self.write(MARK, b"Images of a Limner store lie here.\n")

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
            # Not left to the library, which would look for keys elsewhere: on the machine's own network, for one.
            raise StoreError(f"{self.root}: {' and '.join(missing)} not set; keys come from the environment alone")
        return S3Store(
            self._bucket, prefix=self._prefix or None, region=region, client_options=client, retry_config=how, **given
        )

    def _asked(self, ask: Callable[[], T], *absent: T) -> T:
        """Return what the service says; `absent` where there is no such object.

        Raises:
            FileNotFoundError: There is no such object, and nothing is given for that.
            StoreError: The bucket cannot be reached or used; says what to do.
        """
        from obstore.exceptions import BaseError

        try:
            return ask()
        except (BaseError, OSError) as error:
            said = _said(error)
            if _is_absent(error) and "NoSuchBucket" not in said:
                if absent:
                    return absent[0]
                raise FileNotFoundError(said) from error
            raise StoreError(f"{self.root}: {self._advice(error, said)}") from error

    def _advice(self, error: Exception, said: str) -> str:
        from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

        if "NoSuchBucket" in said:
            return f"there is no bucket {self._bucket!r}; make it, or correct blobs= in --store. Nothing is lost"
        if isinstance(error, PermissionError | PermissionDeniedError | UnauthenticatedError) or "AccessDenied" in said:
            return f"the keys in the environment may not use it; they need {RIGHTS} ({said})"
        return f"the service cannot be reached or fails: {said}; look at AWS_ENDPOINT_URL and the network, then {AGAIN}"


def _tag(about: Any) -> str | None:
    tag = about["e_tag"]
    return str(tag).strip('"') if tag else None


def _is_absent(error: Exception) -> bool:
    from obstore.exceptions import NotFoundError

    return isinstance(error, FileNotFoundError | NotFoundError)


def _said(error: Exception) -> str:
    """Return the first of what a service or the library says, without what could be a key."""
    return " ".join(redacted(str(error).partition("Debug source")[0]).split())[:400]
