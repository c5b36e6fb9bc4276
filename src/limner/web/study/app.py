"""The study's application: consent, places, pictures, answers; the panel's link; the admin page."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ...core.errors import LostImage, UsageError
from ...core.images import BadImage
from ...core.redaction import csrf_of, same, token_hash
from ...store import Store, now
from ...study.answers import Click, save_clicks, stored_click
from ...study.new import CONSENT
from ...study.open import OpenStudy, open_study, places_of
from ...study.progress import progress_of
from ...study.records import CLOSED, IMPORTED, OPEN, StudyRater, set_status, status_of
from ..base import Pages, make_app
from ..limits import WebLimits
from ..security import check_change
from .pictures import ShownPictures
from .views import place_view, reference_of, take_seat
from .visitors import agree, find_rater, join

HERE = Path(__file__).parent
MOST = 200
"""So many answers may come at once: those that waited for the network."""
KEEP = "private, max-age=86400, immutable"
"""ShownPictures may be kept by the rater's own browser: their names are used once."""


class StudyPages:
    """The endpoints of one study."""

    def __init__(self, study: OpenStudy, pages: Pages) -> None:
        self._study, self._pages, self._store = study, pages, study.store
        self._pictures = ShownPictures(study.store.blobs.get, study.design.show.side)

    @property
    def routes(self) -> list[Route]:
        """What the application answers."""
        return [
            Route("/r/{token}", self.begin),
            Route("/r/{token}/consent", self.consent, methods=["POST"]),
            Route("/r/{token}/answers", self.answers, methods=["POST"]),
            Route("/r/{token}/end", self.end),
            Route("/r/{token}/{n:int}", self.place),
            Route("/r/{token}/{n:int}/reference.jpg", self.reference),
            Route("/r/{token}/image/{name}.jpg", self.image),
            Route("/join/{token}", self.joined),
            Route("/admin/{token}", self.admin),
            Route("/admin/{token}/{word}", self.changed, methods=["POST"]),
        ]

    def _rater(self, request: Request) -> tuple[str, StudyRater]:
        token = request.path_params["token"]
        return token, find_rater(self._store, self._study.name, token)

    @property
    def _closed(self) -> bool:
        return status_of(self._store, self._study.name) == CLOSED

    def _common(self, token: str, title: str) -> dict[str, Any]:
        return {"title": title, "base": f"/r/{token}", "csrf": csrf_of(token), "now": now()}

    def begin(self, request: Request) -> Response:
        """Leads to consent, to the first open place, or to the end."""
        token, rater = self._rater(request)
        if self._closed:
            return self._pages.response("closed.html", 200, **self._common(token, "This study is closed"))
        if "consent" not in rater.body:
            text = self._study.design.consent or CONSENT
            words = self._study.design.instructions
            common = self._common(token, "Before you begin")
            return self._pages.response("consent.html", consent=text, instructions=words, **common)
        found = take_seat(self._study, rater).first_open
        return RedirectResponse(f"/r/{token}/{found}" if found else f"/r/{token}/end", 303)

    async def consent(self, request: Request) -> Response:
        """Keeps the consent."""
        token, rater = await asyncio.to_thread(self._rater, request)
        await check_change(request, token)
        await asyncio.to_thread(agree, self._store, rater)
        return RedirectResponse(f"/r/{token}", 303)

    def place(self, request: Request) -> Response:
        """One place with its form."""
        token, rater = self._rater(request)
        if "consent" not in rater.body or self._closed:
            return RedirectResponse(f"/r/{token}", 303)
        seat, n = take_seat(self._study, rater), request.path_params["n"]
        if not 1 <= n <= len(seat.places):
            raise HTTPException(404)
        found = place_view(self._study, seat, n)
        after = next((m for m, done in enumerate(seat.done, 1) if m > n and not done), None)
        return self._pages.response("place.html", **found, after=after, **self._common(token, f"{n} of {found['of']}"))

    def end(self, request: Request) -> Response:
        """Thanks, and the way back to the panel; with what is still open."""
        token, rater = self._rater(request)
        seat = take_seat(self._study, rater)
        completion = self._study.study.body.get("completion") if seat.first_open is None else None
        return self._pages.response(
            "end.html", open=seat.first_open, left=seat.done.count(False), completion=completion,
            **self._common(token, "Thank you"),
        )  # fmt: skip

    async def image(self, request: Request) -> Response:
        """A picture by the name that this rater alone has for it."""
        _, rater = await asyncio.to_thread(self._rater, request)
        name = request.path_params["name"]
        for place in places_of(rater):
            if name in place.names:
                index = place.order[place.names.index(name)]
                return await self._picture(self._study.image(self._study.items[place.item].drawings[index]))
        raise HTTPException(404)

    async def reference(self, request: Request) -> Response:
        """The reference of a place's question, where the design shows it."""
        _, rater = await asyncio.to_thread(self._rater, request)
        places, n = places_of(rater), request.path_params["n"]
        if not 1 <= n <= len(places) or places[n - 1].check is not None:
            raise HTTPException(404)
        return await self._picture(
            reference_of(self._study, self._study.question(self._study.items[places[n - 1].item]))
        )

    async def _picture(self, sha256: str | None) -> Response:
        if sha256 is None:
            raise HTTPException(404)
        try:
            data = await self._pictures.get(sha256)
        except (LostImage, BadImage) as error:
            raise HTTPException(404, "This picture cannot be shown. Please skip it and say so.") from error
        return Response(data, media_type="image/jpeg", headers={"Cache-Control": KEEP})

    async def answers(self, request: Request) -> Response:
        """Keeps answers; what is told as saved is committed, and sent again it changes nothing."""
        token = request.path_params["token"]
        await check_change(request, token)
        try:
            given = json.loads(await request.body())["answers"]
            assert isinstance(given, list)
        except (ValueError, KeyError, TypeError, AssertionError, RecursionError):
            return JSONResponse({"error": "answers are wanted"}, 400)
        if len(given) > MOST:
            return JSONResponse({"error": f"at most {MOST} answers at once"}, 413)

        def look() -> tuple[StudyRater, bool]:
            return self._rater(request)[1], self._closed

        rater, closed = await asyncio.to_thread(look)
        if closed or "consent" not in rater.body:
            return JSONResponse({"error": "This study is closed." if closed else "There is no consent yet."}, 409)
        saved, refused = await self._store.awrite(lambda connection: self._save(connection, rater, given))
        return JSONResponse({"saved": saved, "refused": refused})

    def _save(self, connection: Any, rater: StudyRater, given: list[Any]) -> tuple[list[Any], list[Any]]:
        places, saved, refused = places_of(rater), list[Any](), list[Any]()
        for one in given:
            id = str(one.get("id", ""))[:60] if isinstance(one, dict) else ""
            try:
                n, click = _click(one)
                if not 1 <= n <= len(places):
                    raise ValueError("there is no such place")
                place = places[n - 1]
                found = stored_click(place, self._study.form(place), click)
                saved.append({"id": id, "n": n, "done": save_clicks(connection, self._study, rater, place, [found])})
            except (ValueError, TypeError) as error:
                refused.append({"id": id, "why": str(error)[:200]})
        return saved, refused

    async def joined(self, request: Request) -> Response:
        """The panel's link: leads to a place of one's own."""
        if not same(token_hash(request.path_params["token"]), self._study.study.body.get("join", "")):
            raise HTTPException(404)
        token = await asyncio.to_thread(join, self._store, self._study.name, dict(request.query_params))
        return RedirectResponse(f"/r/{token}", 303)

    def _check_admin(self, request: Request) -> str:
        token: str = request.path_params["token"]
        if not same(token_hash(token), self._study.study.body.get("admin", "")):
            raise HTTPException(404)
        return token

    def admin(self, request: Request) -> Response:
        """Progress, agreement so far, open or closed."""
        token, status = self._check_admin(request), status_of(self._store, self._study.name)
        return self._pages.response(
            "admin.html", title=f"Study {self._study.name}", base=f"/admin/{token}", csrf=csrf_of(token),
            study=self._study, now=status, progress=progress_of(self._study),
        )  # fmt: skip

    async def changed(self, request: Request) -> Response:
        """Closes the study, or opens it again."""
        token, word = self._check_admin(request), request.path_params["word"]
        await check_change(request, token)
        if word not in ("close", "open"):
            raise HTTPException(404)
        await asyncio.to_thread(set_status, self._store, self._study.name, CLOSED if word == "close" else OPEN)
        return RedirectResponse(f"/admin/{token}", 303)


def _click(given: Any) -> tuple[int, Click]:
    """An answer as a page sends it: the place's number and the click.

    Raises:
        ValueError: It is none.
    """
    if not isinstance(given, dict) or type(given.get("n")) is not int or not isinstance(given.get("field"), str):
        raise ValueError("an answer has a place, a field and a value")
    reason, numbers = given.get("reason"), []
    for name in ("seconds", "at"):
        number = given.get(name)
        fits = isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
        numbers.append(min(max(0.0, float(number or 0)), 1e10) if fits else None)
    seconds, at = numbers
    words = reason if isinstance(reason, str) else None
    return given["n"], Click(given["field"][:200], given.get("value"), words, seconds, now() if at is None else at)


def study_app(store: Store, name: str, limits: WebLimits | None = None) -> Starlette:
    """The application of a study.

    Raises:
        StoreError: There is no such study.
        UsageError: Its people rated elsewhere.
    """
    pages, opened = Pages(HERE / "templates"), open_study(store, name)
    if opened.study.status == IMPORTED:
        raise UsageError(f"the people of the study {name} rated elsewhere: there is no page to serve")
    found = StudyPages(opened, pages)
    return make_app(found.routes, pages=pages, static={"study": HERE / "static"}, limits=limits)
