"""Merging journals: each call once, every attempt, and all money spent."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from limner.calls import Calls, Request, Result
from limner.calls.budget import read_purses
from limner.calls.keys import this_process
from limner.running.estimate import spent
from limner.running.merge import merge
from limner.running.merge_tables import CallRecord, join
from limner.store import Store, now
from limner.store.records import load_replies
from limner.store.schema import attempts, calls, purses, reservations
from tests.running.merging.made import dump, spend


def record(starts: list[int]) -> CallRecord:
    """A call's journal in one store: what begins at an even time is answered, the rest fails."""
    rows, done = [], None
    for n, start in enumerate(sorted(starts), 1):
        good = start % 2 == 0
        answer = {"result": {"text": str(start)} if good else None, "fault": None if good else "server"}
        rows.append({"call": "k", "n": n, "started": float(start), "seconds": 1.0, "cost": start / 8, **answer})
        done = done or (n if good else None)
    status = "done" if done else "failed" if rows else "open"
    call: dict[str, Any] = {
        "key": "k", "kind": "chat", "target": "t", "request": {}, "exam": "e", "painter": None, "status": status,
        "tries": len(rows), "accepted": done, "fault": None, "created": float(min(starts, default=0)),
        "updated": float(max(starts, default=0)),
    }  # fmt: skip
    aside = [
        {"call": "k", "n": row["n"], "token": f"t{row['started']}", "created": row["started"], "counted": row["cost"]}
        for row in rows
    ]
    return CallRecord(call, rows, aside)


def said(call_record: CallRecord) -> tuple[Any, ...]:
    """What a journal says, however its attempts are numbered."""
    by = {row["n"]: row for row in call_record.attempts}
    assert len(by) == len(call_record.attempts)
    assert call_record.call["tries"] == len(by)
    for row in call_record.reservations:  # Each stands beside its own attempt.
        assert by[row["n"]]["started"] == row["created"]
    answer = by[call_record.call["accepted"]]["result"] if call_record.call["status"] == "done" else None
    money = sum(row["cost"] for row in call_record.attempts), sum(row["counted"] for row in call_record.reservations)
    return call_record.call["status"], answer, sorted(row["started"] for row in call_record.attempts), money


STORES = st.lists(st.lists(st.integers(0, 12), unique=True, max_size=5), min_size=2, max_size=4)


@given(STORES, st.randoms(use_true_random=False))
def test_joining_records_does_not_depend_on_order(stores: list[list[int]], chance: Any) -> None:
    union = sorted({start for store in stores for start in store})
    answers = sorted(min(even) for store in stores if (even := [start for start in store if start % 2 == 0]))
    order = list(stores)
    chance.shuffle(order)
    merged = record(order[0])
    for store in order[1:]:
        merged, _, contradictions = join(merged, record(store), "source")
        assert contradictions == []
        assert join(merged, record(store), "source")[0] == merged
    status = "done" if answers else "failed" if union else "open"
    wanted = {"text": str(answers[0])} if answers else None
    total = sum(start / 8 for start in union)
    assert said(merged) == (status, wanted, union, (total, total))


def test_same_attempt_with_different_results_is_contradiction() -> None:
    mine, theirs = record([2]), record([2])
    theirs.attempts[0]["result"] = {"text": "other"}
    _, _, (wrong,) = join(mine, theirs, "source")
    assert (wrong.table, wrong.id, wrong.columns) == ("attempts", "k/1", ("result",))


def test_call_paid_twice_is_one_call_with_both_payments(tmp_path: Path) -> None:
    for name, reply in (("a", "first"), ("b", "second")):
        with Store(tmp_path / name) as store:
            spend(store, range(3), reply)
    key = Request("chat", "service/model", {"n": 0}).key
    for target, sources in (("ab", "ab"), ("ba", "ba")):
        report = merge(str(tmp_path / target), [str(tmp_path / name) for name in sources])
        assert report.contradictions == []
        assert key in report.sources[1].twice
        with Store(tmp_path / target) as merged:
            assert load_replies(merged, [key]) == {key: "first 0"}  # The earlier, whichever store came first.
            (sums,) = spent(merged)
            assert (sums.calls, sums.attempts, sums.dollars) == (3, 8, 2 * (0.5 + 0.625 + 0.25))
            (purse,) = read_purses(merged)
            assert purse.spent == pytest.approx(sums.dollars)
            assert (purse.reserved, purse.limit) == (0.0, 10.0)


