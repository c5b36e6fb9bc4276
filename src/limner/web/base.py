"""The one base of our servers: an application with limits, security headers, static files and pages for errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from ..core.errors import LimnerError
from .limits import Limited, WebLimits
from .security import HEADERS, Secured

HERE = Path(__file__).parent
STATIC = HERE / "static"
TEMPLATES = HERE / "templates"


class Pages:
    """Renders templates; whatever is put into one is escaped."""

    def __init__(self, *folders: Path) -> None:
        loader = FileSystemLoader([*folders, TEMPLATES])
        self._found = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)

    def response(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """The page of a template."""
        return HTMLResponse(self._found.get_template(template).render(**values), status)


def make_app(
    routes: Sequence[BaseRoute],
    *,
    pages: Pages | None = None,
    static: Mapping[str, Path] | None = None,
    limits: WebLimits | None = None,
    state: Mapping[str, Any] | None = None,
) -> Starlette:
    """An application of ours.

    Args:
        routes: What it answers.
        pages: Its templates; `base.html` and `error.html` are always there.
        static: Further folders of static files, by the name below ``/static/``; ``/static/base/`` is always there.
        limits: What one client may do.
        state: What its endpoints find under `request.app.state`.
    """
    shown = pages or Pages()

    def told(request: Request, status: int, detail: str) -> Response:
        if "application/json" in request.headers.get("accept", "") or request.method not in ("GET", "HEAD", "POST"):
            return JSONResponse({"error": detail}, status)
        return shown.response("error.html", status, title=_phrase(status), detail=detail)

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        detail = error.detail if error.detail != _phrase(error.status_code) else _usual(error.status_code)
        return told(request, error.status_code, detail)

    async def broken(request: Request, error: Exception) -> Response:
        # What went wrong may hold what a visitor must not see: it goes to the log alone.
        answer = told(request, 500, "Something went wrong here. What you answered before is kept. Please try again.")
        answer.headers.update(HEADERS)  # It is made outside of `Secured`.
        return answer

    async def wrong(request: Request, error: Exception) -> Response:
        return told(request, 503, "The store cannot be used just now. What you answered before is kept.")

    folders = {"base": STATIC, **(static or {})}
    mounts = [Mount(f"/static/{name}", StaticFiles(directory=folder)) for name, folder in folders.items()]
    app = Starlette(
        routes=[*routes, *mounts],
        middleware=[Middleware(Secured), Middleware(Limited, limits=limits)],
        exception_handlers={HTTPException: refused, LimnerError: wrong, Exception: broken},
    )
    for name, value in {**(state or {}), "pages": shown}.items():
        setattr(app.state, name, value)
    return app


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase


def _usual(status: int) -> str:
    """What is said of a status where nobody said more."""
    return {
        404: "There is no such page. Check that you have the whole link.",
        405: "This cannot be done with this page.",
    }.get(status, _phrase(status))
