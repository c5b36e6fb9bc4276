"""A worker of ``diffusers/…`` that needs no torch: it fills pictures with one colour, and does what its prompts say.

A prompt may begin with ``die``, ``fail``, ``refuse``, ``unfit``, or be ``wait NAME`` to hold the job until the `Gate`
of that name is opened. It runs in the place of the real worker, and tells every job it gets.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from limner.painters.diffusion import work
from limner.painters.diffusion.process import Process
from limner.painters.diffusion.worker import _listen

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


def command(folder: Path) -> tuple[str, ...]:
    """What starts one that keeps its record in a folder."""
    return (sys.executable, "-m", "tests.fakes.brush", str(folder))


def starter(folder: Path) -> Callable[[work.Load], Process]:
    """What a pool is given to start such workers."""
    return lambda load: Process(load, command(folder))


def told(folder: Path) -> list[dict[str, Any]]:
    """The jobs so far: process, device and prompts of each, in order."""
    file = folder / TOLD
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def colour(prompt: str, seed: int, images: tuple[bytes, ...] = ()) -> tuple[int, int, int]:
    """What a picture is filled with."""
    root = hashlib.sha256(b"\0".join((prompt.encode(), str(seed).encode(), *images))).digest()
    return root[0], root[1], root[2]


def main(folder: Path) -> None:
    replies = os.fdopen(os.dup(1), "wb")
    inbox: queue.SimpleQueue[work.Load | work.Job] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, inbox), daemon=True).start()
    load = inbox.get()
    assert isinstance(load, work.Load)
    if load.variant == "none":
        work.write(replies, work.Broken("OSError: no such variant"))
        return
    if load.variant == "deadly":
        sys.stderr.write("Killed for want of memory\n")
        os._exit(9)
    work.write(replies, work.Ready())
    while True:
        job = inbox.get()
        assert isinstance(job, work.Job)
        prompts = [item.prompt for item in job.items]
        with (folder / TOLD).open("a", encoding="utf-8") as file:
            record = {"pid": os.getpid(), "device": load.device, "prompts": prompts, "editing": job.how.editing}
            file.write(json.dumps(record) + "\n")
        for place, item in enumerate(job.items):
            serve(replies, place, item, job.how, folder)


def serve(replies: IO[bytes], place: int, item: work.Item, how: work.How, folder: Path) -> None:
    if item.prompt.startswith("die"):
        sys.stderr.write("Segmentation fault\n")
        os.abort()
    if item.prompt.startswith("wait "):
        name = item.prompt.split()[1]
        with (folder / f"{name}.waits").open("w") as pipe:
            pipe.write("waiting\n")
        with (folder / f"{name}.goes").open() as pipe:
            pipe.readline()
    if item.prompt.startswith("unfit"):
        work.write(replies, work.Broken("OddPipeline takes no guidance"))
    elif item.prompt.startswith("fail"):
        work.write(replies, work.Failed(place, "bad_request", "ValueError: not this one"))
    elif item.prompt.startswith("refuse"):
        work.write(replies, work.Failed(place, "refusal", "withheld"))
    else:
        pixels = bytes(colour(item.prompt, item.seed, item.images)) * (how.width * how.height)
        work.write(replies, work.Drawn(place, (how.width, how.height), pixels, {"device": "brush"}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
