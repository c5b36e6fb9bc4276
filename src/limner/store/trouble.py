"""Messages for database and disk errors: what happened to the store, and what to do."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError

DATA_ERRORS = (IntegrityError, DataError)
"""Errors in the data to be written, rather than in the store."""
RUN_AGAIN = "run the same command again; what is stored is kept"
DISK_FULL = ("disk is full", "no space left", "disk full", "quota")
DAMAGED = ("malformed", "not a database", "invalid page", "could not read block", "missing chunk", "corrupt")
READ_ONLY_REMEDY = "it is read-only here: copy it to a writable folder"
READ_ONLY = ("readonly database", "read-only", "permission denied for")
TABLES_MISSING = ("no such table", "does not exist")
IO_ERROR = "disk i/o error"
MIN_FREE_BYTES = 2**20
"""The number of free bytes below which a disk counts as full."""
LOCKED = ("locked",)
CONNECTION_LOST = ("connection", "server closed", "terminating", "shutting down", "starting up")


def advice(complaint: str, url: str, file: Path | None = None) -> str:
    """Return advice on a database's complaint; empty if there is none."""
    words = complaint.lower()
    if IO_ERROR in words and file is not None and _is_full(file):
        words = DISK_FULL[0]
    remedies: list[tuple[tuple[str, ...], str]] = [
        (DISK_FULL, f"its disk is full: free some space, then {RUN_AGAIN}"),
        (
            DAMAGED,
            f"its database is damaged: `limner verify --store {url}` shows where. Restore a backup, or recover what "
            "is readable with `sqlite3 limner.db .recover`",
        ),
        (READ_ONLY, READ_ONLY_REMEDY),
        ((IO_ERROR,), f"its disk cannot be read or written: fix that, then {RUN_AGAIN}"),
        (LOCKED, f"another process locked it for too long: wait for that process, then {RUN_AGAIN}"),
        (CONNECTION_LOST, f"the connection to its database was lost: when the server is back, {RUN_AGAIN}"),
        (TABLES_MISSING, "its tables are missing: it was replaced or emptied while in use"),
    ]
    return next((what for signs, what in remedies if any(sign in words for sign in signs)), "")


def _is_full(file: Path) -> bool:
    try:
        return shutil.disk_usage(file.absolute().parent).free < MIN_FREE_BYTES
    except OSError:
        return False


def describe_error(error: DBAPIError, url: str, done: str, file: Path | None = None) -> str:
    """Return the message for a store that cannot be used; `done` is the verb, such as ``written``."""
    complaint = " ".join(str(error.orig or error).split())
    remedy = advice(complaint, url, file)
    return f"the store {url} cannot be {done}: {complaint}" + (f"; {remedy}" if remedy else "")


def unwritable_message(place: str, error: OSError) -> str:
    """Return the message for an image that cannot be written."""
    if error.errno == errno.ENOENT:
        return f"the image folder {place} was deleted or moved while in use; put it back, then {RUN_AGAIN}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        remedy = f"its disk is full: free some space, then {RUN_AGAIN}"
    elif error.errno == errno.EROFS:
        remedy = READ_ONLY_REMEDY
    else:
        remedy = f"fix that, then {RUN_AGAIN}"
    return f"an image cannot be written to {place}: {error}; {remedy}"


def no_room_message(place: str, free: int, needed: int) -> str:
    """Return the message for a disk without room for the images that are about to be paid for."""
    sizes = f"{free / 2**20:,.0f} MiB free, and {needed / 2**20:,.0f} MiB are needed"
    return f"no call for an image was made: the disk of {place} has {sizes}; free some space"


def changed_message(url: str, how: str) -> str:
    """Return the message for a store that is no longer the one that was opened."""
    return (
        f"the store {url} was {how} while in use; the run stops. Earlier results are in the old store: "
        "put it back and run the same command again, or start over"
    )
