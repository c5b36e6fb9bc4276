"""Where the stores of the suite lie: SQLite with a folder, PostgreSQL with a folder, PostgreSQL with a bucket."""

from __future__ import annotations

import uuid
from pathlib import Path
from urllib.parse import quote

import pytest
import sqlalchemy as sa

from limner.store import Store
from limner.store.schema import meta, metadata

PLACES = [
    "folder",
    pytest.param("postgres", marks=pytest.mark.slow),
    pytest.param("s3", marks=pytest.mark.slow),
]
EVERYWHERE = pytest.mark.parametrize("place", PLACES, indirect=True)
"""For what the database and the place of images decide."""

NO_BUCKET = pytest.mark.parametrize("place", PLACES[:2], indirect=True)
"""For what has nothing to do with images."""


def fresh_place(request: pytest.FixtureRequest, kind: str, folder: Path, database: str = "suite") -> str:
    """The URL of an empty store of this kind."""
    if kind == "folder":
        return str(folder / "store")
    url = request.getfixturevalue("postgres")
    blobs = f"{request.getfixturevalue('bucket')}/{uuid.uuid4().hex}" if kind == "s3" else str(folder / "blobs")
    return f"{_emptied(url, database)}&blobs={quote(blobs, safe='')}"


def _emptied(server: str, name: str) -> str:
    """A database on the server, made where there is none, without rows; its URL lacks the place of images."""
    plain = server.partition("&blobs")[0]
    url = plain.replace("/postgres?", f"/{name}?")
    engine = sa.create_engine(plain.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        there = connection.scalar(sa.text("SELECT 1 FROM pg_database WHERE datname = :name"), {"name": name})
        if not there:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    with Store(f"{url}&blobs=/nowhere") as store:
        names = ", ".join(table.name for table in metadata.sorted_tables if table is not meta)

        def empty(connection: sa.Connection) -> None:
            connection.exec_driver_sql(f"TRUNCATE {names}")
            connection.execute(meta.delete().where(meta.c.key != "version"))

        store.write(empty)
    return url
