"""Services that ``[painters.NAME]`` describes and that hand out jobs: submit, poll, fetch."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from ...calls.http import IMAGE_REPLY_BYTES
from ...core.json_text import fill, find
from ..declared import DeclaredPainter
from ..service import Service
from ..service_calls import FailedJob, FinishedJob, JobPainter


class DeclaredJobs(DeclaredPainter, JobPainter):
    """A painter whose service hands out a job, told by its description."""

    reply_bytes = IMAGE_REPLY_BYTES

    def submit_url(self, body: dict[str, Any]) -> str:
        """Return the URL that takes jobs."""
        return self.address(self.place(body))

    async def wire(self, body: dict[str, Any]) -> dict[str, Any]:
        """See `limner.painters.service_calls.JobPainter`."""
        return await self.sent(body)

    def poll_url(self, reply: dict[str, Any]) -> str | None:
        """Where to poll."""
        return self._there(self.format.poll, reply)

    def result_url(self, reply: dict[str, Any]) -> str | None:
        """Where the result is, once the state says that there is one."""
        done = self.state(reply) in self.format.done and self.failure(reply) is None
        return self._there(self.format.fetch, reply) if done else None

    def read(self, reply: dict[str, Any]) -> FinishedJob | None:
        """Return the outcome; whether a job that ended without an image is charged, nobody knows."""
        told = self.format
        if failure := self.failure(reply):
            raise FailedJob(*failure, cost=None)
        if told.done and self.state(reply) not in told.done:
            return None
        if (where := self.image(reply)) is None:
            if not told.done:
                return None
            raise FailedJob("server", f"no image in the result: {self.said(reply)}", cost=None)
        prompt = find(reply, told.prompt_sent) if told.prompt_sent else None
        return FinishedJob(where, prompt, find(reply, told.cost) if told.cost else None)

    def _there(self, template: str | None, reply: dict[str, Any]) -> str | None:
        """Return a whole address as the reply gives it, or a path with what the reply says in it."""
        if template is None:
            return None
        whole = not template.startswith("/")
        words = {"model": self.model} | reply
        found = fill(template, lambda name: _text(find(words, name), whole))
        return None if found is None else str(found)


def _text(value: Any, whole: bool) -> str | None:
    if value is None:
        return None
    return str(value) if whole else quote(str(value), safe="")


SERVICE = Service("a service of your own, described in limner.toml, that hands out jobs", DeclaredJobs)
