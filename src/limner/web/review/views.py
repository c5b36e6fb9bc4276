"""What a reviewer is shown: the list of items, and one item with its versions and what was done to it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ... import exams
from ...build.base import BuildItem
from ...build.engine import Builder
from ...build.open import open_build
from ...build.records import load_reviews
from ...build.review_files import standings
from ...build.review_hints import ReviewHints, read_hints
from ...build.reviewers import Reviewer
from ...build.reviews import REJECTED, Review, state_id
from ...store import Store
from ...store.schema import build_items, build_reviews, builds

VERDICTS = {"open": "waits", "disputed": "in dispute", "accepted": "accepted", "rejected": "rejected"}


class ReviewDesk:
    """A build as its reviewers see it; read anew when something was done."""

    def __init__(self, store: Store, build: str) -> None:
        self.store, self.name = store, build
        self._lock = threading.Lock()
        self._mark: Any = None
        self._read()

    def _read(self) -> None:
        with self._lock:
            mark = self._changed()
            if mark == self._mark:
                return
            builder = open_build(self.store, self.name)
            self._builder, self._found = builder, standings(builder)
            self._reviews, self._mark = load_reviews(self.store, self.name), mark

    def _changed(self) -> Any:
        """What changes with every row: cheap to ask for."""
        with self.store.reading() as connection:
            rows = [
                connection.execute(
                    sa.select(sa.func.count(), sa.func.max(table.c.created)).where(table.c.build == self.name)
                ).one()
                for table in (build_items, build_reviews)
            ]
            body = connection.execute(sa.select(builds.c.body).where(builds.c.name == self.name)).scalar()
        return [tuple(row) for row in rows], {k: v for k, v in (body or {}).items() if k != "reviewers"}

    @property
    def builder(self) -> Builder:
        """The build."""
        return self._builder

    @property
    def hints(self) -> ReviewHints:
        """How the recipe's items are shown."""
        return read_hints(self._builder.recipe.folder)

    @property
    def rubric(self) -> type[Any]:
        """What the exam's rubric must be."""
        return exams.kind(self._builder.recipe.exam).rubric

    def rows(self, reviewer: Reviewer) -> list[dict[str, Any]]:
        """A line for every item, those that wait for this reviewer first."""
        self._read()
        rows = []
        for id, (item, found) in self._found.items():
            mine = found.votes.get(reviewer.name)
            settled = found.verdict in ("accepted", "rejected")
            # Who has judged sees a dispute; who has not, and settles none, does not learn that there is one.
            verdict = found.verdict if settled or mine or reviewer.settles else "open"
            due = verdict == "disputed" or (not settled and mine is None and not reviewer.settles)
            rows.append({"id": id, "title": self._title(item), "verdict": verdict, "said": VERDICTS[verdict],
                         "judged": mine is not None, "votes": len(found.votes), "due": due})  # fmt: skip
        return sorted(rows, key=lambda row: (not row["due"], row["verdict"] != "disputed", row["id"]))

    def knows(self, id: str) -> bool:
        """Whether there is such an item in review."""
        self._read()
        return id in self._found

    def states(self, id: str) -> Mapping[str, Mapping[str, Any]]:
        """Every version of an item."""
        return self._found[id][1].states

    def pictures(self, id: str) -> list[str]:
        """The hashes of the pictures that belong to an item."""
        return [value for name in self.hints.pictures if (value := self._found[id][0].body.get(name))]

    def drawing(self, id: str, field: str) -> str | None:
        """The SVG in a field of an item."""
        body = self._found[id][0].body
        return str(body[field]) if field in self.hints.drawings and field in body else None

    def needed(self) -> int:
        """How many reviewers must agree."""
        settings = [place.settings for place in self._builder.recipe.places if place.step.reviewed]
        return max((getattr(one, "reviewers", 0) for one in settings), default=0)

    def view(self, id: str, reviewer: Reviewer) -> dict[str, Any]:
        """One item: the version to judge, and what the reviewer may know of the others' work."""
        self._read()
        item, found = self._found[id]
        mine = found.votes.get(reviewer.name)
        done = self._reviews.get(id, [])
        own = [one for one in done if one.reviewer == reviewer.name]
        sees_all = reviewer.settles or mine is not None
        shown = found.states.get(mine or "") if mine not in (None, REJECTED) else None
        state = shown or found.body or next(iter(found.states.values()), {})
        settled = found.verdict in ("accepted", "rejected")
        return {
            "id": id, "title": self._title(item), "state": state, "base": state_id(state), "mine": mine,
            "verdict": found.verdict if settled or sees_all else "open", "needed": self.needed(),
            "judged": len(found.votes), "settles": reviewer.settles,
            "seen": _last(done if reviewer.settles else own),
            "others": self._others(found.states, found.votes, state) if sees_all else [],
            "history": [_told(one) for one in (done if sees_all else own)],
            "texts": [[name, _text(item.body[name])] for name in self.hints.texts if item.body.get(name)],
            "pictures": self.pictures(id),
            "drawings": [name for name in self.hints.drawings if name in item.body],
        }  # fmt: skip

    def _others(
        self, states: Mapping[str, Mapping[str, Any]], votes: Mapping[str, str], shown: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = [
            {"base": id, "state": state, "by": sorted(who for who, vote in votes.items() if vote == id)}
            for id, state in states.items()
            if state != shown
        ]
        if against := sorted(who for who, vote in votes.items() if vote == REJECTED):
            found.append({"base": REJECTED, "state": None, "by": against})
        return found

    def _title(self, item: BuildItem) -> str:
        value = item.body.get(self.hints.title) if self.hints.title else None
        return str(value) if value else ""


def _last(done: Sequence[Review]) -> str | None:
    return done[-1].id if done else None


def _told(review: Review) -> dict[str, Any]:
    return {"who": review.reviewer, "when": review.created, "action": review.action, "comment": review.comment or "",
            "fields": sorted(review.body or ())}  # fmt: skip


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "\n".join(map(str, value)) if isinstance(value, list) else str(value)
