"""One worker process: opens a pipeline on one device and draws what comes in by the pipe, until the pipe closes."""

from __future__ import annotations

import os
import queue
import sys
import threading
from typing import IO

from . import work


def main() -> None:
    """Serve until the painter's process is gone."""
    # What libraries print must not get among the messages.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    inbox: queue.SimpleQueue[work.Load | work.Job] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, inbox), daemon=True).start()
    try:
        load = inbox.get()
        assert isinstance(load, work.Load)
        _serve(load, inbox, replies)
    except BrokenPipeError:
        os._exit(0)


def _listen(stream: IO[bytes], inbox: queue.SimpleQueue[work.Load | work.Job]) -> None:
    try:
        while True:
            inbox.put(work.read(stream))
    except EOFError:
        # Whoever asked is gone, perhaps killed: nobody wants what is being drawn.
        os._exit(0)


def _serve(load: work.Load, inbox: queue.SimpleQueue[work.Load | work.Job], replies: IO[bytes]) -> None:
    from .calling import Unfit
    from .easel import Easel

    try:
        easel = Easel.open(load)
    except Exception as error:
        work.write(replies, work.Broken(f"{type(error).__name__}: {' '.join(str(error).split())[:600]}"))
        return
    work.write(replies, work.Ready())
    while True:
        job = inbox.get()
        assert isinstance(job, work.Job)
        try:
            for outcome in easel.draw(job.how, job.items):
                work.write(replies, outcome)
        except Unfit as error:
            work.write(replies, work.Broken(str(error)))


if __name__ == "__main__":
    main()
