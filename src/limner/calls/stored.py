"""The journal without calls: what it has is given out, and nothing is made."""

from __future__ import annotations

import sqlalchemy as sa

from ..core.faults import RETRIED_NEXT_RUN
from ..store.schema import calls
from .attempts import Outcome, Perform
from .claims import settled
from .journal import Calls
from .keys import Request
from .queued import BatchRow


class NotAsked(Exception):
    """The journal has no outcome of the call: a run would make it."""


class StoredCalls(Calls):
    """For estimates: gives stored outcomes and makes no call."""

    async def do(
        self,
        request: Request,
        perform: Perform,
        *,
        bound: float | None = 0.0,
        tokens: int = 0,
        row: BatchRow | None = None,
    ) -> Outcome:
        """The stored outcome.

        Raises:
            NotAsked: There is none, or a run would try again.
            Fault: The call failed for good.
        """
        with self.store.reading() as connection:
            found = connection.execute(sa.select(calls).where(calls.c.key == request.key)).one_or_none()
            if found is None or found.status not in ("done", "failed"):
                raise NotAsked
            if found.status == "failed" and (self.retry_failed or found.fault in RETRIED_NEXT_RUN):
                raise NotAsked
            return self._known(request, settled(connection, found))
