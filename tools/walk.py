"""Which files of the package a piece of work passes: ``python -m tools.walk``.

Two walks: one question from its data file to a number on the site, stage by stage, and one paid call. A file is passed
when one of its functions runs; loading a module counts for nothing.
"""

from __future__ import annotations

import base64
import io
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import FrameType
from typing import Any

from PIL import Image

import limner
from limner.core.exam import Selection

PACKAGE = Path(str(limner.__file__)).parent
EXAM = "sample/genexam"
FIRST = Selection(limit=1)
SETTINGS = """
[providers.service]
base_url = "{address}/v1"
image_shape = "openai-images"

[painters."service/brush"]
image_price = 0.02
"""
TRACED: ContextVar[bool] = ContextVar("TRACED", default=False)
"""Whether a task of the event loop belongs to the walk; tasks that it starts inherit this."""


@contextmanager
def passed(files: dict[str, None]) -> Iterator[None]:
    """Add the package's files, in the order in which they are first passed, while the block runs.

    Left out are other tasks of the event loop and the callers of the block, which resume meanwhile. Other threads
    work for the block and count.
    """
    inside, here = str(PACKAGE) + os.sep, threading.get_ident()
    callers, caller = set(), sys._getframe().f_back
    while caller is not None:
        callers.add(caller)
        caller = caller.f_back
    TRACED.set(True)

    def note(frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(inside) and frame not in callers:
            if not TRACED.get() and threading.get_ident() == here:
                return
            name = file.removeprefix(inside).replace(os.sep, "/")
            if name not in files and not _loading(frame, inside):
                files[name] = None

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _loading(frame: FrameType | None, inside: str) -> bool:
    """Whether this runs because a module of the package is being loaded."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(inside):
            return True
        frame = frame.f_back
    return False


def question_walk(folder: Path) -> dict[str, list[str]]:
    """The files passed by one question, stage by stage."""
    from limner import exams
    from limner.report import site

    store = str(folder / "store")
    stages: dict[str, Callable[[], object]] = {
        "read": lambda: exams.read(exams.resolve(EXAM)),
        "draw": lambda: limner.run(EXAM, painters=["control/reference"], store=store, selection=FIRST),
        "mark": lambda: limner.run(EXAM, judges=["ocr"], store=store, selection=FIRST, draw=False),
        "score": lambda: limner.scores(EXAM, store=store),
        "site": lambda: site.build(folder / "site", [EXAM], store=store),
    }
    found = {}
    for name, stage in stages.items():
        files: dict[str, None] = {}
        with passed(files):
            stage()
        found[name] = list(files)
    return found


def call_walk(folder: Path) -> list[str]:
    """The files passed by a drawing that an image service is paid for, from the moment the painter is asked."""
    from limner.painters import service

    files: dict[str, None] = {}
    before, here = service.ApiPainter.paint, Path.cwd()

    async def paint(self: Any, *given: Any) -> Any:
        with passed(files):
            return await before(self, *given)

    server = HTTPServer(("127.0.0.1", 0), _Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        (folder / "limner.toml").write_text(SETTINGS.format(address=address), encoding="utf-8")
        os.chdir(folder)
        setattr(service.ApiPainter, "paint", paint)  # noqa: B010
        done = limner.run(EXAM, painters=["service/brush"], store=str(folder / "calls"), selection=FIRST)
    finally:
        setattr(service.ApiPainter, "paint", before)  # noqa: B010
        os.chdir(here)
        server.shutdown()
        server.server_close()
    if done.failed:
        raise RuntimeError(f"the call failed: {done.failure_lines()}")
    return list(files)


class _Service(BaseHTTPRequestHandler):
    """An image service that draws a white square."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        image = io.BytesIO()
        Image.new("RGB", (64, 64), "white").save(image, "PNG")
        body = json.dumps({"data": [{"b64_json": base64.b64encode(image.getvalue()).decode()}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


def by_room(files: list[str]) -> str:
    """Files by the room they stand in: ``calls (claims, journal); store (records)``."""
    rooms: dict[str, list[str]] = {}
    for file in sorted(files):
        room, _, name = file.rpartition("/")
        rooms.setdefault(room, []).append(name.removesuffix(".py"))
    return "; ".join(f"{room} ({', '.join(names)})" if room else ", ".join(names) for room, names in rooms.items())


def report() -> str:
    """Both walks as Markdown tables, which the page on the architecture has."""
    with tempfile.TemporaryDirectory() as folder:
        stages, paid = question_walk(Path(folder)), call_walk(Path(folder))
    every = {file for files in stages.values() for file in files}
    lines = ["| stage | files | which |", "|---|--:|---|"]
    lines += [f"| {name} | {len(files)} | {by_room(files)} |" for name, files in stages.items()]
    lines += [f"| **all** | **{len(every)}** | |", "", "| | files | which |", "|---|--:|---|"]
    return "\n".join([*lines, f"| one paid call | {len(paid)} | {by_room(paid)} |"])


if __name__ == "__main__":
    print(report())
