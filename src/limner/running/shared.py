"""A run that several processes make together: the claims of calls share the work, and each goes its own way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from ..calls import Calls
from .runner import Runner

AHEAD = 64
"""So many slots at least are looked up at a time."""


class SharedRunner(Runner):
    """Runs a plan beside others who run the same.

    In one order all would wait for each other's calls. So each takes the questions in an order of its own, and before
    it comes to a slot it looks whether somebody else has filled it.
    """

    _coming: Iterator[Any] | None = None

    def _slots(self) -> tuple[int, Iterable[Any]]:
        self.backlog.shuffle()
        return super()._slots()

    async def _work(self, queue: Iterator[Any], calls: Calls) -> None:
        if self._coming is None:
            self._coming = self._looked_up(queue)
        await super()._work(self._coming, calls)

    def _looked_up(self, queue: Iterator[Any]) -> Iterator[Any]:
        while some := list(islice(queue, max(AHEAD, self.plan.concurrency))):
            yield from self.backlog.look_again(some)
