"""A backend that does what the image's bytes tell it to: measure, crash, hang, lie. For workers to be tried with."""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from limner.core.images import BadImage


def obedient(note: str | None = None) -> Callable[..., Any]:
    """A backend; each one that starts adds a line to the file `note`."""
    if note is not None:
        with Path(note).open("a") as file:
            file.write(f"{os.getpid()}\n")
    return lambda data, **given: _do(data.decode(), **given)


def by_image(words: dict[str, str]) -> Callable[..., Any]:
    """A backend that is told what to do by the image's hash; with all others it does well."""
    return lambda data: _do(words.get(hashlib.sha256(data).hexdigest(), words.get("all", "fine")))


def broken() -> Callable[..., Any]:
    """A backend that cannot be loaded."""
    raise ImportError("no module named 'weights'")


def unloadable(secret: str) -> Callable[..., Any]:
    """A backend that cannot be loaded, and says too much about why."""
    raise ImportError(f"no entry with {secret}")


def stillborn() -> Callable[..., Any]:
    """A backend whose loading ends the process."""
    os._exit(9)


def _do(word: str, **given: Any) -> Any:
    if word == "exit":
        os._exit(3)
    elif word == "last words":
        sys.stderr.write("loading\nCUDA error: out of luck\n")
        sys.stderr.flush()
        os._exit(4)
    elif word == "segfault":
        ctypes.string_at(0)
    elif word == "hang":
        threading.Event().wait()
    elif word == "brood":
        subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
        # Deaf to everything, as native code that holds on to the interpreter.
        ctypes.PyDLL(None).pause()
    elif word == "bytes":
        return b"raw bytes"
    elif word == "environ":
        return dict(os.environ)
    elif word == "secret":
        sys.stderr.write(f"cannot reach the service with {given['secret']}\n")
        sys.stderr.flush()
        os._exit(5)
    elif word == "raise secret":
        raise ValueError(f"401 for {given['secret']}")
    elif word == "child":
        return subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"]).pid
    elif word == "raise":
        raise ZeroDivisionError("by nothing")
    elif word == "no memory":
        raise MemoryError
    elif word == "bad image":
        raise BadImage("cannot be decoded")
    elif word == "huge":
        return "x" * 40 * 2**20
    elif word == "nan":
        return float("nan")
    elif word == "odd":
        return object()
    elif word == "garbage":
        # Past the worker's own hands, straight into the pipe it answers by.
        for number in range(3, 10):
            try:
                os.write(number, b"\xff" * 4096)
            except OSError:
                continue
        os._exit(0)
    elif word == "chatter":
        for _ in range(20):
            print("words " * 20_000, flush=True)
            sys.stderr.write("more words\n")
        return "said it"
    elif word == "pid":
        return os.getpid()
    elif word == "threads":
        return os.environ.get("OMP_NUM_THREADS")
    elif word == "stdin":
        return sys.stdin.read()
    return {"word": word, **given}
