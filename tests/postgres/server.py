"""A PostgreSQL server of the tests' own, on a socket in a temporary folder, that can be stopped and started."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Self

import pytest

from tests.needs import need


def _tool(name: str) -> str | None:
    for found in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True):
        return str(found)
    return shutil.which(name)


def _user() -> str | None:
    """The server refuses to run as root: then it runs as an ordinary account."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    return None


class PostgresServer:
    """Use as a context manager.

    Attributes:
        url: A store in a fresh database; images go to a temporary folder.
    """

    def __init__(self, durable: bool = False) -> None:
        """`durable`: what is committed is on the disk, as real servers have it."""
        self._fsync = "on" if durable else "off"

    def __enter__(self) -> Self:
        pytest.importorskip("psycopg", reason="the driver comes with limner[postgres]")
        initdb, control = _tool("initdb"), _tool("pg_ctl")
        need("postgres", initdb is not None and control is not None, "PostgreSQL's server is not installed")
        assert initdb is not None
        assert control is not None
        # A short path of its own: socket names are limited to about a hundred characters.
        self._folder, self._control = Path(tempfile.mkdtemp(prefix="limner-pg-")), control
        self._user = _user()
        if self._user is not None:
            shutil.chown(self._folder, self._user)
        name = self._user or pwd.getpwuid(os.getuid()).pw_name
        self.url = f"postgresql://{name}@/postgres?host={self._folder}&blobs={self._folder / 'blobs'}"
        try:
            self._run(initdb, "-D", str(self._folder / "data"), "-A", "trust", "-U", name, "--no-sync")
            self.start()
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            self.stop("immediate")
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = f"-c listen_addresses='' -k {self._folder} -c fsync={self._fsync}"
        self._ctl("-o", options, "-l", str(self._folder / "log"), "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop it: ``fast`` turns everyone out, ``immediate`` is as good as a crash."""
        self._ctl("-m", mode, "stop")

    def _ctl(self, *words: str) -> None:
        self._run(self._control, "-D", str(self._folder / "data"), "-w", *words)

    def _run(self, *words: str) -> None:
        subprocess.run(words, check=True, capture_output=True, user=self._user, cwd=self._folder, timeout=120)
