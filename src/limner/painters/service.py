"""What every painter behind an image service shares: one journalled call, the image kept by hash, its price."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from ..calls import PASSING, Attempt, Bill, Calls, Fault, Request, Result
from ..calls.batch_services import no_batches
from ..calls.downloads import fetch
from ..calls.http import error_message, kind_of
from ..calls.journal import BatchLane, BatchRow
from ..core.errors import UsageError
from ..core.evaluator import SERVICE_REWRITE
from ..core.faults import picture_faults
from ..core.images import BadImage, PreparedImage, Preparer, decode
from ..core.json_text import put
from ..core.redaction import join_path
from ..core.registry import Registry
from ..core.settings import PainterFacts, Settings
from ..core.wire import read_switch, refuse_fields, switch_for
from ..store import Blobs
from ..store.records import PROMPT_CUT, PROMPT_REWRITTEN
from .base import Aspect, Painting, PaintRequest, refuse_pictures
from .image_data import decode_base64
from .image_price import ImagePrice
from .image_price import ServiceImage as ServiceImage
from .kept import kept_image

PICTURE_BYTES = 64 * 2**20
"""How much of prepared pictures a painter holds: a few are started from again and again."""


class ApiPainter(ABC):
    """A painter behind an image service. A new one says what its request body is and how to send it.

    Attributes:
        known: The options its wire format has.
        execution: Options that change no drawing, and what they are unless they are given.
        sizes: What it is asked for by aspect, where nothing is known of the model.
        most_pictures: How many pictures its wire format takes to start from; 0 for one that only draws.
        given: The options that a request is made of; `options` has whether the service rewrites prompts beside them.
    """

    changeable = False
    known: frozenset[str] = frozenset({"size"})
    execution: Mapping[str, float] = MappingProxyType({})
    sizes: Mapping[Aspect, str] = MappingProxyType({})
    most_pictures: int = 0

    def __init__(
        self, name: str, spec: str, model: str, options: Mapping[str, Any], settings: Settings, blobs: Blobs
    ) -> None:
        provider, _, _ = spec.partition("/")
        self.name, self.spec, self.model = name, spec, model
        self.target = f"{provider}/{model}"
        self.provider = settings.provider(provider)
        switches = settings.rewrite_switches(provider)
        self.switch = switch_for(switches, model)
        refuse_fields(options, settings.rewrite_fields(), self.switch, spec)
        if any(switch.on for switch in switches.values()):
            self.known |= {SERVICE_REWRITE}
        given = wanted_options(options, self.known | self.execution.keys(), spec)
        self.rewrites = read_switch(given, self.switch, spec)
        given.pop(SERVICE_REWRITE, None)
        self.execution = {option: float(given.pop(option, usual)) for option, usual in self.execution.items()}
        self.given: Mapping[str, Any] = given
        self.options: Mapping[str, Any] = given | ({SERVICE_REWRITE: "on"} if self.rewrites else {})
        self.facts: PainterFacts = settings.painter(self.target)
        self.prices = ImagePrice(self.target, self.facts, given, settings)
        self.group: str | None = self.facts.prompt_group
        edits = self.provider.image_input if self.facts.image_input is None else self.facts.image_input
        self.most_pictures = self.pictures_taken(model)
        self.edits = self.most_pictures > 0 and edits
        self.url = join_path(self.provider.image_url or self.provider.base_url, "")
        host = urlsplit(self.url).hostname or ""
        self.hosts = (host, *self.provider.link_hosts)
        self.poll_hosts = (host, *self.provider.poll_hosts)
        self._settings, self._blobs = settings, blobs
        self._pictures = Preparer(lambda sha256: blobs.get(sha256), PICTURE_BYTES)

    def address(self, path: str) -> str:
        """Where image calls go: the path below the service's address, whose login and query go along."""
        return join_path(self.url, path)

    def pictures_taken(self, model: str) -> int:
        """How many pictures a model can start from: as many as the wire format takes, where models do not differ."""
        return self.most_pictures

    @classmethod
    def takes(cls) -> frozenset[str]:
        """Every option it takes."""
        return cls.known | cls.execution.keys()

    @abstractmethod
    def body(self, request: PaintRequest) -> dict[str, Any]:
        """The request body, but for whether the service rewrites prompts: `request_body` adds that for all services."""

    def request_body(self, request: PaintRequest) -> dict[str, Any]:
        """The request body, fully resolved: all of it is part of the call's key."""
        body = self.body(request)
        for path, value in self.switch.sent(on=self.rewrites, edits=bool(request.images)).items():
            put(body, path, value)
        return body

    @abstractmethod
    async def send(self, body: dict[str, Any], attempt: Attempt) -> ServiceImage:
        """Make the call once.

        Raises:
            Fault: By kind; ``refusal`` when the service will not draw this.
        """

    def size(self, request: PaintRequest) -> str | None:
        """The size for the request's aspect: the user's option (one, or one by aspect), the model's, or the usual."""
        asked = self.given.get("size")
        if isinstance(asked, Mapping):
            asked = asked.get(request.aspect)
        return asked or self.facts.sizes.get(request.aspect) or self.sizes.get(request.aspect)

    def options_of(self, names: Iterable[str]) -> dict[str, Any]:
        """Those of the options called so that were given."""
        return {name: self.given[name] for name in names if name in self.given}

    def pictures(self, request: PaintRequest) -> list[dict[str, Any]]:
        """The pictures to start from as they stand in the body and the key: by hash, with how they are prepared."""
        limit = self.provider.max_image_side
        how: dict[str, Any] = {"format": "native"} | ({} if limit is None else {"max_side": limit})
        return [{"sha256": sha256, **how} for sha256 in request.images]

    async def prepared(self, picture: Mapping[str, Any]) -> PreparedImage:
        """A picture as it is sent.

        Raises:
            Fault: It is not among the blobs, or no image.
        """
        with picture_faults(picture["sha256"]):
            return await self._pictures.get(picture["sha256"], picture.get("max_side"), picture["format"])

    async def with_pictures(self, value: Any, write: Callable[[PreparedImage], Any]) -> Any:
        """A body with every picture in it, as `pictures` has them, in the way it is sent.

        Raises:
            Fault: A picture is not among the blobs, or no image.
        """
        if isinstance(value, list):
            return [await self.with_pictures(item, write) for item in value]
        if not isinstance(value, dict):
            return value
        if value.keys() >= {"sha256", "format"}:
            return write(await self.prepared(value))
        return {key: await self.with_pictures(item, write) for key, item in value.items()}

    def seed(self, request: PaintRequest) -> dict[str, int]:
        """The seed as a field of the body, where the service takes one."""
        return {"seed": request.seed} if self.provider.seeds else {}

    def check(self) -> None:
        """Fail early when the key is not there."""
        self.provider.key()

    def unpriced(self) -> str | None:
        """Why nobody knows what one image can cost, or None."""
        return self.prices.unpriced()

    @property
    def bound(self) -> float | None:
        """The most one image can cost; None when nobody knows."""
        return self.prices.bound

    def price(self) -> tuple[float | None, str]:
        """Dollars for one image, and how that is known; see `limner.core.catalogue.Priced`."""
        return self.prices.price()

    def edit_price(self, pictures: float) -> tuple[float | None, str]:
        """The same for an image that starts from so many pictures; see `limner.core.catalogue.PricedEditor`."""
        return self.prices.edit_price(pictures)

    def bill(self, drawn: ServiceImage, *, drew: bool = True) -> Bill:
        """What a try adds to the bill; see `limner.painters.image_price.ImagePrice.bill`."""
        return self.prices.bill(drawn, drew=drew)

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        """Draw through the journal; see `limner.painters.base.Painter`."""
        refuse_pictures(self, request, self.most_pictures)
        length, limit, beyond = len(request.prompt), self.facts.prompt_limit, self.facts.beyond_limit(request.prompt)
        if beyond == "refused":
            raise Fault("bad_request", f"the prompt has {length} characters; {self.target} takes {limit}")
        body = self.request_body(request)
        cut = {PROMPT_CUT: {"sent": length, "read": limit}} if beyond == "cut" else {}
        # Without seeds, a further drawing of the same prompt is the same request made once more.
        repeat = 0 if self.provider.seeds else request.seed
        call = Request("paint", self.target, body, repeat)

        async def perform(attempt: Attempt) -> Result:
            drawn = await self.send(body, attempt)
            try:
                return await self._keep(replace(drawn, edited=bool(request.images)))
            except Fault:
                # What it left to go on from led to no image: looked at once more by a later try, then given up.
                if left := attempt.progress:
                    await attempt.save({} if drawn.counted else {**left, "counted": True})
                raise

        bound = self.prices.bound_for(len(request.images))
        make = partial(calls.do, call, perform, bound=bound, row=self._row(body, bool(request.images), bound))
        outcome, data = await kept_image(make, calls, self._blobs, self.refetch)
        sent = outcome.payload.get("prompt") or request.prompt
        price = outcome.payload.get("price", outcome.cost)
        unasked = not self.rewrites and (self.switch.always or sent.strip() != request.prompt.strip())
        rewritten = {PROMPT_REWRITTEN: True} if unasked else {}
        return Painting(data, sent, (outcome.key,), price, {"body": body} | cut | rewritten)

    def unbatched(self) -> str | None:
        """Why its calls cannot go with a batch, or None; one without key and price is asked at once."""
        batched = self.provider.batch is not None and self.batch_endpoint(edits=False) is not None
        paid = self.provider.key_env is not None or self.bound
        return no_batches(self.target) if paid and not batched else None

    def batch_endpoint(self, *, edits: bool) -> str | None:
        """What a batch is asked to do with its calls; None for a wire format that has no batches."""
        return None

    async def batch_body(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body as a batch has it: JSON alone, pictures by their bytes."""
        raise NotImplementedError

    async def batch_read(self, reply: dict[str, Any], drawn: ServiceImage) -> ServiceImage:
        """The image in a reply that came with a batch.

        Raises:
            Fault: There is none, by why.
        """
        raise NotImplementedError

    def batch_fault(self, status: int, body: dict[str, Any]) -> Fault:
        """The fault behind the error of one call of a batch."""
        return Fault(kind_of(status, body), f"{status}: {error_message(body)}", result=body)

    def _row(self, body: dict[str, Any], edits: bool, bound: float | None) -> BatchRow | None:
        """How a request goes with a batch; None where it goes with none."""
        share, endpoint = self._settings.batch_share(self.target), self.batch_endpoint(edits=edits)
        if share is None or endpoint is None:
            return None

        async def line() -> tuple[dict[str, Any], dict[str, Any]]:
            return await self.batch_body(body), {}

        async def read(reply: dict[str, Any], _kept: dict[str, Any]) -> Result:
            return await self._keep(await self.batch_read(reply, ServiceImage(b"", edited=edits, share=share)))

        lane = BatchLane(self.target.partition("/")[0], endpoint, self.model)
        most = None if bound is None else bound * share
        return BatchRow(lane, self.provider, line, read, self.batch_fault, most)

    async def refetch(self, payload: Mapping[str, Any]) -> bytes | None:
        """An image once more, by what is stored of the service's reply, where that costs nothing; else None.

        Raises:
            Fault: The service has it no longer, or cannot be reached.
        """
        return None

    async def follow_link(self, link: str, drawn: ServiceImage, attempt: Attempt) -> ServiceImage:
        """The same with the image behind a link, which is paid for by now: should that fail, the next try goes on here.

        Raises:
            Fault: There is no image behind it; looked at once more by a later try, then given up.
        """
        try:
            return replace(drawn, image=await fetch(link, self.hosts))
        except Fault as fault:
            paid = self.bill(drawn)
            fault.cost, fault.doubt, fault.result = paid.cost, paid.doubt, dict(drawn.raw)
            keep = fault.kind in PASSING or (fault.kind == "image" and not drawn.counted)
            await attempt.save({**(attempt.progress or {}), "counted": True} if keep else {})
            raise

    def unpack(self, text: str, drawn: ServiceImage) -> ServiceImage:
        """The same with the image that stands in the reply.

        Raises:
            Fault: It is no whole base64; paid for all the same.
        """
        try:
            return replace(drawn, image=decode_base64(text))
        except ValueError as error:
            paid = self.bill(drawn)
            detail = f"what {self.target} sent as an image is no base64: {error}"
            raise Fault("image", detail, cost=paid.cost, doubt=paid.doubt, result=dict(drawn.raw)) from error

    async def _keep(self, drawn: ServiceImage) -> Result:
        paid = self.bill(drawn)
        try:
            # The header alone would let half an image pass.
            await asyncio.to_thread(decode, drawn.image)
            sha256, _ = await asyncio.to_thread(self._blobs.put, drawn.image)
        except BadImage as error:
            detail = f"what {self.target} sent is no image: {error}"
            raise Fault("image", detail, cost=paid.cost, doubt=paid.doubt) from error
        payload: dict[str, Any] = {"image": sha256, "raw": dict(drawn.raw)}
        if drawn.prompt:
            payload["prompt"] = drawn.prompt
        if drawn.counted:
            told = self.bill(replace(drawn, counted=False))
            payload["price"] = self.bound if told.doubt else told.cost
        return Result(payload, paid.cost, paid.doubt)


def wanted_options(options: Mapping[str, Any], known: frozenset[str], spec: str) -> dict[str, Any]:
    """The options, all of them known.

    Raises:
        UsageError: An option the shape does not have.
    """
    for name in options:
        if name not in known:
            raise UsageError(f"{spec} has no option {name!r}; there is: {', '.join(sorted(known))}")
    return dict(options)


@dataclass(frozen=True)
class Service:
    """A wire format of image services, as ``image_shape`` names it.

    Attributes:
        about: Whose it is, in a line.
    """

    about: str
    painter: type[ApiPainter]


SERVICES: Registry[Service] = Registry("limner.services", "image service", Service)
