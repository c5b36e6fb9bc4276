"""Attempts: passing faults are tried again, later each time, and none takes longer than it may."""

from __future__ import annotations

import asyncio

import pytest

from limner.calls import KINDS, PASSING, Attempt, Calls, Fault, Kind, Limits, Request, Result
from limner.store import Store
from tests.calls.asking import GOOD, REQUEST, Perform, Service, do, fails, tried
from tests.calls.conftest import Clock


@pytest.mark.parametrize("kind", KINDS)
def test_only_passing_faults_are_tried_again_at_once(store: Store, clock: Clock, kind: Kind) -> None:
    service = Service(Fault(kind, "why", cost=None, result={"raw": 1}), Fault(kind, "why"), GOOD)
    if kind in PASSING:
        assert do(store, service).payload == {"text": "yes"}
        assert tried(store) == [(1, kind, None, {"raw": 1}), (2, kind, 0.0, None), (3, None, 0.25, {"text": "yes"})]
        assert len(clock.slept) == 2
    else:
        fault = fails(store, service)
        assert (fault.kind, fault.detail, fault.calls) == (kind, "why", (REQUEST.key,))
        assert tried(store) == [(1, kind, None, {"raw": 1})]
        assert clock.slept == []


def test_waits_grow_and_end(store: Store, clock: Clock) -> None:
    service = Service(Fault("server", "busy"))
    fault = fails(store, service, tries=12)
    assert (fault.kind, service.asked, len(clock.slept)) == ("server", 12, 11)
    assert all(0 <= wait <= min(30, 0.5 * 2**n) for n, wait in enumerate(clock.slept))
    assert len(set(clock.slept)) > 5  # Drawn at random, so that many callers do not come back all at once.


def test_a_service_that_asks_to_wait_is_waited_for(store: Store, clock: Clock) -> None:
    do(store, Service(Fault("rate_limit", "slow down", retry_after=77.0), GOOD))
    assert sum(clock.slept) > 76.999


def test_everyone_waits_for_a_service_that_asks_to_wait(store: Store, clock: Clock) -> None:
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


def test_an_attempt_that_takes_too_long_is_a_timeout_of_unknown_cost(store: Store, clock: Clock) -> None:
    async def perform(_attempt: Attempt) -> Result:
        await asyncio.Event().wait()
        raise AssertionError

    fault = fails(store, perform, tries=2, limits={"service": Limits(attempt_s=0.01)})
    assert (fault.kind, fault.cost) == ("timeout", None)
    assert tried(store) == [(1, "timeout", None, None), (2, "timeout", None, None)]


def test_no_attempt_is_begun_after_the_call_s_time(store: Store, clock: Clock) -> None:
    service = Service(Fault("server", "busy", retry_after=60.0))
    fails(store, service, limits={"service": Limits(call_s=100.0)})
    assert service.asked == 2
