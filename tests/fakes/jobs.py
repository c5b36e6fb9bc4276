"""A fake of services that draw by jobs, for loopback only: DashScope's and Black Forest Labs' routes, linked files.

Run it with `python -m tests.fakes.jobs --port 0`; it prints `{"port": N}` when it is ready.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from typing import Any

from aiohttp import web

from tests.fakes.jobs_checks import ENDPOINTS, Ask, Name, Refused, admit, check_bfl, check_dashscope
from tests.fakes.jobs_plan import JobPlan
from tests.fakes.jobs_replies import Job, standing, taken_on, wrong
from tests.fakes.service import Json, Reply, Service, Turn, latency, main, send, send_json, vanish


class Jobs(Service[JobPlan]):
    """Both services. Submissions and polls are its requests; files need no key and count apart."""

    plans = JobPlan

    def __init__(self, plan: JobPlan, keep: int) -> None:
        super().__init__(plan, keep)
        self.forget()

    def forget(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.paid: Counter[str] = Counter()
        self.fetched: Counter[str] = Counter()
        self.fetched_with_key = self.polls = 0

    def routes(self, app: web.Application) -> None:
        for endpoint in ENDPOINTS:
            app.router.add_post(f"/api/v1/services/aigc/{endpoint}", partial(self.submit_dashscope, endpoint))
        app.router.add_get("/api/v1/tasks/{id}", partial(self.poll, "dashscope"))
        app.router.add_post("/v1/{model}", self.submit_bfl)
        app.router.add_get("/v1/get_result", partial(self.poll, "bfl"))
        app.router.add_get("/files/{name}", self.file)

    def admit(self, request: web.Request, plan: JobPlan) -> None:
        """Lets in the one key, in the header of the service asked."""
        service: Name = "bfl" if request.path.startswith("/v1/") else "dashscope"
        admit(service, request.headers, plan.api_key)

    def extra_counts(self) -> Json:
        return {
            "paid": dict(self.paid),
            "polls": self.polls,
            "fetched": self.fetched.total(),
            "fetched_with_key": self.fetched_with_key,
        }

    async def submit_dashscope(self, endpoint: str, request: web.Request) -> web.StreamResponse:
        return await self._submit(request, lambda body, plan: check_dashscope(body, endpoint, request.headers))

    async def submit_bfl(self, request: web.Request) -> web.StreamResponse:
        return await self._submit(request, lambda body, plan: check_bfl(body, request.match_info["model"]))

    async def _submit(self, request: web.Request, check: Any) -> web.StreamResponse:
        made: list[Job] = []

        def choose(ask: Ask, plan: JobPlan, turn: Turn) -> str | None:
            fault = plan.fault("submit", turn.key, turn.attempt, turn.ordinal)
            if fault in (None, "lost"):
                # Before any kill or wait: whoever dies from here on has paid.
                made.append(self._take_on(ask, plan, turn))
            return "drop" if fault == "lost" else fault

        def reply(ask: Ask, plan: JobPlan, fault: str | None, turn: Turn) -> Reply:
            if fault is not None:
                return wrong(ask.service, fault, plan)
            return Reply("answered", 200, taken_on(made[0], plan, _here(request)))

        return await self.attend(request, check, choose, reply)

    def _take_on(self, ask: Ask, plan: JobPlan, turn: Turn) -> Job:
        number = self.paid[turn.key]
        self.paid[turn.key] += 1
        fate, slip = (plan.fault(stage, turn.key, number, turn.ordinal) for stage in ("job", "link"))
        job = Job(f"{turn.key[:12]}-{number}", turn.key, ask, number, fate, slip)
        self.jobs[job.id] = job
        return job

    async def poll(self, service: Name, request: web.Request) -> web.StreamResponse:
        run, tally, plan = self.run, self.tally, self.run.plan
        name = request.match_info.get("id") or request.query.get("id", "")
        key = f"poll {name}"
        try:
            self.admit(request, plan)
            if "X-DashScope-Async" in request.headers or await request.read():
                raise Refused(400, {"code": "InvalidParameter", "message": "a poll has no body and no wishes"})
        except Refused as refused:
            tally.reject(key, {"poll": name})
            return send_json(refused.body, refused.status)
        self.polls += 1
        job = self.jobs.get(name)
        record = tally.enter(key, {"poll": name})
        turn = Turn(key, *run.number(key))
        fault = plan.fault("poll", key, turn.attempt, turn.ordinal)
        outcome = "abandoned"
        try:
            if plan.kill and plan.kill.at_request == turn.ordinal:
                self.executioner.strike(plan.kill, tally)
            if (seconds := latency(plan, turn.ordinal)) > 0:
                await asyncio.sleep(seconds)
            await self.executioner.finished()
            if fault in ("drop", "hang"):
                outcome = fault
                return await vanish(request, forever=fault == "hang")
            if job is None or job.ask.service != service:
                answer = wrong(service, "gone", plan)
            elif fault is not None:
                answer = wrong(service, fault, plan)
            else:
                answer = Reply("answered", 200, standing(job, plan, _here(request)))
            outcome = answer.outcome
            return send(answer, f"req_{turn.ordinal}")
        finally:
            tally.leave(record, outcome)

    async def file(self, request: web.Request) -> web.StreamResponse:
        job = self.jobs.get(request.match_info["name"].rpartition(".")[0])
        if job is None or "Signature" not in request.query:
            return web.Response(status=404, text="no such file")
        self.fetched[job.id] += 1
        self.fetched_with_key += "Authorization" in request.headers or "x-key" in request.headers
        first = self.fetched[job.id] == 1
        if job.slip == "expired":
            return web.Response(status=403, text="<Error><Code>AccessDenied</Code></Error>", content_type="text/xml")
        if job.slip == "html":
            return web.Response(text="<html>Sign in first.</html>", content_type="text/html")
        if job.slip == "junk":
            return web.Response(body=b"GIF, or so they say", content_type="image/png")
        if job.slip == "http_500" and first:
            return web.Response(status=500)
        if job.slip == "drop" and first:
            return await vanish(request, forever=False)
        return web.Response(body=job.image, content_type=f"image/{job.ask.kind}")


def _here(request: web.Request) -> str:
    return f"http://127.0.0.1:{request.url.port}"


if __name__ == "__main__":
    main(Jobs, __doc__)
