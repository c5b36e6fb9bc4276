"""A fake of services that draw by jobs, for loopback only: DashScope's and Black Forest Labs' routes, linked files.

Run it with `python -m tests.fakes.jobs --port 0`; it prints `{"port": N}` when it is ready.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

from aiohttp import web

from tests.fakes.jobs_checks import ENDPOINTS, Ask, Name, admit, check_bfl, check_dashscope, check_poll
from tests.fakes.jobs_plan import JobPlan
from tests.fakes.jobs_replies import Job, image, standing, taken_on, wrong
from tests.fakes.linked_files import Linking
from tests.fakes.refusals import RefusedError
from tests.fakes.service import Json, Reply, main
from tests.fakes.tally import Turn

SIGNATURE = "Expires=1767225600&Signature=abc%2Bdef%3D"


class Jobs(Linking[JobPlan]):
    """Both services. Submissions and polls are its requests."""

    plans = JobPlan

    def forget(self) -> None:
        super().forget()
        self.jobs: dict[str, Job] = {}
        self.paid: Counter[str] = Counter()
        self.polls = 0

    def routes(self, app: web.Application) -> None:
        super().routes(app)
        for endpoint in ENDPOINTS:
            app.router.add_post(f"/api/v1/services/aigc/{endpoint}", partial(self.submit_dashscope, endpoint))
        app.router.add_get("/api/v1/tasks/{id}", partial(self.poll, "dashscope"))
        app.router.add_post("/v1/{model}", self.submit_bfl)
        app.router.add_get("/v1/get_result", partial(self.poll, "bfl"))

    def admit(self, request: web.Request, plan: JobPlan) -> None:
        """Lets in the one key, in the header of the service asked."""
        service: Name = "bfl" if request.path.startswith("/v1/") else "dashscope"
        admit(service, request.headers, plan.api_key)

    def extra_counts(self) -> Json:
        return {"paid": dict(self.paid), "polls": self.polls, **super().extra_counts()}

    async def submit_dashscope(self, endpoint: str, request: web.Request) -> web.StreamResponse:
        return await self._submit(request, lambda body, plan: check_dashscope(body, endpoint, request.headers))

    async def submit_bfl(self, request: web.Request) -> web.StreamResponse:
        return await self._submit(request, lambda body, plan: check_bfl(body, request.match_info["model"]))

    async def _submit(self, request: web.Request, check: Any) -> web.StreamResponse:
        made: list[Job] = []

        def choose(ask: Ask, plan: JobPlan, turn: Turn) -> str | None:
            fault = plan.fault("submit", turn)
            if fault in (None, "lost"):
                # Before any kill or wait: whoever dies from here on has paid.
                made.append(self._take_on(ask, plan, turn, request))
            return "drop" if fault == "lost" else fault

        def reply(ask: Ask, plan: JobPlan, fault: str | None, turn: Turn) -> Reply:
            if fault is not None:
                return wrong(ask.service, fault, plan)
            return Reply("answered", 200, taken_on(made[0], plan, f"http://127.0.0.1:{request.url.port}"))

        return await self.attend(request, check, reply, choose)

    def _take_on(self, ask: Ask, plan: JobPlan, turn: Turn, request: web.Request) -> Job:
        number = self.paid[turn.key]
        self.paid[turn.key] += 1
        id, nth = f"{turn.key[:12]}-{number}", Turn(turn.key, turn.ordinal, number)
        url = self.link(f"{id}.{ask.kind}", image(ask, number), plan.fault("link", nth), SIGNATURE, request)
        self.jobs[id] = Job(id, ask, number, plan.fault("job", nth), url)
        return self.jobs[id]

    async def poll(self, service: Name, request: web.Request) -> web.StreamResponse:
        plan = self.run.plan
        name = request.match_info.get("id") or request.query.get("id", "")
        key, shown = f"poll {name}", {"poll": name}
        body = await request.read()
        try:
            self.admit(request, plan)
            check_poll(body, request.headers)
        except RefusedError as refused:
            return self.reject(key, shown, refused)
        self.polls += 1
        job = self.jobs.get(name)

        def reply(fault: str | None, turn: Turn) -> Reply:
            if job is None or job.ask.service != service:
                return wrong(service, "gone", plan)
            return wrong(service, fault, plan) if fault else Reply("answered", 200, standing(job, plan))

        return await self.answer(request, key, shown, partial(plan.fault, "poll"), reply)


if __name__ == "__main__":
    main(Jobs, __doc__)
