"""The child process of a worker, which does one job after another and may crash.

Run as a script, also by other Pythons (3.8 or newer) without Limner: it needs only the standard library. The first
frame says what to load; each further one is a job.

A frame in the pipes is a mark, two lengths, a JSON object, and the bytes of its bodies one after another: limited in
size, with nothing executable. The parent imports the functions for frames from here.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import select
import signal
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, NoReturn

MARK = b"LMN1"
LENGTHS = struct.Struct(">4sIQ")
HEADER = 8 * 2**20
"""Bytes of the longest JSON object."""
BODIES = 2**30
"""Bytes of everything sent beside one request."""


class BadFrame(ValueError):
    """The error for bytes that are not a frame, or a frame that is too long."""


def packed(header: dict[str, Any], bodies: Sequence[bytes] = (), most: int = BODIES) -> list[bytes]:
    """Return a frame in pieces, to be written one after another.

    Raises:
        BadFrame: It is too long.
        TypeError: The header is not JSON.
        ValueError: The header is not JSON.
    """
    head = json.dumps({**header, "sizes": [len(body) for body in bodies]}, allow_nan=False).encode()
    total = sum(len(body) for body in bodies)
    _check(len(head), total, most)
    return [LENGTHS.pack(MARK, len(head), total) + head, *bodies]


def read(take: Callable[[int], bytes], most: int = BODIES) -> tuple[dict[str, Any], list[bytes]] | None:
    """Return the next frame; None at the end of the stream.

    Args:
        take: Returns this many bytes, fewer only at the end of the stream.
        most: The most bytes allowed beside the header.

    Raises:
        BadFrame: It is not a frame, or is too long; its content has not been read.
    """
    lengths = take(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    mark, head, total = LENGTHS.unpack(lengths)
    if mark != MARK:
        raise BadFrame("bytes that are not a frame")
    _check(head, total, most)
    words, rest = take(head), take(total)
    if len(words) < head or len(rest) < total:
        return None
    try:
        header = json.loads(words, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise BadFrame("a header that is not JSON") from error
    sizes = header.pop("sizes", None) if isinstance(header, dict) else None
    if not isinstance(sizes, list) or any(type(size) is not int or size < 0 for size in sizes) or sum(sizes) != total:
        raise BadFrame("a header that does not fit its frame")
    bodies, start = [], 0
    for size in sizes:
        bodies.append(rest[start : start + size])
        start += size
    return header, bodies


def _check(head: int, total: int, most: int) -> None:
    for size, limit in ((head, HEADER), (total, most)):
        if size > limit:
            raise BadFrame(f"{size:,} bytes in one message; at most {limit:,} are allowed")


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")


def load(factory: str) -> Callable[..., Any]:
    """Return the object named ``module:name`` or ``/path/of/file.py:name``."""
    place, _, name = factory.rpartition(":")
    module = from_file(place) if place.endswith(".py") else importlib.import_module(place)
    factory_function: Callable[..., Any] = getattr(module, name)
    return factory_function


def from_file(path: str) -> Any:
    """Return a module loaded from a file outside the path."""
    spec = importlib.util.spec_from_file_location("limner_" + os.path.basename(path)[:-3], path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def error_answer(error: BaseException) -> dict[str, Any]:
    """Return an exception as an answer; its class tells whether the image or the whole setup is to blame."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if "WorkerUnfit" in names:
        return {"unfit": str(error)[:2000]}
    if "BadImage" in names:
        return {"fault": "image", "detail": str(error)[:2000]}
    return {"fault": "error", "detail": repr(error)[:2000]}


def results(
    work: Callable[..., Any], header: dict[str, Any], bodies: list[bytes]
) -> Iterator[tuple[dict[str, Any], Sequence[bytes]]]:
    """Yield the answer to one job, or one answer per item."""
    given = header["given"]
    if "items" not in header:
        answer = work(*bodies, **given)
        yield ({"place": 0}, [answer]) if isinstance(answer, bytes) else ({"place": 0, "value": answer}, ())
        return
    rest = iter(bodies)
    items = [(item, [next(rest) for _ in range(count)]) for item, count in header["items"]]
    yield from work(items, **given)


def answers(work: Callable[..., Any], header: dict[str, Any], bodies: list[bytes], most: int) -> Iterator[list[bytes]]:
    """Yield the answers as frames, errors included."""
    last: dict[str, Any] = {}
    try:
        for answer, beside in results(work, header, bodies):
            frame: list[bytes] = packed({**answer, "job": header["job"]}, beside, most)
            yield frame
    except MemoryError:
        # This process may be in a bad state: the parent replaces it.
        last = {"fault": "error", "detail": "out of memory", "spent": True}
    except Exception as error:
        last = {"fault": "error", "detail": str(error)} if isinstance(error, BadFrame) else error_answer(error)
    yield packed({**last, "job": header["job"], "end": True})


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Load what the first frame names, then do jobs, or just one.

    Raises:
        EOFError: The parent is gone.
        BrokenPipeError: The parent is gone.
    """

    def send(frame: list[bytes]) -> None:
        for piece in frame:
            sink.write(piece)
        sink.flush()

    def receive() -> tuple[dict[str, Any], list[bytes]]:
        frame: tuple[dict[str, Any], list[bytes]] | None = read(source.read)
        if frame is None:
            raise EOFError
        return frame

    setup, _ = receive()
    if setup["path"] is not None:
        sys.path[:] = setup["path"]
    try:
        work = load(setup["factory"])(**setup["args"])
    except BaseException as error:
        problem = error_answer(error)
        send(packed({"unfit": problem.get("unfit") or problem["detail"]}))
        return
    send(packed({"ready": True}))
    while True:
        for each in answers(work, *receive(), setup["most"]):
            send(each)
        if setup["once"]:
            return


def start_guard() -> int:
    """Fork a guard that kills the whole group when the parent is gone, even if this process hangs."""
    guard = os.fork()
    if guard:
        return guard
    with contextlib.suppress(OSError):
        os.close(1)
        os.close(2)
        pipe = select.poll()
        pipe.register(0, 0)  # Reports only its closing.
        pipe.poll()
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def die_first() -> None:
    """Ask the system to kill this process first when memory runs out, not the one that keeps the store."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def main() -> None:
    """Reserve the two pipes for frames; anything that a backend prints goes to standard error."""
    # A script's own folder comes first on its path: files beside this one must not be importable.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [place for place in sys.path if os.path.abspath(place) != here]
    guard = start_guard()
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    die_first()
    try:
        serve(source, sink)
    except (EOFError, BrokenPipeError):
        os.killpg(0, signal.SIGKILL)
    os.kill(guard, signal.SIGKILL)
    os.waitpid(guard, 0)
    # Exit at once: threads and exit handlers of a backend must not delay it.
    os._exit(0)


if __name__ == "__main__":
    main()
