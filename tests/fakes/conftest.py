from __future__ import annotations

import pytest

from tests.fakes.client import ChatServer


@pytest.fixture
def server(chat: ChatServer) -> ChatServer:
    """The fake chat service, which other tests of this process use too."""
    return chat
