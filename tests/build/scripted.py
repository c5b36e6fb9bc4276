"""A scripted LLM on loopback for builds: it answers a step by its prompt, and refuses a request that lacks inputs."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

INPUT_PRICE, OUTPUT_PRICE = 1.0, 4.0


@dataclass(frozen=True)
class Heard:
    """One request: its words, the hashes of its pictures, and how often it was objected to."""

    text: str
    pictures: tuple[str, ...]
    turn: int = 0


@dataclass(frozen=True)
class Route:
    """How one step is answered.

    Attributes:
        mark: Words that stand in this step's prompt and in no other's.
        reply: What is said; text goes as it is, all else as JSON.
        needs: Words that must stand in the request, or it is refused.
        pictures: How many pictures must come with it.
    """

    mark: str
    reply: Callable[[Heard], Any]
    needs: tuple[str, ...] = ()
    pictures: int = 0


@dataclass
class Scripted:
    """The server's address and what it saw.

    Attributes:
        refused: Why requests were refused.
        answered: Request -> how often it was answered whole.
        spent: What its replies cost, in dollars.
        kill: A process and the number of the request at which it is killed.
        brush: What draws, where the server is an image service too.
        drawn: The prompts of the pictures it sent.
    """

    routes: list[Route]
    url: str = ""
    heard: list[tuple[str, Heard]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    answered: Counter[str] = field(default_factory=Counter)
    total: int = 0
    spent: float = 0.0
    kill: tuple[int, int] | None = None
    killed_in_flight: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    brush: Callable[[str], bytes] | None = None
    drawn: list[str] = field(default_factory=list)

    def draw(self, prompt: str) -> tuple[int, Any]:
        """The picture for a prompt, as an image service sends it."""
        if self.brush is None:
            return 400, {"error": {"message": "nobody draws here", "type": "invalid_request_error"}}
        self.drawn.append(prompt)
        return 200, {"data": [{"b64_json": base64.b64encode(self.brush(prompt)).decode()}]}

    def asked(self, mark: str) -> list[Heard]:
        """The requests of one step."""
        return [heard for found, heard in self.heard if found == mark]

    def answer(self, body: dict[str, Any]) -> tuple[int, Any]:
        """The status and the reply to one request."""
        heard = _heard(body)
        route = next((route for route in self.routes if route.mark in heard.text), None)
        lacking = ["a step's prompt"] if route is None else [word for word in route.needs if word not in heard.text]
        if route is not None and len(heard.pictures) < route.pictures:
            lacking.append(f"{route.pictures} pictures")
        if lacking or route is None:
            why = f"the request lacks {', '.join(lacking)}: {heard.text[:80]!r}"
            self.refused.append(why)
            return 400, {"error": {"message": why, "type": "invalid_request_error"}}
        self.heard.append((route.mark, heard))
        said = route.reply(heard)
        text = said if isinstance(said, str) else json.dumps(said)
        sent, written = max(100, len(heard.text) // 4 + 800 * len(heard.pictures)), max(50, len(text) // 4)
        self.spent += (sent * INPUT_PRICE + written * OUTPUT_PRICE) / 1e6
        usage = {"prompt_tokens": sent, "completion_tokens": written, "total_tokens": sent + written}
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return 200, {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}


def _heard(body: dict[str, Any]) -> Heard:
    texts, pictures, turns = [], [], 0
    for message in body["messages"]:
        turns += message["role"] == "assistant"
        content = message["content"]
        parts: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for part in parts:
            if part["type"] == "text":
                texts.append(part["text"])
            else:
                data = part["image_url"]["url"].partition(",")[2]
                pictures.append(hashlib.sha256(base64.b64decode(data)).hexdigest())
    return Heard("\n".join(texts), tuple(pictures), turns)


@contextmanager
def scripted(*routes: Route) -> Iterator[Scripted]:
    """A running server."""
    service = Scripted(list(routes))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            key = hashlib.sha256(data).hexdigest()
            with service.lock:
                service.total += 1
                asked = json.loads(data)
                painted = self.path.endswith("/images/generations")
                status, found = service.draw(asked["prompt"]) if painted else service.answer(asked)
                if service.kill is not None and service.total == service.kill[1]:
                    # In flight, whatever else has been answered.
                    os.kill(service.kill[0], signal.SIGKILL)
                    service.killed_in_flight.append(key)
                    service.kill = None
            body = json.dumps(found).encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                return
            with service.lock:
                service.answered[key] += status == 200

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def write_provider(folder: Path, service: Scripted) -> None:
    """A ``limner.toml`` in which ``fake/…`` is the scripted LLM, with prices."""
    (folder / "limner.toml").write_text(
        f'[providers.fake]\nbase_url = "{service.url}"\nrequests_per_minute = 100000\n'
        'image_shape = "openai-images"\n'
        f'[models."fake/llm"]\ninput_price = {INPUT_PRICE}\noutput_price = {OUTPUT_PRICE}\nmax_output_tokens = 4096\n'
        '[painters."fake/brush"]\nimage_price = 0.04\n',
        "utf-8",
    )
