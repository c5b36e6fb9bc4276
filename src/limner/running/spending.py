"""What was spent, by whom and for what, from the journal's attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from ..store import Store
from ..store.schema import attempts, calls, drawings, markings

GROUPS = {"target": calls.c.target, "kind": calls.c.kind, "exam": calls.c.exam, "painter": calls.c.painter}
PAID = ("chat", "paint")


@dataclass(frozen=True)
class Spent:
    """A sum over attempts.

    Attributes:
        unpriced: Attempts whose cost nobody knows: no price, or cut off in flight.
        failed: Attempts that brought nothing, paid or not.
        doubted: Attempts whose usage is not credible: counted at the most they can have cost, and without tokens.
    """

    group: dict[str, str | None]
    calls: int
    attempts: int
    failed: int
    unpriced: int
    dollars: float
    tokens_in: int
    tokens_out: int
    doubted: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


def _told(*places: tuple[str, str]) -> Any:
    """A number of tokens as the service told it, wherever the reply has it; an accepted reply stands under ``raw``."""
    replies = attempts.c.result["raw"], attempts.c.result
    told = sa.func.coalesce(*(reply[group][name].as_float() for reply in replies for group, name in places), 0.0)
    # What is not credible need not even be a number.
    return sa.case((attempts.c.doubt.is_(None), told), else_=0.0)


TOKENS_IN = _told(("usage", "prompt_tokens"), ("usage", "input_tokens"), ("usageMetadata", "promptTokenCount"))
TOKENS_OUT = _told(
    ("usage", "completion_tokens"), ("usage", "output_tokens"), ("usageMetadata", "candidatesTokenCount")
) + _told(("usageMetadata", "thoughtsTokenCount"))


def spent(store: Store, by: Sequence[str] = ("kind", "target", "exam")) -> list[Spent]:
    """Sums per group, the dearest first. Probes, replays and imports cost nothing and are left out."""
    columns = [GROUPS[name].label(name) for name in by]
    query = (
        sa.select(
            *columns,
            sa.func.count(sa.distinct(calls.c.key)),
            sa.func.count(),
            sa.func.count(attempts.c.fault),
            sa.func.sum(sa.case((attempts.c.cost.is_(None), 1), else_=0)),
            sa.func.coalesce(sa.func.sum(attempts.c.cost), 0.0),
            sa.func.sum(TOKENS_IN),
            sa.func.sum(TOKENS_OUT),
            sa.func.count(attempts.c.doubt),
        )
        .select_from(calls.join(attempts, attempts.c.call == calls.c.key))
        .where(calls.c.kind.in_(PAID))
        .group_by(*columns)
    )
    with store.reading() as connection:
        rows = connection.execute(query).all()
    found = []
    for row in rows:
        group = dict(zip(by, row[: len(by)], strict=True))
        made, tried, failed, unpriced, dollars, sent, written, doubted = row[len(by) :]
        found.append(Spent(group, made, tried, failed, unpriced, dollars, round(sent), round(written), doubted))
    return sorted(found, key=lambda one: (-one.dollars, -one.calls, str(one.group)))


def mean_use(store: Store, target: str) -> tuple[float, float] | None:
    """Mean input and output tokens of the accepted calls to `target`, or None before there are any."""
    query = (
        sa.select(sa.func.count(), sa.func.avg(TOKENS_IN), sa.func.avg(TOKENS_OUT))
        .select_from(calls.join(attempts, (attempts.c.call == calls.c.key) & (attempts.c.n == calls.c.accepted)))
        # A reply without a word about tokens says nothing about their number.
        .where(calls.c.target == target, TOKENS_IN > 0)
    )
    with store.reading() as connection:
        count, sent, written = connection.execute(query).one()
    return (float(sent), float(written)) if count else None


def has_batches(store: Store, target: str) -> bool:
    """Whether calls to `target` went with batches, so that not all were paid for alike."""
    query = sa.select(calls.c.key).where(calls.c.target == target, calls.c.batch.is_not(None)).limit(1)
    with store.reading() as connection:
        return connection.execute(query).first() is not None


def mean_marking(store: Store, setup: str) -> float | None:
    """What a marking by this way of asking cost on average, all its turns included; None where that is not known."""
    made_here = markings.c.origin == "run", markings.c.status == "done"
    with store.reading() as connection:
        found = connection.scalar(sa.select(sa.func.avg(markings.c.cost)).where(markings.c.setup == setup, *made_here))
    return None if found is None else float(found)


def mean_drawing(store: Store, spec: str, strategy: str, options: Mapping[str, Any]) -> float | None:
    """What a drawing by this painter, strategy and options cost on average; None where that is not known."""
    query = sa.select(drawings.c.options, drawings.c.cost).where(drawings.c.strategy == strategy)
    query = query.where(drawings.c.spec == spec, drawings.c.status == "done", drawings.c.cost.is_not(None))
    with store.reading() as connection:
        costs = [row.cost for row in connection.execute(query) if row.options == options]
    return sum(costs) / len(costs) if costs else None
