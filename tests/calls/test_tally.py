"""Counts of calls: for the whole process, on one's account, and what they wait for."""

from __future__ import annotations

import asyncio

from limner.calls import Attempt, Budget, Calls, Fault, Limits, Request, Result, charged_to
from limner.calls.usage import Tally
from limner.store import Store


def test_everyone_pays_for_their_own_calls(store: Store) -> None:
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


def test_what_calls_wait_for(store: Store) -> None:
    """One is in flight, the budget has no room for another; a third waits to be tried again."""

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
