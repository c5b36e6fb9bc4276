"""A second Ctrl-C ends the process soon, whatever it is doing: also where Python itself is not asked any more."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading

GRACE_S = 1.5
"""After the second signal the process may use so long to end in order: workers stopped, faults stored."""
INTERRUPTED = 130
_watching = False


def watch() -> None:
    """Count interrupts from now on, in a thread of its own; the second one is the last.

    Handlers run in the main thread only, and not while that waits in a library, for a database or for other threads.
    The interpreter writes the number of every signal into a pipe at once.
    """
    global _watching
    if _watching or os.name != "posix" or threading.current_thread() is not threading.main_thread():
        return
    _watching = True
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_count, args=(reader,), name="limner-interrupts", daemon=True).start()


def _count(reader: int) -> None:
    left = 2
    while left > 0:
        left -= sum(number in (signal.SIGINT, signal.SIGTERM) for number in os.read(reader, 64))
    end = threading.Timer(GRACE_S, _end)
    end.daemon = True
    end.start()


def _end() -> None:
    if (pools := sys.modules.get("multiprocessing")) is not None:
        # Limner's own workers end by themselves when they lose sight of it; those of a pool do not.
        for child in pools.active_children():
            child.kill()
    # A live progress line hides the cursor. Nobody may be reading: then nothing is said.
    words = b"\x1b[?25h\n" if os.isatty(2) else b""
    words += b"limner: ended at once; run the same command again to go on\n"
    if select.select([], [2], [], 0)[1]:
        os.write(2, words)
    os._exit(INTERRUPTED)
