"""An exam that is drawn and marked, for commands that read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.invoke import limner
from tests.conformance.verdicts import Verdict, verdicts, write_replay
from tests.support import SmallExam, write_exam


@dataclass(frozen=True)
class Marked:
    """Two painters of four questions under one judge; the second painter lacks the last drawing."""

    store: Path
    small: SmallExam
    judge: str
    sets: dict[str, list[Verdict]]


def mark(folder: Path) -> Marked:
    small = write_exam(folder, 4)
    sets = {"one": verdicts(small.rows, 5), "two": verdicts(small.rows, 6)}
    judge = f"replay/{write_replay(folder / 'replies.jsonl', sets)}"
    store = folder / "marked"
    asked = ("--data", small.data, "--judge", judge, "--store", store)
    limner("run", "genexam", "--painter", f"one=folder/{small.drawings}", *asked)
    small.drawing(small.ids[3]).unlink()
    limner("run", "genexam", "--painter", f"two=folder/{small.drawings}", *asked, "--require-all", code=3)
    return Marked(store, small, judge, sets)


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands find no settings and leave no store where the tests are run."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Marked:
    """See `Marked`; shared, so only to be read."""
    return mark(tmp_path_factory.mktemp("marked"))
