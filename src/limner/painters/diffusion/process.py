"""One worker process as its painter sees it: started, asked, ended, and what it said before it died."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from . import work

COMMAND = (sys.executable, "-m", "limner.painters.diffusion.worker")
LAST_WORDS = 400
END_S = 10.0


class Died(Exception):
    """The worker is gone; says how, and its last words."""


class Process:
    """A worker process. It ends by itself when this process does, however that happens: its pipe closes.

    Args:
        load: The pipeline it opens.
        command: What to run.
    """

    def __init__(self, load: work.Load, command: Sequence[str] | None = None) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        # In a session of its own, so that Ctrl-C reaches the run alone, which finishes what is being drawn.
        self._process = subprocess.Popen(
            command or COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, start_new_session=True
        )
        self.pid = self._process.pid
        self._load = load

    def ready(self) -> str | None:
        """Wait until the pipeline is open; returns why it cannot be opened, or None.

        Raises:
            Died: It died on the way.
        """
        self.send(self._load)
        found = self.receive()
        return found.why if isinstance(found, work.Broken) else None

    def send(self, message: work.Load | work.Job) -> None:
        """Give it something to do."""
        assert self._process.stdin is not None
        try:
            work.write(self._process.stdin, message)
        except OSError as error:
            raise self._death() from error

    def receive(self) -> Any:
        """Wait for its next message."""
        assert self._process.stdout is not None
        try:
            return work.read(self._process.stdout)
        except (EOFError, OSError, ValueError) as error:
            raise self._death() from error

    def end(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)

    def _death(self) -> Died:
        # Its pipe closes a moment before it is gone, and only then it is known how.
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        self.end()
        code = self._process.returncode
        if code is None:
            return Died("it does not answer, and cannot be ended")
        how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        return Died(f"{how}; {self._last_words() or 'it said nothing'}")

    def _last_words(self) -> str:
        number = self._said.fileno()
        end = os.fstat(number).st_size
        # Read by place: the worker writes through the same file.
        tail = os.pread(number, LAST_WORDS, max(0, end - LAST_WORDS)).decode("utf-8", "replace")
        return " ".join(tail.split())
