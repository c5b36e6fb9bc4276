"""The near end of a worker: a process that measures images under a time limit, and is ended with this one."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from . import worker

SCRIPT = Path(worker.__file__)
START_S = 300.0
"""Seconds a worker may take to load its backend, unless its recipe says otherwise."""
CHATTER = 2**20
"""Bytes of what a backend prints that are kept at most, to be quoted when it dies."""


def cores() -> int:
    """How many workers can compute at once here, within reason."""
    return min(8, os.cpu_count() or 1)


@dataclass(frozen=True)
class Recipe:
    """How a worker is made.

    Attributes:
        label: The backend's name, as faults tell it.
        factory: ``module:name`` or ``/path/of/file.py:name``; called once with `args`, it gives what measures.
        args: The factory's arguments, as JSON text.
        python: Another Python to run it with; by default this one, with this one's modules.
        workers: How many there may be at once.
        start_s: Seconds one may take to load.
        single: Whether each is to keep to one core.
    """

    label: str
    factory: str
    args: str = "{}"
    python: str | None = None
    workers: int = field(default_factory=cores)
    start_s: float = START_S
    single: bool = True


class Dead(Exception):
    """A worker that gave no answer and is gone; says what became of it."""


class Unfit(Exception):
    """A worker whose backend cannot be loaded: no other one could either."""


class Worker:
    """One process and its pipes. Used by one thread at a time."""

    def __init__(self, recipe: Recipe) -> None:
        self._log = tempfile.TemporaryFile("ab+")  # noqa: SIM115
        # Nobody there calls a service.
        env = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        if recipe.single:
            env |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OPENCV_FOR_THREADS_NUM": "1"}
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._log}
        words = [recipe.python or sys.executable, str(SCRIPT)]
        # A session of its own: Ctrl-C is for the process that asks, and whatever a worker starts ends with it.
        self._process = subprocess.Popen(words, env=env, start_new_session=True, **pipes)
        _living.add(self)
        setup: dict[str, Any] = {"factory": recipe.factory, "args": json.loads(recipe.args)}
        # Another Python has its own modules, and may be a script that starts the real one.
        setup |= {"path": None, "parent": 0} if recipe.python else {"path": sys.path, "parent": os.getpid()}
        found = self._exchange(setup, b"", recipe.start_s)
        if "fault" in found:
            self.stop()
            raise Unfit(found["detail"])

    def ask(self, data: bytes, given: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """One measurement.

        Raises:
            Dead: It crashed, took too long or said too much; it is gone now.
        """
        found = self._exchange(given, data, seconds)
        if found.get("spent"):
            self.stop()
        elif os.fstat(self._log.fileno()).st_size > CHATTER:
            self._log.truncate(0)
        return found

    def _exchange(self, header: Mapping[str, Any], body: bytes, seconds: float) -> dict[str, Any]:
        late = threading.Event()

        def end() -> None:
            late.set()
            self._kill()

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        source, sink = self._process.stdin, self._process.stdout
        assert source is not None
        assert sink is not None
        frame, why = None, ""
        try:
            worker.write_frame(_binary(source), dict(header), body)
            frame = worker.read_frame(_binary(sink), worker.MAX_ANSWER + 1024)
        except ValueError as error:
            why = str(error)
        except OSError:
            pass  # It does not listen any more: how it ended is told below.
        finally:
            timer.cancel()
        if frame is not None and not late.is_set():
            return frame[0]
        if not why:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=5)
        self._kill()
        self._process.wait()
        why = why or self._death()
        self.stop()
        raise Dead(f"no result within {seconds:g} s; its worker was ended" if late.is_set() else why)

    def _death(self) -> str:
        code = self._process.returncode
        how = f"exit code {code}"
        if code < 0:
            with suppress(ValueError):
                how = f"signal {signal.Signals(-code).name}"
        self._log.seek(max(0, os.fstat(self._log.fileno()).st_size - 4000))
        said = self._log.read().decode("utf-8", "replace").strip().splitlines()
        return f"its worker died ({how})" + (f": {said[-1][:300]}" if said else "")

    @property
    def alive(self) -> bool:
        """Whether it can be asked again."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End it and whatever it started."""
        self._kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._process.wait()
        self._log.close()
        _living.discard(self)

    def _kill(self) -> None:
        with suppress(OSError):
            if self._process.returncode is None and hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(OSError):
            self._process.kill()


def _binary(stream: Any) -> BinaryIO:
    found: BinaryIO = stream
    return found


_living: set[Worker] = set()
_ending = threading.Event()


def ending() -> bool:
    """Whether this process is about to end, so that no worker may be started any more."""
    return _ending.is_set()


@atexit.register
def end_all() -> None:
    """End every worker at once, at the end of this process."""
    _ending.set()
    for one in list(_living):
        one._kill()


if hasattr(os, "register_at_fork"):
    # A parent's workers are not its child's.
    os.register_at_fork(after_in_child=_living.clear)
