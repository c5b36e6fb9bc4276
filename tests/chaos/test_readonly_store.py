"""Stores that can only be read, by their permissions or their mount. No file is left in them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from limner.core.errors import StoreError
from limner.store import Store
from tests.chaos.exam_run import ExamRun, as_nobody, make, tree
from tests.cli.invoke import limner
from tests.fakes import ChatServer
from tests.needs import need

READS = (
    ("scores", "genexam"),
    ("show", "genexam", "Biology_0"),
    ("export", "genexam", "--images", "out"),
    ("report", "--output", "site"),
    ("spend", "--format=json"),
)


@pytest.fixture
def world(tmp_path: Path, chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> ExamRun:
    world = make(tmp_path, chat, monkeypatch)
    world.run()
    return world


@contextmanager
def mounted_readonly(folder: Path) -> Iterator[None]:
    """The folder as a mount that nobody can write to."""
    bound = subprocess.run(["mount", "--bind", folder, folder], capture_output=True).returncode == 0
    try:
        again = ["mount", "-o", "remount,ro,bind", str(folder), str(folder)]
        done = bound and subprocess.run(again, capture_output=True).returncode == 0
        need("mount", done, "only root can mount a folder read-only")
        yield
    finally:
        if bound:
            subprocess.run(["umount", "--lazy", folder], check=True)


def leave_log(folder: Path, *, index: bool) -> None:
    """As a killed process leaves a store: its newest rows in the log alone, which is not yet in the database."""
    code = """if True:
        import os, sys
        from limner.store import Store
        from limner.store.schema import meta
        store = Store(sys.argv[1])
        store.write(lambda connection: connection.execute(meta.insert().values(key="newest", value="here")))
        os._exit(0)
    """
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)
    assert (folder / "limner.db-wal").stat().st_size > 0
    if not index:
        (folder / "limner.db-shm").unlink()


@pytest.mark.slow
def test_store_on_readonly_mount_can_be_read(world: ExamRun) -> None:
    before = {words: limner(*words, "--store", "store").out for words in READS if words[0] != "report"}
    was = tree(world.store)
    with mounted_readonly(world.store):
        after = {words: limner(*words, "--store", "store").out for words in READS}
    assert {words: after[words] for words in before} == before
    assert tree(world.store) == was
    assert list(Path("site").rglob("*.html"))


@pytest.mark.slow
@pytest.mark.parametrize("index", [True, False], ids=["with index", "without index"])
def test_rows_only_in_write_ahead_log_can_be_read(world: ExamRun, index: bool) -> None:
    leave_log(world.store, index=index)
    was = tree(world.store)
    with mounted_readonly(world.store):
        with Store(world.store, create=False) as store, store.reading() as connection:
            newest = connection.exec_driver_sql("SELECT value FROM meta WHERE key = 'newest'").scalar()
        limner("scores", "genexam", "--store", "store")
    assert newest == "here"
    assert tree(world.store) == was


@pytest.mark.slow
def test_run_on_readonly_store_fails_with_one_message(world: ExamRun) -> None:
    with mounted_readonly(world.store):
        result = world.run(code=1)
    assert result.err.count("limner: ") == 1
    assert "is read-only here" in result.err


def test_write_to_readonly_store_is_refused_before_queueing(world: ExamRun) -> None:
    with mounted_readonly(world.store), Store(world.store, create=False) as store:
        assert store.readonly
        with pytest.raises(StoreError, match="is read-only here"):
            store.write(lambda _: None)


@pytest.mark.slow
def test_user_without_write_permission_can_read_store(world: ExamRun) -> None:
    """Runs as another user, since root may write everywhere."""
    before = limner("scores", "genexam", "--store", "store").out
    was = tree(world.store)
    for path in (world.store, *world.store.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        result = as_nobody(lambda: limner("scores", "genexam", "--store", "store", code=None))
    finally:
        for path in (world.store, *world.store.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert result == (0, before, "")
    assert tree(world.store) == was
