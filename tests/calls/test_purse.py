"""Purses: created once, changed only on request, shared by several processes, and reported by process."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import sqlalchemy as sa

from limner.calls import Attempt, Budget, BudgetReached, Calls, Fault, Request, Result
from limner.calls.budget import Holder, check_purse, open_purse, read_purses
from limner.calls.journal import PlannedCall
from limner.calls.keys import Owner, this_host
from limner.core.errors import UsageError
from limner.store import Store
from limner.store.schema import attempts, calls, purses, reservations

TARGET = "service/model"
GONE = Owner(this_host(), 2**22 + 1, 1.0)
FAR = Owner("elsewhere|boot|space", 7, 1.0)


def journal(store: Store, purse: str = "week", owner: Owner | None = None, **how: Any) -> Calls:
    made = Calls(store, budget=Budget(purse=purse), **how)
    made._wait = lambda _tries: 0.0
    if owner is not None:
        made.owner = owner
    return made


def ask(made: Calls, n: int, *outcomes: Result | Fault, bound: float = 0.25) -> Any:
    left = iter(outcomes)

    async def perform(_attempt: Attempt) -> Result:
        outcome = next(left)
        if isinstance(outcome, Fault):
            raise outcome
        return outcome

    return asyncio.run(made.do(Request("chat", TARGET, {"n": n}), perform, bound=bound))


def leave_in_flight(store: Store, n: int, owner: Owner, purse: str = "week", bound: float = 0.25) -> None:
    """A call that `owner` claimed and never settled, as after a kill."""
    made = journal(store, purse, owner)
    request = Request("chat", TARGET, {"n": n})
    from limner.calls.budget import Reservation

    asyncio.run(made._claim(request, Reservation(purse, bound)))


def sums(store: Store, name: str = "week") -> tuple[float, float, float]:
    """The purse's own sums, after they were compared with the rows they are sums of."""
    with store.reading() as connection:
        row = connection.execute(sa.select(purses).where(purses.c.name == name)).one()
        mine = connection.execute(sa.select(reservations).where(reservations.c.purse == name)).all()
    assert row.spent == pytest.approx(sum(one.counted for one in mine if one.counted is not None), abs=1e-9)
    assert row.reserved == pytest.approx(sum(one.bound for one in mine if one.counted is None), abs=1e-9)
    return row.budget, round(row.spent, 9), round(row.reserved, 9)


def test_purse_is_created_once_and_reported(store: Store) -> None:
    assert open_purse(store, "week", 25.0) == "created purse 'week': $25 for all runs that name it"
    assert open_purse(store, "week", 25.0) is None
    assert open_purse(store, "week", None) is None
    assert sums(store) == (25.0, 0.0, 0.0)


@pytest.mark.parametrize("outcome", [Result({}, 2.0), Fault("server", "odd", cost=2.0)])
def test_call_beyond_its_reserve_stops_the_run_and_shows_in_purse(store: Store, outcome: Result | Fault) -> None:
    open_purse(store, "week", 25.0)
    with pytest.raises(BudgetReached, match=rf"{TARGET} reports \$2\.0000 for a call that can cost \$0\.2500 at most"):
        ask(journal(store), 1, outcome)
    (state,) = read_purses(store)
    assert (state.spent, state.beyond, state.reserved) == (2.0, 1.75, 0.0)
    with store.reading() as connection:
        assert connection.scalar(sa.select(calls.c.status)) in ("done", "failed")
    # Without a limit nothing is reserved, and a price list that is out of date stops nothing.
    assert ask(Calls(store), 2, Result({}, 2.0)).cost == 2.0


def test_different_limit_is_refused_without_change_purse(store: Store) -> None:
    open_purse(store, "week", 25.0)
    with pytest.raises(UsageError, match=r"'week' has a limit of \$25, not \$30; leave out --budget .* --change-purse"):
        open_purse(store, "week", 30.0)
    assert sums(store)[0] == 25.0
    raised = open_purse(store, "week", 30.0, change=True)
    assert raised == "purse 'week': limit raised from $25 to $30"
    assert open_purse(store, "week", 12.5, change=True) == "purse 'week': limit lowered from $30 to $12.5"
    assert open_purse(store, "week", 12.5, change=True) is None
    assert sums(store)[0] == 12.5


