"""The web pages of a study: the raters' forms and the admin's overview."""

from __future__ import annotations

import asyncio
import json
import math
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ..core.errors import LostImage, UsageError
from ..core.exam import Question
from ..core.images import BadImage
from ..core.redaction import csrf_token, new_token, secrets_equal, sign, token_hash
from ..exams.views import view
from ..serve.base import Pages, WebLimits, check_change, make_app
from ..store import Store, now
from ..store.schema import study_raters
from .answers import Click, is_done, save_clicks, shown_value, stored_click
from .design import SKIP, AnswerField
from .new import CONSENT
from .open import OpenStudy, normal_picture, open_study, places_of, shown_inputs
from .progress import progress_of
from .records import (
    CLOSED,
    IMPORTED,
    OPEN,
    StudyAnswer,
    StudyRater,
    load_answers,
    load_raters,
    load_rows,
    set_status,
    status_of,
)
from .sampling import StudyPlace

HERE = Path(__file__).parent
MAX_ANSWERS = 200
"""The most answers in one request; a browser queues answers while it is offline."""
CACHE_CONTROL = "private, max-age=86400, immutable"
"""The header that lets a rater's browser cache pictures; their names are unique."""


class StudyPages:
    """The endpoints of one study."""

    def __init__(self, study: OpenStudy, pages: Pages) -> None:
        self._study, self._pages, self._store = study, pages, study.store
        self._makers = ThreadPoolExecutor(MAKER_THREADS, "limner-pictures", _lower_priority)
        self._make_picture = lru_cache(MAX_CACHED_PICTURES)(self._prepare)

    @property
    def routes(self) -> list[Route]:
        """The routes of the application."""
        return [
            Route("/r/{token}", self.begin),
            Route("/r/{token}/consent", self.consent, methods=["POST"]),
            Route("/r/{token}/answers", self.answers, methods=["POST"]),
            Route("/r/{token}/end", self.end),
            Route("/r/{token}/{n:int}", self.place),
            Route("/r/{token}/{n:int}/reference.jpg", self.reference),
            Route("/r/{token}/{n:int}/input-{number:int}.jpg", self.input),
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
        return {"title": title, "base": f"/r/{token}", "csrf": csrf_token(token), "now": now()}

    def begin(self, request: Request) -> Response:
        """Show the consent form or that the study is closed; otherwise redirect to the first open place or the end."""
        token, rater = self._rater(request)
        if self._closed:
            return self._pages.response("closed.html", 200, **self._common(token, "This study is closed"))
        if "consent" not in rater.body:
            text = self._study.design.consent or CONSENT
            words = self._study.design.instructions
            common = self._common(token, "Before you begin")
            return self._pages.response("consent.html", consent=text, instructions=words, **common)
        first_open = load_seat(self._study, rater).first_open
        return RedirectResponse(f"/r/{token}/{first_open}" if first_open else f"/r/{token}/end", 303)

    async def consent(self, request: Request) -> Response:
        """Store the rater's consent."""
        token, rater = await asyncio.to_thread(self._rater, request)
        await check_change(request, token)
        await asyncio.to_thread(save_consent, self._store, rater)
        return RedirectResponse(f"/r/{token}", 303)

    def place(self, request: Request) -> Response:
        """Show one place with its form."""
        token, rater = self._rater(request)
        if "consent" not in rater.body or self._closed:
            return RedirectResponse(f"/r/{token}", 303)
        seat, n = load_seat(self._study, rater), request.path_params["n"]
        if not 1 <= n <= len(seat.places):
            raise HTTPException(404)
        view = place_view(self._study, seat, n)
        return self._pages.response("place.html", **view, **self._common(token, f"{n} of {view['of']}"))

    def end(self, request: Request) -> Response:
        """Thank the rater and link back to the panel, or show how many places are still open."""
        token, rater = self._rater(request)
        seat = load_seat(self._study, rater)
        completion = self._study.study.body.get("completion") if seat.first_open is None else None
        return self._pages.response(
            "end.html", open=seat.first_open, left=seat.done.count(False), completion=completion,
            **self._common(token, "Thank you"),
        )  # fmt: skip

    async def image(self, request: Request) -> Response:
        """Return a picture by its name, which is different for each rater."""
        _, rater = await asyncio.to_thread(self._rater, request)
        name = request.path_params["name"]
        for place in places_of(rater):
            if name in place.names:
                index = place.order[place.names.index(name)]
                return await self._picture(self._study.image(self._study.items[place.item].drawings[index]))
        raise HTTPException(404)

    async def reference(self, request: Request) -> Response:
        """Return the reference of a place's question, if the design shows it."""
        return await self._picture(reference_of(self._study, await self._question(request)))

    async def input(self, request: Request) -> Response:
        """Return one of the pictures that came with a place's question, if the design shows them."""
        inputs = shown_inputs(self._study, await self._question(request))
        number = request.path_params["number"]
        return await self._picture(inputs[number - 1] if 1 <= number <= len(inputs) else None)

    async def _question(self, request: Request) -> Question[Any]:
        """Return the question of the place in a request."""
        _, rater = await asyncio.to_thread(self._rater, request)
        places, n = places_of(rater), request.path_params["n"]
        if not 1 <= n <= len(places) or places[n - 1].check is not None:
            raise HTTPException(404)
        return self._study.question(self._study.items[places[n - 1].item])

    def _prepare(self, sha256: str) -> bytes:
        return normal_picture(self._store.blobs.get(sha256), self._study.design.show.side)

    async def _picture(self, sha256: str | None) -> Response:
        if sha256 is None:
            raise HTTPException(404)
        try:
            data = await asyncio.get_running_loop().run_in_executor(self._makers, self._make_picture, sha256)
        except (LostImage, BadImage) as error:
            raise HTTPException(
                404, "This picture cannot be shown. Please skip it and give that as the reason."
            ) from error
        return Response(data, media_type="image/jpeg", headers={"Cache-Control": CACHE_CONTROL})

    async def answers(self, request: Request) -> Response:
        """Store answers; those reported as saved are committed, and sending them again changes nothing."""
        token = request.path_params["token"]
        await check_change(request, token)
        try:
            given = json.loads(await request.body())["answers"]
            assert isinstance(given, list)
        except (ValueError, KeyError, TypeError, AssertionError, RecursionError):
            return JSONResponse({"error": "the request has no list of answers"}, 400)
        if len(given) > MAX_ANSWERS:
            return JSONResponse({"error": f"at most {MAX_ANSWERS} answers at once"}, 413)

        def look() -> tuple[StudyRater, bool]:
            return self._rater(request)[1], self._closed

        rater, closed = await asyncio.to_thread(look)
        if closed or "consent" not in rater.body:
            error = "This study is closed." if closed else "Please give your consent first."
            return JSONResponse({"error": error}, 409)
        saved, refused = await self._store.awrite(lambda connection: self._save(connection, rater, given))
        return JSONResponse({"saved": saved, "refused": refused})

    def _save(self, connection: Any, rater: StudyRater, given: list[Any]) -> tuple[list[Any], list[Any]]:
        places, saved, refused = places_of(rater), list[Any](), list[Any]()
        for answer in given:
            id = str(answer.get("id", ""))[:60] if isinstance(answer, dict) else ""
            try:
                n, click = _parse_click(answer)
                if not 1 <= n <= len(places):
                    raise ValueError(f"there is no place {n}")
                place = places[n - 1]
                checked = stored_click(place, self._study.form(place), click)
                saved.append({"id": id, "n": n, "done": save_clicks(connection, self._study, rater, place, [checked])})
            except (ValueError, TypeError) as error:
                refused.append({"id": id, "why": str(error)[:200]})
        return saved, refused

    async def joined(self, request: Request) -> Response:
        """Redirect from the panel's link to the visitor's personal link."""
        if not secrets_equal(token_hash(request.path_params["token"]), self._study.study.body.get("join", "")):
            raise HTTPException(404)
        link, given = request.path_params["token"], dict(request.query_params)
        signature = sign(link, given.get(PANEL_ID, ""))
        known = secrets_equal(signature, request.cookies.get(PANEL_COOKIE, ""))
        token = await asyncio.to_thread(join, self._store, self._study.name, given, known=known)
        response = RedirectResponse(f"/r/{token}", 303)
        secure = request.url.scheme == "https"
        response.set_cookie(PANEL_COOKIE, signature, path=f"/join/{link}", httponly=True, secure=secure, samesite="lax")
        return response

    def _check_admin(self, request: Request) -> str:
        token: str = request.path_params["token"]
        if not secrets_equal(token_hash(token), self._study.study.body.get("admin", "")):
            raise HTTPException(404)
        return token

    def admin(self, request: Request) -> Response:
        """Show progress, agreement so far, and whether the study is open."""
        token, status = self._check_admin(request), status_of(self._store, self._study.name)
        return self._pages.response(
            "admin.html", title=f"Study {self._study.name}", base=f"/admin/{token}", csrf=csrf_token(token),
            study=self._study, now=status, progress=progress_of(self._study),
        )  # fmt: skip

    async def changed(self, request: Request) -> Response:
        """Close the study, or open it again."""
        token, word = self._check_admin(request), request.path_params["word"]
        await check_change(request, token)
        if word not in ("close", "open"):
            raise HTTPException(404)
        await asyncio.to_thread(set_status, self._store, self._study.name, CLOSED if word == "close" else OPEN)
        return RedirectResponse(f"/admin/{token}", 303)


def _parse_click(given: Any) -> tuple[int, Click]:
    """Parse an answer sent by a page into the number of the place and the click.

    Raises:
        ValueError: It is not an answer.
    """
    if not isinstance(given, dict) or type(given.get("n")) is not int or not isinstance(given.get("field"), str):
        raise ValueError("an answer needs a place, a field and a value")
    reason, numbers = given.get("reason"), []
    for name in ("seconds", "at"):
        number = given.get(name)
        fits = isinstance(number, int | float) and not isinstance(number, bool) and abs(number) < math.inf
        numbers.append(float(min(max(0, number or 0), 10**10)) if fits else None)
    seconds, at = numbers
    words = reason if isinstance(reason, str) else None
    return given["n"], Click(given["field"][:200], given.get("value"), words, seconds, now() if at is None else at)


def study_app(store: Store, name: str, limits: WebLimits | None = None) -> Starlette:
    """Return the web application of a study.

    Raises:
        StoreError: There is no such study.
        UsageError: The study was imported.
    """
    pages, opened = Pages(HERE / "templates"), open_study(store, name)
    if opened.study.status == IMPORTED:
        raise UsageError(f"the study {name} was imported, so it has no page to serve")
    endpoints = StudyPages(opened, pages)
    return make_app(endpoints.routes, pages=pages, static={"study": HERE / "static"}, limits=limits)


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
KEY_FOR_TEN = "t"
"""The keyboard key for the answer 10."""


@dataclass(frozen=True)
class FieldView:
    """A field as the page shows it, with its answer and the keyboard key for each option."""

    field: AnswerField
    label: str
    value: Any
    options: tuple[tuple[int | str, str, str], ...]
    """The value, label and key of each option."""
    head: str = ""


@dataclass(frozen=True)
class Seat:
    """A rater with all places and the answers given so far."""

    rater: StudyRater
    places: tuple[StudyPlace, ...]
    answers: Mapping[tuple[int, int], Mapping[str, StudyAnswer]]
    done: tuple[bool, ...]

    @property
    def first_open(self) -> int | None:
        """The number of the first unfinished place, counted from 1; None if all are done."""
        return next((n for n, done in enumerate(self.done, 1) if not done), None)


def load_seat(study: OpenStudy, rater: StudyRater) -> Seat:
    """Load a rater's places with all answers so far."""
    answers: dict[tuple[int, int], dict[str, StudyAnswer]] = {}
    for answer in load_answers(study.store, study.name, rater.rater):
        answers.setdefault((answer.item, answer.repeat), {})[answer.field] = answer
    places = tuple(places_of(rater))
    done = tuple(is_done(study.form(place), answers.get((place.item, place.repeat), {})) for place in places)
    return Seat(rater, places, answers, done)


def place_view(study: OpenStudy, seat: Seat, n: int) -> dict[str, Any]:
    """Return the values for the template of a place."""
    place, design = seat.places[n - 1], study.design
    given = seat.answers.get((place.item, place.repeat), {})
    shown = dict(shown_value(place, name, answer.value) for name, answer in given.items() if answer.value is not None)
    skipped = given.get(SKIP)
    question = None if place.check is not None else study.question(study.items[place.item])
    return {
        "n": n,
        "of": len(seat.places),
        "done": sum(seat.done),
        "unit": "check" if place.check is not None else design.unit,
        "pictures": [
            {"name": name, "label": LETTERS[position] if len(place.names) > 1 else ""}
            for position, name in enumerate(place.names)
        ],
        "prompt": question.prompt if question is not None and design.show.prompt else None,
        "inputs": len(shown_inputs(study, question)) if question is not None else 0,
        "reference": question is not None and reference_of(study, question) is not None,
        "graph": view(study.kind, question)["graph"] if question is not None and design.show.graph else None,
        "fields": _fields(study.form(place), shown),
        "skip_reason": skipped.reason if skipped is not None and skipped.value is not None else None,
        "last": n == len(seat.places),
        "instructions": design.instructions,
    }


def reference_of(study: OpenStudy, question: Question[Any]) -> str | None:
    """Return the hash of the question's reference image, if raters may see it."""
    if not study.design.show.reference or question.reference is None:
        return None
    return question.reference.sha256


def _fields(form: Sequence[AnswerField], shown: Mapping[str, Any]) -> list[FieldView]:
    views, group = [], None
    for place, field in enumerate(form):
        label = f"Figure {LETTERS[place]}" if field.kind == "rank" else field.text
        head = field.lead or (field.text if field.kind in ("choice", "rank") and place == 0 else "")
        # A blank heading makes the page draw a line between groups of criteria.
        parted = field.group != group and field.group.count("/") > 0
        group = field.group
        options = tuple((value, _word(field, value, word), key_of(field, value)) for value, word in field.values)
        views.append(FieldView(field, label, shown.get(field.name), options, head or (" " if parted else "")))
    return views


def _word(field: AnswerField, value: int | str, word: str) -> str:
    if field.kind == "choice":
        return {"first": "A is better", "second": "B is better", "tie": "They are equal"}[str(value)]
    return word


def key_of(field: AnswerField, value: int | str) -> str:
    """Return the keyboard key for this answer; empty if there is none.

    >>> scale = AnswerField("overall", "scale", "", tuple((n, str(n)) for n in range(1, 11)))
    >>> key_of(scale, 1), key_of(scale, 10), key_of(AnswerField("point/1", "criterion", "", ((1, "yes"),)), 1)
    ('1', 't', 'y')
    """
    if field.kind == "choice":
        return {"first": "a", "second": "b", "tie": "e"}[str(value)]
    if dict(field.values).get(1) == "yes":
        return "y" if value else "n"
    return KEY_FOR_TEN if value == 10 else str(value) if isinstance(value, int) and 0 <= value < 10 else ""


MAX_CACHED_PICTURES = 192
"""The most prepared pictures in the cache."""
MAKER_THREADS = 2
"""The number of threads that prepare pictures."""
MAKER_NICENESS = 10
"""The niceness of threads that prepare pictures: answers must not wait for them."""


def _lower_priority() -> None:
    """Lower this thread's priority, on systems that allow it for a single thread."""
    if sys.platform != "linux":
        return  # Elsewhere this would affect the whole process.
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), MAKER_NICENESS)


