"""Who asks for what: content keys, which are the same on every machine; the purpose of calls; and processes."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5


def canonical(value: Any) -> str:
    """Return JSON in one fixed spelling: sorted keys, no spaces, whole floats as integers.

    >>> canonical({"b": 1.0, "a": "é"})
    '{"a":"é","b":1}'
    """
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, dict | Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("keys of a request must be text")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def digest(*parts: Any) -> str:
    """Return the sha256 of the parts' canonical JSON."""
    return hashlib.sha256(canonical(list(parts)).encode("utf-8", "surrogatepass")).hexdigest()


def setup_id(setup: Mapping[str, Any]) -> str:
    """Return the id of an evaluator: a hash of everything that shapes its marks."""
    return digest("setup-1", setup)


@dataclass(frozen=True)
class Request:
    """A fully resolved request; images are given by content hash.

    Attributes:
        kind: ``chat``, ``paint`` or ``probe``.
        target: The model or service it goes to, such as ``openai/gpt-6.1-sol``.
        body: Everything that can change the outcome.
        repeat: Counts deliberate repetitions of the same request.
        round: Counts retries after a stored failure.
    """

    kind: str
    target: str
    body: Mapping[str, Any] = field(default_factory=dict)
    repeat: int = 0
    round: int = 0

    @cached_property
    def key(self) -> str:
        """The sha256 that identifies the request."""
        parts: list[Any] = ["limner-call-1", self.kind, self.target, self.body, self.repeat]
        return digest(*parts, self.round) if self.round else digest(*parts)


_current: ContextVar[tuple[str | None, str | None]] = ContextVar("purpose", default=(None, None))


@contextmanager
def purpose(exam: str | None, painter: str | None) -> Iterator[None]:
    """Attribute calls made in this block, and in tasks it starts, to this exam and painter."""
    token = _current.set((exam, painter))
    try:
        yield
    finally:
        _current.reset(token)


_idempotency: ContextVar[dict[str, str]] = ContextVar("idempotency", default={})  # noqa: B039


@contextmanager
def idempotent(header: str | None, key: str) -> Iterator[None]:
    """Send a UUID of the key under this header with every request that changes something in this block."""
    # As a UUID: the one form that every service with such keys accepts; some allow no more than 36 characters.
    token = _idempotency.set({} if header is None else {header: str(uuid5(NAMESPACE_OID, key))})
    try:
        yield
    finally:
        _idempotency.reset(token)


def idempotency_headers() -> dict[str, str]:
    """Return the header by which a service recognises the request being made if it is repeated."""
    return _idempotency.get()


def current() -> tuple[str | None, str | None]:
    """Return the exam and painter that calls are being made for."""
    return _current.get()


@dataclass(frozen=True)
class Owner:
    """A process, distinguished by its start time from an earlier one with the same number.

    Attributes:
        start: Seconds from the machine's start to the process's start, which setting the clock does not change.
    """

    host: str
    pid: int
    start: float

    @classmethod
    def of(cls, row: Any) -> Owner:
        """Return the process that a row of the store names."""
        return cls(row.host, row.pid, row.process_start)

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of the store that name it."""
        return {"host": self.host, "pid": self.pid, "process_start": self.start}

    def is_dead_here(self) -> bool:
        """Return whether this was a process of this machine that has ended."""
        if self.host != this_host():
            return False
        import psutil

        try:
            process = psutil.Process(self.pid)
            other = abs(_start(process) - self.start) > 2
            return bool(other or process.status() == psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return True
        except psutil.Error:
            return False


@lru_cache(maxsize=1)
def this_host() -> str:
    """Return a name for this machine, boot and process namespace, within which process numbers are unique."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        return socket.gethostname()
    return f"{socket.gethostname()}|{boot}|{space}"


def this_process() -> Owner:
    """Return the running process."""
    import psutil

    return Owner(this_host(), os.getpid(), _start(psutil.Process()))


def _start(process: Any) -> float:
    import psutil

    return float(process.create_time() - psutil.boot_time())
