"""The two ways of image services: one request that is answered with the image, or a job to submit, poll and fetch."""

from __future__ import annotations

import asyncio
import math
import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ..calls import PASSING, STOPPING, Attempt, Fault, Kind
from ..calls.downloads import fetch, is_allowed
from ..calls.http import TEXT_REPLY_BYTES, error_message, exchange, kind_of
from ..core.redaction import bare
from .service import LINK, ApiPainter, ServiceImage, without_image_data


class OneReplyPainter(ApiPainter):
    """A painter whose service draws in one exchange. A new one says where to ask and how to read the reply."""

    path: str

    @abstractmethod
    def read(self, reply: dict[str, Any], drawn: ServiceImage) -> tuple[str, ServiceImage]:
        """Where the image is (base64, a data URL or a link), and the rest of what was sent.

        Args:
            reply: The reply, which has no error in it.
            drawn: To be filled in: so far it has nothing but the reply.

        Raises:
            Fault: There is no image, by why.
        """

    async def wire(self, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Where the body goes, and what of it `limner.calls.http.exchange` gets: pictures by their bytes."""
        return self.path, {"body": body}

    def headers(self) -> dict[str, str]:
        """Return the headers, with the key."""
        return self.provider.key_headers()

    def kind(self, status: int, body: Any) -> Kind:
        """Return the kind of fault behind an error status."""
        return kind_of(status, body)

    def error(self, reply: dict[str, Any]) -> Fault:
        """Return the fault behind a reply that has an error in it, though it came with a success's status."""
        return error_within(reply["error"], without_image_data(reply))

    async def ask(self, body: dict[str, Any]) -> dict[str, Any]:
        """Make the request.

        Raises:
            Fault: There is no reply, or an error in it.
        """
        path, sent = await self.wire(body)
        url, limit = self.address(path), self.provider.timeout_s
        reply = await exchange("POST", url, headers=self.headers(), timeout=limit, kinds=self.kind, **sent)
        if reply.get("error"):
            raise self.error(reply)
        return reply

    async def refetch(self, payload: Mapping[str, Any]) -> bytes | None:
        """See `limner.painters.service.ApiPainter`: a link in the reply may still be good."""
        try:
            where, _ = self.read(dict(payload["raw"]), ServiceImage(b""))
            linked = where.startswith(LINK)
        except (AttributeError, LookupError, TypeError):
            return None
        return await fetch(where, self.hosts) if linked else None

    async def send(self, body: dict[str, Any], attempt: Attempt) -> ServiceImage:
        """See `limner.painters.service.ApiPainter`."""
        progress = attempt.progress or {}
        kept = progress.get("reply")
        reply = kept or await self.ask(body)
        raw = without_image_data(reply)
        # An earlier try that asked for the image and lost its link has counted what it cost.
        where, drawn, linked = self._found(reply, ServiceImage(b"", raw, counted=bool(progress.get("counted"))))
        if linked:
            if not kept:
                # The image is drawn and paid: should its link fail, it is followed again before another is asked for.
                await attempt.save({"reply": raw})
            return await self.follow_link(where, drawn, attempt)
        return self.unpack(where, drawn)

    async def batch_read(self, reply: dict[str, Any], drawn: ServiceImage) -> ServiceImage:
        """See `limner.painters.service.ApiPainter`: batches are asked for base64, and bring it."""
        if reply.get("error"):
            raise self.error(reply)
        where, drawn, linked = self._found(reply, replace(drawn, raw=without_image_data(reply)))
        if not linked:
            return self.unpack(where, drawn)
        paid = self.prices.bill(drawn)
        try:
            return replace(drawn, image=await fetch(where, self.hosts))
        except Fault as fault:
            # It is paid for: to ask once more would be to pay once more.
            detail = f"the batch brought a link in place of an image: {fault.detail}"
            raise Fault("image", detail, cost=paid.cost, doubt=paid.doubt, result=dict(drawn.raw)) from fault

    def _found(self, reply: dict[str, Any], drawn: ServiceImage) -> tuple[str, ServiceImage, bool]:
        """Return what `read` finds, and whether the image is behind a link."""
        try:
            where, drawn = self.read(reply, drawn)
            return where, drawn, where.startswith(LINK)
        except (AttributeError, LookupError, TypeError) as error:
            detail = f"the reply does not fit the API: {type(error).__name__}: {error}"[:300]
            raise Fault("server", detail, cost=None, result=dict(drawn.raw)) from error


def error_within(error: Any, raw: dict[str, Any]) -> Fault:
    """Return the fault behind an error that came with a success's status: its code is a status, or a word."""
    code = str(error.get("code") or "") if isinstance(error, Mapping) else ""
    status = int(code) if code in map(str, range(400, 600)) else 400
    kind: Kind = kind_of(status, {"error": error})
    if kind == "bad_request" and code != "400":
        kind = "rate_limit" if "rate_limit" in code else "server"
    return Fault(kind, f"{code}: {error_message(error)}" if code else error_message(error), cost=None, result=raw)


def told_part(reply: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a part of a reply that tells what it cost; empty where there is none, or something else."""
    part = reply.get(name)
    return part if isinstance(part, Mapping) else {}


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
        """Return the headers, with the key, for submitting or for polling."""

    @abstractmethod
    def submit_url(self, body: dict[str, Any]) -> str:
        """Return the URL that takes this job."""

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
        """Return what `limner.calls.http.exchange` gets of the body: pictures by their bytes."""
        return {"body": body}

    @abstractmethod
    def kind(self, status: int, body: Any) -> Kind:
        """Return the kind of fault behind an error status."""

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
        """Return the whole address, which gets the key: only where the settings say so, and as the service's own."""
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
    """Return what `read` finds; None when the reply has another shape than documented, since it then says nothing.

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
