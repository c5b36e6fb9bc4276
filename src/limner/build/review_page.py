"""The review page, on which invited reviewers judge the items of a build."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from pydantic import Field, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .. import exams
from ..core.errors import LostImage
from ..core.images import WEB_FORMATS, BadImage, inspect
from ..core.json_text import value_at
from ..core.redaction import csrf_token, secrets_equal, token_hash
from ..core.schema import FrozenModel
from ..serve.base import Pages, check_change, make_app
from ..store import Store
from ..store.schema import build_items, build_reviews, builds
from ..strategies.svg.clean import clean
from ..strategies.svg.document import BadSvg
from .engine import open_build
from .records import named_review
from .review_files import ReviewItem, review_items
from .reviews import REJECTED, Review, Reviewer, ReviewHints, load_reviewers, read_hints, state_id, why_not_saved

HERE = Path(__file__).parent
TITLE_FIELDS = ("prompt", "free_prompt", "path", "name", "source.title", "source.origin")
"""The fields that describe an item if it has no title."""
SHOWN_WORDS = 160
CHANGED = "This item has changed since you opened it. Nothing was overwritten; check the changes before you go on."
GONE = "This version of the item no longer exists: the build has changed since you opened it. Your text is kept here."


def review_app(store: Store, build: str) -> Starlette:
    """Return the application in which a build is reviewed."""
    routes = [
        Route("/r/{token}/", index),
        Route("/r/{token}/item/{id:path}", page),
        Route("/r/{token}/data/{id:path}", data),
        Route("/r/{token}/act/{id:path}", act, methods=["POST"]),
        Route("/r/{token}/picture/{sha256}/{id:path}", picture),
        Route("/r/{token}/drawing/{field}/{id:path}", drawing),
    ]
    state = {"desk": ReviewDesk(store, build), "store": store}
    return make_app(routes, pages=Pages(HERE / "templates"), static={"review": HERE / "static"}, state=state)


def _identify(request: Request) -> tuple[str, Reviewer, ReviewDesk]:
    """Return the token, its reviewer and the desk; an unknown token gives 404."""
    token, desk = request.path_params["token"], request.app.state.desk
    hashed = token_hash(token)
    for reviewer in load_reviewers(desk.store, desk.name).values():
        if secrets_equal(reviewer.token, hashed):
            return token, reviewer, desk
    raise HTTPException(404)


def index(request: Request) -> Response:
    """Show everything that is in review."""
    token, reviewer, desk = _identify(request)
    rows = desk.rows(reviewer)
    page: Response = request.app.state.pages.response(
        "list.html", title=f"Review of {desk.name}", token=token, reviewer=reviewer, rows=rows, needed=desk.needed(),
        due=sum(row["due"] for row in rows), guide=desk.hints.guide,
    )  # fmt: skip
    return page


def page(request: Request) -> Response:
    """Show one item."""
    token, reviewer, desk = _identify(request)
    found = desk.find(request)
    id, step = found.item.id, found.place
    waiting = [row["id"] for row in desk.rows(reviewer) if row["due"] and row["id"] != id]
    shown: Response = request.app.state.pages.response(
        "item.html", title=f"{id}: review of {desk.name}", token=token, reviewer=reviewer, id=id,
        csrf=csrf_token(token), name=desk.title(found), left=len(waiting), following=waiting[0] if waiting else "",
        guide=f"{step.step.about}." if getattr(step.settings, "write", "") else desk.hints.guide,
    )  # fmt: skip
    return shown


def data(request: Request) -> Response:
    """Return an item's version to judge, as JSON."""
    _, reviewer, desk = _identify(request)
    fields = {path: hint.model_dump(exclude_none=True) for path, hint in desk.hints.fields.items()}
    return JSONResponse({**desk.view(desk.find(request), reviewer), "fields": fields})


class SentReview(FrozenModel):
    """What the page sends: an action on a version of an item.

    Attributes:
        base: The version, by its id.
        seen: The id of the last review that the page showed.
        state: The version as changed.
    """

    action: str
    base: str
    seen: str | None = None
    comment: str = Field(default="", max_length=10_000)
    state: dict[str, Any] | None = None


async def act(request: Request) -> Response:
    """Store a reviewer's action."""
    token, reviewer, desk = await asyncio.to_thread(_identify, request)
    await check_change(request, token)
    found = await asyncio.to_thread(desk.find, request)
    try:
        sent = SentReview.model_validate_json(await request.body())
    except ValidationError as error:
        raise HTTPException(400, "The request is not as our page sends it.") from error
    review, refusal = _review(sent, found, reviewer, desk), GONE
    if review is not None:
        kept = await add_if_unchanged(desk.store, review, sent.seen, alone=not reviewer.settles)
        refusal = CHANGED if kept is None else ""
    now = await asyncio.to_thread(desk.view, found, reviewer)
    return JSONResponse({"error": refusal, "now": now}, 409) if refusal else JSONResponse({"kept": True, "now": now})


