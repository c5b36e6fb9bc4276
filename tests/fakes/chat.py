"""A fake of an OpenAI-compatible chat-completions service, for loopback only.

Run it with `python -m tests.fakes.chat --port 0`; it prints `{"port": N}` when it is ready.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import signal
import sys
from typing import Any

from aiohttp import web

from .checks import authorise, check, decode, shorten
from .executioner import Executioner
from .faults import choose, error
from .plan import Plan
from .refusals import RefusedError
from .replies import Json, Reply, latency, models, reply
from .tally import Run, Tally
from .truth import request_key


class Chat:
    """The service's handlers and everything it remembers."""

    def __init__(self, plan: Plan, keep: int) -> None:
        self.keep = keep
        self.run = Run(plan)
        self.tally = Tally(keep)
        self.executioner = Executioner()

    def app(self) -> web.Application:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self.completions)
        app.router.add_get("/v1/models", self.models)
        app.router.add_post("/control/plan", self.set_plan)
        app.router.add_post("/control/reset", self.reset)
        app.router.add_get("/control/counts", self.counts)
        app.router.add_get("/control/requests", self.requests)
        app.router.add_get("/control/wait", self.wait)
        app.router.add_route("*", "/{rest:.*}", self.nothing)
        return app

    async def completions(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        run, tally, plan = self.run, self.tally, self.run.plan
        body: Any = None
        try:
            authorise(request.headers.get("Authorization"), plan.api_key)
            body = decode(raw)
            ask = check(body, models=plan.models, unsupported=plan.unsupported)
        except RefusedError as refused:
            tally.reject(request_key(body) if body else hashlib.sha256(raw).hexdigest(), shorten(body))
            return _json(refused.body, refused.status)
        key = request_key(body)
        record = tally.enter(key, ask.shown)
        ordinal, attempt = run.number(key)
        fault = choose(plan, key=key, attempt=attempt, ordinal=ordinal, turn=ask.turn)
        outcome = "abandoned"
        try:
            if plan.kill and plan.kill.at_request == ordinal:
                self.executioner.strike(plan.kill, tally)
            if tally.in_flight >= plan.hold:
                run.open.set()
            await run.open.wait()
            if (seconds := latency(plan, ordinal)) > 0:
                await asyncio.sleep(seconds)
            await self.executioner.finished()
            if fault in ("drop", "hang"):
                outcome = fault
                return await _vanish(request, forever=fault == "hang")
            answer = reply(plan, ask, fault, f"{key[:16]}{ordinal:08d}")
            outcome = answer.outcome
            return _send(answer, f"req_{key[:16]}{ordinal:08d}")
        finally:
            tally.leave(record, outcome)

    async def models(self, request: web.Request) -> web.Response:
        try:
            authorise(request.headers.get("Authorization"), self.run.plan.api_key)
        except RefusedError as refused:
            return _json(refused.body, refused.status)
        return _json(models(self.run.plan.models))

    async def set_plan(self, request: web.Request) -> web.Response:
        try:
            plan = Plan.read(await request.json())
        except ValueError as wrong:
            return _json({"error": str(wrong)}, 400)
        self.run.open.set()
        self.run = Run(plan)
        return _json({})

    async def reset(self, request: web.Request) -> web.Response:
        self.run.open.set()
        self.run, self.tally = Run(Plan()), Tally(self.keep)
        return _json({})

    async def counts(self, request: web.Request) -> web.Response:
        # So that who sees a process killed sees its requests abandoned.
        await self.executioner.finished()
        return _json(self.tally.counts())

    async def requests(self, request: web.Request) -> web.Response:
        last = int(request.query.get("last", self.keep))
        return _json({"requests": list(self.tally.records)[-last:]})

    async def wait(self, request: web.Request) -> web.Response:
        await self.tally.wait_in_flight(int(request.query["in_flight"]))
        return _json({})

    async def nothing(self, request: web.Request) -> web.Response:
        return _json(error(f"Invalid URL ({request.method} {request.path})", "invalid_request_error"), 404)


async def _vanish(request: web.Request, *, forever: bool) -> web.StreamResponse:
    if forever:
        await asyncio.Event().wait()
    if request.transport is not None:
        request.transport.close()
    return web.Response()


def _send(answer: Reply, request_id: str) -> web.Response:
    headers = {"x-request-id": request_id}
    if answer.retry_after is not None:
        headers["Retry-After"] = answer.retry_after
    if isinstance(answer.body, str):
        return web.Response(text=answer.body, status=answer.status, content_type="text/html", headers=headers)
    return _json(answer.body, answer.status, headers)


def _json(body: Json, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    data = json.dumps(body).encode()
    return web.Response(body=data, status=status, content_type="application/json", headers=headers)


async def serve(port: int, plan: Plan, keep: int, until_stdin_closes: bool) -> None:
    """Serves until SIGTERM, SIGINT or, where asked, the end of standard input."""
    done, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, done.set)
    if until_stdin_closes:
        loop.add_reader(sys.stdin.fileno(), done.set)
    # handler_cancellation makes a vanished client visible at once, not only when a reply cannot be written.
    runner = web.AppRunner(
        Chat(plan, keep).app(), access_log=None, handler_cancellation=True, shutdown_timeout=0
    )
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    print(json.dumps({"port": runner.addresses[0][1]}), flush=True)
    await done.wait()
    await runner.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--plan", type=json.loads, default={}, help="the first plan, as JSON")
    parser.add_argument("--keep", type=int, default=1000, help="how many request bodies to remember")
    parser.add_argument(
        "--until-stdin-closes", action="store_true", help="end with the process that started it"
    )
    args = parser.parse_args()
    asyncio.run(serve(args.port, Plan.read(args.plan), args.keep, args.until_stdin_closes))


if __name__ == "__main__":
    main()
