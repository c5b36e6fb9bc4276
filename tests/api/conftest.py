"""A store with two painters under two judges, for functions that read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Marked, mark
from tests.cli.invoke import limner as command
from tests.conformance.verdicts import verdicts, write_replay


@pytest.fixture(scope="session")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Marked:
    """Two painters of four questions under two judges; shared, so only to be read."""
    folder = tmp_path_factory.mktemp("judged")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        found = mark(folder)
        other = {name: verdicts(found.small.rows, seed) for name, seed in (("one", 7), ("two", 8))}
        judge = f"replay/{write_replay(folder / 'other.jsonl', other)}"
        command("mark", "genexam", "--judge", judge, "--store", found.store, code=None)
    return found


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions find no settings and leave no store where the tests are run."""
    monkeypatch.chdir(tmp_path)
