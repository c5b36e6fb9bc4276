"""Painters that give out jobs: submit, poll, fetch. A job submitted once is followed to its end, across crashes."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from ..calls import PASSING, STOPPING, Attempt, Fault, Kind
from ..settings import Settings
from ..store import Blobs
from .api import ApiPainter, Drawn
from .http import exchange, fetch, is_allowed
from .polling import Finished, Over, follow, understood

POLL_TIMEOUT_S = 60.0
POLLING = {"poll_limit_s": 600.0, "poll_pause_s": 1.0}
"""Options of every such painter: how long a try follows a job, and its first pause. They change no drawing."""
WORTH_KEEPING: frozenset[str] = PASSING | STOPPING | {"image"}
"""After these the job may still give its image: later, with another key, or with its host among `link_hosts`."""


class JobPainter(ApiPainter):
    """A painter behind a service that hands out a job first and the image's link later."""

    def __init__(
        self, name: str, spec: str, model: str, options: Mapping[str, Any], settings: Settings, blobs: Blobs
    ) -> None:
        super().__init__(name, spec, model, options, settings, blobs)
        given = dict(self.options)
        self._limit, self._pause = (float(given.pop(option, usual)) for option, usual in POLLING.items())
        self.options = given

    @classmethod
    def takes(cls) -> frozenset[str]:
        """Every option it takes, those of polling among them."""
        return cls.known | POLLING.keys()

    @abstractmethod
    def headers(self, *, submit: bool) -> dict[str, str]:
        """The headers, with the key, for submitting or for polling."""

    @abstractmethod
    def place(self) -> str:
        """The URL that takes jobs."""

    @abstractmethod
    def ticket(self, reply: dict[str, Any]) -> str | None:
        """Where to poll, by the reply to the submission; None when it names no job, being the outcome itself."""

    @abstractmethod
    def read(self, reply: dict[str, Any]) -> Finished | None:
        """What the newest reply, laid over the first, says: None while the job is at work; raises `Over`."""

    @abstractmethod
    def kind(self, status: int, body: Any) -> Kind:
        """The kind of fault behind an error status."""

    async def send(self, body: dict[str, Any], attempt: Attempt) -> Drawn:
        """Submit, unless an earlier try did; then poll and fetch."""
        submits = not attempt.progress
        if submits:
            head, limit = self.headers(submit=True), self.provider.timeout_s
            first = await exchange("POST", self.place(), headers=head, body=body, timeout=limit, kinds=self.kind)
            # Cancelled halfway through this, the job would be paid for and lost.
            await asyncio.shield(attempt.save({"poll": understood(self.ticket, first), "submitted": first}))
        job, drawn = attempt.progress or {}, None
        counted = job.get("counted", False)
        try:
            reply, found = await self._outcome(job["poll"], job["submitted"])
            drawn = Drawn(b"", reply, prompt=found.prompt, cost=found.cost, counted=counted)
            return replace(drawn, image=await fetch(found.link, self.hosts))
        except Over:
            await attempt.save({})
            raise
        except Fault as fault:
            if drawn is None:
                # The price is counted by the try that sees the job's end; what this one began may be charged too.
                fault.cost = None if submits else 0.0
                keep = fault.kind in WORTH_KEEPING
            else:
                fault.cost = self._cost(drawn)
                # A link that leads to no image is looked at once more, then given up.
                keep = fault.kind in WORTH_KEEPING and not (fault.kind == "image" and drawn.counted)
            await attempt.save({**job, "counted": counted or drawn is not None} if keep else {})
            raise

    async def _outcome(self, poll: str | None, submitted: dict[str, Any]) -> tuple[dict[str, Any], Finished]:
        if poll is None:
            if (found := understood(self.read, submitted)) is None:
                raise Over("server", f"{self.target} gave neither a job nor an image", cost=None)
            return submitted, found
        if not is_allowed(poll, self.poll_hosts) or urlsplit(poll).scheme != urlsplit(self.url).scheme:
            raise Fault("image", f"the job is at {poll[:80]!r}, which is not among {', '.join(self.poll_hosts)}")

        async def ask() -> tuple[dict[str, Any], Finished] | None:
            head = self.headers(submit=False)
            newest = await exchange("GET", poll, headers=head, timeout=POLL_TIMEOUT_S, kinds=self._poll_kind)
            reply = submitted | newest
            return None if (found := understood(self.read, reply)) is None else (reply, found)

        return await follow(ask, self._limit, self._pause)

    def _poll_kind(self, status: int, body: Any) -> Kind:
        return "missing" if status in (404, 410) else self.kind(status, body)
