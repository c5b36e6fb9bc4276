"""A painter behind the fake image service, with a store of its own and nothing to wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from limner.calls import Calls, Fault
from limner.core.settings import Settings
from limner.painters.base import Painting, PaintRequest
from limner.painters.service import ApiPainter
from limner.store import Store
from limner.store.schema import attempts
from tests.fakes.images_client import ImageServer

KEY_VARIABLE = "FAKE_IMAGES_API_KEY"
KEY = "sk-canary-5e5Zq0fR7wLhT2"
PRICES = (5.0, 40.0)
_LOOP = asyncio.Runner()
"""One event loop for all runs: the HTTP client, which takes its time to make, is kept by loop."""


def request(prompt: str, **more: Any) -> PaintRequest:
    return PaintRequest("question", prompt, **more)


class Studio:
    """What it takes to paint: settings, a painter, a store.

    Args:
        kind: The painter's class.
        server: The fake service.
        store: Where calls and images go.
        model: The model, which the painter's target names after ``fake/``.
        options: The painter's options.
        facts: What the settings know of the painter.
        provider: What the settings know of the service, beside its address and its key's name.
    """

    def __init__(
        self,
        kind: type[ApiPainter],
        server: ImageServer,
        store: Store,
        model: str,
        *,
        options: Mapping[str, Any] | None = None,
        facts: Mapping[str, Any] | None = None,
        **provider: Any,
    ) -> None:
        data = {
            "providers": {"fake": {"base_url": server.base_url, "key_env": KEY_VARIABLE, "timeout_s": 20, **provider}},
            "models": {f"fake/{model}": {"input_price": PRICES[0], "output_price": PRICES[1]}},
            "painters": {f"fake/{model}": dict(facts or {})},
        }
        settings = Settings.model_validate(data)
        self.painter = kind("mine", f"fake/{model}", model, options or {}, settings, store.blobs)
        self.server, self.store = server, store

    def paint_all(self, *requests: PaintRequest, tries: int = 3, retry_failed: bool = False) -> list[Painting | Fault]:
        """One run: all requests at once; faults come back in the place of paintings."""

        async def one(request: PaintRequest, calls: Calls) -> Painting | Fault:
            try:
                return await self.painter.paint(request, calls)
            except Fault as fault:
                return fault

        async def run() -> list[Painting | Fault]:
            async with Calls(self.store, tries=tries, retry_failed=retry_failed) as calls:
                calls._wait = lambda _tries: 0.0
                return await asyncio.gather(*(one(request, calls) for request in requests))

        return _LOOP.run(run())

    def paint(self, prompt: str, *, tries: int = 3, retry_failed: bool = False, **more: Any) -> Painting:
        (found,) = self.paint_all(request(prompt, **more), tries=tries, retry_failed=retry_failed)
        assert isinstance(found, Painting), found
        return found

    def fail(self, prompt: str, *, tries: int = 3, retry_failed: bool = False, **more: Any) -> Fault:
        (found,) = self.paint_all(request(prompt, **more), tries=tries, retry_failed=retry_failed)
        assert isinstance(found, Fault), found
        return found

    def attempts(self) -> list[Any]:
        """All attempts on record, oldest first: fault, cost and result."""
        with self.store.reading() as connection:
            columns = attempts.c.fault, attempts.c.detail, attempts.c.cost, attempts.c.result
            return list(connection.execute(sa.select(*columns).order_by(attempts.c.started)))

    def asked(self) -> int:
        """How many requests the service has had."""
        total: int = self.server.counts()["total"]
        return total


FAULTS: dict[str, str] = {
    "http_401": "auth",
    "unverified": "auth",
    "http_404": "setup",
    "http_402": "credits",
    "http_429_quota": "credits",
    "billing": "credits",
    "http_403": "refusal",
    "content_policy": "refusal",
    "moderation_blocked": "refusal",
    "filtered": "refusal",
    "refusal_in_200": "refusal",
    "flagged_in_200": "refusal",
    "user_error": "bad_request",
    "http_429": "rate_limit",
    "http_429_retry_after": "rate_limit",
    "rate_in_200": "rate_limit",
    "http_500": "server",
    "http_502": "server",
    "http_503": "server",
    "error_in_200": "server",
    "word_in_200": "server",
    "malformed_json": "server",
    "html": "server",
    "empty": "server",
    "odd_shape": "server",
    "drop": "network",
    "hang": "timeout",
    "truncated_base64": "image",
    "truncated_image": "image",
    "not_an_image": "image",
}
"""The service's faults that both shapes have, and the kinds they must come out as."""

LINK_FAULTS: dict[str, tuple[str, int]] = {
    "wrong_host": ("image", 0),
    "html_link": ("image", 1),
    "junk_link": ("image", 1),
    "oversize_link": ("image", 1),
    "expired_link": ("missing", 1),
    "moved_link": ("image", 1),
}
"""Faults of links, the kinds they must come out as, and how often the link may have been followed in three tries."""
