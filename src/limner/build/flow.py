"""The state of a build's items: the outcomes of each step, what is still to do, and the counts. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..calls import digest
from ..core.asks import Prompts
from .base import BuildItem
from .recipe import PaperCount, RecipeStep
from .records import BuildRow
from .reviews import KEPT, Review

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
                count.arrived, count.kept_by_review = count.arrived + 1, count.kept_by_review + 1
                count.kept += 1
                why = [*item.body.get(KEPT, ()), f"{place.name}: {row.reason}"]
                passed[id] = item.having(**(row.body or {}), **{KEPT: why})
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
        return {
            id: BuildItem(id, row.body or {}, step.makes)
            for id, row in rows.items()
            if row.status == "done" and (step.source is not None or (id not in items and row.given == whole))
        }

    def _is_reviewed_after(self, place: RecipeStep, item: str) -> bool:
        """Return whether people have worked on an item in a later step, so that this one must not drop it."""
        later = self.order[self.order.index(place.name) + 1 :] if place.name in self.order else ()
        return any(review.step in later and review.action != "comment" for review in self.reviews.get(item, ()))


def items_of_sort(items: Items, sort: str) -> list[BuildItem]:
    """Return the items of one sort, by id."""
    return [item for _, item in sorted(items.items()) if item.sort == sort]


def count_like_paper(mile: PaperCount, items: Items) -> int:
    """Return this build's number for a count in the paper."""
    bodies = [item.body for item in items.values() if all(item.body.get(name) == v for name, v in mile.where.items())]
    return len({body[mile.distinct] for body in bodies if mile.distinct in body} if mile.distinct else bodies)
