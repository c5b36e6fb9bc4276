"""The two ways in which image services work: one request with the image in its reply, or a job to submit and poll."""

from __future__ import annotations

import asyncio
import math
import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ..calls import STOPPING, TRANSIENT, Attempt, Fault, Kind
from ..calls.downloads import fetch, is_allowed
from ..calls.http import TEXT_REPLY_BYTES, error_message, exchange, kind_of
from ..core.redaction import public_address
from .service import LINK, ApiPainter, ServiceImage, prompt_tokens, without_image_data


class OneReplyPainter(ApiPainter):
    """A painter whose service draws in one exchange. A subclass defines the path and how to read the reply."""

    @abstractmethod
    def read(self, reply: dict[str, Any], drawn: ServiceImage) -> tuple[str, ServiceImage]:
        """Return the image as base64, a data URL or a link, and the result filled in from the reply.

        Args:
            reply: The reply, which contains no error.
            drawn: The result to fill in; so far it has only the reply.

        Raises:
            Fault: There is no image; the kind says why.
        """

    def error(self, reply: dict[str, Any]) -> Fault:
        """Return the fault behind an error inside a reply whose status reports success."""
        return fault_in_reply(reply["error"], without_image_data(reply))

    async def ask(self, body: dict[str, Any]) -> dict[str, Any]:
        """Make the request.

        Raises:
            Fault: There is no reply, or it contains an error.
        """
        sent = await self.encode(body)
        url, limit = self.address(self.path_for(body)), self.provider.timeout_s
        reply = await exchange("POST", url, headers=self.headers(), timeout=limit, kinds=self.kind, **sent)
        if reply.get("error"):
            raise self.error(reply)
        return reply

    async def refetch(self, payload: Mapping[str, Any]) -> bytes | None:
        """Fetch the image by the link in the stored reply, which may still work."""
        try:
            where, _ = self.read(dict(payload["raw"]), ServiceImage(b""))
            linked = where.startswith(LINK)
        except (AttributeError, LookupError, TypeError):
            return None
        return await fetch(where, self.hosts, self.port) if linked else None

    async def send(self, body: dict[str, Any], attempt: Attempt) -> ServiceImage:
        """Make the call once, or follow the link that an earlier try was given."""
        progress = attempt.progress or {}
        kept = progress.get("reply")
        reply = kept or await self.ask(body)
        raw = without_image_data(reply)
        # An earlier try that got the link but not the image has counted the cost.
        blank = ServiceImage(b"", raw, counted=bool(progress.get("counted")), prompt_tokens=prompt_tokens(body))
        where, drawn, linked = self._locate_image(reply, blank)
        if linked:
            if not kept:
                # The image is drawn and paid for: if its link fails, the next try follows it again.
                await attempt.save({"reply": raw})
            return await self.follow_link(where, drawn, attempt)
        return self.unpack(where, drawn)

    async def batch_read(self, reply: dict[str, Any], drawn: ServiceImage) -> ServiceImage:
        """Return the image in a reply of a batch; batches are asked for base64."""
        if reply.get("error"):
            raise self.error(reply)
        where, drawn, linked = self._locate_image(reply, replace(drawn, raw=without_image_data(reply)))
        if not linked:
            return self.unpack(where, drawn)
        try:
            return replace(drawn, image=await fetch(where, self.hosts, self.port))
        except Fault as fault:
            # It is paid for: asking again would mean paying again.
            detail = f"the batch returned a link instead of an image: {fault.detail}"
            raise self.paid_fault("image", detail, drawn) from fault

    def _locate_image(self, reply: dict[str, Any], drawn: ServiceImage) -> tuple[str, ServiceImage, bool]:
        """Return the image's data or link, the result, and whether it is a link."""
        try:
            where, drawn = self.read(reply, drawn)
            return where, drawn, where.startswith(LINK)
        except (AttributeError, LookupError, TypeError) as error:
            detail = f"the reply does not fit the API: {type(error).__name__}: {error}"[:300]
            raise Fault("server", detail, cost=None, result=dict(drawn.raw)) from error


def fault_in_reply(error: Any, raw: dict[str, Any]) -> Fault:
    """Return the fault behind an error inside a reply whose status reports success; its code is a status or a word."""
    code = str(error.get("code") or "") if isinstance(error, Mapping) else ""
    status = int(code) if code in map(str, range(400, 600)) else 400
    kind: Kind = kind_of(status, {"error": error})
    if kind == "bad_request" and code != "400":
        kind = "rate_limit" if "rate_limit" in code else "server"
    return Fault(kind, f"{code}: {error_message(error)}" if code else error_message(error), cost=None, result=raw)


