"""Services that answer one request with one JSON reply: the image stands in it, or a link to the image does.

An image behind a link is paid for before it is here, so that its reply is kept until the link was followed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..calls import Attempt, Fault, Kind
from ..calls.downloads import fetch
from ..calls.http import error_message, exchange, kind_of
from .image_data import LINK, without_image_data
from .service import ApiPainter, ServiceImage


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
        """The headers, with the key."""
        return self.provider.key_headers()

    def kind(self, status: int, body: Any) -> Kind:
        """The kind of fault behind an error status."""
        return kind_of(status, body)

    def error(self, reply: dict[str, Any]) -> Fault:
        """The fault behind a reply that has an error in it, though it came with a success's status."""
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
        paid = self.bill(drawn)
        try:
            return replace(drawn, image=await fetch(where, self.hosts))
        except Fault as fault:
            # It is paid for: to ask once more would be to pay once more.
            detail = f"the batch brought a link in place of an image: {fault.detail}"
            raise Fault("image", detail, cost=paid.cost, doubt=paid.doubt, result=dict(drawn.raw)) from fault

    def _found(self, reply: dict[str, Any], drawn: ServiceImage) -> tuple[str, ServiceImage, bool]:
        """What `read` finds, and whether the image is behind a link."""
        try:
            where, drawn = self.read(reply, drawn)
            return where, drawn, where.startswith(LINK)
        except (AttributeError, LookupError, TypeError) as error:
            detail = f"the reply does not fit the API: {type(error).__name__}: {error}"[:300]
            raise Fault("server", detail, cost=None, result=dict(drawn.raw)) from error


def error_within(error: Any, raw: dict[str, Any]) -> Fault:
    """The fault behind an error that came with a success's status: its code is a status, or a word."""
    code = str(error.get("code") or "") if isinstance(error, Mapping) else ""
    status = int(code) if code in map(str, range(400, 600)) else 400
    kind: Kind = kind_of(status, {"error": error})
    if kind == "bad_request" and code != "400":
        kind = "rate_limit" if "rate_limit" in code else "server"
    return Fault(kind, f"{code}: {error_message(error)}" if code else error_message(error), cost=None, result=raw)


def told_part(reply: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of a reply that tells what it cost; empty where there is none, or something else."""
    part = reply.get(name)
    return part if isinstance(part, Mapping) else {}
