"""The call journal: each call made once, every attempt kept, retries where they help, nothing lost on the way."""

from __future__ import annotations

import asyncio

import pytest

from limner.calls import KINDS, PASSING, Attempt, Calls, Fault, Kind, Outcome, Request, Result
from limner.calls.claims import Owner, claim
from limner.calls.usage import Tally
from limner.core.faults import RETRIED_NEXT_RUN
from limner.store import Store, now
from tests.calls.asking import GOOD, REQUEST, Service, do, fails, row, tried
from tests.calls.conftest import Clock


def test_a_call_is_made_once_and_then_remembered(store: Store) -> None:
    service = Service(GOOD)
    first, again = do(store, service), do(store, service)
    assert first == Outcome(REQUEST.key, {"text": "yes"}, 0.25, stored=False)
    assert again == Outcome(REQUEST.key, {"text": "yes"}, 0.25, stored=True)
    assert service.asked == 1
    assert tried(store) == [(1, None, 0.25, {"text": "yes"})]
    assert (row(store).status, row(store).accepted, row(store).progress) == ("done", 1, None)


def test_the_same_request_at_the_same_time_is_one_call(store: Store) -> None:
    async def run() -> tuple[list[Outcome], int]:
        go_on = asyncio.Event()
        asked = 0

        async def perform(_attempt: Attempt) -> Result:
            nonlocal asked
            asked += 1
            await go_on.wait()
            return GOOD

        calls = Calls(store)
        waiting = [asyncio.create_task(calls.do(REQUEST, perform)) for _ in range(10)]
        while not asked:
            await asyncio.sleep(0)
        go_on.set()
        outcomes = await asyncio.gather(*waiting)
        assert calls.tally == Tally(made=1, spent=0.25)
        return list(outcomes), asked

    outcomes, asked = asyncio.run(run())
    assert (asked, len(set(map(id, outcomes)))) == (1, 1)


@pytest.mark.parametrize("most", [1, 3])
def test_no_more_calls_are_in_flight_than_are_allowed(store: Store, most: int) -> None:
    async def run() -> int:
        flying, peak, full = 0, 0, asyncio.Event()

        async def perform(_attempt: Attempt) -> Result:
            nonlocal flying, peak
            flying += 1
            peak = max(peak, flying)
            if flying >= most:
                full.set()
            await full.wait()  # As many as are allowed do get there.
            for _ in range(20):
                await asyncio.sleep(0)
            flying -= 1
            return GOOD

        async with Calls(store, concurrency=most) as made, asyncio.timeout(60):
            await asyncio.gather(*(made.do(Request("chat", "service/model", {"n": n}), perform) for n in range(12)))
        return peak

    assert asyncio.run(run()) == most


def test_waiting_for_another_process_takes_no_room(store: Store) -> None:
    """A call that somebody else is making must not keep others from being made."""
    other = Owner("elsewhere", 1, 0.0)
    claimed = claim(store, REQUEST, other, "theirs", now(), retry_failed=False, since=now())
    store.write(claimed)

    async def run() -> None:
        async with Calls(store, concurrency=1) as made:
            waiting = asyncio.create_task(made.do(REQUEST, Service(GOOD)))
            await asyncio.sleep(0)
            assert (await made.do(Request("chat", "service/model", {"n": 2}), Service(GOOD))).payload == GOOD.payload
            waiting.cancel()

    asyncio.run(run())


def test_one_impatient_caller_does_not_stop_the_others(store: Store) -> None:
    async def run() -> Outcome:
        go_on, begun = asyncio.Event(), asyncio.Event()

        async def perform(_attempt: Attempt) -> Result:
            begun.set()
            await go_on.wait()
            return GOOD

        calls = Calls(store)
        first, second = (asyncio.create_task(calls.do(REQUEST, perform)) for _ in range(2))
        await begun.wait()
        first.cancel()
        go_on.set()
        return await second

    assert asyncio.run(run()).payload == {"text": "yes"}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_later_run_does_about_a_stored_fault(store: Store, clock: Clock, kind: Kind) -> None:
    service = Service(Fault(kind, "why"))
    assert fails(store, service, tries=2).kind == kind
    asked = 2 if kind in PASSING else 1
    assert service.asked == asked
    assert (row(store).status, row(store).fault, row(store).detail) == ("failed", kind, "why")
    healed = Service(GOOD)
    if kind in RETRIED_NEXT_RUN:
        assert do(store, healed).stored is False
    else:
        assert fails(store, healed).kind == kind
        assert healed.asked == 0
        assert do(store, healed, retry_failed=True).stored is False
    assert healed.asked == 1
    assert [n for n, *_ in tried(store)] == list(range(1, asked + 2))
    assert (row(store).status, row(store).fault, row(store).detail) == ("done", None, None)


def test_what_failed_in_this_run_is_not_tried_again_by_it(store: Store) -> None:
    async def run() -> None:
        service, calls = Service(Fault("refusal", "no")), Calls(store, retry_failed=True)
        for _ in range(3):
            with pytest.raises(Fault, match="refusal: no"):
                await calls.do(REQUEST, service)
        assert service.asked == 1

    asyncio.run(run())


def test_the_tally_counts_attempts_spending_and_what_has_no_price(store: Store, clock: Clock) -> None:
    async def run() -> Tally:
        calls = Calls(store)
        await calls.do(REQUEST, Service(Fault("timeout", "?", cost=None), Fault("server", "!", cost=0.5), GOOD))
        await calls.do(REQUEST, Service())
        await calls.do(Request("chat", "t"), Service(Result({}, None)))
        with pytest.raises(Fault, match="refusal"):
            await calls.do(Request("chat", "u"), Service(Fault("refusal", "no", cost=0.125)))
        return calls.tally

    assert asyncio.run(run()) == Tally(made=5, stored=1, spent=0.875, unpriced=2)


def test_a_call_cancelled_in_flight_is_settled_as_interrupted(store: Store) -> None:
    async def run() -> None:
        begun = asyncio.Event()

        async def perform(_attempt: Attempt) -> Result:
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError

        waiting = asyncio.create_task(Calls(store).do(REQUEST, perform))
        await begun.wait()
        # The end of the loop cancels everything that still runs, as after a second Ctrl-C.
        waiting.cancel()

    asyncio.run(run())
    assert (row(store).status, row(store).fault) == ("failed", "interrupted")
    assert tried(store) == [(1, "interrupted", None, None)]
    service = Service(GOOD)
    assert do(store, service).stored is False
    assert service.asked == 1


def test_a_result_that_came_before_the_cancellation_is_kept(store: Store) -> None:
    async def run() -> None:
        answered = asyncio.Event()

        async def perform(_attempt: Attempt) -> Result:
            answered.set()
            return GOOD

        waiting = asyncio.create_task(Calls(store).do(REQUEST, perform))
        await answered.wait()
        waiting.cancel()

    asyncio.run(run())
    store.write(lambda _: None)  # What is queued is written in its order.
    assert tried(store) == [(1, None, 0.25, {"text": "yes"})]
    assert do(store, Service()).stored is True


def test_an_error_in_the_program_is_no_fault_of_the_service(store: Store) -> None:
    assert fails(store, Service(ZeroDivisionError("a slip"))).kind == "internal"
    assert tried(store) == [(1, "internal", None, None)]
    assert "a slip" in row(store).detail
    # It would slip again, and may be charged each time.
    assert fails(store, Service(GOOD)).kind == "internal"
    assert do(store, Service(GOOD), retry_failed=True).stored is False
