"""The far end of a worker: a process of its own that does one job after another, and may die of it.

Run as a script, never imported, also by other Pythons (3.8 or newer) that know nothing of Limner: the standard library
is enough. The first frame says what is to be loaded, each further one is a job.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO


def load(factory: str) -> Callable[..., Any]:
    """Return what stands behind ``module:name`` or ``/path/of/file.py:name``."""
    place, _, name = factory.rpartition(":")
    module = from_file(place) if place.endswith(".py") else importlib.import_module(place)
    found: Callable[..., Any] = getattr(module, name)
    return found


def from_file(path: str) -> Any:
    """Return a module that is on no path."""
    spec = importlib.util.spec_from_file_location("limner_" + os.path.basename(path)[:-3], path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


frames = from_file(os.path.join(os.path.dirname(os.path.abspath(__file__)), "frames.py"))


def error_answer(error: BaseException) -> dict[str, Any]:
    """Return an exception as an answer, by the name of its class: the image may be to blame, or what all jobs share."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if "WorkerUnfit" in names:
        return {"unfit": str(error)[:2000]}
    if "BadImage" in names:
        return {"fault": "image", "detail": str(error)[:2000]}
    return {"fault": "error", "detail": repr(error)[:2000]}


def results(
    work: Callable[..., Any], header: dict[str, Any], bodies: list[bytes]
) -> Iterator[tuple[dict[str, Any], Sequence[bytes]]]:
    """Yield what becomes of one job; of several items in one go, one answer each."""
    given = header["given"]
    if "items" not in header:
        found = work(*bodies, **given)
        yield ({"place": 0}, [found]) if isinstance(found, bytes) else ({"place": 0, "value": found}, ())
        return
    rest = iter(bodies)
    items = [(item, [next(rest) for _ in range(count)]) for item, count in header["items"]]
    yield from work(items, **given)


def answers(work: Callable[..., Any], header: dict[str, Any], bodies: list[bytes], most: int) -> Iterator[list[bytes]]:
    """Yield the same as frames, and whatever goes wrong as an answer too."""
    last: dict[str, Any] = {}
    try:
        for found, beside in results(work, header, bodies):
            frame: list[bytes] = frames.packed({**found, "job": header["job"]}, beside, most)
            yield frame
    except MemoryError:
        # What is left of this process may be in pieces: the other end replaces it.
        last = {"fault": "error", "detail": "out of memory", "spent": True}
    except Exception as error:
        last = {"fault": "error", "detail": str(error)} if isinstance(error, frames.BadFrame) else error_answer(error)
    yield frames.packed({**last, "job": header["job"], "end": True})


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Load what the first frame names, then do jobs, or just one.

    Raises:
        EOFError: Nobody is there any more to ask.
        BrokenPipeError: Or to hear the answer.
    """

    def send(frame: list[bytes]) -> None:
        for piece in frame:
            sink.write(piece)
        sink.flush()

    def receive() -> tuple[dict[str, Any], list[bytes]]:
        frame: tuple[dict[str, Any], list[bytes]] | None = frames.read(source.read)
        if frame is None:
            raise EOFError
        return frame

    setup, _ = receive()
    if setup["path"] is not None:
        sys.path[:] = setup["path"]
    try:
        work = load(setup["factory"])(**setup["args"])
    except BaseException as error:
        found = error_answer(error)
        send(frames.packed({"unfit": found.get("unfit") or found["detail"]}))
        return
    send(frames.packed({"ready": True}))
    while True:
        for each in answers(work, *receive(), setup["most"]):
            send(each)
        if setup["once"]:
            return


def start_guard() -> int:
    """Return a second process, which ends the whole group once nobody can ask any more, even while this one hangs."""
    guard = os.fork()
    if guard:
        return guard
    with contextlib.suppress(OSError):
        os.close(1)
        os.close(2)
        pipe = select.poll()
        pipe.register(0, 0)  # Told of nothing but its end.
        pipe.poll()
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def die_first() -> None:
    """Where memory runs out, let the system end this process rather than the one that keeps the store."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def main() -> None:
    """Keep the two pipes for frames: whatever a backend prints goes to standard error."""
    # A script's own folder comes first on its path: what lies beside this file must not pass for modules.
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
    # Neither threads nor exit handlers of a backend may keep it from ending.
    os._exit(0)


if __name__ == "__main__":
    main()
