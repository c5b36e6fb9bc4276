"""The application of a review: under each reviewer's own link the list, an item, its pictures, and what is done."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...build.review_acts import add_if_unchanged, difference, misfit
from ...build.reviewers import Reviewer, load_reviewers
from ...build.reviews import REJECTED, Review
from ...core.errors import LostImage
from ...core.images import WEB_FORMATS, BadImage, inspect
from ...core.redaction import csrf_of, same, token_hash
from ...store import Store
from ...strategies.svg.clean import clean
from ...strategies.svg.document import BadSvg
from ..base import Pages, make_app
from ..security import check_change
from .views import ReviewDesk

HERE = Path(__file__).parent
LONGEST_COMMENT = 10_000
CHANGED = "Something was done at this item since you opened it. Nothing was overwritten; look at it before you go on."
GONE = "This version of the item is no longer there: the build has changed since you opened it. Your text is kept here."


def review_app(store: Store, build: str) -> Starlette:
    """The application in which a build is reviewed."""
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


def _who(request: Request) -> tuple[str, Reviewer, ReviewDesk]:
    """The token, whose it is, and the desk; a link that is nobody's is no page."""
    token, desk = request.path_params["token"], request.app.state.desk
    hashed = token_hash(token)
    for reviewer in load_reviewers(desk.store, desk.name).values():
        if same(reviewer.token, hashed):
            return token, reviewer, desk
    raise HTTPException(404)


def _item(request: Request, desk: ReviewDesk) -> str:
    id = str(request.path_params["id"])
    if not desk.knows(id):
        raise HTTPException(404, "There is no such item in this review.")
    return id


def index(request: Request) -> Response:
    """Everything that is in review."""
    token, reviewer, desk = _who(request)
    rows = desk.rows(reviewer)
    page: Response = request.app.state.pages.response(
        "list.html", title=f"Review of {desk.name}", token=token, reviewer=reviewer, rows=rows, needed=desk.needed(),
        due=sum(row["due"] for row in rows), guide=desk.hints.guide,
    )  # fmt: skip
    return page


def page(request: Request) -> Response:
    """One item."""
    token, reviewer, desk = _who(request)
    id = _item(request, desk)
    waiting = [row["id"] for row in desk.rows(reviewer) if row["due"] and row["id"] != id]
    shown: Response = request.app.state.pages.response(
        "item.html", title=f"{id}: review of {desk.name}", token=token, reviewer=reviewer, id=id,
        csrf=csrf_of(token), guide=desk.hints.guide, following=waiting[0] if waiting else "", left=len(waiting),
    )  # fmt: skip
    return shown


def data(request: Request) -> Response:
    """An item's version to judge, as JSON."""
    _, reviewer, desk = _who(request)
    fields = {path: hint.model_dump(exclude_none=True) for path, hint in desk.hints.fields.items()}
    return JSONResponse({**desk.view(_item(request, desk), reviewer), "fields": fields})


async def act(request: Request) -> Response:
    """Keep what a reviewer did."""
    token, reviewer, desk = await asyncio.to_thread(_who, request)
    await check_change(request, token)
    id = await asyncio.to_thread(_item, request, desk)
    review, seen = _review(await _body(request), id, reviewer, desk)
    if review is None:
        return JSONResponse({"error": GONE, "now": await asyncio.to_thread(desk.view, id, reviewer)}, 409)
    if await add_if_unchanged(desk.store, review, seen, alone=not reviewer.settles) is None:
        return JSONResponse({"error": CHANGED, "now": await asyncio.to_thread(desk.view, id, reviewer)}, 409)
    return JSONResponse({"kept": True, "now": await asyncio.to_thread(desk.view, id, reviewer)})


async def _body(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "This is no JSON.") from error
    if not isinstance(body, dict):
        raise HTTPException(400, "A JSON object is wanted.")
    return body


def _review(body: dict[str, Any], id: str, reviewer: Reviewer, desk: ReviewDesk) -> tuple[Review | None, str | None]:
    """The review in a request, None where it is about a version that is not there; and what its page had shown."""
    action, base, seen = body.get("action"), body.get("base"), body.get("seen")
    comment = body.get("comment") or ""
    texts = isinstance(comment, str) and isinstance(seen, str | None)
    if not texts or not isinstance(base, str) or len(comment) > LONGEST_COMMENT:
        raise HTTPException(400, "The request is not as our page sends it.")
    states, state = desk.states(id), body.get("state")
    settles = action == "settle"
    if action not in ("accept", "save", "reject", "comment", "settle") or (settles and not reviewer.settles):
        raise HTTPException(403, "You cannot do this with your link.")
    if action == "comment":
        if not comment.strip():
            raise HTTPException(422, "The comment says nothing.")
        return Review(desk.name, id, reviewer.name, "comment", None, None, comment), seen
    if base == REJECTED and settles:
        return Review(desk.name, id, reviewer.name, "settle", None, None, comment or None), seen
    if base not in states:
        return None, seen
    change: dict[str, Any] = {}
    if action == "save" or (settles and state is not None):
        if not isinstance(state, dict):
            raise HTTPException(400, "The request is not as our page sends it.")
        if why := misfit(states[base], state, desk.rubric):
            raise HTTPException(422, f"This cannot be saved: {why}")
        word, change = difference(states[base], state)
        if not settles:
            action = word if change else "accept"
        elif word == "add":
            change = {name: state[name] for name in change}
    return Review(desk.name, id, reviewer.name, str(action), base, change or None, comment or None), seen


def picture(request: Request) -> Response:
    """A picture that belongs to an item."""
    _, _, desk = _who(request)
    id, sha256 = _item(request, desk), request.path_params["sha256"]
    if sha256 not in desk.pictures(id):
        raise HTTPException(404)
    try:
        found = desk.store.blobs.get(sha256)
        kind = WEB_FORMATS.get(inspect(found).format, "application/octet-stream")
    except (LostImage, BadImage) as error:
        raise HTTPException(404, "The picture is no longer in the store.") from error
    return Response(found, media_type=kind, headers={"Cache-Control": "private, max-age=3600"})


def drawing(request: Request) -> Response:
    """A drawing that belongs to an item, as SVG that is safe."""
    _, _, desk = _who(request)
    svg = desk.drawing(_item(request, desk), request.path_params["field"])
    if svg is None:
        raise HTTPException(404)
    try:
        return Response(clean(svg), media_type="image/svg+xml")
    except BadSvg as error:
        raise HTTPException(404, "The drawing cannot be shown.") from error
