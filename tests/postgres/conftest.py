"""A PostgreSQL server of the tests' own, on a socket in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

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


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a fresh database; images go to a temporary folder."""
    pytest.importorskip("psycopg", reason="the driver comes with limner[postgres]")
    initdb, control = _tool("initdb"), _tool("pg_ctl")
    need("postgres", initdb is not None and control is not None, "PostgreSQL's server is not installed")
    assert initdb is not None
    assert control is not None
    # A short path of its own: socket names are limited to about a hundred characters.
    folder = Path(tempfile.mkdtemp(prefix="limner-pg-"))
    user = _user()
    if user is not None:
        shutil.chown(folder, user)

    def run(*words: str) -> None:
        subprocess.run(words, check=True, capture_output=True, user=user, cwd=folder, timeout=120)

    data, name = folder / "data", user or pwd.getpwuid(os.getuid()).pw_name
    options = f"-c listen_addresses='' -k {folder} -c fsync=off"
    try:
        run(initdb, "-D", str(data), "-A", "trust", "-U", name, "--no-sync")
        run(control, "-D", str(data), "-o", options, "-l", str(folder / "log"), "-w", "start")
        try:
            yield f"postgresql://{name}@/postgres?host={folder}&blobs={folder / 'blobs'}"
        finally:
            run(control, "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
