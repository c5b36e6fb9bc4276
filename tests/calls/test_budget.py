"""The budget: reserved before a call, settled after it, never exceeded, and no reservation lost."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from limner.calls import Attempt, Budget, BudgetReached, Calls, Fault, Request, Result
from limner.calls.journal import PlannedCall
from limner.core.errors import UsageError
from limner.store import Store
from limner.store.schema import attempts, calls

TARGET = "service/model"


def idle(budget: Budget) -> bool:
    """Whether nothing is set aside any more."""
    return budget.reserved == 0 and budget._flying == 0


def test_budget_without_limit_only_counts_spending() -> None:
    async def run() -> Budget:
        budget = Budget()
        for bound, cost in ((5.0, 0.25), (None, 0.5), (1.0, None)):
            budget.settle(await budget.reserve(bound, TARGET), cost)
        return budget

    budget = asyncio.run(run())
    assert (budget.spent, budget.reserved) == (0.75, 0.0)


@pytest.mark.parametrize("limit", [0, -1.0, float("nan"), float("-inf")])
def test_invalid_limit_is_refused(limit: float) -> None:
    with pytest.raises(UsageError, match="--budget takes dollars above 0"):
        Budget(limit)


def test_call_without_cost_bound_is_refused_and_reserves_no_money() -> None:
    budget = Budget(1.0)
    with pytest.raises(UsageError, match=rf"what a call to {TARGET} can cost; add its prices to limner.toml"):
        asyncio.run(budget.reserve(None, TARGET))
    assert idle(budget)


@pytest.mark.parametrize(("cost", "spent"), [(0.25, 0.25), (0.0, 0.0), (None, 0.75), (0.875, 0.875)])
def test_reservation_is_settled_at_cost_or_at_bound_if_cost_is_unknown(cost: float | None, spent: float) -> None:
    async def run() -> Budget:
        budget = Budget(1.0)
        assert await budget.reserve(0.75, TARGET) == 0.75
        assert (budget.reserved, budget.spent) == (0.75, 0.0)
        budget.settle(0.75, cost)
        return budget

    budget = asyncio.run(run())
    assert idle(budget)
    assert budget.spent == spent


def test_budget_can_be_spent_in_full() -> None:
    async def run() -> Budget:
        budget = Budget(0.3)
        for _ in range(3):
            budget.settle(await budget.reserve(0.1, TARGET), 0.1)
        with pytest.raises(BudgetReached):
            await budget.reserve(0.1, TARGET)
        return budget

    assert asyncio.run(run()).spent == pytest.approx(0.3)


def test_message_reports_spent_and_remaining_money_and_how_to_continue() -> None:
    async def run() -> None:
        budget = Budget(1.0)
        budget.settle(await budget.reserve(0.75, TARGET), 0.75)
        await budget.reserve(0.5, TARGET)

    with pytest.raises(BudgetReached) as caught:
        asyncio.run(run())
    assert str(caught.value) == (
        "budget reached: $0.7500 of $1 spent, and a call to service/model may cost $0.5000 where $0.2500 is left; "
        "run again with a higher --budget to go on"
    )
    assert caught.value.exit_code == 4


def test_reservation_waits_until_cheap_reply_leaves_enough_budget() -> None:
    async def run() -> list[str]:
        budget, events = Budget(1.0), []

        async def second() -> None:
            events.append("waits")
            await budget.reserve(0.75, TARGET)
            events.append("goes")

        await budget.reserve(0.75, TARGET)
        waiting = asyncio.create_task(second())
        for _ in range(5):
            await asyncio.sleep(0)
        events.append("settled")
        budget.settle(0.75, 0.25)
        await waiting
        assert budget.reserved == 0.75
        return events

    assert asyncio.run(run()) == ["waits", "settled", "goes"]


def test_waiting_reservations_fail_once_no_call_in_flight_can_free_money() -> None:
    async def run() -> Budget:
        budget = Budget(1.0)
        held = [await budget.reserve(0.5, TARGET) for _ in range(2)]
        waiting = [asyncio.create_task(budget.reserve(0.5, TARGET)) for _ in range(3)]
        for number, bound in enumerate(held):
            await asyncio.sleep(0)
            assert not any(task.done() for task in waiting)
            budget.settle(bound, 0.5 if number else None)
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(one) for one in outcomes] == [BudgetReached] * 3
        return budget

    budget = asyncio.run(run())
    assert idle(budget)
    assert budget.spent == 1.0


STEPS = st.lists(
    st.tuples(
        st.floats(0.001, 0.6),  # The bound.
        st.floats(0, 1) | st.none(),  # The cost's share of the bound, where it is known.
        st.integers(0, 4),  # How many turns of the loop it is in flight.
        st.none() | st.integers(0, 8),  # After how many turns it is cancelled.
    ),
    min_size=1,
    max_size=25,
)


@given(STEPS, st.floats(0.3, 2.0))
def test_limit_is_never_exceeded_and_all_reservations_are_released(steps: list[Any], limit: float) -> None:
    """Costs vary, some are unknown, some tasks are cancelled: the true sum keeps below the limit at every moment."""
    charged = 0.0

    async def one(budget: Budget, bound: float, share: float | None, turns: int) -> None:
        nonlocal charged
        reserved = await budget.reserve(bound, TARGET)
        cost = None
        try:
            # The service charges as soon as it is asked, at most the bound, whether or not anyone hears of it.
            charged += bound if share is None else bound * share
            assert charged <= limit + 1e-6
            for _ in range(turns):
                await asyncio.sleep(0)
            cost = None if share is None else bound * share
        finally:
            budget.settle(reserved, cost)
            assert budget.spent + budget.reserved <= limit + 1e-6

    async def run() -> Budget:
        budget = Budget(limit)
        tasks = [asyncio.create_task(one(budget, bound, share, turns)) for bound, share, turns, _ in steps]
        for turn in range(10):
            for task, (*_, cancelled) in zip(tasks, steps, strict=True):
                if cancelled == turn:
                    task.cancel()
            await asyncio.sleep(0)
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(one) for one in outcomes} <= {type(None), BudgetReached, asyncio.CancelledError}
        return budget

    budget = asyncio.run(run())
    assert idle(budget)
    assert charged <= budget.spent + 1e-9


def journal(store: Store, limit: float | None, **how: Any) -> Calls:
    made = Calls(store, budget=Budget(limit), **how)
    made._wait = lambda _tries: 0.0
    return made


def costs(store: Store) -> list[tuple[str | None, float | None]]:
    with store.reading() as connection:
        return [(row.fault, row.cost) for row in connection.execute(sa.select(attempts).order_by(attempts.c.n))]


def test_failed_attempts_count_at_cost_or_at_bound_if_cost_is_unknown(store: Store) -> None:
    outcomes = iter([Fault("network", "dropped", cost=None), Fault("server", "odd", cost=0.125), Fault("server", "!")])

    async def perform(_attempt: Attempt) -> Result:
        if (fault := next(outcomes, None)) is not None:
            raise fault
        return Result({}, 0.25)

    async def run() -> Budget:
        made = journal(store, 10.0)
        await made.do(Request("chat", TARGET), perform, bound=0.5)
        return made.budget

    budget = asyncio.run(run())
    assert idle(budget)
    assert budget.spent == 0.5 + 0.125 + 0.0 + 0.25
    assert costs(store) == [("network", None), ("server", 0.125), ("server", 0.0), (None, 0.25)]


def test_call_over_budget_stays_open_for_later_run(store: Store) -> None:
    asked = 0

    async def perform(_attempt: Attempt) -> Result:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise Fault("network", "dropped", cost=None)
        return Result({}, 0.25)

    async def run(limit: float) -> Budget:
        made = journal(store, limit)
        try:
            await made.do(Request("chat", TARGET), perform, bound=0.75)
        finally:
            assert idle(made.budget)
        return made.budget

    with pytest.raises(BudgetReached):
        asyncio.run(run(1.0))
    with store.reading() as connection:
        assert connection.scalar(sa.select(calls.c.status)) == "open"
    assert asyncio.run(run(1.0)).spent == 0.25
    assert (asked, costs(store)) == (2, [("network", None), (None, 0.25)])


@pytest.mark.parametrize("outcome", [Result({}, 0.25), Fault("refusal", "no", cost=0.125), Fault("network", "?")])
def test_call_cancelled_at_any_moment_leaves_no_reservation(
    store: Store, monkeypatch: pytest.MonkeyPatch, outcome: Result | Fault
) -> None:
    """Cancels after each number of event loop turns: while the call claims, waits, sends, stores or settles."""
    stages = set()

    async def awrite(operation: Callable[[sa.Connection], Any]) -> Any:
        # Without another thread, so that every call takes the same number of turns.
        await asyncio.sleep(0)
        written = store.write(operation)
        await asyncio.sleep(0)
        return written

    monkeypatch.setattr(store, "awrite", awrite)

    async def run(turns: int) -> None:
        made = journal(store, 10.0, tries=2)
        stage = "before"

        async def perform(_attempt: Attempt) -> Result:
            nonlocal stage
            stage = "in flight"
            await asyncio.sleep(0)
            stage = "answered"
            if isinstance(outcome, Fault):
                raise outcome
            return outcome

        # Another call holds a part of the budget all the while.
        other = await made.budget.reserve(1.0, TARGET)
        task = asyncio.create_task(made._do(PlannedCall(Request("chat", TARGET, {"n": turns}), perform, 0.5)))
        for _ in range(turns):
            await asyncio.sleep(0)
        ended = task.done()
        task.cancel()
        (ending,) = await asyncio.gather(task, return_exceptions=True)
        stages.add("ended" if ended else stage)
        assert isinstance(ending, asyncio.CancelledError | Fault) or not isinstance(ending, BaseException), ending
        assert (made.budget.reserved, made.budget._flying) == (1.0, 1)
        made.budget.settle(other, 0.0)
        assert idle(made.budget)
        if stage == "before":
            assert made.budget.spent == 0

    for turns in range(30):
        asyncio.run(run(turns))
    assert stages == {"before", "in flight", "answered", "ended"}


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "concurrency"), [(0, 1), (1, 7), (2, 64)])
def test_the_service_never_charges_more_than_the_limit(store: Store, seed: int, concurrency: int) -> None:
    """Costs vary a hundredfold, a third of the attempts fail in some way, and the service charges for most of them."""
    chance = random.Random(f"{seed}/{concurrency}")
    bound, limit, charged, most = 0.1, 0.8, 0.0, 0.0

    async def perform(_attempt: Attempt) -> Result:
        nonlocal charged, most
        cost = bound * 10 ** -chance.uniform(0, 2)
        way = chance.random()
        if way >= 0.1:
            charged += cost
            most = max(most, charged)
        await asyncio.sleep(0)
        if way < 0.1:
            raise Fault("rate_limit", "slow down")
        if way < 0.2:
            raise Fault("network", "dropped", cost=None)
        if way < 0.3:
            raise Fault("refusal", "no", cost=cost)
        return Result({}, cost)

    async def run() -> Calls:
        made = journal(store, limit)
        numbers = iter(range(150))

        async def worker() -> None:
            for n in numbers:
                try:
                    await made.do(Request("chat", TARGET, {"n": n}), perform, bound=bound)
                except Fault:
                    continue
                except BudgetReached:
                    return

        await asyncio.gather(*(worker() for _ in range(concurrency)))
        return made

    made = asyncio.run(run())
    assert idle(made.budget)
    assert charged <= made.budget.spent + 1e-9 <= limit + 1e-6
    # It is not that nothing was done: it went on until one more could have passed the limit.
    assert made.budget.spent > limit - bound
