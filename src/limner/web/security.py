"""What every answer of ours carries, and what every change must carry."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..core.redaction import csrf_of, same

CSRF = "x-limner-csrf"
"""The header, and the form's field, with a page's proof."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # The address holds a secret: it goes nowhere else.
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "X-Robots-Tag": "noindex, nofollow",
}
KEEP_NOT = "no-store"


class Secured:
    """Middleware: security headers on every answer; nothing is kept by caches unless the answer says so."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the class."""

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", KEEP_NOT)
            await send(message)

        await self._app(scope, receive, secured if scope["type"] == "http" else send)


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a plain form; the last of a name counts."""
    return dict(parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True))


async def check_change(request: Request, token: str) -> None:
    """Whether a change comes from our own page under this secret link: its proof, and no other site's page.

    Raises:
        HTTPException: 403; says what to do.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    own = urlsplit(str(request.base_url)).netloc
    foreign = site not in (None, "same-origin", "none") or (
        # Behind a proxy the scheme may differ; the host must not.
        origin not in (None, "null") and urlsplit(origin or "").netloc != request.headers.get("host", own)
    )
    proof = request.headers.get(CSRF)
    if proof is None and request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        proof = (await form_of(request)).get(CSRF, "")
    if foreign or not same(proof or "", csrf_of(token)):
        raise HTTPException(403, "This change does not come from a page of ours. Open your link again.")
