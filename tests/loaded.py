"""The command line as processes that come loaded: one process imports it, and each of the others is a copy of that one.

Loading takes more than a second, of which most is the services' own package: too long for tests that start a process
for every kill. A copy has its own number, folder, environment and streams, and ends and dies as any process.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LARGEST = 1 << 17
"""Bytes of what a copy is told: its words, folder and environment."""
LOADED = (
    "openai", "rapidfuzz", "PIL.Image", "sqlalchemy.dialects.sqlite", "limner.api", "limner.cli.run", "limner.store",
    "limner.calls.journal", "limner.exams.genexam", "limner.judges.panel", "limner.judges.ocr.judge",
    "limner.painters.folder", "limner.running.setup", "limner.running.steps",
)  # fmt: skip
"""What nearly every run loads."""
_CODE = "from tests.loaded import serve; exec(serve({fd}))"


class Copy:
    """A copy of the loaded process that runs this code; it reads what is written to `stdin`.

    What it prints is kept in memory, so that nobody need read while it runs.
    """

    def __init__(self, code: str, words: Sequence[str], cwd: Path, env: dict[str, str]) -> None:
        self.args = list(words)
        self.returncode: int | None = None
        self._printed = [os.fdopen(os.memfd_create(name), "rb") for name in ("stdout", "stderr")]
        (read, write), (ours, theirs) = os.pipe(), socket.socketpair()
        told = json.dumps([code, list(words), str(cwd), env]).encode()
        with theirs:
            files = [read, *(file.fileno() for file in self._printed), theirs.fileno()]
            socket.send_fds(_loaded(), [told], files)
        os.close(read)
        self.stdin = os.fdopen(write, "w")
        self._news = ours.makefile("r")
        ours.close()
        self.pid = int(self._news.readline())

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended."""
        if self.returncode is None:
            if not select.select([self._news], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = int(self._news.readline())
            self._news.close()
        return self.returncode

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def end(self, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
        """Wait for its end; one that takes longer is killed."""
        self.stdin.close()
        try:
            code = self.wait(timeout)
            for file in self._printed:
                file.seek(0)
            return subprocess.CompletedProcess(self.args, code, *(file.read().decode() for file in self._printed))
        finally:
            self.stop()

    def stop(self) -> None:
        """End it whatever it does; after its end this does nothing."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self.wait()
        # A word that nobody has read may still be on its way to it.
        with suppress(BrokenPipeError):
            self.stdin.close()
        for file in self._printed:
            file.close()


@cache
def _loaded() -> socket.socket:
    """The socket of the process that is copied; it ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LARGEST)
    with theirs:
        command = [sys.executable, "-c", _CODE.format(fd=theirs.fileno())]
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
    return ours


def serve(fd: int) -> str:
    """Load everything, then wait for orders. Returns in the copies alone, each with the code that it is to run."""
    for name in LOADED:
        import_module(name)
    asked = socket.socket(fileno=fd)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        try:
            told, files, *_ = socket.recv_fds(asked, LARGEST, 4)
        except KeyboardInterrupt:
            told = b""
        if not told:
            os._exit(0)
        if not os.fork():
            asked.close()
            return _copied(told, files)
        for file in files:
            os.close(file)


def _copied(told: bytes, files: list[int]) -> str:
    """In the copy: made what it was told to be. A process beside it waits for its end and tells of it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if child := os.fork():
        for file in files[:3]:
            os.close(file)
        with socket.socket(fileno=files[3]) as news:
            news.sendall(f"{child}\n".encode())
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            with suppress(OSError):
                news.sendall(f"{code}\n".encode())
        os._exit(0)
    for number, file in enumerate(files[:3]):
        os.dup2(file, number)
    for file in files:
        os.close(file)
    code, words, cwd, env = json.loads(told)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    sys.argv = ["-c", *words]
    assert isinstance(code, str)
    return code
