"""A fake of Gemini's generateContent with image output, for loopback only.

Run it with `python -m tests.fakes.gemini --port 0`; it prints `{"port": N}` when it is ready.
"""

from __future__ import annotations

from typing import Any

from aiohttp import web

from tests.fakes.gemini_checks import Ask, check
from tests.fakes.gemini_errors import bad_key, refused
from tests.fakes.gemini_replies import GeminiPlan, reply
from tests.fakes.service import Service, main


class Gemini(Service[GeminiPlan]):
    """The service."""

    plans = GeminiPlan

    def routes(self, app: web.Application) -> None:
        app.router.add_post("/v1beta/models/{model}:generateContent", self.generate)

    def admit(self, request: web.Request, plan: GeminiPlan) -> None:
        # Google takes a key in the URL too, where it would end up in logs.
        if request.query:
            raise refused(400, "INVALID_ARGUMENT", f"Unexpected query: {', '.join(request.query)}.")
        given = request.headers.get("x-goog-api-key")
        if plan.api_key is not None and not given:
            message = (
                "Method doesn't allow unregistered callers. Please use API Key or other form of API consumer identity."
            )
            raise refused(403, "PERMISSION_DENIED", message)
        if plan.api_key not in (None, given):
            raise bad_key()

    async def generate(self, request: web.Request) -> web.StreamResponse:
        def read(body: Any, plan: GeminiPlan) -> Ask:
            return check(body, request.match_info["model"], plan.models, plan.unsupported)

        return await self.attend(request, read, reply)


if __name__ == "__main__":
    main(Gemini, __doc__)
