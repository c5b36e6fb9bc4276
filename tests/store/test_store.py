"""The store: how it is opened, what its connections are set to, and what two processes may do to it at once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
import sqlalchemy as sa

from limner.calls import Calls
from limner.core.errors import LimnerError, StoreError, UsageError
from limner.store import Store, store_exists
from limner.store.schema import VERSION, exams, meta, metadata
from tests.store.openers import killed, race, set_version
from tests.store.places import NO_BUCKET, PLACES, fresh_place


def test_every_connection_sets_pragmas(store: Store) -> None:
    for engine in (store._readers, store._writers):
        for connection in [engine.raw_connection() for _ in range(2)]:
            cursor = connection.cursor()
            names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
            found = [cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in names]
            assert found == ["wal", 1, 1, 60_000]  # 1 is NORMAL: a commit survives the process.


def test_writes_begin_immediate_and_reads_deferred(store: Store) -> None:
    begun: list[str] = []
    for engine in (store._readers, store._writers):
        sa.event.listen(
            engine,
            "before_cursor_execute",
            lambda _c, _cursor, statement, *_rest: begun.append(statement) if statement.startswith("BEGIN") else None,
        )
    store.write(lambda connection: connection.execute(sa.select(meta)).all())
    with store.reading() as connection:
        connection.execute(sa.select(meta)).all()
    assert begun == ["BEGIN IMMEDIATE", "BEGIN"]


@NO_BUCKET
def test_reader_sees_consistent_snapshot_during_writes(store: Store) -> None:
    count = sa.select(sa.func.count()).select_from(meta)
    with store.reading() as connection:
        assert connection.scalar(count) == 1
        store.write(lambda writing: writing.execute(meta.insert().values(key="a", value="b")))
        assert connection.scalar(count) == 1
    with store.reading() as connection:
        assert connection.scalar(count) == 2


@NO_BUCKET
def test_insert_new_keeps_existing_rows(store: Store) -> None:
    def operation(connection: sa.Connection) -> list[tuple[str, str]]:
        store.insert_new(connection, meta, {"key": "a", "value": "first"})
        store.insert_new(connection, meta, {"key": "a", "value": "second"}, {"key": "b", "value": "other"})
        store.insert_new(connection, meta)
        query = sa.select(meta.c.key, meta.c.value).where(meta.c.key != "version").order_by(meta.c.key)
        return [(row.key, row.value) for row in connection.execute(query)]

    assert store.write(operation) == [("a", "first"), ("b", "other")]


@NO_BUCKET
def test_upsert_replaces_row_with_same_key(store: Store) -> None:
    def operation(connection: sa.Connection) -> list[tuple[str, str, float]]:
        for kind, created in (("x", 1.0), ("y", 2.0)):
            store.upsert(connection, exams, {"name": "one", "kind": kind, "created": created})
        store.upsert(connection, exams, {"name": "two", "kind": "z", "created": 3.0})
        return [(row.name, row.kind, row.created) for row in connection.execute(sa.select(exams))]

    assert store.write(operation) == [("one", "y", 2.0), ("two", "z", 3.0)]


def test_store_folder_holds_database_and_images(tmp_path: Path) -> None:
    with Store(tmp_path / "deep" / "store") as store:
        assert store.file == tmp_path / "deep" / "store" / "limner.db"
        assert store.blobs.root == str(tmp_path / "deep" / "store" / "blobs")
        assert store.file.is_file()


def test_database_file_has_images_folder_beside_it(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path}/exam.db") as store:
        assert store.file == tmp_path / "exam.db"
        assert store.blobs.root == str(tmp_path / "exam.blobs")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlite://", "must be a file"),
        ("sqlite:///:memory:", "must be a file"),
        ("mysql://somebody@host/base", "SQLite and PostgreSQL are supported, not mysql"),
        ("://nothing", "not a database URL; write sqlite:///FILE.db"),
        ("postgresql://host:port/base?blobs=here", "not a database URL; write sqlite:///FILE.db"),
        ("postgresql://host/base", r"add \?blobs="),
    ],
)
def test_invalid_urls_are_usage_errors(url: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Store(url)


def test_file_instead_of_folder_is_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is a file; name a folder"):
        Store(tmp_path / "file")


def test_missing_store_is_not_created_when_required(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store at"):
        Store(tmp_path / "none", create=False)
    assert not (tmp_path / "none").exists()


def test_file_that_is_not_database_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("a letter to my aunt, long enough to be looked at by a database " * 20)
    with pytest.raises(StoreError, match="cannot be opened: file is not a database"):
        Store(f"sqlite:///{tmp_path}/x.db")


def test_store_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot create a store"):
        Store(tmp_path / "file" / "store")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hush-hush@127.0.0.1:1/base",
        "mysql://me:hush-hush@127.0.0.1:1/base",
        "postgresql://me:hush-hush@127.0.0.1:1/base?blobs=here",
        "postgresql://me:hush-hush@127.0.0.1:port/base?blobs=here",
        "postgresql://127.0.0.1:1/base?user=me&password=hush-hush&blobs=here",
    ],
)
def test_database_password_is_never_shown(url: str) -> None:
    with pytest.raises(LimnerError) as caught:
        Store(url)
    assert "hush-hush" not in str(caught.value)


WRITERS = """
import multiprocessing, sys
from limner.store import Store
from limner.store.schema import meta