def _review(sent: SentReview, found: ReviewItem, reviewer: Reviewer, desk: ReviewDesk) -> Review | None:
    """Return a request's review, or None if its version no longer exists."""
    action, states, settles = sent.action, found.standing.states, sent.action == "settle"
    if action not in ("accept", "save", "reject", "comment", "settle") or (settles and not reviewer.settles):
        raise HTTPException(403, "You cannot do this with your link.")
    if action == "comment" and not sent.comment.strip():
        raise HTTPException(422, "The comment is empty.")
    comment = sent.comment or None
    review = Review(desk.name, found.item.id, reviewer.name, action, comment=comment, step=found.place.name)
    if action == "comment" or (settles and sent.base == REJECTED):
        return review
    if sent.base not in states:
        return None
    judged, change = dict(states[sent.base]), dict[str, Any]()
    if action == "save" or (settles and sent.state is not None):
        state = sent.state or {}
        if why := why_not_saved(judged, state, desk.rubric):
            raise HTTPException(422, f"This cannot be saved: {why}")
        word, change = describe_change(judged, state)
        if not settles:
            action = word if change else "accept"
        elif word == "add":
            change = {name: state[name] for name in change}
    field = getattr(found.place.settings, "write", "")
    if action != "reject" and field and not {**judged, **change}.get(field):
        raise HTTPException(422, f"Write {field.replace('_', ' ')} first, or reject the item.")
    return replace(review, action=action, base=sent.base, body=change or None, state=judged)


def picture(request: Request) -> Response:
    """Return a picture that belongs to an item."""
    _, _, desk = _identify(request)
    sha256 = request.path_params["sha256"]
    if sha256 not in desk.pictures(desk.find(request)):
        raise HTTPException(404)
    try:
        content = desk.store.blobs.get(sha256)
        kind = WEB_FORMATS.get(inspect(content).format, "application/octet-stream")
    except (LostImage, BadImage) as error:
        raise HTTPException(404, "The picture is no longer in the store.") from error
    return Response(content, media_type=kind, headers={"Cache-Control": "private, max-age=3600"})


def drawing(request: Request) -> Response:
    """Return a drawing that belongs to an item, as safe SVG."""
    _, _, desk = _identify(request)
    svg = desk.drawing(desk.find(request), request.path_params["field"])
    if svg is None:
        raise HTTPException(404)
    try:
        return Response(clean(svg), media_type="image/svg+xml")
    except BadSvg as error:
        raise HTTPException(404, "The drawing cannot be shown.") from error


VERDICTS = {"open": "waiting", "disputed": "in dispute", "accepted": "accepted", "rejected": "rejected"}