def test_new_purse_without_limit_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="has no purse 'week' yet; add --budget DOLLARS"):
        check_purse(store, "week", None)
    open_purse(store, "week", 1.0)
    with pytest.raises(UsageError, match="--change-purse needs its new limit; add --budget DOLLARS"):
        check_purse(store, "week", None, change=True)


@pytest.mark.parametrize("name", ["", "  ", "a\x1b[2J", "x" * 201, "two\nlines"])
def test_invalid_name_is_refused(store: Store, name: str) -> None:
    with pytest.raises(UsageError, match="--purse takes a name"):
        check_purse(store, name, 1.0)


def test_attempts_are_reserved_and_settled_at_cost_or_bound(store: Store) -> None:
    open_purse(store, "week", 5.0)
    seen = []

    async def look(_attempt: Attempt) -> Result:
        seen.append(await asyncio.to_thread(sums, store))
        return Result({}, 0.125)

    asyncio.run(journal(store).do(Request("chat", TARGET, {"n": 0}), look, bound=0.5))
    assert seen == [(5.0, 0.0, 0.5)]
    assert sums(store) == (5.0, 0.125, 0.0)
    ask(journal(store), 1, Fault("network", "dropped", cost=None), Fault("server", "busy"), Result({}, 0.0625))
    assert sums(store) == (5.0, 0.125 + 0.25 + 0.0625, 0.0)
    with pytest.raises(Fault):
        ask(journal(store), 2, Fault("refusal", "no", cost=0.25))
    ask(journal(store), 3, Result({}, None))
    assert sums(store) == (5.0, 0.9375, 0.0)


def test_stored_call_costs_no_money(store: Store) -> None:
    open_purse(store, "week", 0.3)
    ask(journal(store), 0, Result({"text": "x"}, 0.25))
    outcome = ask(journal(store), 0)
    assert (outcome.payload, outcome.stored) == ({"text": "x"}, True)
    assert sums(store) == (0.3, 0.25, 0.0)
    # Where it would still fit, nothing stays set aside either.
    open_purse(store, "week", 3.0, change=True)
    ask(journal(store), 0)
    assert sums(store) == (3.0, 0.25, 0.0)


def test_journals_of_two_processes_spend_from_one_purse(store: Store) -> None:
    open_purse(store, "week", 1.0)
    made = [journal(store), journal(store)]
    for n in range(4):
        ask(made[n % 2], n, Result({}, 0.25))
    with pytest.raises(BudgetReached) as caught:
        ask(made[0], 4)
    assert str(caught.value) == (
        "purse 'week' reached: $1.0000 of $1 spent, and a call to service/model may cost $0.2500 where $0.0000 is "
        "left; raise it with --budget DOLLARS --change-purse to go on"
    )
    assert caught.value.exit_code == 4
    with store.reading() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(calls)) == 4
    open_purse(store, "week", 1.25, change=True)
    ask(made[0], 4, Result({}, 0.0))
    assert sums(store) == (1.25, 1.0, 0.0)


def test_call_over_limit_waits_for_calls_in_flight_in_other_process(store: Store) -> None:
    open_purse(store, "week", 1.0)

    async def run() -> list[str]:
        events, gate = [], asyncio.Event()

        async def first(_attempt: Attempt) -> Result:
            events.append("first sends")
            await gate.wait()
            return Result({}, 0.25)

        async def second(_attempt: Attempt) -> Result:
            events.append("second sends")
            return Result({}, 0.25)

        one = asyncio.create_task(journal(store).do(Request("chat", TARGET, {"n": 1}), first, bound=0.75))
        while not events:
            await asyncio.sleep(0.01)
        two = asyncio.create_task(journal(store).do(Request("chat", TARGET, {"n": 2}), second, bound=0.75))
        await asyncio.sleep(0.3)
        assert not two.done()
        gate.set()
        events.append("settled")
        await asyncio.gather(one, two)
        return events

    assert asyncio.run(run()) == ["first sends", "settled", "second sends"]
    assert sums(store) == (1.0, 0.5, 0.0)


