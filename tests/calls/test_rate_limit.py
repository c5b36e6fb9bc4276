"""Rate limits: limits per minute hold in every minute, pauses delay all calls, services are independent."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.calls import Attempt, Calls, Fault, Limits, Request, Result, turns
from limner.calls.turns import AT_ONCE_S, MINUTE_S, RateLimit
from limner.store import Store


class _Selector(selectors.SelectSelector):
    """Does not wait: time jumps to the moment something is due."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout:
            self.now += timeout
        return super().select(0 if timeout is not None else None)


class Timeless(asyncio.SelectorEventLoop):
    """An event loop in which hours of waiting pass at once, in their right order."""

    def __init__(self) -> None:
        self._selector_of_time = _Selector()
        super().__init__(self._selector_of_time)

    def time(self) -> float:
        return self._selector_of_time.now


Passed = list[tuple[float, int]]


def drive(work: Callable[[Timeless], Awaitable[Any]]) -> Any:
    """Run something in a loop without time; the limits' clock is the loop's."""
    loop = Timeless()
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner(loop_factory=lambda: loop) as runner:
        patch.setattr(turns, "time", SimpleNamespace(monotonic=loop.time))

        async def run() -> Any:
            return await work(loop)

        return runner.run(run())


def pass_all(
    limits: Limits, arrivals: list[tuple[float, int]], holds: list[tuple[float, float]] | None = None
) -> Passed:
    """When each request was let through, and with how many tokens; arrivals and holds by their time."""
    passed: Passed = []

    async def work(loop: Timeless) -> None:
        limit = RateLimit(limits)

        async def one(at: float, tokens: int) -> None:
            await asyncio.sleep(at)
            await limit.enter(tokens)
            passed.append((loop.time(), tokens))

        async def hold(at: float, seconds: float) -> None:
            await asyncio.sleep(at)
            limit.hold(seconds)

        waits = (hold(at, seconds) for at, seconds in holds or [])
        await asyncio.gather(*waits, *(one(at, tokens) for at, tokens in arrivals))

    drive(work)
    return passed


def windows(passed: Passed, seconds: float) -> Iterator[Passed]:
    """What was let through in the given time from each request on, its end not included."""
    for start, _ in passed:
        yield [one for one in passed if start <= one[0] < start + seconds - 1e-6]


ARRIVALS = st.lists(st.tuples(st.floats(0, 300), st.integers(0, 4000)), min_size=1, max_size=60)


@given(ARRIVALS, st.floats(0.5, 90), st.floats(500, 20_000))
def test_no_minute_exceeds_rate_limit(arrivals: list[tuple[float, int]], requests: float, tokens: float) -> None:
    passed = pass_all(Limits(requests_per_minute=requests, tokens_per_minute=tokens), arrivals)
    assert len(passed) == len(arrivals)
    for minute in windows(passed, MINUTE_S):
        assert len(minute) <= max(1, requests)
        used = sum(size for _, size in minute)
        # One request can be larger than the limit itself: then it goes alone.
        assert used <= tokens or [size for _, size in minute if size] == [used]


@given(st.integers(1, 80), st.sampled_from([0.5, 1, 6, 59, 60, 61, 600, 6000]))
def test_requests_wait_no_longer_than_limit_requires(count: int, requests: float) -> None:
    passed = pass_all(Limits(requests_per_minute=requests), [(0.0, 0)] * count)
    assert passed[0][0] == 0
    assert passed[-1][0] <= MINUTE_S * count / requests + 1e-6


def test_requests_are_spread_over_the_minute() -> None:
    passed = pass_all(Limits(requests_per_minute=120), [(0.0, 0)] * 300)
    for second in windows(passed, 1.0):
        # What an idle service lets through at once, and a second's share.
        assert len(second) <= 120 * (AT_ONCE_S + 1) / MINUTE_S + 1
    assert [len(minute) for minute in windows(passed, MINUTE_S)][:100] == [120] * 100


def test_request_over_tokens_per_minute_delays_later_ones() -> None:
    passed = pass_all(Limits(tokens_per_minute=1000), [(0.0, 2500), (0.0, 100), (0.0, 100)])
    times = [at for at, _ in passed]
    assert times[0] == 0
    assert times[1] == pytest.approx(150)
    assert times[2] < 160


def test_requests_pass_in_order_of_arrival() -> None:
    passed = pass_all(Limits(requests_per_minute=30, tokens_per_minute=900), [(n / 100, 10 + n) for n in range(50)])
    assert [tokens for _, tokens in passed] == list(range(10, 60))


def test_pause_delays_all_requests_and_causes_no_burst() -> None:
    arrivals = [(n / 10, 0) for n in range(100)]
    passed = pass_all(Limits(requests_per_minute=60), arrivals, [(5.05, 120.0), (6.0, 30.0)])
    assert not [at for at, _ in passed if 5.05 <= at < 125.05]
    # Those who waited all the while come one after another, as if they had come just now.
    for minute in windows(passed, MINUTE_S):
        assert len(minute) <= 60
    assert len([at for at, _ in passed if 125.0 <= at < 126.0]) in (2, 3)


def test_cancelled_waiter_uses_no_quota() -> None:
    async def work(loop: Timeless) -> list[float]:
        limit, times = RateLimit(Limits(requests_per_minute=6)), []

        async def one() -> None:
            await limit.enter()
            times.append(loop.time())

        tasks = [asyncio.create_task(one()) for _ in range(6)]
        await asyncio.sleep(1)
        for task in tasks[1:5]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return times

    first, last = drive(work)
    assert (first, last) == (0.0, pytest.approx(9.0))


def test_services_are_rate_limited_independently(store: Store) -> None:
    """One service asked to wait ten minutes, another has used up its minute; the third is called at once."""

    async def busy(_attempt: Attempt) -> Result:
        raise Fault("rate_limit", "slow down", retry_after=600.0)

    async def good(_attempt: Attempt) -> Result:
        return Result({})

    async def run() -> None:
        limits = {"second": Limits(requests_per_minute=0.001), "third": Limits(requests_per_minute=6000)}
        calls = Calls(store, limits=limits)
        first = asyncio.create_task(calls.do(Request("chat", "first/a"), busy))
        await calls.do(Request("chat", "second/a"), good)
        second = asyncio.create_task(calls.do(Request("chat", "second/b"), good))
        while calls._rate_limit("first/a")._open_at == 0:
            await asyncio.sleep(0)
        for n in range(3):
            assert (await calls.do(Request("chat", "third/a", {"n": n}), good)).stored is False
        assert not first.done()
        assert not second.done()
        # The limit is the service's: another of its models waits too.
        assert calls._rate_limit("first/b") is calls._rate_limit("first/a")
        for task in [first, second, *calls._in_flight.values()]:
            task.cancel()

    asyncio.run(run())


def test_retry_after_holds_even_if_call_is_given_up(store: Store) -> None:
    """Other calls wait even if this was the last try, or the fault is not retried."""

    async def run(fault: Fault) -> float:
        calls = Calls(store, tries=1)

        async def perform(_attempt: Attempt) -> Result:
            raise fault

        with pytest.raises(Fault):
            await calls.do(Request("chat", "service/a", {"kind": fault.kind}), perform)
        return calls._rate_limit("service/b")._wait(0)

    for fault in (Fault("rate_limit", "slow down", retry_after=600.0), Fault("refusal", "no", retry_after=600.0)):
        assert asyncio.run(run(fault)) > 500
