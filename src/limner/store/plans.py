"""Queued plans as rows: what whoever works on this store is to run, and who works on it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import sqlalchemy as sa

from ..core.errors import UsageError
from .schema import plan_workers, plans
from .store import Store, now

OPEN, DONE, WITHDRAWN = "open", "done", "withdrawn"
SHOWN = 12
"""So many characters of a plan's id are shown; fewer will do where they name one plan."""


@dataclass(frozen=True)
class StoredPlan:
    """A run that was queued.

    Attributes:
        status: ``open`` until somebody has gone through all of it, ``done``, or ``withdrawn``.
        body: What to run, in the words of `limner.running.setup.make_plan`.
        made: What that came to where it was queued: whoever works on it must come to the same.
        result: What came of it, once it is done.
        detail: Why the last worker could not go on.
        queued: When it was last asked for.
    """

    id: str
    exam: str
    status: str
    body: dict[str, Any]
    made: dict[str, Any]
    result: dict[str, Any] | None = None
    detail: str | None = None
    queued: float = field(default_factory=now)
    updated: float = field(default_factory=now)

    @property
    def name(self) -> str:
        """Its id, as it is shown."""
        return self.id[:SHOWN]


@dataclass(frozen=True)
class PlanWorker:
    """A process that works on a plan, and how many of its steps it found or made."""

    token: str
    plan: str
    host: str
    pid: int
    process_start: float
    lease_until: float
    settled: int = 0
    total: int = 0
    created: float = field(default_factory=now)


def save_plan(store: Store, plan: StoredPlan) -> None:
    """Queue a plan, or ask again for one that is there."""
    store.write(lambda connection: store.upsert(connection, plans, asdict(plan)))


def load_plans(store: Store) -> list[StoredPlan]:
    """All plans, the oldest first, without what they came to: that may be long."""
    query = sa.select(*(column for column in plans.c if column.name != "made")).order_by(plans.c.queued, plans.c.id)
    with store.reading() as connection:
        return [StoredPlan(**row._mapping, made={}) for row in connection.execute(query)]


def load_plan(store: Store, word: str) -> StoredPlan:
    """The plan whose id begins with this word, with all it has.

    Raises:
        UsageError: There is none, or several.
    """
    query = sa.select(plans).where(plans.c.id.startswith(word, autoescape=True)).limit(2)
    with store.reading() as connection:
        found = connection.execute(query).all() if word else []
    if len(found) != 1:
        why = "several plans" if found else "no plan"
        raise UsageError(f"{store.url} has {why} that begin with {word!r}; `limner work --list` shows all")
    return StoredPlan(**found[0]._mapping)


def end_plan(store: Store, plan: StoredPlan, status: str, result: dict[str, Any] | None, detail: str | None) -> bool:
    """Say what became of an open plan; False where it was withdrawn, or asked for again, meanwhile."""
    mine = plans.update().where(plans.c.id == plan.id, plans.c.queued == plan.queued, plans.c.status == OPEN)
    changed = mine.values(status=status, result=result, detail=detail, updated=now())
    return store.write(lambda connection: bool(connection.execute(changed).rowcount))


def is_wanted(store: Store, plan: StoredPlan) -> bool:
    """Whether it is still to be worked on."""
    with store.reading() as connection:
        return connection.scalar(sa.select(plans.c.status).where(plans.c.id == plan.id)) == OPEN


def save_worker(store: Store, worker: PlanWorker) -> None:
    """Show that a process works on a plan, and how far it is."""
    store.write(lambda connection: store.upsert(connection, plan_workers, asdict(worker)))


def remove_workers(store: Store, *tokens: str) -> None:
    """They work no longer."""
    gone = plan_workers.delete().where(plan_workers.c.token.in_(tokens))
    store.write(lambda connection: connection.execute(gone))


def load_workers(store: Store) -> list[PlanWorker]:
    """All who said that they work, those who died meanwhile among them."""
    with store.reading() as connection:
        return [PlanWorker(**row._mapping) for row in connection.execute(sa.select(plan_workers))]
