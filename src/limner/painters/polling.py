"""Asking again and again until a job is done: growing pauses, a time limit, hiccups that do not count."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ..calls import PASSING, Fault

LONGEST_PAUSE_S = 10.0
T = TypeVar("T")


@dataclass(frozen=True)
class Finished:
    """What a finished job says: the link, the prompt as drawn, and dollars where it tells them."""

    link: str
    prompt: str | None = None
    cost: float | None = None


class Over(Fault):
    """The job has ended without an image, by the service's own word: to draw is to submit anew."""


async def follow(ask: Callable[[], Awaitable[T | None]], limit_s: float, pause_s: float) -> T:
    """Ask until there is an answer.

    Args:
        ask: None means: still at work. A passing fault that is not `Over` means: ask again.
        limit_s: Seconds after which to give up.
        pause_s: The first pause; later ones are longer, and never shorter than the service asks for.

    Raises:
        Fault: What `ask` raised, or ``timeout``.
    """
    end, pause, last = time.monotonic() + limit_s, pause_s, "at work"
    while True:
        wait = pause
        try:
            if (answer := await ask()) is not None:
                return answer
        except Fault as fault:
            if isinstance(fault, Over) or fault.kind not in PASSING:
                raise
            wait, last = max(pause, fault.retry_after or 0.0), str(fault)
        if time.monotonic() + wait > end:
            raise Fault("timeout", f"no image within {limit_s:g} s ({last}); the next try follows the same job")
        await asyncio.sleep(wait)
        pause = min(LONGEST_PAUSE_S, pause * 1.5)


def understood(read: Callable[[dict[str, Any]], T | None], reply: dict[str, Any]) -> T | None:
    """What `read` finds; None when the reply has another shape than documented, since it then says nothing.

    Raises:
        Over: With the reply as its result.
    """
    try:
        return read(reply)
    except Over as over:
        over.result = reply
        raise
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
