"""Services that hand out jobs: submit, poll, fetch. A job submitted once is followed to its end, across crashes.

A service says how to submit and what its replies mean; how long and how often to ask is the same for all.
"""

from __future__ import annotations

import asyncio
import math
import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ..calls import PASSING, STOPPING, Attempt, Fault, Kind
from ..calls.downloads import fetch, is_allowed
from ..calls.http import TEXT_REPLY_BYTES, exchange
from ..core.redaction import bare
from .image_data import without_image_data
from .service import ApiPainter, ServiceImage

POLL_TIMEOUT_S = 60.0
LONGEST_PAUSE_S = 10.0
POLLING = {"poll_limit_s": 600.0, "poll_pause_s": 1.0}
"""Options of every such painter: how long a try follows a job, and its first pause. They change no drawing."""
REFETCH_S = 60.0
"""How long a stored job is asked for an image that was lost here."""
WORTH_KEEPING: frozenset[str] = PASSING | STOPPING | {"image"}
"""After these the job may still give its image: later, with another key, or with its host among `link_hosts`."""
T = TypeVar("T")


@dataclass(frozen=True)
class FinishedJob:
    """What a finished job says: the link or the image as base64, the prompt as drawn, and dollars as it tells them."""

    link: str
    prompt: str | None = None
    cost: Any = None


class FailedJob(Fault):
    """The job has ended without an image, by the service's own word: to draw is to submit anew."""


