"""The review page, on which invited reviewers judge the items of a build."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from pydantic import BaseModel, ValidationError
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
from ..core.schema import first_error
from ..serve.base import Pages, check_change, make_app
from ..store import Store
from ..store.schema import build_items, build_reviews, builds
from ..strategies.svg.clean import clean
from ..strategies.svg.document import BadSvg
from .open import open_build
from .recipe import RecipeStep
from .records import load_reviews, named_review
from .review_files import review_standings, warnings_of
from .reviews import REJECTED, Review, Reviewer, ReviewHints, load_reviewers, read_hints, reviews_of, state_id

HERE = Path(__file__).parent
MAX_COMMENT_CHARS = 10_000
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


def _item(request: Request, desk: ReviewDesk) -> str:
    id = str(request.path_params["id"])
    if not desk.knows(id):
        raise HTTPException(404, "This review does not have this item.")
    return id


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
    id = _item(request, desk)
    waiting = [row["id"] for row in desk.rows(reviewer) if row["due"] and row["id"] != id]
    shown: Response = request.app.state.pages.response(
        "item.html", title=f"{id}: review of {desk.name}", token=token, reviewer=reviewer, id=id,
        csrf=csrf_token(token), name=desk.title(id), guide=desk.guide(id), left=len(waiting),
        following=waiting[0] if waiting else "",
    )  # fmt: skip
    return shown


def data(request: Request) -> Response:
    """Return an item's version to judge, as JSON."""
    _, reviewer, desk = _identify(request)
    fields = {path: hint.model_dump(exclude_none=True) for path, hint in desk.hints.fields.items()}
    return JSONResponse({**desk.view(_item(request, desk), reviewer), "fields": fields})


async def act(request: Request) -> Response:
    """Store a reviewer's action."""
    token, reviewer, desk = await asyncio.to_thread(_identify, request)
    await check_change(request, token)
    id = await asyncio.to_thread(_item, request, desk)
    review, seen = _review(await _body(request), id, reviewer, desk)
    review = review and replace(review, step=desk.step(id))
    if review is None:
        return JSONResponse({"error": GONE, "now": await asyncio.to_thread(desk.view, id, reviewer)}, 409)
    if await add_if_unchanged(desk.store, review, seen, alone=not reviewer.settles) is None:
        return JSONResponse({"error": CHANGED, "now": await asyncio.to_thread(desk.view, id, reviewer)}, 409)
    return JSONResponse({"kept": True, "now": await asyncio.to_thread(desk.view, id, reviewer)})


async def _body(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "This is not valid JSON.") from error
    if not isinstance(body, dict):
        raise HTTPException(400, "Expected a JSON object.")
    return body


def _review(body: dict[str, Any], id: str, reviewer: Reviewer, desk: ReviewDesk) -> tuple[Review | None, str | None]:
    """Return a request's review, or None if its version no longer exists, and the id of the last review on its page."""
    action, base, seen = body.get("action"), body.get("base"), body.get("seen")
    comment = body.get("comment") or ""
    texts = isinstance(comment, str) and isinstance(seen, str | None)
    if not texts or not isinstance(base, str) or len(comment) > MAX_COMMENT_CHARS:
        raise HTTPException(400, "The request is not as our page sends it.")
    states, state = desk.states(id), body.get("state")
    settles = action == "settle"
    if action not in ("accept", "save", "reject", "comment", "settle") or (settles and not reviewer.settles):
        raise HTTPException(403, "You cannot do this with your link.")
    if action == "comment":
        if not comment.strip():
            raise HTTPException(422, "The comment is empty.")
        return Review(desk.name, id, reviewer.name, "comment", None, None, comment), seen
    if base == REJECTED and settles:
        return Review(desk.name, id, reviewer.name, "settle", None, None, comment or None), seen
    if base not in states:
        return None, seen
    change: dict[str, Any] = {}
    if action == "save" or (settles and state is not None):
        if not isinstance(state, dict):
            raise HTTPException(400, "The request is not as our page sends it.")
        if why := why_not_saved(states[base], state, desk.rubric):
            raise HTTPException(422, f"This cannot be saved: {why}")
        word, change = describe_change(states[base], state)
        if not settles:
            action = word if change else "accept"
        elif word == "add":
            change = {name: state[name] for name in change}
    judged = dict(states[base])
    if action != "reject" and (field := desk.lacks(id, {**judged, **change})):
        raise HTTPException(422, f"Write {field.replace('_', ' ')} first, or reject the item.")
    return Review(desk.name, id, reviewer.name, str(action), base, change or None, comment or None, state=judged), seen


