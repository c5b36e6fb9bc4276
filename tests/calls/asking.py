"""Calls of one request to a pretended service, and what the journal has of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import sqlalchemy as sa

from limner.calls import Attempt, Calls, Fault, Outcome, Request, Result
from limner.store import Store
from limner.store.schema import attempts, calls

REQUEST = Request("chat", "service/model", {"n": 1})

Perform = Callable[[Attempt], Awaitable[Result]]


class Service:
    """Answers with what it was given, in turn: a result or a fault; counts how often it is asked."""

    def __init__(self, *outcomes: Result | Exception) -> None:
        self.outcomes, self.asked = outcomes, 0
        self.progress: list[Any] = []

    async def __call__(self, attempt: Attempt) -> Result:
        self.asked += 1
        self.progress.append(attempt.progress)
        outcome = self.outcomes[min(self.asked, len(self.outcomes)) - 1]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


GOOD = Result({"text": "yes"}, 0.25)


def do(store: Store, perform: Perform, request: Request = REQUEST, **how: Any) -> Outcome:
    """One run that makes one call."""
    return asyncio.run(Calls(store, **how).do(request, perform))


def fails(store: Store, perform: Perform, **how: Any) -> Fault:
    with pytest.raises(Fault) as caught:
        do(store, perform, **how)
    return caught.value


def row(store: Store, request: Request = REQUEST) -> Any:
    with store.reading() as connection:
        return connection.execute(sa.select(calls).where(calls.c.key == request.key)).one()


def tried(store: Store) -> list[tuple[int, str | None, float | None, Any]]:
    with store.reading() as connection:
        rows = connection.execute(sa.select(attempts).order_by(attempts.c.call, attempts.c.n))
        return [(r.n, r.fault, r.cost, r.result) for r in rows]
