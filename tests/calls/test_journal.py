"""The call journal: each call is made once, every attempt is kept, and transient faults are retried."""

from __future__ import annotations

import asyncio

import pytest

from limner.calls import (
    KINDS,
    TRANSIENT,
    Attempt,
    Budget,
    Calls,
    Fault,
    Kind,
    Limits,
    Outcome,
    Request,
    Result,
    charged_to,
)
from limner.calls.claims import Retries, claim
from limner.calls.keys import Owner
from limner.calls.usage import Tally
from limner.core.faults import RETRIED_NEXT_RUN
from limner.store import Store, now
from tests.calls.asking import GOOD, REQUEST, Perform, Service, do, fails, row, tried
from tests.calls.conftest import Clock


def test_call_is_made_once_and_its_outcome_reused(store: Store) -> None:
    service = Service(GOOD)
    first, again = do(store, service), do(store, service)
    assert first == Outcome(REQUEST.key, {"text": "yes"}, 0.25, stored=False)
    assert again == Outcome(REQUEST.key, {"text": "yes"}, 0.25, stored=True)
    assert service.asked == 1
    assert tried(store) == [(1, None, 0.25, {"text": "yes"})]
    assert (row(store).status, row(store).accepted, row(store).progress) == ("done", 1, None)


def test_concurrent_identical_requests_share_one_call(store: Store) -> None:
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
def test_calls_in_flight_never_exceed_concurrency(store: Store, most: int) -> None:
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


def test_waiting_for_another_process_takes_no_concurrency_slot(store: Store) -> None:
    """A call that another process is making must not keep others from being made."""
    other = Owner("elsewhere", 1, 0.0)
    claimed = claim(store, REQUEST, other, "theirs", now(), Retries(False, now()))
    store.write(claimed)

    async def run() -> None:
        async with Calls(store, concurrency=1) as made:
            waiting = asyncio.create_task(made.do(REQUEST, Service(GOOD)))
            await asyncio.sleep(0)
            assert (await made.do(Request("chat", "service/model", {"n": 2}), Service(GOOD))).payload == GOOD.payload
            waiting.cancel()

    asyncio.run(run())


def test_cancelled_caller_does_not_stop_other_callers_of_same_call(store: Store) -> None:
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
def test_later_run_retries_stored_fault_depending_on_its_kind(store: Store, clock: Clock, kind: Kind) -> None:
    service = Service(Fault(kind, "why"))
    assert fails(store, service, tries=2).kind == kind
    asked = 2 if kind in TRANSIENT else 1
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


def test_failed_call_is_not_retried_within_same_run(store: Store) -> None:
    async def run() -> None:
        service, calls = Service(Fault("refusal", "no")), Calls(store, retry_failed=True)
        for _ in range(3):
            with pytest.raises(Fault, match="refusal: no"):
                await calls.do(REQUEST, service)
        assert service.asked == 1

    asyncio.run(run())


def test_tally_counts_attempts_spending_and_unpriced_calls(store: Store, clock: Clock) -> None:
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


def test_result_received_before_cancellation_is_kept(store: Store) -> None:
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


def test_error_in_program_is_internal_fault(store: Store) -> None:
    assert fails(store, Service(ZeroDivisionError("a slip"))).kind == "internal"
    assert tried(store) == [(1, "internal", None, None)]
    assert "a slip" in row(store).detail
    # It would slip again, and may be charged each time.
    assert fails(store, Service(GOOD)).kind == "internal"
    assert do(store, Service(GOOD), retry_failed=True).stored is False


@pytest.mark.parametrize("kind", KINDS)
def test_only_transient_faults_are_retried_at_once(store: Store, clock: Clock, kind: Kind) -> None:
    service = Service(Fault(kind, "why", cost=None, result={"raw": 1}), Fault(kind, "why"), GOOD)
    if kind in TRANSIENT:
        assert do(store, service).payload == {"text": "yes"}
        assert tried(store) == [(1, kind, None, {"raw": 1}), (2, kind, 0.0, None), (3, None, 0.25, {"text": "yes"})]
        assert len(clock.slept) == 2
    else:
        fault = fails(store, service)
        assert (fault.kind, fault.detail, fault.calls) == (kind, "why", (REQUEST.key,))
        assert tried(store) == [(1, kind, None, {"raw": 1})]
        assert clock.slept == []


