"""Claims: who may make a call, and which claims are no longer valid."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psutil
import pytest
import sqlalchemy as sa

from limner.calls import Request
from limner.calls.claims import LEASE_S, Busy, Claim, Claimed, Retries, Settled, claim
from limner.calls.keys import Owner, this_host, this_process
from limner.store import Store
from limner.store.schema import attempts, calls

REQUEST = Request("chat", "service/model", {"n": 1})
ELSEWHERE = Owner("another host", 17, 5.0)


def take(
    store: Store, owner: Owner, at: float, token: str = "t", retry_failed: bool = False, since: float = 0.0
) -> Claim:
    return store.write(claim(store, REQUEST, owner, token, at, Retries(retry_failed, since)))


def row(store: Store) -> Any:
    with store.reading() as connection:
        return connection.execute(sa.select(calls)).one()


def lost(store: Store) -> list[tuple[int, str, float | None]]:
    with store.reading() as connection:
        return [(r.n, r.fault, r.cost) for r in connection.execute(sa.select(attempts).order_by(attempts.c.n))]


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def owner_of(process: subprocess.Popen[bytes]) -> Owner:
    info = psutil.Process(process.pid)
    return Owner(this_host(), process.pid, info.create_time() - psutil.boot_time())


def test_new_call_is_claimed_and_claim_is_stored(store: Store) -> None:
    assert take(store, ELSEWHERE, 100.0) == Claimed("t", 0, None)
    call = row(store)
    assert (call.status, call.host, call.pid, call.process_start) == ("claimed", "another host", 17, 5.0)
    assert (call.token, call.lease_until, call.tries) == ("t", 100.0 + LEASE_S, 0)
    assert (call.kind, call.target) == ("chat", "service/model")
    assert call.request == {"body": {"n": 1}, "repeat": 0, "round": 0}


def test_claim_of_another_host_is_valid_until_its_lease_ends(store: Store) -> None:
    take(store, ELSEWHERE, 100.0)
    me = this_process()
    assert take(store, me, 100.0 + LEASE_S - 0.1, "u") == Busy()
    assert row(store).token == "t"
    assert lost(store) == []
    assert take(store, me, 100.0 + LEASE_S, "u") == Claimed("u", 1, None)
    assert lost(store) == [(1, "interrupted", None)]
    assert row(store).token == "u"


def test_a_live_process_of_this_host_keeps_its_claim(store: Store, child: subprocess.Popen[bytes]) -> None:
    take(store, owner_of(child), 100.0)
    assert take(store, this_process(), 101.0, "u") == Busy()


def test_a_dead_process_of_this_host_loses_its_claim_at_once(store: Store, child: subprocess.Popen[bytes]) -> None:
    dead = owner_of(child)
    take(store, dead, 100.0)
    child.kill()
    child.wait()
    assert take(store, this_process(), 103.0, "u") == Claimed("u", 1, None)
    assert lost(store) == [(1, "interrupted", None)]
    with store.reading() as connection:
        attempt = connection.execute(sa.select(attempts)).one()
    assert (attempt.started, attempt.seconds) == (100.0, 3.0)
    assert f"process {child.pid}" in attempt.detail


def test_zombie_process_counts_as_dead(store: Store, child: subprocess.Popen[bytes]) -> None:
    zombie = owner_of(child)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert zombie.is_dead_here()


def test_reused_pid_does_not_keep_claim(store: Store) -> None:
    me = this_process()
    take(store, replace(me, start=me.start - 60), 100.0)
    assert take(store, me, 101.0, "u") == Claimed("u", 1, None)
    assert lost(store) == [(1, "interrupted", None)]


def test_clock_change_does_not_make_process_look_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    me = this_process()
    created, booted = psutil.Process.create_time, psutil.boot_time
    monkeypatch.setattr(psutil.Process, "create_time", lambda process: created(process) + 3600)
    monkeypatch.setattr(psutil, "boot_time", lambda: booted() + 3600)
    assert not me.is_dead_here()


def test_process_that_cannot_be_inspected_counts_as_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(process: psutil.Process) -> float:
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr(psutil.Process, "create_time", refuse)
    assert not Owner(this_host(), os.getpid(), 0.0).is_dead_here()


def test_pid_of_another_host_is_not_looked_up_here() -> None:
    assert not Owner("another host", 2**22 + 1, 0.0).is_dead_here()
    assert Owner(this_host(), 2**22 + 1, 0.0).is_dead_here()


def test_claim_not_renewed_ends_even_if_process_lives(store: Store) -> None:
    """A process that no longer renews its lease may hang or have dropped the call; others must not wait forever."""
    take(store, this_process(), 100.0)
    assert take(store, this_process(), 100.0 + LEASE_S, "u") == Claimed("u", 1, None)


def test_progress_is_passed_to_next_claim(store: Store) -> None:
    take(store, ELSEWHERE, 100.0)
    store.write(lambda connection: connection.execute(calls.update().values(progress={"job": 7})))
    assert take(store, this_process(), 300.0, "u") == Claimed("u", 1, {"job": 7})


def settle(store: Store, **changes: Any) -> None:
    store.write(lambda connection: connection.execute(calls.update().values(**changes)))


def test_finished_call_returns_its_accepted_attempt(store: Store) -> None:
    take(store, ELSEWHERE, 100.0)
    rows = [{"call": REQUEST.key, "n": n, "started": 1.0, "seconds": 1.0, "result": {"text": n}} for n in (1, 2)]
    store.write(lambda connection: connection.execute(attempts.insert(), rows))
    settle(store, status="done", accepted=2, tries=2)
    assert take(store, this_process(), 101.0, "u", retry_failed=True, since=1e12) == Settled(
        {"text": 2}, None, None, None
    )


@pytest.mark.parametrize(
    ("fault", "retry_failed", "again"),
    [("refusal", False, False), ("refusal", True, True), ("server", False, True), ("unreadable", False, False)],
)
def test_failed_call_is_retried_only_by_later_run(store: Store, fault: str, retry_failed: bool, again: bool) -> None:
    take(store, ELSEWHERE, 100.0)
    settle(store, status="failed", fault=fault, detail="why", tries=5, updated=150.0)
    mine = this_process()
    assert take(store, mine, 160.0, "u", retry_failed=retry_failed, since=140.0) == Settled(None, None, fault, "why")
    later = take(store, mine, 160.0, "u", retry_failed=retry_failed, since=155.0)
    assert later == (Claimed("u", 5, None) if again else Settled(None, None, fault, "why"))
    assert lost(store) == []


def test_auth_fault_of_another_process_does_not_stop_run(store: Store) -> None:
    take(store, ELSEWHERE, 100.0)
    settle(store, status="failed", fault="auth", detail="why", tries=1, updated=150.0)
    assert take(store, ELSEWHERE, 160.0, "t", since=140.0) == Settled(None, None, "auth", "why")
    assert take(store, this_process(), 160.0, "u", since=140.0) == Claimed("u", 1, None)
