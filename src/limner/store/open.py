"""Opening a store: by its place, if it is there, or an empty one to look at."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .store import Store, store_exists


@contextmanager
def open_store(store: Store | str | Path, *, create: bool = False) -> Iterator[Store]:
    """A store by URL, closed at the end; a store that is open already stays open."""
    if isinstance(store, Store):
        yield store
    else:
        with Store(store, create=create) as fresh:
            yield fresh


@contextmanager
def open_or_empty(store: str | Path) -> Iterator[Store]:
    """The store, or where there is none an empty one that leaves nothing behind."""
    if store_exists(store):
        with open_store(store) as found:
            yield found
    else:
        with tempfile.TemporaryDirectory(prefix="limner-") as folder, Store(folder) as empty:
            yield empty
