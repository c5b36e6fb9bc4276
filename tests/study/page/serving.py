"""A study's server as a process of its own, which can be killed and started again at its address."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support import start_limner


class StudyServer:
    """Use as a context manager.

    Attributes:
        address: Where it is reached; it stays the same.
    """

    def __init__(self, store: str, cwd: Path, name: str = "pilot") -> None:
        self._store, self._cwd, self._name = store, cwd, name
        self._process: subprocess.Popen[str] | None = None
        self.address, self._port = "", "0"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self.kill()

    def start(self) -> None:
        """Start it and wait until it listens."""
        words = ["study", "serve", self._name, "--store", self._store, "--port", self._port]
        self._process = start_limner(*words, cwd=self._cwd)
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        found = re.search(r"at (http://[\d.]+:(\d+))", said)
        assert found, said + (self._process.stderr.read() if self._process.stderr else "")
        self.address, self._port = found[1], found[2]

    def kill(self) -> None:
        """As a power switch would: nothing is finished, nothing is said."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        self._process = None
