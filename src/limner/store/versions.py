"""The schema's version: a new store gets its tables, a store of another version is refused."""

from __future__ import annotations

import sqlalchemy as sa

from ..core.errors import StoreError
from .schema import VERSION, meta, metadata

LOCK = int.from_bytes(b"limner")
"""The key of the advisory lock under which a PostgreSQL store is made."""


def has_tables(connection: sa.Connection, url: str) -> bool:
    """Return whether the store's tables are there.

    Raises:
        StoreError: They are of another version.
    """
    if not sa.inspect(connection).has_table(meta.name):
        return False
    version = connection.scalar(sa.select(meta.c.value).where(meta.c.key == "version"))
    if version not in (None, str(VERSION)):
        raise StoreError(
            f"the store {url} has version {version}, and this Limner reads only version {VERSION}: "
            "use the Limner that made it, or name another --store"
        )
    return version is not None


def make_tables(readers: sa.Engine, writers: sa.Engine, url: str) -> None:
    """Make the tables of a new store; several processes may do so at once.

    Raises:
        StoreError: The store has another version.
    """
    with readers.connect() as connection:
        if has_tables(connection, url):
            return
    with writers.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
        # Another process may have made them while this one waited for its turn.
        if not has_tables(connection, url):
            metadata.create_all(connection)
            connection.execute(meta.insert().values(key="version", value=str(VERSION)))
