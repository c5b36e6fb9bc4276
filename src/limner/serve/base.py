"""The base of all web servers: an application with limits, security headers, static files and error pages."""

from __future__ import annotations

import asyncio
import math
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import uvicorn
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..core.errors import LimnerError, UsageError
from ..core.redaction import csrf_token, secrets_equal

HERE = Path(__file__).parent
STATIC = HERE / "static"
TEMPLATES = HERE / "templates"


class Pages:
    """A renderer of templates that escapes every value."""

    def __init__(self, *folders: Path) -> None:
        loader = FileSystemLoader([*folders, TEMPLATES])
        self._found = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)

    def response(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Render a template as a response."""
        return HTMLResponse(self._found.get_template(template).render(**values), status)


def make_app(
    routes: Sequence[BaseRoute],
    *,
    pages: Pages | None = None,
    static: Mapping[str, Path] | None = None,
    limits: WebLimits | None = None,
    state: Mapping[str, Any] | None = None,
) -> Starlette:
    """Return a web application.

    Args:
        routes: The routes.
        pages: The templates; `base.html` and `error.html` are always available.
        static: Further folders of static files, by the name below ``/static/``; ``/static/base/`` is always available.
        limits: The limits of one client.
        state: Values for the endpoints, under `request.app.state`.
    """
    shown = pages or Pages()

    def error_response(request: Request, status: int, detail: str) -> Response:
        if "application/json" in request.headers.get("accept", "") or request.method not in ("GET", "HEAD", "POST"):
            return JSONResponse({"error": detail}, status)
        return shown.response("error.html", status, title=_phrase(status), detail=detail)

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        detail = error.detail if error.detail != _phrase(error.status_code) else _default_detail(error.status_code)
        return error_response(request, error.status_code, detail)

    async def broken(request: Request, error: Exception) -> Response:
        # The error may contain something that a visitor must not see, so it is only logged.
        response = error_response(
            request, 500, "Something went wrong. Your earlier answers are kept. Please try again."
        )
        response.headers.update(HEADERS)  # This response does not pass through `Secured`.
        return response

    async def wrong(request: Request, error: Exception) -> Response:
        return error_response(request, 503, "The store is not available at the moment. Your earlier answers are kept.")

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


def _default_detail(status: int) -> str:
    """Return the default detail of a status."""
    return {
        404: "There is no such page. Check that the link is complete.",
        405: "This page does not support this request.",
    }.get(status, _phrase(status))


MAX_CLIENTS = 10_000
"""The most clients that are remembered; the least recent is forgotten first."""


@dataclass(frozen=True)
class WebLimits:
    """The limits of one client.

    Attributes:
        body: The largest request body, in bytes.
        requests: The most requests of a client at once under one link; this allowance refills in `period` seconds.
        wrong: The most refused requests (404 and the like), refilled in the same way; more are answered with 429, but
            valid links work, since others may share the address.
    """

    body: int = 256 * 1024
    requests: int = 600
    wrong: int = 60
    period: float = 60.0


class TooBig(Exception):
    """A request body over the limit."""


class TooManyWrong(Exception):
    """A refused request after too many others of the same client."""


class Bucket:
    """A token bucket for each client: full at first, refilled evenly."""

    def __init__(self, most: int, period: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._rate, self._clock = float(most), most / period, clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, name: str) -> float:
        """Return the seconds until the next request is allowed; 0 if it already is."""
        level = self._level(name)
        return 0.0 if level >= 1 else (1 - level) / self._rate

    def take(self, name: str) -> None:
        """Count one more request."""
        self._levels[name] = (max(0.0, self._level(name) - 1), self._clock())
        self._levels.move_to_end(name)
        while len(self._levels) > MAX_CLIENTS:
            self._levels.popitem(last=False)

    def _level(self, name: str) -> float:
        level, at = self._levels.get(name, (self._most, self._clock()))
        return min(self._most, level + (self._clock() - at) * self._rate)


class Limited:
    """Middleware that refuses requests that are too big (413) or too frequent (429, with Retry-After)."""

    def __init__(self, app: ASGIApp, limits: WebLimits | None = None) -> None:
        self._app, self._limits = app, limits or WebLimits()
        self._all = Bucket(self._limits.requests, self._limits.period)
        self._wrong = Bucket(self._limits.wrong, self._limits.period)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request within the limits."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client = scope["client"][0] if scope.get("client") else ""
        # Many clients may share an address, so each secret link is counted separately. Invalid links count as wrong.
        place = f"{client} {'/'.join(scope['path'].split('/')[:3])}"
        if wait := self._all.wait(place):
            await too_many(wait)(scope, receive, send)
            return
        self._all.take(place)
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._limits.body:
            await PlainTextResponse("The request is too big.", 413)(scope, receive, send)
            return
        seen, begun = 0, False

        async def bounded() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._limits.body:
                raise TooBig
            return message

        async def counted(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                if message["status"] in (401, 403, 404):
                    if self._wrong.wait(client):
                        raise TooManyWrong
                    self._wrong.take(client)
                begun = True
            await send(message)

        try:
            await self._app(scope, bounded, counted)
        except TooManyWrong:
            await too_many(self._wrong.wait(client))(scope, receive, send)
        except TooBig:
            if not begun:
                await PlainTextResponse("The request is too big.", 413)(scope, receive, send)


def too_many(wait: float) -> Response:
    """Return the response to a request beyond the limits, with the seconds to wait."""
    return PlainTextResponse("Too many requests. Please wait a little.", 429, {"Retry-After": str(int(wait) + 1)})


CSRF = "x-limner-csrf"
"""The header, or form field, with a page's CSRF token."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # The address contains a secret, so it must not be passed on.
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "X-Robots-Tag": "noindex, nofollow",
}
NO_STORE = "no-store"


