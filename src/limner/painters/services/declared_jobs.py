"""Services described by ``[painters.NAME]`` that work by jobs: submit, poll, fetch."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from ...calls.http import IMAGE_REPLY_BYTES
from ...core.json_text import fill, value_at
from ..service import Service
from ..service_calls import FailedJob, FinishedJob, JobPainter
from .declared import DeclaredPainter


class DeclaredJobs(DeclaredPainter, JobPainter):
    """A painter whose described service works by jobs."""

    reply_bytes = IMAGE_REPLY_BYTES

    def poll_url(self, reply: dict[str, Any]) -> str | None:
        """Return the described address of the job."""
        return self._fill_address(self.format.poll, reply)

    def result_url(self, reply: dict[str, Any]) -> str | None:
        """Return the address of the result once the state says that there is one."""
        done = self.state(reply) in self.format.done and self.failure(reply) is None
        return self._fill_address(self.format.fetch, reply) if done else None

    def read(self, reply: dict[str, Any]) -> FinishedJob | None:
        """Return the outcome; whether a job without an image is charged is unknown."""
        done = self.format.done
        if failure := self.failure(reply):
            raise FailedJob(*failure, cost=None)
        if done and self.state(reply) not in done:
            return None
        if (where := self.image(reply)) is None:
            if not done:
                return None
            raise FailedJob("server", f"no image in the result: {self.error_text(reply)}", cost=None)
        return FinishedJob(where, **self.reported(reply))

    def _fill_address(self, template: str | None, reply: dict[str, Any]) -> str | None:
        """Return an address from a template: the reply's whole address, or a path filled with its values."""
        if template is None:
            return None
        whole = not template.startswith("/")
        words = {"model": self.model} | reply
        address = fill(template, lambda name: _text(value_at(words, name), whole))
        return None if address is None else str(address)


def _text(value: Any, whole: bool) -> str | None:
    if value is None:
        return None
    return str(value) if whole else quote(str(value), safe="")


SERVICE = Service("a service described in settings that runs jobs", DeclaredJobs)
