"""How long a judge's calls took, as the journal has it."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from ..store import Store
from ..store.schema import attempts


def call_seconds(store: Store, keys: Iterable[str]) -> dict[str, float]:
    """Call -> the seconds of all its attempts together; waiting for a turn is not among them."""
    wanted, found = sorted(set(keys)), dict[str, float]()
    with store.reading() as connection:
        for start in range(0, len(wanted), 500):
            query = sa.select(attempts.c.call, sa.func.sum(attempts.c.seconds)).group_by(attempts.c.call)
            rows = connection.execute(query.where(attempts.c.call.in_(wanted[start : start + 500])))
            found |= {key: float(seconds) for key, seconds in rows}
    return found
