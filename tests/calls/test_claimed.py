"""A claimed call is settled by its owner, its lease is renewed, and the claim is released if no request was sent."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from limner.calls import Attempt, Calls, Fault, Request, Result
from limner.calls.claims import LEASE_S, Claimed, Retries, claim
from limner.calls.keys import Owner
from limner.store import Store, now
from limner.store.schema import attempts, calls
from tests.calls.asking import GOOD, REQUEST, Service, do, row, tried


def test_call_cancelled_between_two_tries_is_released(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        waiting_to_try = asyncio.Event()

        async def sleep(_seconds: float) -> None:
            waiting_to_try.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(asyncio, "sleep", sleep)
        waiting = asyncio.create_task(Calls(store).do(REQUEST, Service(Fault("server", "busy"))))
        await waiting_to_try.wait()
        waiting.cancel()

    asyncio.run(run())
    monkeypatch.undo()
    assert (row(store).status, tried(store)) == ("open", [(1, "server", 0.0, None)])
    assert do(store, Service(GOOD)).stored is False
    assert [n for n, *_ in tried(store)] == [1, 2]


def test_claim_cancelled_while_being_written_is_released(store: Store) -> None:
    async def run() -> None:
        task = asyncio.create_task(Calls(store).do(REQUEST, Service(GOOD)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(run())
    store.write(lambda _: None)
    assert (row(store).status, tried(store)) == ("open", [])
    assert do(store, Service(GOOD)).stored is False


ELSEWHERE = Owner("another host", 17, 5.0)


def steal(store: Store, request: Request = REQUEST) -> str:
    """Another host takes the call over, long after our last sign of life."""
    late = now() + 2 * LEASE_S
    taken = store.write(claim(store, request, ELSEWHERE, "stolen", late, Retries(False, 0.0)))
    assert isinstance(taken, Claimed)
    return taken.token


def finish(store: Store, result: dict[str, Any]) -> None:
    def operation(connection: sa.Connection) -> None:
        made = {"call": REQUEST.key, "n": 2, "started": 1.0, "seconds": 1.0, "result": result, "cost": 1.0}
        connection.execute(attempts.insert().values(made))
        connection.execute(calls.update().values(status="done", accepted=2, tries=2))

    store.write(operation)


@pytest.mark.parametrize("ours", [GOOD, Fault("server", "busy"), Fault("refusal", "no")])
def test_process_that_lost_its_claim_returns_stored_outcome(store: Store, ours: Result | Fault) -> None:
    asked = 0

    async def perform(_attempt: Attempt) -> Result:
        nonlocal asked
        asked += 1
        steal(store)
        finish(store, {"text": "theirs"})
        if isinstance(ours, Fault):
            raise ours
        return ours

    outcome = do(store, perform)
    assert (outcome.payload, outcome.stored, asked) == ({"text": "theirs"}, True, 1)
    assert [(n, fault) for n, fault, *_ in tried(store)] == [(1, "interrupted"), (2, None)]


def test_leases_are_renewed_while_a_call_is_in_flight(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    time_now, beats = 1000.0, asyncio.Semaphore(0)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await beats.acquire()

    async def perform(_attempt: Attempt) -> Result:
        nonlocal time_now
        for time_now in (1030.0, 1060.0, 1090.0):
            count = len(slept)
            beats.release()
            while len(slept) == count:
                await store.awrite(lambda _: None)
            assert row(store).lease_until == time_now + LEASE_S
        return GOOD

    async def run() -> None:
        async with Calls(store) as running:
            await running.do(REQUEST, perform)

    monkeypatch.setattr("limner.store.store.now", lambda: time_now)
    monkeypatch.setattr(store, "check_clock", lambda: None)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    asyncio.run(run())
    assert set(slept) == {LEASE_S / 4}


def test_failed_lease_renewal_does_not_stop_later_ones(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    time_now, beats, slept = 1000.0, asyncio.Semaphore(0), 0

    async def sleep(_seconds: float) -> None:
        nonlocal slept
        slept += 1
        await beats.acquire()

    def refuse(_connection: sa.Connection) -> None:
        raise sa.exc.OperationalError("COMMIT", {}, Exception("disk I/O error"))

    async def perform(_attempt: Attempt) -> Result:
        nonlocal time_now
        sa.event.listen(store._writers, "commit", refuse)
        for time_now in (1030.0, 1060.0):
            count = slept
            beats.release()
            while slept == count:
                await asyncio.to_thread(lambda: None)
            if time_now == 1030.0:
                sa.event.remove(store._writers, "commit", refuse)
        assert row(store).lease_until == 1060.0 + LEASE_S
        return GOOD

    async def run() -> None:
        async with Calls(store) as running:
            await running.do(REQUEST, perform)

    monkeypatch.setattr("limner.store.store.now", lambda: time_now)
    monkeypatch.setattr(store, "check_clock", lambda: None)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    asyncio.run(run())


WORKER = """
import asyncio, sys
from limner.calls import Calls, Request, Result
from limner.store import Store

async def perform(attempt):
    await attempt.save({"job": "42"})
    print("in flight", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    return Result({"text": "from the other process"}, 0.5)

async def main():
    with Store(sys.argv[1]) as store:
        async with Calls(store) as calls:
            await calls.do(Request("chat", "service/model", {"n": 1}), perform)

asyncio.run(main())
"""


@pytest.fixture
def other(store: Store) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the call in flight until it gets a line."""
    command = [sys.executable, "-c", WORKER, store.url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in flight\n"
        yield process
        process.kill()


def test_progress_of_killed_process_is_passed_to_next(store: Store, other: subprocess.Popen[str]) -> None:
    other.kill()
    other.wait()
    service = Service(GOOD)
    assert do(store, service).stored is False
    assert service.progress == [{"job": "42"}]
    assert tried(store) == [(1, "interrupted", None, None), (2, None, 0.25, {"text": "yes"})]
    assert row(store).progress is None


def test_call_claimed_by_live_process_is_waited_for(
    store: Store, other: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, paused = asyncio.sleep, 0

    async def sleep(seconds: float) -> None:
        nonlocal paused
        paused += 1
        if paused == 3:
            assert other.stdin is not None
            other.stdin.write("go on\n")
            other.stdin.flush()
        await real(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    service = Service(GOOD)
    outcome = do(store, service)
    assert (outcome.payload, outcome.stored) == ({"text": "from the other process"}, True)
    assert paused >= 3
    assert service.asked == 0
    assert other.wait(30) == 0
