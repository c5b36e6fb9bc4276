"""The suite's store: on SQLite, and for what is marked so on PostgreSQL and with a bucket too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from limner.store import Store
from tests.store.places import fresh_place


@pytest.fixture(params=["folder"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store."""
    return fresh_place(request, request.param, tmp_path)


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    """An empty store."""
    with Store(place) as opened:
        yield opened
