"""A service on loopback that answers by the routes it is given, and remembers what was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

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

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply(None)

        def do_POST(self) -> None:
            data, kind = self.rfile.read(int(self.headers["Content-Length"])), self.headers["Content-Type"]
            self._reply(_form(kind, data) if kind.startswith("multipart/") else json.loads(data))

        def _reply(self, body: Any) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            one = Asked(self.command, self.path, headers, body)
            service.asked.append(one)
            status, found = answer(service, one)
            data = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "image/png" if isinstance(found, bytes) else "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.root = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
