"""Every error a user can meet. Each says what is wrong, where, and what to do."""

from __future__ import annotations

from pathlib import Path


class LimnerError(Exception):
    """Base of all errors shown to the user as one message, without a traceback."""

    exit_code = 1


class UsageError(LimnerError):
    """The command or call was put together wrongly."""

    exit_code = 2


class DataError(LimnerError):
    """A data file is wrong. Names the file and, where known, the line and the id."""

    def __init__(
        self, message: str, *, file: Path | str | None = None, line: int | None = None, id: str | None = None
    ) -> None:
        self.message, self.file, self.line, self.id = message, file, line, id
        place = f"{file}:{line}" if file and line else str(file or "")
        parts = [p for p in (place, f"id {id}" if id else "", message) if p]
        super().__init__(": ".join(parts))


class Lacking(LimnerError):
    """Something a single question needs is not there; the others go on."""


class StoreError(LimnerError):
    """The store cannot be opened, read or written."""


class NoStore(StoreError):
    """There is no store at this place yet."""


class LostImage(StoreError):
    """An image of the store cannot be had; the others go on."""


class DamagedImage(LostImage):
    """An image of the store has other bytes than those that its hash names."""


class StopRun(LimnerError):
    """A fault that makes every further call pointless, such as a refused key."""
