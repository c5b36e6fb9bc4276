"""A worker seen from this process: a child in its own session and environment, with time limits, always ended."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ..core.redaction import redact
from .child import BadFrame, packed, read
from .recipe import JobFailure, JobResult, Recipe, WorkerDeath, WorkerUnfit, environment

if TYPE_CHECKING:
    from .ray_actor import ActorWorker

CHILD = Path(__file__).with_name("child.py")
DEATH_S = 5.0
"""Seconds that a worker may take to exit after its pipe is closed."""
PIPE = 16
"""Reads that empty the pipe of a dead worker."""
HEARD = 8192
"""Bytes kept of a worker's printed output."""
LAST_WORDS = 300
"""Characters of that output shown when it dies."""


class Process:
    """A child process and its pipes, used by one thread at a time; any thread may `kill` it.

    Args:
        recipe: How it is made.
        args: Arguments of the factory on top of the recipe's, such as a device.
        path: Its module path; by default this process's.
    """

    def __init__(
        self, recipe: Recipe, args: Mapping[str, Any] | None = None, path: Sequence[str] | None = None
    ) -> None:
        if _ending.is_set():
            raise WorkerDeath("this process is ending", loading=True)
        self._recipe, self._args = recipe, {**json.loads(recipe.args), **(args or {})}
        self._path = list(sys.path if path is None else path)
        flags = ("-I", "-S") if recipe.isolated else ()
        env = {} if recipe.isolated else environment(recipe.variables, single=recipe.single)
        # A session of its own: Ctrl-C is for the process that asks, and whatever a worker starts ends with it.
        try:
            self._process = subprocess.Popen(
                [recipe.python or sys.executable, *flags, str(CHILD)], env=env, start_new_session=True, bufsize=0,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
        except OSError as error:
            raise WorkerDeath(str(error), loading=True) from error
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._pipes = [pipe for pipe in pipes if pipe is not None]
        self._in, self._out, self._err = (pipe.fileno() for pipe in self._pipes)
        for pipe in (self._in, self._out, self._err):
            os.set_blocking(pipe, False)
        self._heard = bytearray()
        self._deaf = self._killed = False
        self._job = 0
        _living.add(self)

    def load(self) -> None:
        """Wait until it is ready.

        Raises:
            WorkerUnfit: It cannot load its factory.
            WorkerDeath: It died while loading, or took too long.
        """
        # Another Python has its own modules, and one that is isolated has none.
        path = None if self._recipe.python or self._recipe.isolated else self._path
        setup: dict[str, Any] = {"factory": self._recipe.factory, "args": self._args, "path": path}
        setup |= {"most": self._recipe.most, "once": self._recipe.isolated}
        end = time.monotonic() + self._recipe.start_s
        try:
            self._write(packed(setup), end)
            answer, _ = self._receive(end, 0)
            if "ready" not in answer and "unfit" not in answer:
                raise BadFrame("an answer before the job")
        except (TimeoutError, EOFError, ValueError) as error:
            raise self._death(error, self._recipe.start_s, loading=True) from error
        if "unfit" in answer:
            self.stop()
            raise WorkerUnfit(answer["unfit"], loading=True)

    def ask(
        self, given: Mapping[str, Any], bodies: Sequence[bytes], seconds: float, items: Sequence[Any] | None = None
    ) -> Iterator[tuple[int | None, JobResult | JobFailure]]:
        """Give it one job; yield the answers by item index, with None for all items that have none yet.

        Args:
            given: Arguments by name.
            bodies: Arguments that are bytes.
            seconds: The time limit.
            items: For a job of several items: each with the number of its bodies.

        Raises:
            WorkerUnfit: It cannot do any such job.
            WorkerDeath: It crashed, took too long or sent an invalid answer; it has been ended.
            ValueError: The job itself is too long, or not JSON.
        """
        self._job += 1
        job: dict[str, Any] = {"job": self._job, "given": dict(given)}
        if items is not None:
            job["items"] = items
        end, left = time.monotonic() + seconds, set(range(1 if items is None else len(items)))
        frame = packed(job, bodies)
        try:
            self._write(frame, end)
            while True:
                answer, beside = self._receive(end, self._recipe.most)
                if answer.get("job") != self._job:
                    raise BadFrame("an answer to another job")
                if "unfit" in answer:
                    raise WorkerUnfit(answer["unfit"])
                place = answer.get("place")
                if place is not None and (type(place) is not int or place not in left):
                    raise BadFrame("an answer for an unknown item")
                left.discard(place)
                if "fault" in answer:
                    yield place, JobFailure(answer["fault"], answer.get("detail", ""))
                elif place is not None:
                    yield place, JobResult(answer.get("value"), tuple(beside))
                if answer.get("spent"):
                    self.stop()
                if answer.get("spent") or answer.get("end"):
                    return
        except (TimeoutError, EOFError, ValueError) as error:
            raise self._death(error, seconds) from error

    @property
    def alive(self) -> bool:
        """Whether it can be asked again."""
        return not self._killed and self._process.poll() is None

    def kill(self) -> None:
        """Kill it and everything it started, at once."""
        if not self._killed:
            self._killed = True
            # Its guard belongs to its group, so that the group's number cannot be reused before this.
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(DEATH_S)

    def stop(self) -> None:
        """Kill it and close its pipes."""
        self.kill()
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.close()
        _living.discard(self)

    def finish(self) -> None:
        """Let a worker that does a single job end by itself, then stop it."""
        if not self._killed:
            with suppress(TimeoutError):
                self._take(2**20, time.monotonic() + DEATH_S)
        self.stop()

    def _write(self, frame: list[bytes], end: float) -> None:
        for piece in frame:
            view = memoryview(piece)
            while view:
                self._wait(self._in, select.POLLOUT, end)
                try:
                    view = view[os.write(self._in, view) :]
                except BlockingIOError:
                    continue
                except OSError as error:
                    raise EOFError from error

    def _receive(self, end: float, most: int) -> tuple[dict[str, Any], list[bytes]]:
        frame = read(lambda size: self._take(size, end), most)
        if frame is None:
            raise EOFError
        # These texts may end up in the store.
        clean_fields = {name: redact(str(frame[0][name])) for name in ("unfit", "fault", "detail") if name in frame[0]}
        return frame[0] | clean_fields, frame[1]

    def _take(self, size: int, end: float) -> bytes:
        received = bytearray()
        while len(received) < size:
            self._wait(self._out, select.POLLIN, end)
            data = os.read(self._out, min(size - len(received), 2**20))
            if not data:
                break
            received += data
        return bytes(received)

    def _wait(self, pipe: int, event: int, end: float) -> None:
        """Wait until the pipe is ready, and collect what the child prints meanwhile."""
        while True:
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            poll = select.poll()
            poll.register(pipe, event)
            if not self._deaf:
                poll.register(self._err, select.POLLIN)
            ready = {number for number, _ in poll.poll(min(left, 3600.0) * 1000)}
            if self._err in ready:
                self._hear()
            if pipe in ready:
                return

    def _hear(self) -> None:
        with suppress(BlockingIOError):
            data = os.read(self._err, 2**16)
            self._deaf = not data
            self._heard = (self._heard + data)[-HEARD:]

    def _death(self, error: Exception, seconds: float, *, loading: bool = False) -> WorkerDeath:
        if isinstance(error, EOFError):
            # Its pipe closes a moment before it exits; its exit code is known only then.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(DEATH_S)
        self.kill()
        for _ in range(PIPE):
            self._hear()
        self.stop()
        code = self._process.returncode
        # Redact before cutting, so that no half of a key is left.
        heard = redact(self._heard.decode("utf-8", "replace")).strip()
        late = isinstance(error, TimeoutError)
        if late:
            message = f"no result within {seconds:g} s; the worker was ended"
        elif isinstance(error, EOFError):
            message = f"the worker died ({_ending_of(code)})"
            message += f": {heard.splitlines()[-1][-LAST_WORDS:].strip()}" if heard else ""
        else:
            message = f"{error}; the worker was ended"
        return WorkerDeath(message, loading=loading, late=late, code=code, heard=heard)


def _ending_of(code: int | None) -> str:
    if code is None:
        return "it could not be ended"
    with suppress(ValueError):
        return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"


_living: set[Process] = set()
_ending = threading.Event()


@atexit.register
def end_all() -> None:
    """End every worker at once, at the end of this process."""
    _ending.set()
    for process in list(_living):
        process.kill()


# A parent's workers are not its child's.
os.register_at_fork(after_in_child=_living.clear)


Worker: TypeAlias = "Process | ActorWorker"
"""A worker as a pool uses it: a child process here, or one in an actor of a cluster."""


class Room:
    """A place in which one worker after another runs; this one is on this machine.

    Attributes:
        alive: Whether a worker can be started in it; False if its machine is lost.
    """

    alive = True

    def __init__(self, recipe: Recipe, args: Mapping[str, Any]) -> None:
        self.recipe, self.args = recipe, args

    def start(self) -> Worker:
        """Return a new worker that is not loaded yet."""
        return Process(self.recipe, self.args)

    def leave(self) -> None:
        """Release the room."""


class Hosts:
    """The machines that have room for workers: this one, which has room for any number of processes."""

    def count(self, recipe: Recipe) -> int:
        """Return how many workers of a recipe may run at once."""
        return recipe.workers

    def devices(self, label: str, named: Sequence[str | None]) -> Sequence[str | None]:
        """Return one device per worker of a painter, given the user's choice; None means the best one."""
        return named

    def room(self, recipe: Recipe, args: Mapping[str, Any], wanted: Callable[[], bool]) -> Room | None:
        """Return room for one worker, waiting if necessary; None once it is no longer wanted."""
        return Room(recipe, args)

    def scarce(self, recipe: Recipe) -> bool:
        """Return whether other workers wait for the resources of an idle worker of this recipe."""
        return False  # The operating system shares out the resources of this machine.


_here = Hosts()
_chosen: list[Hosts] = []


def hosts() -> Hosts:
    """Return the hosts of pools made from now on; this is the only place where that is decided."""
    return _chosen[-1] if _chosen else _here


@contextmanager
def standing_on(chosen: Hosts) -> Iterator[None]:
    """Run workers on these hosts instead of this machine, in the whole process."""
    _chosen.append(chosen)
    try:
        yield
    finally:
        _chosen.remove(chosen)