def picture(request: Request) -> Response:
    """Return a picture that belongs to an item."""
    _, _, desk = _identify(request)
    id, sha256 = _item(request, desk), request.path_params["sha256"]
    if sha256 not in desk.pictures(id):
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
    svg = desk.drawing(_item(request, desk), request.path_params["field"])
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

    def _read(self) -> None:
        with self._lock:
            mark = self._changed()
            if mark == self._mark:
                return
            builder = open_build(self.store, self.name)
            self._builder, self._found = builder, review_standings(builder)
            self._reviews, self._mark = load_reviews(self.store, self.name), mark

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

    def rows(self, reviewer: Reviewer) -> list[dict[str, Any]]:
        """Return a row for every item, those that are due for this reviewer first."""
        self._read()
        rows = []
        for id, (item, standing) in self._found.items():
            mine = standing.votes.get(reviewer.name)
            settled = standing.verdict in ("accepted", "rejected")
            # Reviewers see a dispute only after they have judged, unless they settle disputes.
            verdict = standing.verdict if settled or mine or reviewer.settles else "open"
            due = verdict == "disputed" or (not settled and mine is None and not reviewer.settles)
            due = due or (bool(standing.changed) and mine != standing.arrived and not reviewer.settles)
            rows.append({"id": id, "name": self.title(id), "verdict": verdict,
                         "said": VERDICTS[verdict], "judged": mine is not None, "votes": len(standing.votes),
                         "due": due, "pictures": self.pictures(id)[:1],
                         "warnings": warnings_of(item, standing)})  # fmt: skip
        return sorted(rows, key=lambda row: (not row["due"], row["verdict"] != "disputed", row["id"]))

    def knows(self, id: str) -> bool:
        """Return whether the item is in review."""
        self._read()
        return id in self._found

    def states(self, id: str) -> Mapping[str, Mapping[str, Any]]:
        """Return every version of an item."""
        return self._found[id][1].states

    def step(self, id: str) -> str:
        """Return the review in which an item is."""
        return self._found[id][1].step

    def pictures(self, id: str) -> list[str]:
        """Return the hashes of the pictures that belong to an item."""
        return [value for name in self.hints.pictures if (value := self._found[id][0].body.get(name))]

    def drawing(self, id: str, field: str) -> str | None:
        """Return the SVG in a field of an item."""
        body = self._found[id][0].body
        return str(body[field]) if field in self.hints.drawings and field in body else None

    def needed(self, step: str = "") -> int:
        """Return the number of reviewers who must agree in a review, or the most in any."""
        places = [place for place in self._builder.recipe.places if place.step.reviewed and step in (place.name, "")]
        return max((getattr(place.settings, "reviewers", 0) for place in places), default=0)

    def view(self, id: str, reviewer: Reviewer) -> dict[str, Any]:
        """Return an item's version to judge, and the part of the others' work that the reviewer may see."""
        self._read()
        item, standing = self._found[id]
        mine = standing.votes.get(reviewer.name)
        done = reviews_of(standing.step, self._reviews.get(id, ()))
        own = [review for review in done if review.reviewer == reviewer.name]
        sees_all = reviewer.settles or mine is not None
        shown = standing.states.get(mine or "") if mine not in (None, REJECTED) else None
        state = shown or standing.body or next(iter(standing.states.values()), {})
        settled = standing.verdict in ("accepted", "rejected")
        return {
            "id": id, "state": state, "base": state_id(state), "mine": mine,
            "verdict": standing.verdict if settled or sees_all else "open", "needed": self.needed(standing.step),
            "judged": len(standing.votes), "settles": reviewer.settles,
            "seen": _last(done if reviewer.settles else own),
            "others": self._others(standing.states, standing.votes, state) if sees_all else [],
            "history": [_history_entry(review) for review in (done if sees_all else own)],
            "warnings": warnings_of(item, standing),
            "texts": [[name, _text(item.body[name])] for name in self.hints.texts if item.body.get(name)],
            "pictures": self.pictures(id),
            "drawings": [name for name in self.hints.drawings if name in item.body],
        }  # fmt: skip

    def _others(
        self, states: Mapping[str, Mapping[str, Any]], votes: Mapping[str, str], shown: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        others: list[dict[str, Any]] = [
            {"base": id, "state": state, "by": sorted(who for who, vote in votes.items() if vote == id)}
            for id, state in states.items()
            if state != shown
        ]
        if against := sorted(who for who, vote in votes.items() if vote == REJECTED):
            others.append({"base": REJECTED, "state": None, "by": against})
        return others

    def title(self, id: str) -> str:
        """Return the words by which people know an item: its title, its prompt, or where it comes from."""
        body = self._found[id][0].body
        values = (value_at(body, name) for name in (self.hints.title, *TITLE_FIELDS) if name)
        words = next((str(value) for value in values if value), id)
        return words if len(words) <= SHOWN_WORDS else f"{words[:SHOWN_WORDS]}…"

    def guide(self, id: str) -> str:
        """Return what a reviewer of an item has to do."""
        place = self._place(id)
        return f"{place.step.about}." if getattr(place.settings, "write", "") else self.hints.guide

    def lacks(self, id: str, state: Mapping[str, Any]) -> str:
        """Return the field that has to be written, if a state lacks it."""
        field = getattr(self._place(id).settings, "write", "")
        return field if field and not state.get(field) else ""

    def _place(self, id: str) -> RecipeStep:
        return next(place for place in self._builder.recipe.places if place.name == self.step(id))


def _last(done: Sequence[Review]) -> str | None:
    return done[-1].id if done else None


def _history_entry(review: Review) -> dict[str, Any]:
    return {"who": review.reviewer, "when": review.created, "action": review.action, "comment": review.comment or "",
            "fields": sorted(review.body or ())}  # fmt: skip


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "\n".join(map(str, value)) if isinstance(value, list) else str(value)


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


def why_not_saved(old: Any, new: Any, rubric: type[BaseModel] | None = None, path: str = "") -> str | None:
    """Return why a changed version cannot be saved: its structure differs, or it does not fit the exam's rubric."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        if lost := sorted(map(str, old.keys() - new.keys())):
            return f"{path}{lost[0]} is missing"
        for name, value in old.items():
            if why := why_not_saved(value, new[name], None, f"{path}{name}."):
                return why
    elif isinstance(old, list) and isinstance(new, list):
        like = [entry for entry in old if isinstance(entry, Mapping)]
        for n, value in enumerate(new):
            if like and not isinstance(value, Mapping):
                return f"{path}{n + 1} must be an object"
    elif old is not None and new is not None and not _same_type(old, new):
        return f"{path.rstrip('.')} must be {_type_name(old)}, not {_type_name(new)}"
    if rubric is not None and isinstance(new, Mapping) and rubric.model_fields.keys() <= new.keys():
        try:
            rubric.model_validate({name: new[name] for name in rubric.model_fields})
        except ValidationError as error:
            return first_error(error)
    return None


def _same_type(old: Any, new: Any) -> bool:
    numbers = (int, float)
    if isinstance(old, numbers) and not isinstance(old, bool):
        return isinstance(new, numbers) and not isinstance(new, bool)
    return type(old) is type(new)


def _type_name(value: Any) -> str:
    if isinstance(value, Mapping):
        return "an object"
    return {str: "a text", bool: "true or false", list: "a list", int: "a number", float: "a number"}.get(
        type(value), "empty"
    )


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
