"""What was spent, by whom and for what, from the journal's attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from .store import Store
from .store.schema import attempts, calls

GROUPS = {"target": calls.c.target, "kind": calls.c.kind, "exam": calls.c.exam, "painter": calls.c.painter}
PAID = ("chat", "paint")


@dataclass(frozen=True)
class Spent:
    """A sum over attempts.

    Attributes:
        unpriced: Attempts whose cost nobody knows: no price, or cut off in flight.
        failed: Attempts that brought nothing, paid or not.
    """

    group: dict[str, str | None]
    calls: int
    attempts: int
    failed: int
    unpriced: int
    dollars: float
    tokens_in: int
    tokens_out: int

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


def spent(store: Store, by: Sequence[str] = ("kind", "target", "exam")) -> list[Spent]:
    """Sums per group, the dearest first. Probes, replays and imports cost nothing and are left out."""
    columns = [GROUPS[name].label(name) for name in by]
    usage = attempts.c.result["raw"]["usage"]
    query = (
        sa.select(
            *columns,
            sa.func.count(sa.distinct(calls.c.key)),
            sa.func.count(),
            sa.func.count(attempts.c.fault),
            sa.func.sum(sa.case((attempts.c.cost.is_(None), 1), else_=0)),
            sa.func.coalesce(sa.func.sum(attempts.c.cost), 0.0),
            sa.func.coalesce(sa.func.sum(usage["prompt_tokens"].as_integer()), 0),
            sa.func.coalesce(sa.func.sum(usage["completion_tokens"].as_integer()), 0),
        )
        .select_from(calls.join(attempts, attempts.c.call == calls.c.key))
        .where(calls.c.kind.in_(PAID))
        .group_by(*columns)
    )
    with store.reading() as connection:
        rows = connection.execute(query).all()
    found = [Spent(dict(zip(by, row[: len(by)], strict=True)), *row[len(by) :]) for row in rows]
    return sorted(found, key=lambda one: (-one.dollars, -one.calls, str(one.group)))


def mean_use(store: Store, target: str) -> tuple[float, float] | None:
    """Mean input and output tokens of the accepted calls to `target`, or None before there are any."""
    usage = attempts.c.result["raw"]["usage"]
    query = (
        sa.select(
            sa.func.avg(usage["prompt_tokens"].as_integer()), sa.func.avg(usage["completion_tokens"].as_integer())
        )
        .select_from(calls.join(attempts, (attempts.c.call == calls.c.key) & (attempts.c.n == calls.c.accepted)))
        .where(calls.c.target == target)
    )
    with store.reading() as connection:
        sent, written = connection.execute(query).one()
    return None if sent is None or written is None else (float(sent), float(written))


def mean_cost(store: Store, target: str) -> float | None:
    """Mean cost of the accepted calls to `target`, or None where none is known."""
    accepted = (attempts.c.call == calls.c.key) & (attempts.c.n == calls.c.accepted)
    query = sa.select(sa.func.avg(attempts.c.cost)).select_from(calls.join(attempts, accepted))
    with store.reading() as connection:
        found = connection.scalar(query.where(calls.c.target == target))
    return None if found is None else float(found)
