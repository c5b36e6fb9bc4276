"""What calls are made for: written beside them, never part of what they are."""

from __future__ import annotations

import asyncio

import pytest
import sqlalchemy as sa

from limner.calls import Attempt, Calls, Fault, Request, Result, purpose
from limner.calls.purpose import current
from limner.store import Store
from limner.store.schema import calls


async def good(_attempt: Attempt) -> Result:
    return Result({})


def stored(store: Store) -> dict[str, tuple[str | None, str | None]]:
    with store.reading() as connection:
        found = connection.execute(sa.select(calls.c.target, calls.c.exam, calls.c.painter))
        return {row.target: (row.exam, row.painter) for row in found}


def test_it_holds_inside_and_ends_with_the_block() -> None:
    assert current() == (None, None)
    with purpose("genexam", "mine"):
        assert current() == ("genexam", "mine")
        with purpose("mmmg", None):
            assert current() == ("mmmg", None)
        assert current() == ("genexam", "mine")
    assert current() == (None, None)
    with pytest.raises(ValueError), purpose("genexam", "mine"):
        raise ValueError
    assert current() == (None, None)


def test_tasks_at_the_same_time_keep_theirs_apart(store: Store) -> None:
    async def one(journal: Calls, n: int, together: asyncio.Barrier) -> None:
        with purpose(f"exam {n}", f"painter {n}"):
            await together.wait()
            # A task started inside is for the same.
            await asyncio.create_task(journal.do(Request("chat", f"service/{n}"), good))

    async def run() -> None:
        together = asyncio.Barrier(5)
        await asyncio.gather(*(one(journal, n, together) for n in range(5)))

    journal = Calls(store)
    asyncio.run(run())
    assert stored(store) == {f"service/{n}": (f"exam {n}", f"painter {n}") for n in range(5)}


def test_a_call_without_a_purpose_has_none(store: Store) -> None:
    asyncio.run(Calls(store).do(Request("chat", "service/model"), good))
    assert stored(store) == {"service/model": (None, None)}


def test_the_first_purpose_stays_and_the_call_is_the_same(store: Store) -> None:
    """Whoever asks for it again gets the stored outcome, and it stays booked on who paid for it."""
    asked = 0

    async def perform(_attempt: Attempt) -> Result:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise Fault("interrupted", "at first", cost=None)
        return Result({"text": "yes"})

    async def run(exam: str) -> Result | Fault:
        with purpose(exam, "mine"):
            try:
                return Result((await Calls(store).do(Request("chat", "service/model"), perform)).payload)
            except Fault as fault:
                return fault

    found = [asyncio.run(run(exam)) for exam in ("one", "two", "three")]
    assert [type(one) for one in found] == [Fault, Result, Result]
    assert (asked, stored(store)) == (2, {"service/model": ("one", "mine")})
