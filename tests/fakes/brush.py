"""A worker of ``diffusers/…`` that needs no torch: it fills pictures with one colour, and does what its prompts say.

A prompt may begin with ``die``, ``fail``, ``refuse``, ``unfit``, ``hang``, ``short``, ``environ`` or ``blab SECRET``,
or be ``wait NAME`` to hold the job until the `Gate` of that name is opened. It tells every job it gets.
Of a prompt it reads as many words as `max_sequence_length` says.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from limner.painters.batched import DrawFailure, DrawItem, RawDrawing, serve_jobs
from limner.painters.diffusers import DrawSettings
from limner.workers import WorkerUnfit

FACTORY = "tests.fakes.brush:opened"
"""Takes the place of the real one in `limner.painters.diffusers`."""
TOLD = "told.jsonl"


class Gate:
    """Holds the job of the prompt ``wait NAME``; made before it is asked for."""

    def __init__(self, folder: Path, name: str) -> None:
        self._waits, self._goes = folder / f"{name}.waits", folder / f"{name}.goes"
        os.mkfifo(self._waits)
        os.mkfifo(self._goes)

    def reached(self) -> None:
        """Returns when the worker stands before the gate."""
        with self._waits.open() as pipe:
            assert pipe.readline() == "waiting\n"

    def open(self) -> None:
        """Let the worker go on."""
        with self._goes.open("w") as pipe:
            pipe.write("go\n")


def told(folder: Path) -> list[dict[str, Any]]:
    """The jobs so far: process, device and prompts of each, in order."""
    file = folder / TOLD
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def colour(prompt: str, seed: int, images: tuple[bytes, ...] = ()) -> tuple[int, int, int]:
    """What a picture is filled with."""
    root = hashlib.sha256(b"\0".join((prompt.encode(), str(seed).encode(), *images))).digest()
    return root[0], root[1], root[2]


def opened(source: str, **load: Any) -> Callable[..., Any]:
    """What a worker draws with; its record is kept beside the pipeline's folder."""
    if load["variant"] == "none":
        raise WorkerUnfit("OSError: no such variant")
    if load["variant"] == "deadly":
        sys.stderr.write("Killed for want of memory\n")
        os._exit(9)
    folder = Path(source).parent

    def draw(how: DrawSettings, items: Sequence[DrawItem]) -> Iterator[RawDrawing | DrawFailure]:
        with (folder / TOLD).open("a", encoding="utf-8") as file:
            record = {"pid": os.getpid(), "device": load["device"], "prompts": [item.prompt for item in items]}
            file.write(json.dumps(record | {"editing": how.editing}) + "\n")
        return (drawn(place, item, how, folder) for place, item in enumerate(items))

    return serve_jobs(lambda how, items: draw(DrawSettings(**how), items))


def drawn(place: int, item: DrawItem, how: DrawSettings, folder: Path) -> RawDrawing | DrawFailure:
    if item.prompt.startswith("die"):
        sys.stderr.write("Segmentation fault\n")
        os.abort()
    if item.prompt.startswith("wait "):
        name = item.prompt.split()[1]
        with (folder / f"{name}.waits").open("w") as pipe:
            pipe.write("waiting\n")
        with (folder / f"{name}.goes").open() as pipe:
            pipe.readline()
    if item.prompt.startswith("hang"):
        threading.Event().wait()
    if item.prompt.startswith("environ"):
        (folder / "environ.json").write_text(json.dumps(dict(os.environ)), "utf-8")
    if item.prompt.startswith("blab "):
        sys.stderr.write(f"the token {item.prompt.split()[1]} is not valid\n")
        os.abort()
    if item.prompt.startswith("unfit"):
        raise WorkerUnfit("OddPipeline takes no guidance")
    if item.prompt.startswith("fail"):
        return DrawFailure(place, "bad_request", "ValueError: not this one")
    if item.prompt.startswith("refuse"):
        return DrawFailure(place, "refusal", "withheld")
    if item.prompt.startswith("short"):
        return RawDrawing(place, (how.width, how.height), b"pixels", {})
    pixels = bytes(colour(item.prompt, item.seed, item.images)) * (how.width * how.height)
    read, words = how.max_sequence_length, len(item.prompt.split())
    cut = {"cut": {"sent": words, "read": read, "unit": "tokens"}} if read and read < words else {}
    return RawDrawing(place, (how.width, how.height), pixels, {"device": "brush", **cut})
