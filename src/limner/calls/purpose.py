"""What a call is made for: written beside it so that spending can be told by exam, never part of its key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_current: ContextVar[tuple[str | None, str | None]] = ContextVar("purpose", default=(None, None))


@contextmanager
def purpose(exam: str | None, painter: str | None) -> Iterator[None]:
    """Calls made inside, in this task and those it starts, are for this exam and painter."""
    token = _current.set((exam, painter))
    try:
        yield
    finally:
        _current.reset(token)


def current() -> tuple[str | None, str | None]:
    """Exam and painter that calls are being made for."""
    return _current.get()
