"""What every fake service shares: it counts, faults, holds and kills by plan, and is told so over HTTP."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, Self, TypeVar

from aiohttp import web

from tests.fakes.checks import authorise, decode, shorten
from tests.fakes.executioner import Executioner
from tests.fakes.faults import drawn, error
from tests.fakes.plan import BasePlan
from tests.fakes.refusals import RefusedError
from tests.fakes.tally import Run, Tally, Turn
from tests.fakes.truth import draw, request_key

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply ready to send, and what it counts as: "answered" or a kind of fault."""

    outcome: str
    status: int
    body: Json | str
    retry_after: str | None = None
    media: str = "text/html"

    @classmethod
    def listed(cls, faults: Mapping[str, tuple[int, Json | str]], fault: str, plan: BasePlan) -> Self:
        """The reply that a table of faults has for this one."""
        return cls(fault, *faults[fault], str(plan.retry_after) if fault == "http_429_retry_after" else None)


class Shown(Protocol):
    """A checked request: at least what the record shows of its body."""

    @property
    def shown(self) -> Json: ...


P = TypeVar("P", bound=BasePlan)
A = TypeVar("A", bound=Shown)


def by_plan(ask: Shown, plan: BasePlan, turn: Turn) -> str | None:
    """The fault a request meets by the plan's probabilities alone."""
    return drawn(plan, turn)


class Service(ABC, Generic[P]):
    """A service's handlers and everything it remembers. Its own requests go through `attend`."""

    plans: type[P]

    def __init__(self, plan: P, keep: int) -> None:
        self.keep = keep
        self.run = Run(plan)
        self.tally = Tally(keep)
        self.executioner = Executioner()
        self.forget()

    @abstractmethod
    def routes(self, app: web.Application) -> None:
        """Adds what the service itself answers."""

    def admit(self, request: web.Request, plan: P) -> None:
        """Refuses a request without the right key."""
        authorise(request.headers.get("Authorization"), plan.api_key)

    def forget(self) -> None:
        """Called at the start and when everything is reset."""

    def extra_counts(self) -> Json:
        """What the service counts beside its requests."""
        return {}

    def app(self) -> web.Application:
        app = web.Application(client_max_size=2**26)
        self.routes(app)
        app.router.add_post("/control/plan", self.set_plan)
        app.router.add_post("/control/reset", self.reset)
        app.router.add_get("/control/counts", self.counts)
        app.router.add_get("/control/requests", self.requests)
        app.router.add_get("/control/wait", self.wait)
        app.router.add_route("*", "/{rest:.*}", self.nothing)
        return app

    async def attend(
        self,
        request: web.Request,
        check: Callable[[Any, P], A],
        reply: Callable[[A, P, str | None, Turn], Reply],
        choose: Callable[[A, P, Turn], str | None] = by_plan,
        read: Callable[[bytes], Any] = decode,
    ) -> web.StreamResponse:
        """Checks a request, counts it, waits as the plan says, and answers it or lets it down."""
        raw = await request.read()
        plan = self.run.plan
        body: Any = None
        try:
            self.admit(request, plan)
            body = read(raw)
            ask = check(body, plan)
        except RefusedError as refused:
            key = request_key(body) if body else hashlib.sha256(raw).hexdigest()
            return self.reject(key, shorten(body), refused)
        return await self.answer(
            request, request_key(body), ask.shown, partial(choose, ask, plan), partial(reply, ask, plan)
        )

    def reject(self, key: str, shown: Any, refused: RefusedError) -> web.Response:
        """Counts a request that is refused."""
        self.tally.reject(key, shown)
        return send_json(refused.body, refused.status)

    async def answer(
        self,
        request: web.Request,
        key: str,
        shown: Json,
        choose: Callable[[Turn], str | None],
        reply: Callable[[str | None, Turn], Reply],
    ) -> web.StreamResponse:
        """Counts a good request, waits as the plan says, and answers it or lets it down."""
        run, tally, plan = self.run, self.tally, self.run.plan
        record = tally.enter(key, shown)
        turn = run.number(key)
        fault = choose(turn)
        outcome = "abandoned"
        try:
            if plan.kill and plan.kill.at_request == turn.ordinal:
                self.executioner.strike(plan.kill, tally)
            if turn.ordinal > plan.free:
                if tally.in_flight >= plan.hold:
                    run.open.set()
                await run.open.wait()
            if (seconds := latency(plan, turn.ordinal)) > 0:
                await asyncio.sleep(seconds)
            await self.executioner.finished()
            if fault in ("drop", "hang"):
                outcome = fault
                return await vanish(request, forever=fault == "hang")
            answer = reply(fault, turn)
            outcome = answer.outcome
            return send(answer, f"req_{turn.id}")
        finally:
            tally.leave(record, outcome)

    async def set_plan(self, request: web.Request) -> web.Response:
        try:
            plan = self.plans.read(await request.json())
        except ValueError as wrong:
            return send_json({"error": str(wrong)}, 400)
        self.run.open.set()
        self.run = Run(plan)
        return send_json({})

    async def reset(self, request: web.Request) -> web.Response:
        self.run.open.set()
        self.run, self.tally = Run(self.plans()), Tally(self.keep)
        self.forget()
        return send_json({})

    async def counts(self, request: web.Request) -> web.Response:
        # So that who sees a process killed sees its requests abandoned.
        await self.executioner.finished()
        return send_json(self.tally.counts() | self.extra_counts())

    async def requests(self, request: web.Request) -> web.Response:
        last = int(request.query.get("last", self.keep))
        return send_json({"requests": list(self.tally.records)[-last:]})

    async def wait(self, request: web.Request) -> web.Response:
        await self.tally.wait_in_flight(int(request.query["in_flight"]))
        return send_json({})

    async def nothing(self, request: web.Request) -> web.Response:
        return send_json(error(f"Invalid URL ({request.method} {request.path})", "invalid_request_error"), 404)