class ReviewDesk:
    """A build as its reviewers see it; it is read again after every change."""

    def __init__(self, store: Store, build: str) -> None:
        self.store, self.name = store, build
        self._lock = threading.Lock()
        self._mark: Any = None
        self._read()

    def _read(self) -> dict[str, ReviewItem]:
        with self._lock:
            mark = self._changed()
            if mark != self._mark:
                self._builder = open_build(self.store, self.name)
                self._items, self._mark = review_items(self._builder), mark
            return self._items

    def _changed(self) -> Any:
        """Return a value that changes with every row and is cheap to read."""
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
    def hints(self) -> ReviewHints:
        """The display of the recipe's items."""
        return read_hints(self._builder.recipe.folder)

    @property
    def rubric(self) -> type[Any]:
        """The model of the exam's rubric."""
        return exams.kind(self._builder.recipe.exam).rubric

    def find(self, request: Request) -> ReviewItem:
        """Return the item that a request names; one that is not in review gives 404."""
        found = self._read().get(str(request.path_params["id"]))
        if found is None:
            raise HTTPException(404, "This review does not have this item.")
        return found

    def rows(self, reviewer: Reviewer) -> list[dict[str, Any]]:
        """Return a row for every item, those that are due for this reviewer first."""
        rows = []
        for id, found in self._read().items():
            verdict, judged = self._verdict(found, reviewer), reviewer.name in found.standing.votes
            due = verdict == "disputed" if reviewer.settles else found.is_due(reviewer.name)
            rows.append({"id": id, "name": self.title(found), "verdict": verdict, "said": VERDICTS[verdict],
                         "judged": judged, "votes": len(found.standing.votes), "due": due,
                         "pictures": self.pictures(found)[:1], "warnings": found.warnings})  # fmt: skip
        return sorted(rows, key=lambda row: (not row["due"], row["verdict"] != "disputed", row["id"]))

    def _verdict(self, found: ReviewItem, reviewer: Reviewer) -> str:
        """Return the verdict; reviewers see a dispute only after they have judged, unless they settle disputes."""
        seen = found.is_settled or reviewer.settles or reviewer.name in found.standing.votes
        return found.standing.verdict if seen else "open"

    def pictures(self, found: ReviewItem) -> list[str]:
        """Return the hashes of the pictures that belong to an item."""
        return [value for name in self.hints.pictures if (value := found.item.body.get(name))]

    def drawing(self, found: ReviewItem, field: str) -> str | None:
        """Return the SVG in a field of an item."""
        body = found.item.body
        return str(body[field]) if field in self.hints.drawings and field in body else None

    def needed(self, step: str = "") -> int:
        """Return the number of reviewers who must agree in a review, or the most in any."""
        places = [place for place in self._builder.recipe.places if place.step.reviewed and step in (place.name, "")]
        return max((getattr(place.settings, "reviewers", 0) for place in places), default=0)

    def view(self, found: ReviewItem, reviewer: Reviewer) -> dict[str, Any]:
        """Return an item's version to judge, and the part of the others' work that the reviewer may see."""
        found = self._read().get(found.item.id, found)
        item, standing = found.item, found.standing
        mine = standing.votes.get(reviewer.name)
        own = [review for review in found.done if review.reviewer == reviewer.name]
        sees_all = reviewer.settles or mine is not None
        state = standing.states.get(mine or "") or standing.body or next(iter(standing.states.values()), {})
        others = found.others(state)
        if against := found.voters(REJECTED):
            others.append({"base": REJECTED, "by": against, "state": None})
        seen = found.done if reviewer.settles else own
        return {
            "id": item.id, "state": state, "base": state_id(state), "mine": mine,
            "verdict": self._verdict(found, reviewer), "needed": self.needed(found.place.name),
            "judged": len(standing.votes), "settles": reviewer.settles,
            "seen": seen[-1].id if seen else None,
            "others": others if sees_all else [],
            "history": [_history_entry(review) for review in (found.done if sees_all else own)],
            "warnings": found.warnings,
            "texts": [[name, _text(item.body[name])] for name in self.hints.texts if item.body.get(name)],
            "pictures": self.pictures(found),
            "drawings": [name for name in self.hints.drawings if name in item.body],
        }  # fmt: skip

    def title(self, found: ReviewItem) -> str:
        """Return the words by which people know an item: its title, its prompt, or where it comes from."""
        values = (value_at(found.item.body, name) for name in (self.hints.title, *TITLE_FIELDS) if name)
        words = next((str(value) for value in values if value), found.item.id)
        return words if len(words) <= SHOWN_WORDS else f"{words[:SHOWN_WORDS]}…"


def _history_entry(review: Review) -> dict[str, Any]:
    return {"who": review.reviewer, "when": review.created, "action": review.action, "comment": review.comment or "",
            "fields": sorted(review.body or ())}  # fmt: skip


def _text(value: Any) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def describe_change(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the action and body that turn one state into the other; ``add`` if lists only became longer.

    >>> describe_change({"a": [1], "b": 2}, {"a": [1, 3], "b": 2})
    ('add', {'a': [3]})
    >>> describe_change({"a": [1], "b": 2}, {"a": [3], "b": 2})
    ('edit', {'a': [3]})
    """
    changed = {name: value for name, value in new.items() if old.get(name, ...) != value}
    more = {name: value[len(old[name]) :] for name, value in changed.items() if _longer(old.get(name), value)}
    return ("add", more) if changed and more.keys() == changed.keys() else ("edit", changed)


def _longer(old: Any, new: Any) -> bool:
    lists = isinstance(old, list) and isinstance(new, list)
    return lists and len(new) > len(old) and new[: len(old)] == old


async def add_if_unchanged(store: Store, review: Review, seen: str | None, *, alone: bool) -> Review | None:
    """Store and return a review; return None if the item has reviews that the page did not show.

    Args:
        store: The store of the build.
        review: The review.
        seen: The id of the last review that the page showed; None for none.
        alone: Whether only the reviewer's own reviews count, since reviewers judge independently.
    """
    kept = named_review(review)

    def operation(connection: sa.Connection) -> bool:
        table = build_reviews.c
        same = (table.build == review.build, table.item == review.item, table.step == review.step)
        query = sa.select(table.id).where(*same)
        if alone:
            query = query.where(table.reviewer == review.reviewer)
        last = connection.execute(query.order_by(table.created.desc(), table.id.desc()).limit(1)).scalar()
        if last != seen:
            return False
        store.insert_new(connection, build_reviews, kept.__dict__)
        return True

    return kept if await store.awrite(operation) else None
