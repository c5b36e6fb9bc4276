"""A server on loopback that misbehaves as it is told, for every client of Limner's.

`Misbehaving` runs in a thread and counts what it gets. How it answers is a function from a request to an `Answer`;
below stand the usual ones. Large answers are sent in pieces: they take no memory here.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

PIECE = 2**16
End = Literal["close", "reset", "hang"]


@dataclass(frozen=True)
class Seen:
    """One request as it came.

    Attributes:
        number: Counts from 0, over all paths.
        headers: Names in lower case.
    """

    number: int
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """What is sent back.

    Attributes:
        body: Whole, or piece by piece.
        end: ``close`` ends well, ``reset`` drops the connection after the body, ``hang`` keeps it open without a word
            until the server ends.
        declared: The Content-Length to claim; without one the end of the connection ends the body.
    """

    body: bytes | Iterable[bytes] = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    media: str = "application/json"
    end: End = "close"
    declared: int | None = None


Behaviour = Callable[[Seen], Answer]


class Misbehaving:
    """Use as a context manager; `behave` may be changed while it runs.

    Attributes:
        seen: All requests so far, in order.
    """

    def __init__(self, behave: Behaviour) -> None:
        self.behave = behave
        self.seen: list[Seen] = []
        self._changed = threading.Condition()
        self._over = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                owner._answer(self, headers, self.rfile.read(length))

            def do_GET(self) -> None:
                self.answer()

            def do_POST(self) -> None:
                self.answer()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *_: object) -> None:
                """A client that hangs up is no news."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def host(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        """Its address; every path below it is answered."""
        return f"http://{self.host}"

    def wait(self, requests: int, seconds: float = 60.0) -> None:
        """Wait until so many requests have come.

        Raises:
            TimeoutError: They have not.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.seen) >= requests, seconds):
                raise TimeoutError(f"{len(self.seen)} of {requests} requests after {seconds:g} s")

    def _answer(self, to: BaseHTTPRequestHandler, headers: dict[str, str], body: bytes) -> None:
        with self._changed:
            seen = Seen(len(self.seen), to.command, to.path, headers, body)
            self.seen.append(seen)
            self._changed.notify_all()
        answer = self.behave(seen)
        to.close_connection = True
        to.send_response(answer.status)
        if isinstance(answer.body, bytes) and answer.declared is None and answer.end == "close":
            to.send_header("Content-Length", str(len(answer.body)))
        elif answer.declared is not None:
            to.send_header("Content-Length", str(answer.declared))
        for name, value in {"Content-Type": answer.media, "Connection": "close", **answer.headers}.items():
            to.send_header(name, value)
        to.end_headers()
        for piece in [answer.body] if isinstance(answer.body, bytes) else answer.body:
            to.wfile.write(piece)
        to.wfile.flush()
        if answer.end == "hang":
            self._over.wait()
        if answer.end == "reset":
            to.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            to.connection.close()


def chat_reply(text: str = "fine", usage: Any = None, **extra: Any) -> dict[str, Any]:
    """A chat completion; `usage` as given, by default a plain one."""
    plain = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    head = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return {**head, "usage": plain if usage is None else usage, **extra}


def says(body: Any, status: int = 200, **headers: str) -> Answer:
    """JSON; a text is sent as it is."""
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return Answer(data, status, {name.replace("_", "-"): value for name, value in headers.items()})


def chat(text: str = "fine", usage: Any = None) -> Behaviour:
    """A good chat service, but for its usage."""
    return lambda _seen: says(chat_reply(text, usage))


def redirect(to: str | Callable[[Seen], str], status: int = 307) -> Behaviour:
    """Sends every request elsewhere."""
    return lambda seen: says({}, status, location=to if isinstance(to, str) else to(seen))


def flood(size: int, letter: bytes = b" ") -> Behaviour:
    """A JSON text of so many bytes, with no length told beforehand."""
    return lambda _seen: Answer(_text(size, letter))


def bomb(size: int, encoding: str = "gzip", letter: bytes = b" ") -> Behaviour:
    """The same, compressed: ``gzip`` or ``deflate``."""
    return lambda _seen: Answer(_squeezed(_text(size, letter), encoding), headers={"Content-Encoding": encoding})


def nested(depth: int) -> Behaviour:
    """A chat reply with lists nested so deep beside its text."""
    text = json.dumps(chat_reply())[:-1] + ', "deep": ' + "[" * depth + "]" * depth + "}"
    return lambda _seen: says(text)


def cut(body: Any, keep: int) -> Behaviour:
    """The first bytes of a reply whose whole length was promised; then the connection is dropped."""
    data = json.dumps(body).encode()
    return lambda _seen: Answer(data[:keep], declared=len(data), end="reset")


def silent(_seen: Seen) -> Answer:
    """Heads, and then nothing for as long as the server lives."""
    return Answer(end="hang")


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """One after the other by the request's number; the last for all that come after."""
    return lambda seen: behaviours[min(seen.number, len(behaviours) - 1)](seen)


def _text(size: int, letter: bytes) -> Iterator[bytes]:
    yield b'{"choices": [{"message": {"content": "'
    piece = letter * PIECE
    for at in range(0, size, PIECE):
        yield piece[: min(PIECE, size - at)]
    yield b'"}, "finish_reason": "stop"}]}'


def _squeezed(pieces: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31 if encoding == "gzip" else 15)
    for piece in pieces:
        if made := packer.compress(piece):
            yield made
    yield packer.flush()