def test_retry_waits_grow_and_are_limited(store: Store, clock: Clock) -> None:
    service = Service(Fault("server", "busy"))
    fault = fails(store, service, tries=12)
    assert (fault.kind, service.asked, len(clock.slept)) == ("server", 12, 11)
    assert all(0 <= wait <= min(30, 0.5 * 2**n) for n, wait in enumerate(clock.slept))
    assert len(set(clock.slept)) > 5  # Drawn at random, so that many callers do not come back all at once.


def test_retry_after_is_respected(store: Store, clock: Clock) -> None:
    do(store, Service(Fault("rate_limit", "slow down", retry_after=77.0), GOOD))
    assert sum(clock.slept) > 76.999


def test_retry_after_delays_all_calls_to_same_service(store: Store, clock: Clock) -> None:
    times: list[tuple[int, float]] = []

    async def run() -> None:
        calls = Calls(store)

        def perform(n: int) -> Perform:
            async def one(_attempt: Attempt) -> Result:
                times.append((n, clock.monotonic()))
                if len(times) == 1:
                    raise Fault("rate_limit", "slow down", retry_after=50.0)
                return GOOD

            return one

        begun = clock.monotonic()
        first = asyncio.create_task(calls.do(Request("chat", "service/a"), perform(1)))
        while not times:
            await clock.sleep(0)
        while not clock.slept[-1]:
            await clock.sleep(0)
        await calls.do(Request("chat", "service/b"), perform(2))
        await first
        assert all(at - begun > 49.999 for _, at in times[1:])
        before = clock.monotonic()
        await calls.do(Request("chat", "other/c"), perform(3))
        assert times[-1] == (3, before)

    asyncio.run(run())


def test_attempt_over_time_limit_is_timeout_with_unknown_cost(store: Store, clock: Clock) -> None:
    async def perform(_attempt: Attempt) -> Result:
        await asyncio.Event().wait()
        raise AssertionError

    fault = fails(store, perform, tries=2, limits={"service": Limits(attempt_s=0.01)})
    assert (fault.kind, fault.cost) == ("timeout", None)
    assert tried(store) == [(1, "timeout", None, None), (2, "timeout", None, None)]


def test_no_attempt_starts_after_time_limit_of_call(store: Store, clock: Clock) -> None:
    service = Service(Fault("server", "busy", retry_after=60.0))
    fails(store, service, limits={"service": Limits(call_s=100.0)})
    assert service.asked == 2


def test_calls_are_charged_to_their_own_account(store: Store) -> None:
    async def run() -> tuple[Tally, Tally, Tally]:
        one, other = Tally(), Tally()

        async def costs(cost: float | None) -> Result:
            await asyncio.sleep(0)
            return Result({}, cost)

        async with Calls(store) as calls:

            async def ask(account: Tally, n: int, cost: float | None) -> None:
                with charged_to(account):
                    await calls.do(Request("chat", "service/model", {"n": n}), lambda _: costs(cost))

            await asyncio.gather(ask(one, 1, 0.25), ask(other, 2, 0.5), ask(one, 3, None))
            await ask(other, 1, 0.25)
        return one, other, calls.tally

    one, other, whole = asyncio.run(run())
    assert (one.spent, one.unpriced, one.made) == (0.25, 1, 2)
    assert (other.spent, other.made) == (0.5, 1), "what is stored costs nothing again"
    assert (whole.spent, whole.unpriced, whole.made, whole.stored) == (0.75, 1, 3, 1)


def test_waits_count_calls_by_reason(store: Store) -> None:
    """One call is in flight, one waits for the budget, and one waits to be retried."""

    async def run() -> list[dict[str, int]]:
        seen, free = [], asyncio.Event()

        async def slow(_: Attempt) -> Result:
            await free.wait()
            return Result({}, 0.1)

        async def fails(_: Attempt) -> Result:
            if not free.is_set():
                raise Fault("network", "gone", cost=0.0)
            return Result({}, 0.0)

        async with Calls(store, budget=Budget(1.0), limits={"slow": Limits(requests_per_minute=60)}) as calls:
            calls._wait = lambda _: 0.05
            tasks = [
                asyncio.create_task(calls.do(Request("chat", f"{service}/m", {"n": n}), perform, bound=bound))
                for n, (service, perform, bound) in enumerate(
                    [("one", slow, 0.8), ("two", slow, 0.8), ("three", fails, 0.0)]
                )
            ]
            while calls.waits.now != {"the budget": 1, "another try": 1}:
                await asyncio.sleep(0.001)
            seen.append(calls.waits.now)
            free.set()
            await asyncio.gather(*tasks)
            seen.append(calls.waits.now)
        return seen

    assert asyncio.run(run()) == [{"the budget": 1, "another try": 1}, {}]
