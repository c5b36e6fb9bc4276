"""The stored rows of builds and reviews, and the state of items that follows: what is done, to do, and the counts."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sa

from ..calls import digest
from ..core.asks import Prompts
from ..core.errors import UsageError
from ..store import Store, now
from ..store.schema import build_items, build_reviews, builds, content_columns
from .base import BuildItem
from .recipe import PaperCount, RecipeStep
from .reviews import KEPT, Review


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


Items = dict[str, BuildItem]
"""The items of a build by id."""


@dataclass
class StepCount:
    """The counts of a step's items.

    Attributes:
        arrived: Items that reached it; for a source, items that it has made.
        dropped: Short reason -> the number of items dropped for it.
        failed: Fault -> the number of items that failed with it; a later run tries them again.
        waiting: Items that wait for people.
        pending: Items not done yet.
        made: New items, in addition to those that arrived.
        kept_by_review: Kept items that it would drop, had people not reviewed them; they decide.
        cost: All that was spent, also on items that are no longer there, in dollars; None if a price is unknown.
        miles: Label of a count in the paper after this step, other than of all items -> this build's number.
    """

    place: str
    arrived: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    waiting: int = 0
    pending: int = 0
    made: int = 0
    kept_by_review: int = 0
    cost: float | None = 0.0
    miles: dict[str, int] = field(default_factory=dict)

    def add(self, row: BuildRow) -> None:
        """Count an item's outcome."""
        self.arrived += 1
        if row.status in ("dropped", "failed"):
            getattr(self, row.status)[(row.reason or "").partition(":")[0]] += 1
        elif row.status == "waiting":
            self.waiting += 1
        else:
            self.kept += 1

    def add_kept(self) -> None:
        """Count an item that the step would drop, had people not reviewed it."""
        self.arrived, self.kept, self.kept_by_review = self.arrived + 1, self.kept + 1, self.kept_by_review + 1

    def to_json(self) -> dict[str, Any]:
        """Return all counts."""
        return {**self.__dict__, "dropped": dict(self.dropped), "failed": dict(self.failed)}


@dataclass(frozen=True)
class Flow:
    """The rules that determine, from steps, settings, roles and wording, what has to be done.

    Attributes:
        roles: Every role and its arguments as text, as the build stores them.
        order: The names of all steps, in order.
    """

    roles: Mapping[str, str]
    prompts: Prompts
    reviews: Mapping[str, Sequence[Review]]
    order: Sequence[str] = ()

    def signature(self, place: RecipeStep, beside: Sequence[BuildItem] = ()) -> list[Any]:
        """Return everything that determines a step's outcome, except the items it works on."""
        step = place.step
        asked = {name: value for name, value in self.roles.items() if name.partition(".")[0] in step.roles}
        wording = self.prompts.hash(*step.prompts) if step.prompts else None
        parts = [step.name, place.settings.model_dump(mode="json"), asked, wording]
        seen = [[item.id, {name: item.body.get(name) for name in step.beside_reads}] for item in beside]
        return [*parts, digest(seen)] if step.beside else parts

    def given(self, place: RecipeStep, items: Items) -> dict[str, str]:
        """Return for each item the hash of everything that determines its outcome."""
        mine = items_of_sort(items, place.step.takes)
        if place.step.together is not None:
            return dict.fromkeys((item.id for item in mine), self.whole(place, items))
        signature = digest(self.signature(place, items_of_sort(items, place.step.beside)))
        return {item.id: digest(signature, self._seen(place, item)) for item in mine}

    def whole(self, place: RecipeStep, items: Items) -> str:
        """Return this hash for a step that works on all items at once; items added by reviewers count too."""
        items_seen = [[item.id, digest(self._seen(place, item))] for item in items_of_sort(items, place.step.takes)]
        added = sorted(self.reviews.keys() - items.keys()) if place.step.reviewed else []
        signature = self.signature(place, items_of_sort(items, place.step.beside))
        return digest(signature, items_seen, [[id, self._reviews(id)] for id in added])

    def _seen(self, place: RecipeStep, item: BuildItem) -> list[Any]:
        return [place.step.seen(item.body), self._reviews(item.id) if place.step.reviewed else None]

    def _reviews(self, item: str) -> list[str]:
        return [review.id for review in self.reviews.get(item, ())]

    def pass_on(
        self, place: RecipeStep, items: Items, rows: Mapping[str, BuildRow]
    ) -> tuple[Items, StepCount, dict[str, str]]:
        """Return the items after a step as far as it is done, its counts, and the hash of each item still to do."""
        count, made, to_do = StepCount(place.name), self._made(place, items, rows), dict[str, str]()
        if place.step.source is not None:
            for made_row in rows.values():
                if made_row.status == "dropped" and self.keeps(place, made_row):
                    count.add_kept()
                else:
                    count.add(made_row)
            return dict(sorted((items | made).items())), count, to_do
        count.made = len(made)
        given = self.given(place, items)
        passed = {id: item for id, item in items.items() if id not in given} | made
        for id, hashed in given.items():
            row, item = rows.get(id), items[id]
            if row is None or row.given != hashed:
                count.arrived, count.pending = count.arrived + 1, count.pending + 1
                to_do[id] = hashed
            elif row.status == "dropped" and self._is_reviewed_after(place, id):
                count.add_kept()
                passed[id] = _kept(item.having(**(row.body or {})), row)
            else:
                count.add(row)
                if row.status == "done":
                    passed[id] = item.having(**(row.body or {}))
                elif row.status == "failed":
                    to_do[id] = hashed
        return dict(sorted(passed.items())), count, to_do

    def _made(self, place: RecipeStep, items: Items, rows: Mapping[str, BuildRow]) -> Items:
        """Return the new items of a source, or those added by a step that works on all items at once."""
        step = place.step
        whole = self.whole(place, items) if step.together is not None else None
        made = {
            id: BuildItem(id, row.body or {}, step.makes)
            for id, row in rows.items()
            if row.status == "done" and (step.source is not None or (id not in items and row.given == whole))
        }
        if step.source is not None:
            kept = [row for row in rows.values() if row.status == "dropped" and self.keeps(place, row)]
            made |= {row.item: _kept(BuildItem(row.item, row.body or {}, step.makes), row) for row in kept}
        return made

    def keeps(self, place: RecipeStep, row: BuildRow) -> bool:
        """Return whether an item that a source has made stays whatever the source does: people have reviewed it."""
        return bool(row.body) and self._is_reviewed_after(place, row.item)

    def _is_reviewed_after(self, place: RecipeStep, item: str) -> bool:
        """Return whether people have worked on an item in a later step, so that this one must not drop it."""
        later = self.order[self.order.index(place.name) + 1 :] if place.name in self.order else ()
        return any(review.step in later and review.action != "comment" for review in self.reviews.get(item, ()))


def _kept(item: BuildItem, row: BuildRow) -> BuildItem:
    """Return a reviewed item that a step would drop, with the reason, so that the reviewers decide."""
    return item.having(**{KEPT: [*item.body.get(KEPT, ()), f"{row.step}: {row.reason}"]})


def items_of_sort(items: Items, sort: str) -> list[BuildItem]:
    """Return the items of one sort, by id."""
    return [item for _, item in sorted(items.items()) if item.sort == sort]


def count_like_paper(mile: PaperCount, items: Items) -> int:
    """Return this build's number for a count in the paper."""
    bodies = [item.body for item in items.values() if all(item.body.get(name) == v for name, v in mile.where.items())]
    return len({body[mile.distinct] for body in bodies if mile.distinct in body} if mile.distinct else bodies)