def test_retry_over_limit_stops_and_leaves_call_open(store: Store) -> None:
    open_purse(store, "week", 1.0)
    with pytest.raises(BudgetReached, match=r"where \$0.4000 is left"):
        ask(journal(store), 0, Fault("network", "dropped", cost=None), bound=0.6)
    assert sums(store) == (1.0, 0.6, 0.0)
    with store.reading() as connection:
        assert connection.scalar(sa.select(calls.c.status)) == "open"


def test_reservation_of_dead_process_is_kept_but_not_waited_for(store: Store) -> None:
    open_purse(store, "week", 1.0)
    leave_in_flight(store, 0, GONE, bound=0.75)
    assert sums(store) == (1.0, 0.0, 0.75)
    with pytest.raises(BudgetReached, match=r"\$0.0000 of \$1 spent and \$0.7500 held for processes that ended"):
        ask(journal(store), 1, bound=0.5)
    ask(journal(store), 1, Result({}, 0.125), bound=0.25)
    assert sums(store) == (1.0, 0.125, 0.75)


@pytest.mark.parametrize("purse", ["week", "other", None])
def test_lost_attempt_of_taken_over_call_counts_at_bound_in_its_purse(store: Store, purse: str | None) -> None:
    open_purse(store, "week", 1.0)
    open_purse(store, "other", 1.0)
    leave_in_flight(store, 0, GONE, bound=0.5)
    made = journal(store, purse) if purse else Calls(store)
    ask(made, 0, Result({}, 0.125))
    own = 0.125 if purse == "week" else 0.0
    assert sums(store) == (1.0, 0.5 + own, 0.0)
    assert sums(store, "other") == (1.0, 0.125 if purse == "other" else 0.0, 0.0)
    with store.reading() as connection:
        rows = connection.execute(sa.select(attempts.c.fault, attempts.c.cost).order_by(attempts.c.n)).all()
    assert [tuple(row) for row in rows] == [("interrupted", None), (None, 0.125)]


def test_process_that_lost_its_claim_does_not_count_twice(store: Store) -> None:
    open_purse(store, "week", 2.0)
    late = journal(store, owner=GONE)  # Seen as dead by the others, and yet it comes back.

    async def run() -> None:
        gate = asyncio.Event()

        async def slow(_attempt: Attempt) -> Result:
            await gate.wait()
            return Result({"text": "late"}, 0.125)

        async def quick(_attempt: Attempt) -> Result:
            return Result({"text": "quick"}, 0.25)

        request = Request("chat", TARGET, {"n": 0})
        first = asyncio.create_task(late.do(request, slow, bound=0.5))
        while not late._held:
            await asyncio.sleep(0.01)
        assert (await journal(store).do(request, quick, bound=0.5)).payload == {"text": "quick"}
        gate.set()
        assert (await first).payload == {"text": "quick"}

    asyncio.run(run())
    assert sums(store) == (2.0, 0.5 + 0.25, 0.0)


def test_unexpected_charge_for_free_call_counts(store: Store) -> None:
    open_purse(store, "week", 1.0)
    ask(journal(store), 0, Result({}, 0.0), bound=0.0)
    assert sums(store) == (1.0, 0.0, 0.0)
    with pytest.raises(BudgetReached, match=r"can cost \$0\.0000 at most"):
        ask(journal(store), 1, Result({}, 0.875), bound=0.0)
    assert sums(store) == (1.0, 0.875, 0.0)
    with pytest.raises(BudgetReached):
        ask(journal(store), 2)


