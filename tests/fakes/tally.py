"""What the fake service counts. Every request ends in exactly one of the counts."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tests.fakes.plan import BasePlan

Json = dict[str, Any]
P = TypeVar("P", bound=BasePlan)


@dataclass(frozen=True, slots=True)
class Turn:
    """Which request this is: its key, its number under the plan, from 1, and how often its key came before."""

    key: str
    ordinal: int
    attempt: int

    @property
    def id(self) -> str:
        return f"{self.key[:16]}{self.ordinal:08d}"


class Tally:
    """Counts since the last reset: total = answered + all faults + rejected + abandoned + in flight."""

    def __init__(self, keep: int) -> None:
        self.total = self.answered = self.rejected = self.abandoned = self.max_in_flight = 0
        self.faults: Counter[str] = Counter()
        self.by_key: Counter[str] = Counter()
        self.answered_by_key: Counter[str] = Counter()
        self.killed_in_flight: list[Json] = []
        self.records: deque[Json] = deque(maxlen=keep)
        self._in_flight: dict[int, str] = {}
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    def keys_in_flight(self) -> list[str]:
        return list(self._in_flight.values())

    def reject(self, key: str, body: Any) -> None:
        self.total += 1
        self.rejected += 1
        self.by_key[key] += 1
        self.records.append({"key": key, "outcome": "rejected", "body": body})

    def enter(self, key: str, body: Json) -> Json:
        """Counts a request as in flight; returns its record, to be given to `leave`."""
        record: Json = {"key": key, "outcome": "in_flight", "body": body}
        self.total += 1
        self.by_key[key] += 1
        self.records.append(record)
        self._in_flight[id(record)] = key
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        for want, future in self._waiting:
            if self.in_flight >= want and not future.done():
                future.set_result(None)
        return record

    def leave(self, record: Json, outcome: str) -> None:
        record["outcome"] = outcome
        del self._in_flight[id(record)]
        if outcome == "answered":
            self.answered += 1
            self.answered_by_key[record["key"]] += 1
        elif outcome == "abandoned":
            self.abandoned += 1
        else:
            self.faults[outcome] += 1

    async def wait_in_flight(self, want: int) -> None:
        """Returns as soon as so many requests are in flight at once."""
        if self.in_flight < want:
            waiting = (want, asyncio.get_running_loop().create_future())
            self._waiting.append(waiting)
            try:
                await waiting[1]
            finally:
                self._waiting.remove(waiting)

    def counts(self) -> Json:
        return {
            "total": self.total,
            "answered": self.answered,
            "rejected": self.rejected,
            "abandoned": self.abandoned,
            "in_flight": self.in_flight,
            "max_in_flight": self.max_in_flight,
            "faults": dict(self.faults),
            "by_key": dict(self.by_key),
            "answered_by_key": dict(self.answered_by_key),
            "killed_in_flight": self.killed_in_flight,
        }


class Run(Generic[P]):
    """One plan at work: the numbers that start anew with each plan."""

    def __init__(self, plan: P) -> None:
        self.plan = plan
        self.ordinal = 0
        self.attempts: Counter[str] = Counter()
        self.open = asyncio.Event()

    def number(self, key: str) -> Turn:
        """Counts one more request of this key."""
        self.ordinal += 1
        self.attempts[key] += 1
        return Turn(key, self.ordinal, self.attempts[key] - 1)
