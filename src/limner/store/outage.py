"""A database server that restarts is waited for; two writers that waited for each other try again."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import DBAPIError

from ..core.terminal import printable

T = TypeVar("T")
WAIT_S = 600.0
"""How long a server may be away before that is an error."""
TELL_S = 2.0
"""A server that is away for so long is told of."""
COLLISIONS = frozenset({"40P01", "40001"})
RESTARTS = frozenset({"57P01", "57P02", "57P03", "53300"})
"""SQL states: shut down by its operator, crashed, not ready yet, no connection to be had."""


def is_passing(error: BaseException) -> bool:
    """Whether the same thing may succeed later, as it is: nothing of it was kept, or it can be done twice."""
    # Only drivers of servers tell a state; SQLite's errors are of another sort, and none of them passes.
    if not isinstance(error, DBAPIError) or error.orig is None or not hasattr(error.orig, "sqlstate"):
        return False
    state: str | None = error.orig.sqlstate
    if error.connection_invalidated or state in COLLISIONS | RESTARTS or (state or "").startswith("08"):
        return True
    # Without a state the server has not said anything: it cannot be reached.
    return state is None and type(error.orig).__name__ in ("OperationalError", "ConnectionTimeout")


def waited(action: Callable[[], T]) -> T:
    """Do something with a database, again and again while its server is away.

    Raises:
        DBAPIError: It failed for good, or the server stayed away for `WAIT_S`.
    """
    began, pause, told = time.monotonic(), 0.05, False
    while True:
        try:
            return action()
        except DBAPIError as error:
            away = time.monotonic() - began
            if not is_passing(error) or away > WAIT_S:
                raise
            if away > TELL_S and not told:
                told = True
                why = str(error.orig).strip().splitlines()[:1]
                print(printable(f"the database does not answer ({''.join(why)}); waiting for it"), file=sys.stderr)
            time.sleep(random.uniform(pause / 2, pause))
            pause = min(1.0, pause * 1.5)
