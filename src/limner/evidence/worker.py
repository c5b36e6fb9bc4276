"""The far end of a worker: a process of its own that measures one image after another, and may die of it.

Run as a script, also by other Pythons (3.8 or newer) that know nothing of Limner: the standard library is enough.
Frames go both ways: two lengths, a JSON header, a body of bytes.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import struct
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

LENGTHS = struct.Struct(">IQ")
MAX_ANSWER = 32 * 2**20
"""Bytes of the longest answer that is taken."""


def write_frame(stream: BinaryIO, header: dict[str, Any], body: bytes = b"") -> None:
    """Send one frame."""
    head = json.dumps(header, allow_nan=False).encode()
    stream.write(LENGTHS.pack(len(head), len(body)) + head)
    stream.write(body)
    stream.flush()


def read_frame(stream: BinaryIO, most: int | None = None) -> tuple[dict[str, Any], bytes] | None:
    """The next frame; None where the stream has ended.

    Raises:
        ValueError: It is longer than `most` bytes, or no frame at all.
    """
    lengths = stream.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    head, body = LENGTHS.unpack(lengths)
    if most is not None and head + body > most:
        raise ValueError(f"an answer of {head + body:,} bytes; at most {most:,} are taken")
    words, rest = stream.read(head), stream.read(body)
    if len(words) < head or len(rest) < body:
        return None
    header = json.loads(words)
    if not isinstance(header, dict):
        raise ValueError("an answer that is no object")
    return header, rest


def load(factory: str) -> Callable[..., Any]:
    """What stands behind ``module:name`` or ``/path/of/file.py:name``."""
    place, _, name = factory.rpartition(":")
    if not place.endswith(".py"):
        found: Callable[..., Any] = getattr(importlib.import_module(place), name)
        return found
    spec = importlib.util.spec_from_file_location("limner_backend", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: Callable[..., Any] = getattr(module, name)
    return made


def told(error: BaseException) -> dict[str, Any]:
    """An exception as an answer; of an image that cannot be read the image is to blame."""
    bad_image = any(kind.__name__ == "BadImage" for kind in type(error).__mro__)
    said = str(error) if bad_image else repr(error)
    return {"fault": "image" if bad_image else "probe", "detail": said[:2000]}


def answer(measure: Callable[..., Any], data: bytes, given: dict[str, Any]) -> dict[str, Any]:
    """One measurement, or why there is none."""
    try:
        found = {"value": measure(data, **given)}
        size = len(json.dumps(found, allow_nan=False))
    except MemoryError:
        # What is left of this process may be in pieces: the other end replaces it.
        return {"fault": "probe", "detail": "out of memory", "spent": True}
    except Exception as error:
        return told(error)
    if size > MAX_ANSWER:
        return {"fault": "probe", "detail": f"a result of {size:,} bytes; at most {MAX_ANSWER:,} are taken"}
    return found


def die_with_parent(parent: int) -> None:
    """Where the system can do it: end when the process that asks ends, whatever ends it."""
    try:
        import ctypes
        import signal

        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)
    except (OSError, AttributeError, ImportError):
        return
    if parent and os.getppid() != parent:
        os._exit(1)  # It had ended before.


def die_first() -> None:
    """Where memory runs out, let the system end this process rather than the one that keeps the store."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Make the backend that the first frame names, then measure until the stream ends."""
    first = read_frame(source)
    if first is None:
        return
    setup = first[0]
    die_with_parent(setup["parent"])
    if setup.get("path") is not None:
        sys.path[:] = setup["path"]
    try:
        measure = load(setup["factory"])(**setup["args"])
    except BaseException as error:
        write_frame(sink, told(error))
        return
    write_frame(sink, {"ready": True})
    while True:
        frame = read_frame(source)
        if frame is None:
            return
        write_frame(sink, answer(measure, frame[1], frame[0]))


def main() -> None:
    """Keep the two pipes for frames: whatever a backend prints goes to standard error."""
    # This file's own folder comes first on the path of a script: its neighbours must not pass for modules.
    sys.path[:1] = []
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    die_first()
    with contextlib.suppress(BrokenPipeError):
        serve(source, sink)
    # Neither threads nor exit handlers of a backend may keep it from ending.
    os._exit(0)


if __name__ == "__main__":
    main()
