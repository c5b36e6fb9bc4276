"""Kills the process under test at an exact request. Needs Linux: it waits on process file descriptors."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

from tests.fakes.plan import Kill
from tests.fakes.tally import Tally

# A dead process's sockets are closed by the kernel; this loop takes a few turns to hear of it.
_BURIAL_S = 0.05


class Executioner:
    """Sends a plan's signal, and knows when a killed process and its connections are gone."""

    def __init__(self) -> None:
        self._dying: set[asyncio.Task[None]] = set()

    def strike(self, kill: Kill, tally: Tally) -> None:
        """Sends the signal and notes which requests were in flight."""
        note: dict[str, Any] = {
            "pid": kill.pid,
            "signal": kill.signal,
            "at_request": kill.at_request,
            "keys": tally.keys_in_flight(),
        }
        tally.killed_in_flight.append(note)
        try:
            fd = os.pidfd_open(kill.pid)
        except OSError as wrong:
            note["error"] = str(wrong)
            return
        try:
            signal.pidfd_send_signal(fd, signal.Signals[kill.signal])
        except OSError as wrong:
            note["error"] = str(wrong)
            os.close(fd)
            return
        # After any other signal the process may first want its replies, so nobody waits for its end.
        if kill.signal != "SIGKILL":
            os.close(fd)
            return
        task = asyncio.create_task(_bury(fd))
        self._dying.add(task)
        task.add_done_callback(self._dying.discard)

    async def finished(self) -> None:
        """Returns when no killed process is still dying.

        Nobody is answered before that: else a reply could be counted as given to a process that died
        before it could read it.
        """
        while self._dying:
            await asyncio.wait(self._dying)


async def _bury(fd: int) -> None:
    gone, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_reader(fd, gone.set)
    await gone.wait()
    loop.remove_reader(fd)
    os.close(fd)
    await asyncio.sleep(_BURIAL_S)
