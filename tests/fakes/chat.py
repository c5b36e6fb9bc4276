"""A fake of an OpenAI-compatible chat-completions service, for loopback only.

Run it with `python -m tests.fakes.chat --port 0`; it prints `{"port": N}` when it is ready.
"""

from __future__ import annotations

from typing import Any

from aiohttp import web

from tests.fakes.checks import Ask, authorise, check
from tests.fakes.faults import choose
from tests.fakes.plan import Plan
from tests.fakes.refusals import RefusedError
from tests.fakes.replies import models, reply
from tests.fakes.service import Service, main, send_json


class Chat(Service[Plan]):
    """The chat service."""

    plans = Plan

    def routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/chat/completions", self.completions)
        app.router.add_get("/v1/models", self.models)

    async def completions(self, request: web.Request) -> web.StreamResponse:
        return await self.attend(request, check_by_plan, reply, choose)

    async def models(self, request: web.Request) -> web.Response:
        try:
            authorise(request.headers.get("Authorization"), self.run.plan.api_key)
        except RefusedError as refused:
            return send_json(refused.body, refused.status)
        return send_json(models(self.run.plan.models))


def check_by_plan(body: Any, plan: Plan) -> Ask:
    """Reads a decoded body as the plan's models take it."""
    return check(body, models=plan.models, unsupported=plan.unsupported)


if __name__ == "__main__":
    main(Chat, __doc__)
