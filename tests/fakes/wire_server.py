"""A service on loopback that answers by the routes it is given, and remembers what was asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any

from tests.fakes import misbehaving
from tests.fakes.misbehaving import Misbehaving, Seen

Answer = tuple[int, Any]
"""A status, and JSON or an image's bytes."""


@dataclass(frozen=True)
class Asked:
    """One request; `body` is JSON, or a form's fields with files as bytes, a list where one comes several times."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class WireServer:
    """The server's address, and its requests."""

    root: str
    asked: list[Asked]

    def sent(self) -> list[Any]:
        """The bodies posted."""
        return [one.body for one in self.asked if one.method == "POST"]


def _form(kind: str, data: bytes) -> dict[str, Any]:
    message = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + data)
    found: dict[str, list[Any]] = {}
    for part in message.iter_parts():
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        name = str(part.get_param("name", header="content-disposition"))
        found.setdefault(name, []).append(content if part.get_filename() else content.decode())
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


@contextmanager
def wire_server(answer: Callable[[WireServer, Asked], Answer]) -> Iterator[WireServer]:
    """A running server; an answer may name its address."""
    service = WireServer("", [])

    def behave(seen: Seen) -> misbehaving.Answer:
        kind = seen.headers.get("content-type", "")
        body = _form(kind, seen.body) if kind.startswith("multipart/") else json.loads(seen.body or b"null")
        asked = Asked(seen.method, seen.path, seen.headers, body)
        service.asked.append(asked)
        status, reply = answer(service, asked)
        if isinstance(reply, bytes):
            return misbehaving.Answer(reply, status, media="image/png", declared=len(reply))
        data = json.dumps(reply).encode()
        return misbehaving.Answer(data, status, declared=len(data))

    with Misbehaving(behave) as server:
        service.root = server.url
        yield service
