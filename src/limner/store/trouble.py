"""What a database or a disk cannot help, in one message each: what happened to the store, and what to do."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError

NOT_OURS = (IntegrityError, DataError)
"""Errors that say something of what was written, not of the store."""
AGAIN = "run the same command again; what is stored stays"
FULL = ("disk is full", "no space left", "disk full", "quota")
DAMAGED = ("malformed", "not a database", "invalid page", "could not read block", "missing chunk", "corrupt")
READ_ONLY = ("readonly database", "read-only", "permission denied for")
GONE = ("no such table", "does not exist")
IO_ERROR = "disk i/o error"
ROOM = 2**20
"""With fewer bytes free a disk counts as full."""
LOCKED = ("locked",)
LOST = ("connection", "server closed", "terminating", "shutting down", "starting up")


def advice(said: str, url: str, file: Path | None = None) -> str:
    """Return what to do about a database's complaint; nothing where only the complaint itself can help."""
    words = said.lower()
    if IO_ERROR in words and file is not None and _is_full(file):
        words = FULL[0]
    told: list[tuple[tuple[str, ...], str]] = [
        (FULL, f"there is no room left on its disk: make room and {AGAIN}"),
        (
            DAMAGED,
            f"its database is damaged: `limner verify --store {url}` says where. Put a backup back, or save what can "
            "be read with `sqlite3 limner.db .recover`",
        ),
        (READ_ONLY, "it can only be read here: copy it to where it can be written"),
        ((IO_ERROR,), f"its disk cannot be read or written: look after that, then {AGAIN}"),
        (LOCKED, f"another process kept it to itself for too long: wait for that one, then {AGAIN}"),
        (LOST, f"the connection to its database was lost: once that is back, {AGAIN}"),
        (GONE, "its tables are gone: it was replaced or emptied while it was in use"),
    ]
    return next((what for signs, what in told if any(sign in words for sign in signs)), "")


def _is_full(file: Path) -> bool:
    try:
        return shutil.disk_usage(file.absolute().parent).free < ROOM
    except OSError:
        return False


def told(error: DBAPIError, url: str, done: str, file: Path | None = None) -> str:
    """Return the message for a store that cannot be read or written (`done`)."""
    said = " ".join(str(error.orig or error).split())
    what = advice(said, url, file)
    return f"the store {url} cannot be {done}: {said}" + (f"; {what}" if what else "")


def unwritable(place: str, error: OSError) -> str:
    """Return the message for an image that cannot be written."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    what = f"; there is no room left on its disk: make room and {AGAIN}" if full else f"; correct that and {AGAIN}"
    return f"an image cannot be written to {place}: {error}{what}"


def changed(url: str, how: str) -> str:
    """Return the message for a store that is no longer the one that was opened."""
    return (
        f"the store {url} was {how} while it was in use; the run stops here. What had been stored was in the old one: "
        "put it back and run the same command again, or begin anew"
    )
