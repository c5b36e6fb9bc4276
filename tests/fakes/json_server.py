"""A service of one's own making on loopback: every request gets the JSON that a function gives for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.fakes.wire_server import Answer, Asked, WireServer, wire_server

Reply = Callable[[str, dict[str, Any]], Any]


@contextmanager
def json_server(reply: Reply) -> Iterator[tuple[str, list[tuple[str, dict[str, Any], str | None]]]]:
    """Its address, and every request so far: path, body and key."""
    seen: list[tuple[str, dict[str, Any], str | None]] = []

    def answer(_service: WireServer, asked: Asked) -> Answer:
        body = asked.body or {}
        seen.append((asked.path, body, asked.headers.get("authorization")))
        return 200, reply(asked.path, body)

    with wire_server(answer) as service:
        yield service.root, seen
