"""A full disk, a corrupt page, a lost connection: one message with what to do, no traceback, nothing stored lost."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from limner.core.errors import StoreError
from limner.doctor import Check
from limner.store import Store
from limner.store.schema import meta
from tests.chaos.exam_run import ExamRun, make
from tests.cli.invoke import limner
from tests.fakes import ChatServer
from tests.needs import need
from tests.support import picture

PAGE = 4096


@pytest.fixture
def world(tmp_path: Path, chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> ExamRun:
    return make(tmp_path, chat, monkeypatch)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """The folder as a file system of its own of this size."""
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    done = subprocess.run(words, capture_output=True).returncode == 0
    need("mount", done, "only root can mount a small file system")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: Path) -> Path:
    """Leave no byte free."""
    path = folder / "ballast"
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 65536)
        except OSError:
            pass
    return path


@pytest.mark.slow
def test_full_disk_stops_run_with_one_message(tmp_path: Path, world: ExamRun) -> None:
    with small_disk(world.store, "4m"):
        world.draw()
        ballast = fill(world.store)
        result = world.mark(code=1)
        assert result.err.count("limner: ") == 1
        assert "its disk is full" in result.err
        assert "run the same command again" in result.err
        ballast.unlink()
        assert world.mark().json()["failed"] == 0
        assert len(world.markings()) == 4


@pytest.mark.slow
def test_disk_too_full_for_images_stops_run_with_one_message(world: ExamRun) -> None:
    with small_disk(world.store, "2m"):
        world.draw("--limit", "1")
        for number, id in enumerate(world.exam.ids[1:]):
            world.exam.drawing(id).write_bytes(picture(number, "BMP", (600, 600)))
        result = world.draw(code=1)
        assert result.err.count("limner: ") == 1
        assert "its disk is full" in result.err
        assert not list(world.store.rglob(".part-*"))


def test_database_that_cannot_grow_is_reported_in_one_message(store: Store) -> None:
    """The same as a full disk, without a separate file system."""
    import sqlalchemy as sa

    def much(connection: sa.Connection) -> None:
        connection.execute(meta.insert().values(key="much", value="x" * 2**20))

    sa.event.listen(store._writers, "begin", lambda c: c.exec_driver_sql("PRAGMA max_page_count = 1"))
    with pytest.raises(StoreError, match=r"its disk is full.*run the same command again"):
        store.write(much)
    with pytest.raises(StoreError, match=r"its disk is full.*run the same command again"):
        store.submit(much).result()
    with pytest.raises(StoreError, match=r"its disk is full.*run the same command again"):
        asyncio.run(store.awrite(much))


def corrupt(database: Path, table: str) -> None:
    """Overwrite the pages of a table."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
    with database.open("r+b") as file:
        file.seek((root - 1) * PAGE)
        file.write(b"\xa5" * PAGE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "table"),
    [
        ("scores", "markings"),
        ("report", "drawings"),
        ("mark", "calls"),
        ("draw", "drawings"),
    ],
)
def test_corrupt_page_is_reported_in_one_message(world: ExamRun, command: str, table: str) -> None:
    world.run()
    corrupt(world.store / "limner.db", table)
    words: dict[str, tuple[str, ...]] = {
        "scores": ("scores", "genexam"),
        "report": ("report", "--output", "site"),
    }
    if command == "mark":
        result = world.mark("--repeats", "2", code=None)
    elif command == "draw":
        result = world.draw(code=None)
    else:
        result = limner(*words[command], "--store", "store", code=None)
    assert "Traceback" not in result.err
    assert result.code == 1, result
    assert result.err.count("limner: ") == 1
    assert "damaged" in result.err
    assert "limner verify" in result.err


def test_doctor_reports_corrupt_page(world: ExamRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limner.doctor._ocr", lambda: Check("OCR", "ok", "not looked at"))
    world.run()
    assert "store opens" in limner("doctor", "--all", "--store", "store", code=None).out
    corrupt(world.store / "limner.db", "drawings")
    result = limner("doctor", "--store", "store", code=1)
    (line,) = (line for line in result.out.splitlines() if " store: " in line)
    assert line.startswith(" bad")
    assert "damaged" in line
