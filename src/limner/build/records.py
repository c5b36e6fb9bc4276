"""The stored rows of builds: the outcome of each step for each item, and the reviews."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sa

from ..core.errors import UsageError
from ..store import Store, now
from ..store.schema import build_items, build_reviews, builds, content_columns
from .reviews import Review


@dataclass(frozen=True)
class Build:
    """A build: its recipe and all its settings.

    Attributes:
        recipe: The name of the recipe, or the path of its file.
        body: ``settings`` (step -> setting -> value), ``roles`` (role and its arguments -> word) and ``prompts``.
    """

    name: str
    recipe: str
    body: dict[str, Any] = field(default_factory=dict)
    created: float = field(default_factory=now)
    updated: float = field(default_factory=now)


@dataclass(frozen=True)
class BuildRow:
    """The outcome of a step for an item.

    Attributes:
        given: The hash of everything that determined it.
        status: ``done``, ``dropped``, ``waiting`` or ``failed``.
        reason: Why it is not done: a short reason, then details after a colon; for a failure, the fault.
        body: The fields that the step set; for a failure its ``rounds``.
    """

    build: str
    step: str
    item: str
    given: str
    status: str
    reason: str | None = None
    body: dict[str, Any] | None = None
    cost: float | None = 0.0
    created: float = field(default_factory=now)


def save_build(store: Store, build: Build) -> None:
    """Store a build, or its changes."""
    row = {**build.__dict__, "updated": now()}
    store.write(lambda connection: store.upsert(connection, builds, row))


def load_build(store: Store, name: str) -> Build:
    """Return the build of this name.

    Raises:
        UsageError: There is none; the message lists the existing builds.
    """
    existing = {build.name: build for build in load_builds(store)}
    if name in existing:
        return existing[name]
    names = ", ".join(existing) or "none"
    raise UsageError(f"{store.url} has no build {name!r}; its builds are: {names}. `limner build new` starts one")


def load_builds(store: Store) -> list[Build]:
    """Return all builds, by name."""
    with store.reading() as connection:
        rows = connection.execute(sa.select(*content_columns(builds)).order_by(builds.c.name))
        return [Build(**row._mapping) for row in rows]


def save_rows(store: Store, rows: Sequence[BuildRow]) -> Future[None]:
    """Store rows of a step; the future is done once they are committed."""

    def operation(connection: sa.Connection) -> None:
        for row in rows:
            store.upsert(connection, build_items, row.__dict__)

    return store.submit(operation)


def load_rows(store: Store, build: str, step: str) -> dict[str, BuildRow]:
    """Return the rows of a step by item, ordered by item."""
    query = sa.select(*content_columns(build_items)).where(build_items.c.build == build, build_items.c.step == step)
    with store.reading() as connection:
        rows = connection.execute(query.order_by(build_items.c.item))
        return {row.item: BuildRow(**row._mapping) for row in rows}


def forget_rows(store: Store, build: str, step: str, items: Iterable[str]) -> None:
    """Delete rows of items that a source no longer has."""
    table = build_items.c
    query = build_items.delete().where(table.build == build, table.step == step, table.item == sa.bindparam("gone"))
    rows = [{"gone": item} for item in sorted(items)]
    store.write(lambda connection: connection.execute(query, rows))


def add_review(store: Store, review: Review) -> Review:
    """Store a review, which never overwrites another; return it with its id."""
    kept = named_review(review)
    store.write(lambda connection: store.insert_new(connection, build_reviews, kept.__dict__))
    return kept


def named_review(review: Review) -> Review:
    """Return a review with its id."""
    if review.id:
        return review
    fields = [value for name, value in review.__dict__.items() if name != "id"]
    return replace(review, id=hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest())


def load_reviews(store: Store, build: str) -> dict[str, list[Review]]:
    """Return the reviews by item, oldest first."""
    query = sa.select(*content_columns(build_reviews)).where(build_reviews.c.build == build)
    reviews: dict[str, list[Review]] = {}
    with store.reading() as connection:
        for row in connection.execute(query.order_by(build_reviews.c.created, build_reviews.c.id)):
            reviews.setdefault(row.item, []).append(Review(**row._mapping))
    return reviews
