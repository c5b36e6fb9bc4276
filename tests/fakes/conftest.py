from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.client import ChatServer


@pytest.fixture(scope="module")
def service() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
def server(service: ChatServer) -> ChatServer:
    service.reset()
    return service