def claimed(store: Store, lease: float, key: str = "c" * 64, **who: Any) -> str:
    """A call that is being made, with a dollar set aside for it."""
    spend(store, [])
    owner = this_process()
    at = now() - 500
    by = {"host": owner.host, "pid": owner.pid, "process_start": owner.start, "token": "t" * 32} | who
    body = {"body": {"n": 7}, "repeat": 0, "round": 0}
    row = {"key": key, "kind": "chat", "target": "service/model", "request": body, "exam": None, "painter": None}
    state = {"status": "claimed", "lease_until": now() + lease, "tries": 0, "created": at, "updated": at, **by}

    def write(connection: sa.Connection) -> None:
        connection.execute(calls.insert().values(row | state))
        aside = {"call": key, "n": 1, "purse": "week", "bound": 1.0, "counted": None, "created": at, **by}
        connection.execute(reservations.insert().values(aside))
        connection.execute(purses.update().values(reserved=1.0))

    store.write(write)
    return key


@pytest.mark.slow
def test_calls_in_flight_are_reported_and_left_to_next_merge(tmp_path: Path) -> None:
    source, target = str(tmp_path / "source"), str(tmp_path / "target")
    with Store(source) as store:
        spend(store, range(2))
        key = claimed(store, 100.0)
    report = merge(target, [source])
    assert (report.whole, report.written, list(report.sources[0].flying)) == (False, True, [key])
    assert f"process {this_process().pid} on " in report.sources[0].flying[key]
    with Store(target) as merged, Store(source) as store:
        assert len(dump(merged)["calls"]) == 2
        assert read_purses(merged)[0].reserved == 0.0

        def settle(connection: sa.Connection) -> None:
            done = {"call": key, "n": 1, "started": now(), "seconds": 1.0, "result": {"text": "at last"}, "cost": 0.75}
            connection.execute(attempts.insert().values(done))
            connection.execute(calls.update().where(calls.c.key == key).values(status="done", accepted=1, tries=1))
            connection.execute(reservations.update().where(reservations.c.call == key).values(counted=0.75))
            connection.execute(purses.update().values(reserved=0.0, spent=purses.c.spent + 0.75))

        store.write(settle)
    assert merge(target, [source]).whole
    with Store(target) as merged, Store(source) as store:
        assert dump(merged) == dump(store)


def test_call_of_dead_process_is_merged_as_interrupted(tmp_path: Path) -> None:
    source, target = str(tmp_path / "source"), str(tmp_path / "target")
    with Store(source) as store:
        key = claimed(store, 100.0, pid=2**22 + 1)
    assert merge(target, [source]).whole
    assert merge(target, [source]).written is False
    with Store(target) as merged:
        tables = dump(merged)
        assert tables["calls"][(key,)]["status"] == "failed"
        assert tables["attempts"][(key, 1)]["fault"] == "interrupted"
        (purse,) = read_purses(merged)
        assert (purse.spent, purse.reserved) == (1.0, 0.0)
    with Store(source) as store:
        assert dump(store)["calls"][(key,)]["status"] == "claimed"  # Sources are only read.


@pytest.mark.slow
def test_submitted_calls_stay_in_their_store(tmp_path: Path) -> None:
    """Calls submitted in a batch belong to no process and wait for its results."""
    source, target = str(tmp_path / "source"), str(tmp_path / "target")
    with Store(source) as store:
        key = claimed(store, 100.0, pid=2**22 + 1)
        store.write(lambda connection: connection.execute(calls.update().values(status="submitted")))
    report = merge(target, [source])
    assert (report.whole, report.sources[0].flying) == (False, {key: "submitted"})


@pytest.mark.slow
def test_result_replaces_expired_claim_in_target(tmp_path: Path) -> None:
    source, target = str(tmp_path / "source"), str(tmp_path / "target")
    request = Request("chat", "service/model", {"n": 7})

    async def make(store: Store) -> None:
        async def perform(_attempt: object) -> Result:
            return Result({"text": "here"}, 0.5)

        await Calls(store).do(request, perform)

    with Store(source) as store:
        asyncio.run(make(store))
    with Store(target) as store:
        claimed(store, -1.0, request.key)
    merge(target, [source])
    with Store(target) as merged:
        assert load_replies(merged, [request.key]) == {request.key: "here"}
        assert [row["fault"] for row in dump(merged)["attempts"].values()] == ["interrupted", None]
        (purse,) = read_purses(merged)
        assert (purse.spent, purse.reserved) == (1.0, 0.0)
