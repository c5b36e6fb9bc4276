"""Fake services that write bills: a charge is counted when its request comes in, whatever becomes of the reply."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from aiohttp import web

from tests.fakes.checks import decode
from tests.fakes.service import Json, Reply, Service, Shown, by_plan
from tests.fakes.tally import Turn
from tests.fakes.truth import draw

A = TypeVar("A", bound=Shown)
GOING_NOWHERE = ("drop", "hang")
IN, OUT = ("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")
"""What the services call the tokens they read and write."""


class Billing(Service[Any]):
    """Goes before a fake service's class. The plan has `thinking`: the least and the most tokens a reply takes more.

    How many they are is drawn by request and attempt, many small ones and a few large, and never beyond the limit a
    request sets. A reply that is dropped, or never comes, is charged like any other, and counted once more as unheard.
    Error statuses are free.
    """

    def forget(self) -> None:
        super().forget()
        self.bill, self.unheard = ({"replies": 0, "tokens_in": 0, "tokens_out": 0} for _ in range(2))
        self.arrived: list[float] = []

    def extra_counts(self) -> Json:
        return {**super().extra_counts(), "bill": self.bill, "unheard": self.unheard, "arrived": self.arrived}

    async def attend(
        self,
        request: web.Request,
        check: Callable[[Any, Any], A],
        reply: Callable[[A, Any, str | None, Turn], Reply],
        choose: Callable[[A, Any, Turn], str | None] = by_plan,
        read: Callable[[bytes], Any] = decode,
    ) -> web.StreamResponse:
        def answer(ask: A, plan: Any, fault: str | None, turn: Turn) -> Reply:
            made = reply(ask, plan, fault, turn)
            if (usage := _usage(made)) is not None:
                _lengthen(usage, getattr(ask, "limit", None), plan, turn)
            return made

        def chosen(ask: A, plan: Any, turn: Turn) -> str | None:
            self.arrived.append(time.monotonic())
            fault = choose(ask, plan, turn)
            usage = _usage(answer(ask, plan, None if fault in GOING_NOWHERE else fault, turn))
            if usage is not None:
                for bill in (self.bill, self.unheard) if fault in GOING_NOWHERE else (self.bill,):
                    bill["replies"] += 1
                    bill["tokens_in"] += usage[_name(usage, IN)]
                    bill["tokens_out"] += usage[_name(usage, OUT)]
            return fault

        return await super().attend(request, check, answer, chosen, read)


def _name(usage: Json, names: tuple[str, ...]) -> str:
    return next(name for name in names if name in usage)


def _usage(made: Reply) -> Json | None:
    usage = made.body.get("usage") if isinstance(made.body, dict) else None
    return usage if isinstance(usage, dict) else None


def _lengthen(usage: Json, limit: int | None, plan: Any, turn: Turn) -> None:
    least, most = plan.thinking
    share: float = draw(plan.seed, "thinking", turn.key, turn.attempt) ** 3
    more = round(least + (most - least) * share)
    name = _name(usage, OUT)
    if limit is not None:
        more = max(0, min(more, limit - usage[name]))
    usage[name] += more
    usage["total_tokens"] += more
