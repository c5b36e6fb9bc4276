"""A PostgreSQL server for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgres.server import PostgresServer


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a fresh database; images go to a temporary folder."""
    with PostgresServer() as server:
        yield server.url
