"""Batches in the store: who owns their calls, what is reserved, how each call is settled; and steps that wait."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from limner.calls import Fault, Request
from limner.calls.batches import (
    DOUBTED,
    RUNNING,
    UNSENT,
    RowEnd,
    begin,
    change,
    find_batch,
    finish,
    read_batches,
    release,
    settle,
    waiting_calls,
)
from limner.calls.budget import Reservation, open_purse, read_purses
from limner.calls.claims import Claimed, Retries, Submitted, claim
from limner.calls.journal import BatchLane, WaitsForBatch, in_turn
from limner.calls.keys import this_process
from limner.core.errors import UsageError
from limner.store import Store, now
from limner.store.schema import batches, calls

TAG, LANE = "a" * 32, BatchLane("openai", "/v1/chat/completions", "gpt-6.1-sol")
CALLS = [Request("chat", "openai/gpt-6.1-sol", {"n": n}) for n in range(3)]


@pytest.fixture
def handed(store: Store) -> Store:
    """A store with one batch of three calls, which a process that is gone was about to hand in."""
    owner = replace(this_process(), pid=2**22 - 1)
    open_purse(store, "p", 10.0)
    begin(store, TAG, LANE, owner)
    for request in CALLS:
        take = claim(
            store, request, owner, TAG, now(), Retries(False, now()), batch=TAG,
            reservation=Reservation("p", 2.0),
        )  # fmt: skip
        assert isinstance(store.write(take), Claimed)
        assert isinstance(store.write(take), Claimed)  # Once more, should the word of its commit be lost.
    return store


def again(store: Store, request: Request) -> object:
    return store.write(claim(store, request, this_process(), "other", now(), Retries(True, now())))


def test_submitted_calls_cannot_be_claimed(handed: Store) -> None:
    assert again(handed, CALLS[0]) == Submitted(TAG)
    (purse,) = read_purses(handed)
    assert (purse.reserved, purse.spent, purse.lost) == (6.0, 0.0, 0.0)
    (batch,) = read_batches(handed, only_open=True)
    assert (batch.status, batch.waiting, batch.orphaned, batch.lane) == (UNSENT, 3, True, LANE)


def test_releasing_unsent_batch_frees_calls_and_reserved_money(handed: Store) -> None:
    assert not release(handed, TAG, "nothing was sent", DOUBTED)
    assert release(handed, TAG, "nothing was sent", UNSENT)
    assert not release(handed, TAG, "nothing was sent", UNSENT)
    (purse,) = read_purses(handed)
    assert (purse.reserved, purse.spent) == (0.0, 0.0)
    assert isinstance(again(handed, CALLS[0]), Claimed)
    assert waiting_calls(handed, TAG) == {}
    assert read_batches(handed, only_open=True) == []


def test_each_batch_call_is_settled_once(handed: Store) -> None:
    done, failed, reopened = (request.key for request in CALLS)
    ends = [
        RowEnd(done, "done", {"text": "yes"}, 0.5),
        RowEnd(failed, "failed", fault=Fault("refusal", "no")),
        RowEnd(reopened, "open", cost=None, fault=Fault("server", "gone", cost=None)),
    ]
    assert not finish(handed, TAG, "completed")
    assert settle(handed, TAG, ends[:2], None, this_process()) == ends[:2]
    assert not finish(handed, TAG, "completed")
    # Another process has fetched the same results.
    assert settle(handed, TAG, ends, None, this_process()) == ends[2:]
    assert finish(handed, TAG, "completed")
    (purse,) = read_purses(handed)
    assert purse.reserved == 0.0
    assert purse.spent == pytest.approx(2.5)  # What nobody knows counts at its bound.
    assert again(handed, CALLS[0]).result == {"text": "yes"}  # type: ignore[attr-defined]
    assert isinstance(again(handed, CALLS[2]), Claimed)
    # What that claim has now is no longer the batch's to settle.
    assert settle(handed, TAG, ends, None, this_process()) == []


def test_batch_status_changes_only_from_expected_status(handed: Store) -> None:
    assert change(handed, TAG, (UNSENT,), status=DOUBTED, file="f")
    assert not change(handed, TAG, (UNSENT,), status=DOUBTED)
    assert change(handed, TAG, (DOUBTED,), status=RUNNING, remote="batch_1")
    # Whoever did not find it at the service, a moment ago, does not set its calls free.
    assert not release(handed, TAG, "not found", DOUBTED)
    assert waiting_calls(handed, TAG).keys() == {request.key for request in CALLS}
    assert find_batch(handed, "aaaa") == find_batch(handed, "batch_1")
    with pytest.raises(UsageError, match="no batch has an id that begins with 'b'"):
        find_batch(handed, "b")


def test_batch_of_another_host_is_orphaned_only_after_lease_ends(handed: Store) -> None:
    def owner(host: str, lease: float) -> bool:
        row = batches.update().values(host=host, lease_until=lease)
        handed.write(lambda connection: connection.execute(row))
        return read_batches(handed)[0].orphaned

    assert not owner("elsewhere", now() + 60)
    assert owner("elsewhere", now() - 1)
    with handed.reading() as connection:
        assert set(connection.scalars(calls.select().with_only_columns(calls.c.status))) == {"submitted"}


def test_waiting_for_batch_does_not_block_other_steps() -> None:
    ran: list[int] = []

    async def step(n: int) -> int:
        ran.append(n)
        if n == 1:
            raise WaitsForBatch("later")
        return n

    with pytest.raises(WaitsForBatch):
        asyncio.run(in_turn(lambda n=n: step(n) for n in range(3)))  # type: ignore[misc]
    assert ran == [0, 1, 2]
    assert asyncio.run(in_turn(lambda n=n: step(n) for n in (0, 2))) == [0, 2]  # type: ignore[misc]