class Secured:
    """Middleware that adds security headers to every response, and forbids caching by default."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, and add the headers to its response."""

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", NO_STORE)
            await send(message)

        await self._app(scope, receive, secured if scope["type"] == "http" else send)


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a form; if a name occurs several times, the last value counts."""
    return dict(parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True))


async def check_change(request: Request, token: str) -> None:
    """Check that a change comes from a page under this secret link, and not from another site.

    Raises:
        HTTPException: 403; the detail says what to do.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    own = urlsplit(str(request.base_url)).netloc
    foreign = site not in (None, "same-origin", "none") or (
        # Behind a proxy the scheme may differ, but not the host.
        origin not in (None, "null") and urlsplit(origin or "").netloc != request.headers.get("host", own)
    )
    proof = request.headers.get(CSRF)
    if proof is None and request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        proof = (await form_of(request)).get(CSRF, "")
    if foreign or not secrets_equal(proof or "", csrf_token(token)):
        raise HTTPException(403, "This change does not come from this site's own page. Please open your link again.")


def listen(host: str, port: int) -> socket.socket:
    """Return an open socket; port 0 means a free one.

    Raises:
        UsageError: The address cannot be used; says why.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise UsageError(f"--host {host} --port {port}: {error.strerror or error}; choose another port") from error
    return listening


def address_of(listening: socket.socket) -> str:
    """Return the address for a browser on this machine."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(
    app: Starlette,
    host: str = "127.0.0.1",
    port: int = 8100,
    *,
    ready: Callable[[str], None] = lambda address: None,
    behind_proxy: bool = False,
) -> None:
    """Serve until interrupted.

    Args:
        app: The application.
        host: The address to listen on.
        port: The port; 0 for a free one.
        ready: Called with the address once it is open.
        behind_proxy: Whether to trust the proxy directly in front of the server to name the client.
    """
    listening = listen(host, port)
    ready(address_of(listening))
    make_server(app, behind_proxy=behind_proxy).run(sockets=[listening])


def make_server(app: ASGIApp, *, behind_proxy: bool = False) -> uvicorn.Server:
    """Return the server of an application, with limits on its connections; see `TimedProtocol`."""
    config = uvicorn.Config(
        LastHop(app) if behind_proxy else app, log_level="warning", access_log=False, server_header=False,
        proxy_headers=False, http=ProxiedProtocol if behind_proxy else TimedProtocol, timeout_keep_alive=30,
        h11_max_incomplete_event_size=64 * 1024, timeout_graceful_shutdown=5, lifespan="off", ws="none",
    )  # fmt: skip
    return uvicorn.Server(config)


REQUEST_S = 20.0
"""Seconds in which a request, with its header and its body, must arrive."""
STALL_S = 120.0
"""Seconds after which a client that takes nothing of its response is dropped."""
MAX_CONNECTIONS = 1_000
MAX_PER_ADDRESS = 100
"""The most connections of one address; behind a proxy all have the proxy's."""


class TimedProtocol(H11Protocol):
    """HTTP that drops connections whose request does not arrive in time, and idle ones if there are too many."""

    behind_proxy = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to watch a connection; if there are too many, drop the one that has been idle longest."""
        super().connection_made(transport)
        self._idle_since, self._unsent = self.loop.time(), 0
        self._watch()
        rivals: list[Any] = list(self.connections)
        if len(rivals) <= MAX_CONNECTIONS:
            rivals = [] if self.behind_proxy else [other for other in rivals if _address(other) == _address(self)]
            if len(rivals) <= MAX_PER_ADDRESS:
                return
        oldest = min(rivals, key=lambda other: other._idle_since)
        oldest._idle_since = math.inf  # It stays among the connections until the next turn of the loop.
        oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching."""
        super().connection_lost(exc)
        if (timer := getattr(self, "_timer", None)) is not None:
            timer.cancel()

    def _watch(self) -> None:
        at, unsent, cycle = self.loop.time(), self.transport.get_write_buffer_size(), self.cycle
        working = cycle is not None and not cycle.response_complete and not cycle.more_body
        if unsent != self._unsent or (working and not unsent):
            self._idle_since, self._unsent = at, unsent
        elif at - self._idle_since > (STALL_S if unsent else REQUEST_S):
            self.transport.abort()
            return
        self._timer = self.loop.call_later(REQUEST_S / 10, self._watch)


def _address(connection: Any) -> str | None:
    """Return the address of a connection's client."""
    return (getattr(connection, "client", None) or (None,))[0]


class ProxiedProtocol(TimedProtocol):
    """The same behind a proxy, whose own connections are not limited."""

    behind_proxy = True


class LastHop:
    """Middleware that takes the client's address and scheme from a proxy's headers.

    Only the last entry is the proxy's own; a client can send any others.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request as one of the client that the proxy names."""
        if scope["type"] == "http":
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            changes: dict[str, Any] = {}
            if client := headers.get(b"x-forwarded-for", "").rpartition(",")[2].strip():
                changes["client"] = (client, 0)
            if (scheme := headers.get(b"x-forwarded-proto", "").rpartition(",")[2].strip()) in ("http", "https"):
                changes["scheme"] = scheme
            scope = {**scope, **changes}
        await self._app(scope, receive, send)