class JobPainter(ApiPainter):
    """A painter behind a service that hands out a job first and the image's link later.

    Attributes:
        reply_bytes: What a reply about a job may have.
    """

    execution = POLLING
    reply_bytes = TEXT_REPLY_BYTES

    @abstractmethod
    def headers(self, *, submit: bool) -> dict[str, str]:
        """The headers, with the key, for submitting or for polling."""

    @abstractmethod
    def submit_url(self, body: dict[str, Any]) -> str:
        """The URL that takes this job."""

    @abstractmethod
    def poll_url(self, reply: dict[str, Any]) -> str | None:
        """Where to poll, by the reply to the submission; None when it names no job, being the outcome itself.

        Either a whole address, as the service gave it, or a path below the service's own: that one is kept without
        the login and the query which go with it.
        """

    @abstractmethod
    def read(self, reply: dict[str, Any]) -> FinishedJob | None:
        """What the newest reply, laid over the first, says: None while the job is at work; raises `FailedJob`."""

    def result_url(self, reply: dict[str, Any]) -> str | None:
        """Where the result of a finished job is, as `poll_url` tells it; None where the reply has it, or at work."""
        return None

    async def wire(self, body: dict[str, Any]) -> dict[str, Any]:
        """What `limner.calls.http.exchange` gets of the body: pictures by their bytes."""
        return {"body": body}

    @abstractmethod
    def kind(self, status: int, body: Any) -> Kind:
        """The kind of fault behind an error status."""

    async def send(self, body: dict[str, Any], attempt: Attempt) -> ServiceImage:
        """Submit, unless an earlier try did; then poll and fetch."""
        submits = not attempt.progress
        if submits:
            head, limit = self.headers(submit=True), self.provider.timeout_s
            how: dict[str, Any] = {"timeout": limit, "most": TEXT_REPLY_BYTES, **await self.wire(body)}
            first = await exchange("POST", self.submit_url(body), headers=head, kinds=self.kind, **how)
            # Cancelled halfway through this, the job would be paid for and lost.
            await asyncio.shield(attempt.save({"poll": read_reply(self.poll_url, first), "submitted": first}))
        job = attempt.progress or {}
        try:
            reply, found = await self._outcome(job["poll"], job["submitted"])
        except FailedJob:
            await attempt.save({})
            raise
        except Fault as fault:
            # The price is counted by the try that sees the job's end; what this one began may be charged too.
            fault.cost = None if submits else 0.0
            if fault.kind not in WORTH_KEEPING:
                await attempt.save({})
            raise
        counted = job.get("counted", False)
        drawn = ServiceImage(b"", without_image_data(reply), prompt=found.prompt, cost=found.cost, counted=counted)
        linked = not found.link.startswith("data:")
        return await self.follow_link(found.link, drawn, attempt) if linked else self.unpack(found.link, drawn)

    async def refetch(self, payload: Mapping[str, Any]) -> bytes | None:
        """See `limner.painters.service.ApiPainter`: polling a job, and following its link, costs nothing."""
        stored = dict(payload.get("raw") or {})
        if not stored:
            return None
        _, found = await self._outcome(read_reply(self.poll_url, stored), stored, REFETCH_S)
        # An image that came in the reply itself is not kept beside it.
        return None if found.link.startswith("data:") else await fetch(found.link, self.hosts)

    async def _outcome(
        self, poll: str | None, submitted: dict[str, Any], longest_s: float = math.inf
    ) -> tuple[dict[str, Any], FinishedJob]:
        if poll is None:
            if (found := read_reply(self.read, submitted)) is None:
                raise FailedJob("server", f"{self.target} gave neither a job nor an image", cost=None)
            return submitted, found
        place = self._allowed(poll)

        async def ask() -> tuple[dict[str, Any], FinishedJob] | None:
            reply = submitted | await self._look(place)
            if (result := read_reply(self.result_url, reply)) is not None:
                reply |= await self._look(self._allowed(result))
            return None if (found := read_reply(self.read, reply)) is None else (reply, found)

        limit_s, pause_s = self.execution.values()
        return await follow(ask, min(limit_s, longest_s), pause_s)

    def _allowed(self, place: str) -> str:
        """The whole address, which gets the key: only where the settings say so, and as the service's own."""
        place = self.address(place) if place.startswith("/") else place
        if not is_allowed(place, self.poll_hosts) or urlsplit(place).scheme != urlsplit(self.url).scheme:
            raise Fault("image", f"the job is at {bare(place)[:80]!r}, which is not among {', '.join(self.poll_hosts)}")
        return place

    async def _look(self, place: str) -> dict[str, Any]:
        most: dict[str, Any] = {"timeout": POLL_TIMEOUT_S, "most": self.reply_bytes}
        return await exchange("GET", place, headers=self.headers(submit=False), kinds=self._poll_kind, **most)

    def _poll_kind(self, status: int, body: Any) -> Kind:
        return "missing" if status in (404, 410) else self.kind(status, body)


async def follow(ask: Callable[[], Awaitable[T | None]], limit_s: float, pause_s: float) -> T:
    """Ask until there is an answer.

    Args:
        ask: None means: still at work. A passing fault that is not `FailedJob` means: ask again.
        limit_s: Seconds after which to give up.
        pause_s: The first pause; later ones are longer, and never shorter than the service asks for.

    Raises:
        Fault: What `ask` raised, or ``timeout``.
    """
    end, pause, last = time.monotonic() + limit_s, pause_s, "at work"
    while True:
        wait = pause
        try:
            if (answer := await ask()) is not None:
                return answer
        except Fault as fault:
            if isinstance(fault, FailedJob) or fault.kind not in PASSING:
                raise
            wait, last = max(pause, fault.retry_after or 0.0), str(fault)
        if time.monotonic() + wait > end:
            raise Fault("timeout", f"no image within {limit_s:g} s ({last}); the next try follows the same job")
        await asyncio.sleep(wait)
        pause = min(LONGEST_PAUSE_S, pause * 1.5)


def read_reply(read: Callable[[dict[str, Any]], T | None], reply: dict[str, Any]) -> T | None:
    """What `read` finds; None when the reply has another shape than documented, since it then says nothing.

    Raises:
        FailedJob: With the reply as its result.
    """
    try:
        return read(reply)
    except FailedJob as over:
        over.result = reply
        raise
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
