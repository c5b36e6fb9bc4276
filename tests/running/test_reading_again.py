"""A second run on the same data reads no question again; one that was killed leaves nothing that is believed whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from limner import api
from limner.core import problems, spool
from limner.core.errors import DataError
from limner.core.exam import Selection
from limner.store import Store
from limner.store.schema import meta, questions
from tests.support import SmallExam

DRAWN = ["control/reference"]
KILLED = """
import os, signal, sys
from limner import api
from limner.core import spool
from limner.core.exam import Selection
from limner.store import Store
spool.HELD, after, whole = 2, sys.argv[3], getattr(Store, sys.argv[4])
def killed(self, connection, table, *rows):
    if table.name == after:
        if after == "meta":
            whole(self, connection, table, *rows)
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(self, connection, table, *rows)
setattr(Store, sys.argv[4], killed)
api.run("genexam", data=sys.argv[1], store=sys.argv[2], painters=["control/reference"], selection=Selection(limit=1))
"""


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lines of rows that were read and checked; more than two questions lie in a file."""
    found: list[int] = []
    whole = problems.parse_row
    monkeypatch.setattr(spool, "HELD", 2)

    def counted(model: Any, row: Any, problems: Any, file: Path, line: int, key: str = "id") -> Any:
        found.append(line)
        return whole(model, row, problems, file, line, key)

    monkeypatch.setattr("limner.core.data_files.parse_row", counted)
    return found


def stored(store: Store) -> list[Any]:
    with store.reading() as connection:
        return [*connection.execute(sa.select(questions).order_by(questions.c.position, questions.c.hash))]


def test_a_second_run_reads_no_question_again(
    parsed: list[int], store: Store, make_exam: Callable[[int], SmallExam]
) -> None:
    small = make_exam(8)
    how: dict[str, Any] = {"data": small.data, "store": store, "painters": DRAWN}
    assert api.run("genexam", selection=Selection(limit=2), **how).settled == 2
    assert parsed == [*range(1, 9)]
    kept = stored(store)
    progress = api.run("genexam", selection=Selection(limit=2), **how)
    assert (progress.settled, progress.failed) == (2, 0)
    chosen = api.run("genexam", selection=Selection(ids=(small.ids[6],)), **how)
    assert (chosen.settled, chosen.failed) == (1, 0)
    assert parsed == [*range(1, 9)]
    assert stored(store) == kept
    assert api.run("genexam", **how).failed == 0
    assert parsed == [*range(1, 9)]


def test_what_becomes_wrong_later_is_told_as_at_first(
    parsed: list[int], store: Store, make_exam: Callable[[int], SmallExam]
) -> None:
    small = make_exam(8)
    how: dict[str, Any] = {"data": small.data, "store": store, "painters": DRAWN, "selection": Selection(limit=1)}
    api.run("genexam", **how)
    file = small.data / "annotations" / "All_Subjects.jsonl"
    seen, text = file.stat(), file.read_bytes()
    file.write_bytes(text.replace(b'"difficulty": "', b'"difficulty": "x', 8).replace(b'"xeasy"', b'"xasy"'))
    os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    with pytest.raises(DataError, match="difficulty"):
        api.run("genexam", **how)
    file.write_bytes(text)
    parsed.clear()
    assert api.run("genexam", **how).failed == 0
    assert parsed == []


@pytest.mark.parametrize(("table", "by"), [("questions", "insert_new"), ("meta", "upsert")])
def test_a_run_that_is_killed_while_it_stores_leaves_no_exam_that_is_believed_whole(
    table: str, by: str, parsed: list[int], tmp_path: Path, make_exam: Callable[[int], SmallExam]
) -> None:
    small = make_exam(8)
    words = [sys.executable, "-c", KILLED, str(small.data), str(tmp_path / "s"), table, by]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    with Store(tmp_path / "s") as store:
        assert stored(store) == []
        with store.reading() as connection:
            assert connection.scalars(sa.select(meta.c.key)).all() == ["version"]
        how: dict[str, Any] = {"data": small.data, "store": store, "painters": DRAWN, "selection": Selection(limit=1)}
        assert api.run("genexam", **how).failed == 0
        assert parsed == [*range(1, 9)]
        assert len(stored(store)) == 8
