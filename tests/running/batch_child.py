"""Runs the command line in processes that start in no time, to be killed: forks of one that has loaded it."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import sqlalchemy as sa

LOADED = [
    "limner.api",
    "limner.cli.run",
    "limner.running.batch",
    "limner.calls.batch_services",
    "numpy",
    "PIL.Image",
]
ENDS_S = 240.0


def forks() -> Any:
    """Where processes come from."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*LOADED, __name__])
    return context


def _run(gate: Connection, root: str, words: Sequence[str], commit: int | None) -> None:
    os.chdir(root)
    os.environ["FAKE_API_KEY"] = "sk-none"
    with open("out.txt", "w") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    gate.recv()
    if commit is not None:
        _die_at(commit)
    from limner.cli import limner

    limner.main(list(words), standalone_mode=False)


def _die_at(commit: int) -> None:
    """Be killed when all of this transaction is written and the database has not been told to keep it."""
    counted = itertools.count(1)

    @sa.event.listens_for(sa.Engine, "commit")
    def count(_connection: sa.Connection) -> None:
        if next(counted) == commit:
            os.kill(os.getpid(), signal.SIGKILL)


class Child:
    """One process, which waits for a word before it begins; with `commit`, it is killed just before its n-th."""

    def __init__(self, context: Any, root: Path, words: Sequence[str], commit: int | None = None) -> None:
        self._gate, other = context.Pipe()
        self._process = context.Process(target=_run, args=(other, str(root), list(words), commit))
        self._process.start()
        self._root = root
        self.pid: int = self._process.pid

    def go(self) -> int:
        """Let it run to its end; its exit code, negative for the signal that ended it."""
        self.begin()
        return self.end()

    def begin(self) -> None:
        """Let it run."""
        self._gate.send("go")

    def end(self) -> int:
        """Wait for its end; see `go`."""
        self._process.join(ENDS_S)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
            raise AssertionError(f"it does not end:\n{self.said}")
        return int(self._process.exitcode)

    @property
    def said(self) -> str:
        """What it has written."""
        return (self._root / "out.txt").read_text()
