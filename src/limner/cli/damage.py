"""Damaged stores: which rows are damaged, and a copy without them for commands that only read."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..core.errors import StoreError
from ..running.repair import IDENTITIES
from ..store.store import Store
from ..store.verify import Defect, check_rows, copy_undamaged

READERS = ("scores", "compare", "agree", "show", "export", "table", "plot", "report", "spend", "estimate", "reproduce",
           "study status", "study export", "build status", "build list")  # fmt: skip
"""The commands that change nothing in a store, and can be shown a part of it."""


def reads_only(words: Sequence[str]) -> bool:
    """Return whether a command only reads its store."""
    return any(words[: len(name.split())] == name.split() for name in READERS) and "--run" not in words


def copy_undamaged_of(urls: Sequence[str], folder: str) -> tuple[str | None, str]:
    """Copy the first damaged one of these stores without its damaged rows.

    Returns:
        The address of the copy, None if there is none; and the message about the damage, empty if there is no damage.
    """
    copy, defects = None, list[Defect]()
    for url in urls:
        with suppress(StoreError, sqlite3.Error), Store(url, create=False) as store:
            if store.file is None:
                defects = list(check_rows(store, IDENTITIES).defects)
            else:
                copy, defects = copy_undamaged(store, Path(folder), IDENTITIES)
        if defects:
            break
    else:
        return None, ""
    shown = "; ".join(f"table {defect.subject}: {defect.detail}" for defect in defects[:MAX_NAMED])
    more = f"; and {len(defects) - MAX_NAMED:,} more" if len(defects) > MAX_NAMED else ""
    return copy, (
        f"the store {store.url} is damaged: {shown}{more}. `limner verify --store {store.url}` lists all damaged rows"
    )


MAX_NAMED = 3
"""The most damaged rows that a message names."""
