"""Workers, one per device: requests are gathered into batches, and each worker takes the next when it is free."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from ...calls import Fault
from ...errors import UsageError
from .process import Died, Process
from .work import Broken, Drawn, Failed, How, Item, Job, Load

LINGER_S = 0.05
"""How long a free worker waits for a batch to fill: little beside the drawing, long beside the asking."""
DEATHS = 3
"""A pipeline whose workers die this often in a row, with no image in between, is given up."""


@dataclass(eq=False)
class _Wanted:
    how: How
    item: Item
    future: Future[Drawn] = field(default_factory=Future)


class Pool:
    """Takes drawings to be made from any thread or event loop, and makes them on all its devices.

    Args:
        load: The pipeline.
        devices: One worker each.
        batch_size: The most drawings made in one go.
        start: Starts a worker process.
    """

    def __init__(
        self,
        load: Load,
        devices: Sequence[str | None],
        batch_size: int,
        start: Callable[[Load], Process] = Process,
    ) -> None:
        self._load, self._devices, self._batch_size, self._start = load, tuple(devices), batch_size, start
        self._waiting: deque[_Wanted] = deque()
        self._change = threading.Condition()
        self._idle = 0
        self._deaths = 0
        self._broken: str | None = None
        self._closed = self._begun = False
        self._processes: dict[str | None, Process] = {}

    def submit(self, how: How, item: Item) -> Future[Drawn]:
        """Have something drawn; cancelled before its turn, it is not.

        The future raises `limner.calls.Fault`, or `UsageError` when nothing can be drawn at all.
        """
        wanted = _Wanted(how, item)
        with self._change:
            if self._closed:
                wanted.future.set_exception(UsageError("the painter was closed"))
            elif self._broken is not None:
                wanted.future.set_exception(UsageError(self._broken))
            else:
                self._waiting.append(wanted)
                self._begin()
                self._change.notify_all()
        return wanted.future

    def close(self) -> None:
        """End all workers, whatever they are doing."""
        with self._change:
            self._closed = True
            processes = list(self._processes.values())
            self._change.notify_all()
        for process in processes:
            process.end()

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            for device in self._devices:
                name = f"limner-{device or 'device'}"
                threading.Thread(target=self._work, args=(device,), name=name, daemon=True).start()

    def _work(self, device: str | None) -> None:
        while (batch := self._gather()) is not None:
            if not batch:
                continue
            try:
                self._draw(device, batch)
            except Died as death:
                self._processes.pop(device, None)
                self._after(death, batch)
            except Exception as error:
                self._give_up(f"{type(error).__name__}: {error}", batch)

    def _gather(self) -> list[_Wanted] | None:
        """What to draw next in one go; None at the end."""
        with self._change:
            self._idle += 1
            self._change.wait_for(lambda: self._waiting or self._closed)
            end = time.monotonic() + (LINGER_S if self._batch_size > 1 else 0.0)
            while not self._closed and len(self._alike()) < self._batch_size:
                if not self._change.wait(max(0.0, end - time.monotonic())):
                    break
            if self._closed:
                return None
            alike = self._alike()
            # What is left at the end is shared out among those with nothing to do.
            share = -(-len(alike) // max(1, self._idle))
            taken = alike[: min(self._batch_size, share)]
            for wanted in taken:
                self._waiting.remove(wanted)
            self._idle -= 1
        return [wanted for wanted in taken if wanted.future.set_running_or_notify_cancel()]

    def _alike(self) -> list[_Wanted]:
        """What waits and agrees with the first in all but prompt, seed and pictures."""
        return [wanted for wanted in self._waiting if wanted.how == self._waiting[0].how]

    def _draw(self, device: str | None, batch: Sequence[_Wanted]) -> None:
        process = self._processes.get(device)
        if process is None:
            process = self._start(replace(self._load, device=device))
            with self._change:
                self._processes[device] = process
                closed = self._closed
            if closed:
                process.end()
            if (why := process.ready()) is not None:
                process.end()
                self._give_up(f"it cannot be loaded: {why}", batch)
                return
        left = len(batch)
        process.send(Job(batch[0].how, tuple(wanted.item for wanted in batch)))
        while left:
            found = process.receive()
            if isinstance(found, Broken):
                self._give_up(found.why, batch)
                return
            self._settle(batch[found.place], found)
            left -= 1

    def _settle(self, wanted: _Wanted, found: Drawn | Failed) -> None:
        if isinstance(found, Drawn):
            self._deaths = 0
            wanted.future.set_result(found)
        else:
            kind: Any = found.kind
            wanted.future.set_exception(Fault(kind, found.detail))

    def _after(self, death: Died, batch: Sequence[_Wanted]) -> None:
        self._deaths += 1
        if self._deaths >= DEATHS:
            self._give_up(f"its worker died {self._deaths} times in a row: {death}", batch)
            return
        for wanted in batch:
            if not wanted.future.done():
                wanted.future.set_exception(Fault("server", f"the worker died while drawing: {death}"))

    def _give_up(self, why: str, batch: Sequence[_Wanted]) -> None:
        """Nothing more can be drawn: tell all who wait, so that the run stops with one message."""
        with self._change:
            self._broken = why
            rest = [wanted for wanted in self._waiting if wanted.future.set_running_or_notify_cancel()]
            self._waiting.clear()
        for wanted in (*batch, *rest):
            if not wanted.future.done():
                wanted.future.set_exception(UsageError(why))
