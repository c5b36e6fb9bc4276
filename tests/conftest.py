"""Fixtures that tests of every part may use."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from limner.store import Store
from tests.browser import started
from tests.fakes import ChatServer
from tests.read_once import sitecustomize as read_once
from tests.support import SmallExam, write_exam

# Tables are as wide as they are for anyone who pipes them: xdist tells its workers the width of the terminal.
os.environ.pop("COLUMNS", None)

# Models come and go: a day on which those that tests name are there, and no catalogue that a user has refreshed.
os.environ["LIMNER_TODAY"] = "2026-03-23"
os.environ["LIMNER_CONFIG"] = "/nonexistent/limner"
os.environ["LIMNER_DATA"] = "/nonexistent/data"

# A picture's text is read once in a session; a session within another takes the other's readings.
READINGS = None if read_once.FOLDER in os.environ else tempfile.mkdtemp(prefix="limner-readings-")
if READINGS is not None:
    os.environ[read_once.FOLDER] = READINGS
    path = [str(Path(read_once.__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(path)
read_once.install()

# A busy machine must not fail a test, and a failure must come again when it is looked at.
settings.register_profile("limner", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("full", settings.get_profile("limner"), max_examples=300)
settings.load_profile("limner")


def pytest_unconfigure() -> None:
    """At the end of the session that has begun them, the readings go."""
    if READINGS is not None:
        shutil.rmtree(READINGS, ignore_errors=True)


@pytest.fixture(scope="session")
def chat_service() -> Iterator[ChatServer]:
    """The fake chat service, started once per test process."""
    with ChatServer() as server:
        yield server


@pytest.fixture
def chat(chat_service: ChatServer) -> ChatServer:
    """The fake chat service with all counts at nought and the plain plan."""
    chat_service.reset()
    return chat_service


@pytest.fixture
def make_exam(tmp_path: Path) -> Callable[[int], SmallExam]:
    """Writes a generated exam of so many questions, with drawings, in GenExam's release layout."""
    return lambda count: write_exam(tmp_path, count)


@pytest.fixture
def small_exam(make_exam: Callable[[int], SmallExam]) -> SmallExam:
    """A generated exam of four questions, with drawings."""
    return make_exam(4)


@pytest.fixture
def no_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the extra ``parquet`` is not installed."""
    monkeypatch.setitem(sys.modules, "polars", None)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with Store(tmp_path / "store") as opened:
        yield opened


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a fresh database on a PostgreSQL server, one for the session; images go to a temporary folder."""
    from tests.postgres.server import PostgresServer

    with PostgresServer() as server:
        yield server.url


@pytest.fixture(scope="session")
def bucket() -> Iterator[str]:
    """The address of an empty bucket on an S3-compatible server, one for the session."""
    from tests.s3 import s3_server

    with s3_server() as address:
        yield address


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may reach a real service by a key that happens to be set."""
    for name in (
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
        "GEMINI_API_KEY",
        "DASHSCOPE_API_KEY",
        "BFL_API_KEY",
        "LIMNER_STORE",
    ):
        monkeypatch.delenv(name, raising=False)


QUESTIONS = {"genexam": 80, "mmmg": 60, "worldgenbench": 56, "fepbench": 24, "aibench": 12}


class Filled(dict[str, Store]):
    """Stores by exam kind."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        super().__init__()
        self._folders = folders

    def __missing__(self, kind: str) -> Store:
        from tests.report.tables import synthetic  # heavy: only where a test wants it

        store = self[kind] = Store(self._folders.mktemp(kind))
        ways = ("direct", "rewrite") if kind == "aibench" else ("direct",)
        controls = ["control/reference"]
        synthetic.fill(store, kind, questions=QUESTIONS[kind], strategies=ways, images=False, controls=controls)
        return store


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Store]]:
    """By exam kind: nine painters of three groups and a control; for AIBench each painter with two strategies."""
    stores = Filled(tmp_path_factory)
    yield stores
    for store in stores.values():
        store.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser without a network. No longer than a module: while it runs, nothing else here can call asyncio.run."""
    with started() as browser:
        yield browser
