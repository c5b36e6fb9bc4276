"""Copies of the kept store, and the services its runs were made with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat import runs
from tests.fakes.images_client import ImageServer
from tests.fakes.studio import StudioServer


@pytest.fixture(scope="session")
def studio() -> Iterator[StudioServer]:
    with StudioServer(seed=runs.SEED) as server:
        yield server


@pytest.fixture(scope="session")
def easel() -> Iterator[ImageServer]:
    with ImageServer(seed=runs.SEED) as server:
        yield server


@pytest.fixture(scope="session")
def to_read(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the inputs and the store, for commands that only read."""
    folder = tmp_path_factory.mktemp("kept")
    runs.lay_out(folder)
    return folder


@pytest.fixture
def to_run(tmp_path: Path, studio: StudioServer, easel: ImageServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, as the working folder, with settings that lead to the services."""
    runs.lay_out(tmp_path)
    runs.settle(tmp_path, studio, easel)
    monkeypatch.chdir(tmp_path)
    return tmp_path