def latency(plan: BasePlan, ordinal: int) -> float:
    """Seconds this request waits."""
    if isinstance(plan.latency_s, list):
        low, high = plan.latency_s[0], plan.latency_s[-1]
        return low + (high - low) * draw(plan.seed, "latency", ordinal)
    return plan.latency_s


async def vanish(request: web.Request, *, forever: bool) -> web.StreamResponse:
    """Closes the connection without a reply, or leaves it open without one."""
    if forever:
        await asyncio.Event().wait()
    if request.transport is not None:
        request.transport.close()
    return web.Response()


def send(answer: Reply, request_id: str) -> web.Response:
    headers = {"x-request-id": request_id}
    if answer.retry_after is not None:
        headers["Retry-After"] = answer.retry_after
    if isinstance(answer.body, str):
        return web.Response(text=answer.body, status=answer.status, content_type=answer.media, headers=headers)
    return send_json(answer.body, answer.status, headers)


def send_json(body: Json, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    data = json.dumps(body).encode()
    return web.Response(body=data, status=status, content_type="application/json", headers=headers)


async def serve(service: Service[Any], port: int, until_stdin_closes: bool) -> None:
    """Serves until SIGTERM, SIGINT or, where asked, the end of standard input."""
    done, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, done.set)
    if until_stdin_closes:
        loop.add_reader(sys.stdin.fileno(), done.set)
    # handler_cancellation makes a vanished client visible at once, not only when a reply cannot be written.
    runner = web.AppRunner(service.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    print(json.dumps({"port": runner.addresses[0][1]}), flush=True)
    await done.wait()
    await runner.cleanup()


def main(kind: type[Service[Any]], about: str | None) -> None:
    """The command line of a fake service."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--plan", type=json.loads, default={}, help="the first plan, as JSON")
    parser.add_argument("--keep", type=int, default=1000, help="how many request bodies to remember")
    parser.add_argument("--until-stdin-closes", action="store_true", help="end with the process that started it")
    args = parser.parse_args()

    async def run() -> None:
        await serve(kind(kind.plans.read(args.plan), args.keep), args.port, args.until_stdin_closes)

    asyncio.run(run())
