"""One writer thread with group commit: few transactions, results after the commit, failures alone."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from concurrent.futures import Future, wait
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from limner.store import Store, writer
from limner.store.schema import meta
from limner.store.writer import is_passing, retry_while_away
from tests.store.places import NO_BUCKET

Rows = list[tuple[str, str]]


def put(key: str, value: str = "v") -> Any:
    counted = {"preserve_rowcount": True}  # Not every driver counts the rows of an insert unasked.
    insert = meta.insert().values(key=key, value=value)
    return lambda connection: connection.execute(insert, execution_options=counted).rowcount


def rows(store: Store) -> Rows:
    with store.reading() as connection:
        query = sa.select(meta).where(meta.c.key != "version").order_by(meta.c.key)
        return [(row.key, row.value) for row in connection.execute(query)]


class Gate:
    """Keeps the writer thread busy until it is opened, so that what is queued meanwhile comes in one batch."""

    def __init__(self, store: Store) -> None:
        self._reached, self._open = threading.Event(), threading.Event()
        self.done: Future[None] = store.submit(self._hold)
        assert self._reached.wait(60)

    def _hold(self, connection: sa.Connection) -> None:
        self._reached.set()
        assert self._open.wait(60)

    def open(self) -> None:
        self._open.set()


def count_commits(store: Store) -> list[None]:
    commits: list[None] = []
    sa.event.listen(store._writers, "commit", lambda _: commits.append(None))
    return commits


@NO_BUCKET
def test_many_writes_share_few_transactions(store: Store) -> None:
    commits = count_commits(store)
    gate = Gate(store)
    futures = [store.submit(put(f"{n:04}")) for n in range(1000)]
    gate.open()
    wait(futures)
    assert len(rows(store)) == 1000
    assert len(commits) == 1 + 4  # The gate's own, then 256 + 256 + 256 + 232.


@NO_BUCKET
def test_failing_write_does_not_undo_others_in_batch(store: Store) -> None:
    def broken(connection: sa.Connection) -> None:
        connection.execute(meta.insert().values(key="broken", value="v"))
        raise ZeroDivisionError

    gate = Gate(store)
    futures: list[Future[Any]] = [store.submit(o) for o in (put("a"), broken, put("a"), put("b"))]
    gate.open()
    wait(futures)
    assert [type(future.exception()) for future in futures] == [
        type(None),
        ZeroDivisionError,
        sa.exc.IntegrityError,
        type(None),
    ]
    assert rows(store) == [("a", "v"), ("b", "v")]


@NO_BUCKET
def test_results_are_delivered_only_after_commit(store: Store) -> None:
    """At the moment of the commit nothing of the batch is given out; afterwards everything is there to be read."""
    at_commit: list[bool] = []
    seen_after: list[Rows] = []
    gate = Gate(store)
    futures = [store.submit(put(key)) for key in "abc"]
    sa.event.listen(store._writers, "commit", lambda _: at_commit.append(any(f.done() for f in futures)))
    futures[0].add_done_callback(lambda _: seen_after.append(rows(store)))
    gate.open()
    wait(futures)
    store.write(lambda _: None)
    assert at_commit[:2] == [False, False]
    assert seen_after == [[("a", "v"), ("b", "v"), ("c", "v")]]


@NO_BUCKET
def test_failing_commit_fails_whole_batch(store: Store) -> None:
    def refuse(_connection: sa.Connection) -> None:
        raise OSError("the disk is full")

    gate = Gate(store)
    futures = [store.submit(put(key)) for key in "ab"]
    sa.event.listen(store._writers, "commit", refuse)
    gate.open()
    for future in [gate.done, *futures]:
        with pytest.raises(OSError, match="the disk is full"):
            future.result()
    sa.event.remove(store._writers, "commit", refuse)
    assert rows(store) == []
    store.write(put("c"))
    assert rows(store) == [("c", "v")]


def test_cancelled_wait_stops_neither_write_nor_writer(store: Store) -> None:
    async def run() -> None:
        gate = Gate(store)
        waits = [asyncio.create_task(store.awrite(put(key))) for key in "abc"]
        await asyncio.sleep(0)
        waits[1].cancel()
        ended = asyncio.gather(*waits, return_exceptions=True)
        await asyncio.sleep(0)
        gate.open()
        assert [isinstance(one, BaseException) for one in await ended] == [False, True, False]
        assert await asyncio.wait_for(store.awrite(put("d")), 60) == 1

    asyncio.run(run())
    assert [key for key, _ in rows(store)] == ["a", "b", "c", "d"]


def test_event_loop_is_woken_once_for_all_waiters(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[Any] = []

    async def run() -> None:
        loop = asyncio.get_running_loop()
        usual = loop.call_soon_threadsafe

        def wake(*given: Any, **more: Any) -> Any:
            woken.append(given)
            return usual(*given, **more)

        monkeypatch.setattr(loop, "call_soon_threadsafe", wake)
        gate = Gate(store)
        waits = [asyncio.create_task(store.awrite(put(f"{n}"))) for n in range(9)]
        await asyncio.sleep(0)
        gate.open()
        assert await asyncio.gather(*waits) == [1] * 9

    asyncio.run(run())
    assert len(woken) == 1


def test_async_waiter_receives_failure(store: Store) -> None:
    def broken(_connection: sa.Connection) -> None:
        raise ZeroDivisionError

    async def run() -> list[Any]:
        gate = Gate(store)
        waits = [asyncio.create_task(store.awrite(one)) for one in (put("a"), broken, put("b"))]
        await asyncio.sleep(0)
        gate.open()
        return await asyncio.gather(*waits, return_exceptions=True)

    assert [type(one) for one in asyncio.run(run())] == [int, ZeroDivisionError, int]


@NO_BUCKET
def test_closing_finishes_queued_writes(store: Store) -> None:
    futures = [store.submit(put(f"{n:03}")) for n in range(300)]
    store.close()
    assert all(future.done() for future in futures)
    assert len(rows(store)) == 300


def test_writes_run_in_submission_order(store: Store) -> None:
    seen: list[int] = []
    wait([store.submit(partial(lambda n, _: seen.append(n), n)) for n in range(600)])
    assert seen == list(range(600))


psycopg = pytest.importorskip("psycopg", reason="the driver comes with limner[postgres]")


def wrapped(error: Exception, lost: bool = False) -> OperationalError:
    return OperationalError("SELECT 1", {}, error, connection_invalidated=lost)


PASSING = ("AdminShutdown", "CrashShutdown", "CannotConnectNow", "DeadlockDetected", "ConnectionFailure")
LASTING = ("DiskFull", "UndefinedTable", "InsufficientPrivilege", "UniqueViolation")


@pytest.mark.parametrize("name", PASSING)
def test_restarts_and_conflicts_are_transient(name: str) -> None:
    assert is_passing(wrapped(getattr(psycopg.errors, name)("!")))


@pytest.mark.parametrize("name", LASTING)
def test_lasting_server_errors_are_not_transient(name: str) -> None:
    assert not is_passing(wrapped(getattr(psycopg.errors, name)("!")))


def test_lost_connection_is_transient_but_not_for_sqlite() -> None:
    assert is_passing(wrapped(psycopg.OperationalError("connection refused")))
    assert is_passing(wrapped(psycopg.errors.DiskFull("!"), lost=True))
    assert not is_passing(wrapped(sqlite3.OperationalError("disk I/O error")))
    assert not is_passing(ValueError())


def test_action_is_retried_until_server_returns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    shim = SimpleNamespace(monotonic=lambda: clock[0], sleep=lambda _: clock.__setitem__(0, clock[0] + 1.0))
    monkeypatch.setattr("limner.store.writer.time", shim)

    def action() -> str:
        if clock[0] < back:
            raise wrapped(psycopg.OperationalError("connection refused\nmore"))
        return "back"

    back = 9.0
    assert retry_while_away(action) == "back"
    assert capsys.readouterr().err == "the database does not answer (connection refused); waiting for it\n"
    back = 10_000.0
    with pytest.raises(OperationalError):
        retry_while_away(action)
    assert clock[0] == pytest.approx(9 + writer.WAIT_S, abs=2)