def write_all(barrier, url, name, wrong):
    with Store(url) as store:
        barrier.wait()
        for n in range(300):
            # Each a transaction of its own that reads first: what fails when it is not begun as a write.
            def operation(connection):
                connection.execute(meta.select()).all()
                connection.execute(meta.insert().values(key=f"{name}/{n}", value="v"))
            try:
                store.write(operation)
            except Exception as error:
                wrong.put(str(error))

fork = multiprocessing.get_context("fork")
barrier, wrong = fork.Barrier(2), fork.SimpleQueue()
writers = [fork.Process(target=write_all, args=(barrier, sys.argv[1], name, wrong)) for name in "ab"]
for writer in writers:
    writer.start()
for writer in writers:
    writer.join()
while not wrong.empty():
    print(wrong.get())
"""


@pytest.mark.slow
def test_two_processes_write_300_rows_each(tmp_path: Path) -> None:
    url = str(tmp_path / "store")
    ended = subprocess.run([sys.executable, "-c", WRITERS, url], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    with Store(url) as store, store.reading() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(meta)) == 601


@pytest.mark.parametrize("kind", PLACES[:2])
def test_store_of_other_version_is_rejected_and_unchanged(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = fresh_place(request, kind, tmp_path, "other_version")
    set_version(url, str(VERSION + 1))
    sentence = (
        rf"the store .* has version {VERSION + 1}, and this Limner reads only version {VERSION}: "
        "use the Limner that made it, or name another --store$"
    )
    for opened in (Store, store_exists):
        with pytest.raises(StoreError, match=sentence):
            opened(url)
    engine = sa.create_engine(_database(url))
    with engine.begin() as connection:
        assert connection.execute(sa.select(meta)).all() == [("version", str(VERSION + 1))]
        connection.execute(meta.update().values(value=str(VERSION)))
    engine.dispose()
    assert store_exists(url)


def _database(url: str) -> str:
    if "://" not in url:
        return f"sqlite:///{url}/limner.db"
    return url.partition("&blobs")[0].replace("postgresql:", "postgresql+psycopg:")


@pytest.mark.parametrize("version", ["0", "seven", ""])
def test_invalid_store_version_is_rejected(tmp_path: Path, version: str) -> None:
    set_version(str(tmp_path), version)
    with pytest.raises(StoreError, match=f"has version {version}, and this Limner reads only version"):
        Store(tmp_path)


@NO_BUCKET
def test_store_exists_detects_store(store: Store) -> None:
    assert store_exists(store.url)


def test_store_exists_does_not_create_store(tmp_path: Path) -> None:
    assert not store_exists(tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "postgres"])
def test_processes_can_create_one_store_concurrently(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    urls = [str(tmp_path / str(n)) for n in range(25)]
    if kind == "postgres":
        urls = _new_databases(request.getfixturevalue("postgres"), "made", 6)
    assert race(urls) == ("", "")
    assert all(map(store_exists, urls))


def _new_databases(postgres: str, name: str, count: int) -> list[str]:
    """Return the URLs of so many new databases."""
    engine = sa.create_engine(_database(postgres))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for n in range(count):
            connection.exec_driver_sql(f"CREATE DATABASE {name}{n}")
    engine.dispose()
    return [postgres.replace("/postgres?", f"/{name}{n}?") for n in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "postgres"])
def test_store_killed_during_creation_is_complete_or_absent(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    steps = range(0, 120, 17)
    urls = [str(tmp_path / str(n)) for n in steps]
    if kind == "postgres":
        urls = _new_databases(request.getfixturevalue("postgres"), "killed", len(steps))
    ends = killed(zip(urls, steps, strict=True))
    assert {-9, 0} == set(ends)
    for url, end in zip(urls, ends, strict=True):
        assert store_exists(url) or end == -9
        with Store(url) as store, store.reading() as connection:
            assert set(sa.inspect(connection).get_table_names()) == set(metadata.tables)


@pytest.mark.parametrize(("ahead", "words"), [(130.0, "130 s ahead of"), (-130.0, "130 s behind"), (20.0, None)])
def test_run_is_refused_if_clock_differs_from_that_of_shared_folder(
    store: Store, monkeypatch: pytest.MonkeyPatch, ahead: float, words: str | None
) -> None:
    """Leases of claims are compared between machines, so their clocks must agree."""
    monkeypatch.setattr("limner.store.store.now", lambda: time.time() + ahead)

    async def begin() -> None:
        async with Calls(store):
            pass

    refused = pytest.raises(StoreError, match=f"clock is {words} that of the folder of .* set the clock")
    with nullcontext() if words is None else refused:
        asyncio.run(begin())


@pytest.mark.parametrize(("durable", "level"), [(False, 1), (True, 2)])
def test_durable_store_waits_for_the_disk(tmp_path: Path, durable: bool, level: int) -> None:
    with Store(tmp_path / "s", durable=durable) as store:
        assert store.write(lambda connection: connection.exec_driver_sql("PRAGMA synchronous").scalar()) == level