PANEL_ID = "PROLIFIC_PID"
"""The parameter that identifies a panel's visitor."""
PANEL_PARAMETERS = (PANEL_ID, "STUDY_ID", "SESSION_ID")
"""The parameters that Prolific adds to a link."""
MAX_LINKS = 8
"""The most earlier links of a panel's visitor that stay valid; each visit through the panel makes a new one."""


def find_rater(store: Store, study: str, token: str) -> StudyRater:
    """Return the rater to whom a token belongs.

    Raises:
        HTTPException: 404 if there is none.
    """
    hash = token_hash(token)
    with store.reading() as connection:
        rows = load_rows(connection, StudyRater, study_raters.c.study == study, study_raters.c.token == hash)
    if rows:
        return rows[0]
    for rater in load_raters(store, study):
        if any(secrets_equal(hash, other) for other in rater.body.get("tokens", [])):
            return rater
    raise HTTPException(404)


PANEL_COOKIE = "limner-panel"
"""The cookie with the signature of a visitor's id, without which nobody gets the place of another visitor."""


def join(store: Store, study: str, given: Mapping[str, str], *, known: bool) -> str:
    """Give a panel's visitor a free place, or the one they already have; return a new token for it.

    Places of raters who were invited by name are never free.

    Args:
        store: The store.
        study: The study's name.
        given: The parameters of the link; anybody can change them.
        known: Whether the browser has the signature of this id from an earlier visit.

    Raises:
        HTTPException: The visitor has no id (400), the id is another visitor's (403), or no place is free (409).
    """
    panel = {name: given[name][:200] for name in PANEL_PARAMETERS if given.get(name)}
    if PANEL_ID not in panel:
        raise HTTPException(400, f"Please open this link from the panel's site: {PANEL_ID} is missing from it.")
    token = new_token()

    def operation(connection: sa.Connection) -> int:
        raters = load_rows(connection, StudyRater, study_raters.c.study == study)
        returning = [rater for rater in raters if rater.body.get("panel", {}).get(PANEL_ID) == panel[PANEL_ID]]
        taken = ("panel", "consent")
        free = [rater for rater in raters if not rater.body.get("named") and not any(map(rater.body.get, taken))]
        if returning and not known:
            return 403
        if not returning and not free:
            return 409
        seat = (returning or free)[0]
        # Earlier links stay valid, so that a page that is still open elsewhere can send its answers.
        tokens = [*seat.body.get("tokens", []), seat.token][-MAX_LINKS:] if returning else []
        body = {**seat.body, "panel": panel, "tokens": tokens}
        changed = replace(seat, token=token_hash(token), body=body, updated=now())
        store.upsert(connection, study_raters, dict(changed.__dict__))
        return 200

    problems = {
        403: "This id began in another browser. Please continue there, or ask the researcher for a new link.",
        409: "All places in this study are taken. Thank you for your interest.",
    }
    if (status := store.write(operation)) in problems:
        raise HTTPException(status, problems[status])
    return token


def save_consent(store: Store, rater: StudyRater) -> None:
    """Store that a rater has consented, with the time."""
    row: dict[str, Any] = {**rater.__dict__, "body": {**rater.body, "consent": now()}, "updated": now()}
    store.write(lambda connection: store.upsert(connection, study_raters, row))