def part_of(reply: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a named part of a reply; empty if it is missing or not an object."""
    part = reply.get(name)
    return part if isinstance(part, Mapping) else {}


POLL_TIMEOUT_S = 60.0
LONGEST_PAUSE_S = 10.0
POLLING = {"poll_limit_s": 600.0, "poll_pause_s": 1.0}
"""Options of every such painter: how long a try polls a job, and the first pause. They change no drawing."""
REFETCH_S = 60.0
"""How long a stored job is polled for an image that was lost here."""
WORTH_KEEPING: frozenset[str] = TRANSIENT | STOPPING | {"image"}
"""After these faults the job may still give its image: later, with another key, or with its host in `link_hosts`."""
T = TypeVar("T")


@dataclass(frozen=True)
class FinishedJob:
    """The result of a finished job: a link or base64, the prompt as drawn, and the cost it reports."""

    link: str
    prompt: str | None = None
    cost: Any = None


class FailedJob(Fault):
    """The fault of a job that the service reports as ended without an image: drawing needs a new submission."""


class JobPainter(ApiPainter):
    """A painter at a service that first returns a job and later the image's link.

    Attributes:
        reply_bytes: The most bytes that a reply about a job may have.
    """

    execution = POLLING
    reply_bytes = TEXT_REPLY_BYTES

    @abstractmethod
    def poll_url(self, reply: dict[str, Any]) -> str | None:
        """Return the address to poll, given the reply to the submission; None if that reply is already the outcome.

        It is the full address that the service gave, or a path at the service's own address; a path keeps the login and
        query of that address out of the store.
        """

    @abstractmethod
    def read(self, reply: dict[str, Any]) -> FinishedJob | None:
        """Return the outcome in the newest reply merged into the first; None while the job runs."""

    def result_url(self, reply: dict[str, Any]) -> str | None:
        """Return the address of a finished job's result; None while it runs, or if the reply contains the result."""
        return None

    async def send(self, body: dict[str, Any], attempt: Attempt) -> ServiceImage:
        """Submit, unless an earlier try did; then poll and fetch."""
        submits = not attempt.progress
        if submits:
            url, limit = self.address(self.path_for(body)), self.provider.timeout_s
            how: dict[str, Any] = {"timeout": limit, "most": TEXT_REPLY_BYTES, **await self.encode(body)}
            first = await exchange("POST", url, headers=self.headers(), kinds=self.kind, **how)
            # If this were cancelled halfway, the job would be paid for and lost.
            await asyncio.shield(attempt.save({"poll": read_reply(self.poll_url, first), "submitted": first}))
        job = attempt.progress or {}
        try:
            reply, finished = await self._outcome(job["poll"], job["submitted"])
        except FailedJob:
            await attempt.save({})
            raise
        except Fault as fault:
            # The try that sees the job's end counts the price; a job that this one submitted may be charged too.
            fault.cost = None if submits else 0.0
            if fault.kind not in WORTH_KEEPING:
                await attempt.save({})
            raise
        counted = job.get("counted", False)
        drawn = ServiceImage(
            b"", without_image_data(reply), prompt=finished.prompt, cost=finished.cost, counted=counted
        )
        linked = not finished.link.startswith("data:")
        return await self.follow_link(finished.link, drawn, attempt) if linked else self.unpack(finished.link, drawn)

    async def refetch(self, payload: Mapping[str, Any]) -> bytes | None:
        """Fetch the image from the stored job; polling it and following its link are free."""
        stored = dict(payload.get("raw") or {})
        if not stored:
            return None
        _, finished = await self._outcome(read_reply(self.poll_url, stored), stored, REFETCH_S)
        # An image inside the reply is not stored with the reply.
        return None if finished.link.startswith("data:") else await fetch(finished.link, self.hosts, self.port)

    async def _outcome(
        self, poll: str | None, submitted: dict[str, Any], longest_s: float = math.inf
    ) -> tuple[dict[str, Any], FinishedJob]:
        if poll is None:
            if (finished := read_reply(self.read, submitted)) is None:
                raise FailedJob("server", f"{self.target} returned neither a job nor an image", cost=None)
            return submitted, finished
        place = self._check_host(poll)

        async def ask() -> tuple[dict[str, Any], FinishedJob] | None:
            reply = submitted | await self._poll(place)
            if (result := read_reply(self.result_url, reply)) is not None:
                reply |= await self._poll(self._check_host(result))
            return None if (finished := read_reply(self.read, reply)) is None else (reply, finished)

        limit_s, pause_s = self.execution.values()
        return await poll_until_done(ask, min(limit_s, longest_s), pause_s)

    def _check_host(self, place: str) -> str:
        """Return the full address after checking its host: it gets the key, so the settings must name the host."""
        place = self.address(place) if place.startswith("/") else place
        if not is_allowed(place, self.poll_hosts, self.port) or urlsplit(place).scheme != urlsplit(self.url).scheme:
            hosts = ", ".join(self.poll_hosts)
            raise Fault("image", f"the job is at {public_address(place)[:80]!r}, which is not an allowed host: {hosts}")
        return place

    async def _poll(self, place: str) -> dict[str, Any]:
        most: dict[str, Any] = {"timeout": POLL_TIMEOUT_S, "most": self.reply_bytes}
        return await exchange("GET", place, headers=self.headers(submit=False), kinds=self._poll_kind, **most)

    def _poll_kind(self, status: int, body: Any) -> Kind:
        return "missing" if status in (404, 410) else self.kind(status, body)


async def poll_until_done(ask: Callable[[], Awaitable[T | None]], limit_s: float, pause_s: float) -> T:
    """Ask until there is an answer.

    Args:
        ask: Returns None while the job runs; called again after a transient fault that is not `FailedJob`.
        limit_s: Seconds after which to give up.
        pause_s: The first pause; later ones grow, and none is shorter than the service asks for.

    Raises:
        Fault: What `ask` raised, or ``timeout``.
    """
    end, pause, last = time.monotonic() + limit_s, pause_s, "still running"
    while True:
        wait = pause
        try:
            if (answer := await ask()) is not None:
                return answer
        except Fault as fault:
            if isinstance(fault, FailedJob) or fault.kind not in TRANSIENT:
                raise
            wait, last = max(pause, fault.retry_after or 0.0), str(fault)
        if time.monotonic() + wait > end:
            raise Fault("timeout", f"no image within {limit_s:g} s ({last}); the next try polls the same job")
        await asyncio.sleep(wait)
        pause = min(LONGEST_PAUSE_S, pause * 1.5)


def read_reply(read: Callable[[dict[str, Any]], T | None], reply: dict[str, Any]) -> T | None:
    """Return the result of `read`; None if the reply does not have the documented form.

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