def test_repeated_write_counts_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a connection lost during a commit: the outcome is unknown, so the write is repeated."""
    open_purse(store, "week", 2.0)
    usual = store.awrite

    async def twice(operation: Any) -> Any:
        await usual(operation)
        return await usual(operation)

    monkeypatch.setattr(store, "awrite", twice)
    ask(journal(store), 0, Fault("network", "dropped", cost=None), Result({}, 0.125), bound=0.5)
    with pytest.raises(BudgetReached):
        ask(journal(store), 1, Result({}, 0.75), bound=0.0)
    with pytest.raises(Fault):
        ask(journal(store, tries=1), 2, Fault("server", "busy", cost=0.0))
    assert sums(store) == (2.0, 0.5 + 0.125 + 0.75, 0.0)
    with store.reading() as connection:
        faults = connection.execute(sa.select(attempts.c.fault).order_by(attempts.c.started)).scalars().all()
    assert faults == ["network", None, None, "server"]


@pytest.mark.parametrize("outcome", [Result({}, 0.25), Fault("refusal", "no", cost=0.125), Fault("network", "?")])
def test_call_cancelled_at_any_moment_leaves_no_reservation(
    store: Store, monkeypatch: pytest.MonkeyPatch, outcome: Result | Fault
) -> None:
    open_purse(store, "week", 1000.0)
    stages = set()

    async def awrite(operation: Any) -> Any:
        # Without another thread, so that every call takes the same number of turns; it is written all the same when
        # nobody waits any longer, as by the writer's thread.
        written = store.write(operation)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return written

    monkeypatch.setattr(store, "awrite", awrite)

    async def run(turns: int) -> None:
        made, stage, before = journal(store, tries=2), "before", sums(store)[1]

        async def perform(_attempt: Attempt) -> Result:
            nonlocal stage
            stage = "in flight"
            await asyncio.sleep(0)
            stage = "answered"
            if isinstance(outcome, Fault):
                raise outcome
            return outcome

        task = asyncio.create_task(made._do(PlannedCall(Request("chat", TARGET, {"n": turns}), perform, 0.5)))
        for _ in range(turns):
            await asyncio.sleep(0)
        ended = task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        stages.add("ended" if ended else stage)
        _, spent, reserved = sums(store)
        assert reserved == 0
        if stage == "before":
            assert spent == before

    for turns in range(30):
        asyncio.run(run(turns))
    assert stages == {"before", "in flight", "answered", "ended"}


def test_purse_state_reports_limit_spent_and_reserved_by_process(store: Store) -> None:
    open_purse(store, "week", 4.0)
    open_purse(store, "idle", 1.0)
    here = journal(store)
    ask(here, 0, Fault("network", "dropped", cost=None), Result({}, 0.125))
    leave_in_flight(store, 1, GONE, bound=0.5)
    leave_in_flight(store, 2, FAR, bound=1.0)
    idle, week = read_purses(store)
    assert (idle.purse, idle.limit, idle.spent, idle.reserved, idle.left, idle.by) == ("idle", 1.0, 0.0, 0.0, 1.0, [])
    assert (week.spent, week.reserved, week.lost, week.left) == (0.375, 1.5, 0.5, 4.0 - 1.875)
    name, own = this_host().partition("|")[0], here.owner.pid
    assert week.by == [
        Holder("elsewhere", 7, True, 1, 0.0, 0.0, 1.0),
        Holder(name, GONE.pid, False, 1, 0.0, 0.0, 0.5),
        Holder(name, own, True, 2, 0.375, 0.25, 0.0),
    ]
    assert week.to_json()["by"][0] == {
        "host": "elsewhere", "pid": 7, "running": True, "attempts": 1, "spent": 0.0, "at_bound": 0.0, "reserved": 1.0
    }  # fmt: skip
    # A sign of life that is long past.
    store.write(lambda c: c.execute(calls.update().values(lease_until=1.0)))
    (week,) = read_purses(store, "week")
    assert (week.lost, week.by[0].running) == (1.5, None)
    with pytest.raises(UsageError, match="has no purse 'moth'; it has: idle, week"):
        read_purses(store, "moth")
