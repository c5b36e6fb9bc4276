"""The base class of painters at image services: it makes the call, stores the image and computes its price."""

from __future__ import annotations

import asyncio
import binascii
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from ..calls import TRANSIENT, Attempt, Bill, Calls, Fault, Kind, Request, Result, bill
from ..calls.batch_services import no_batches
from ..calls.downloads import fetch, port_of
from ..calls.http import Form, error_message, kind_of
from ..calls.journal import BatchLane, BatchRow
from ..calls.usage import IMAGE_TOKENS, check_amount, fewest_tokens, reported_dollars, reported_tokens
from ..core.errors import StoreError, UsageError
from ..core.evaluator import SERVICE_REWRITE
from ..core.faults import picture_faults
from ..core.images import BadImage, PreparedImage, Preparer, check_whole
from ..core.json_text import set_at_path
from ..core.redaction import join_path
from ..core.registry import Registry
from ..core.settings import ModelFacts, PainterFacts, Settings
from ..core.wire import read_switch, refuse_fields, switch_for
from ..store import Blobs
from ..store.records import PROMPT_CUT, PROMPT_REWRITTEN
from .base import Aspect, ImageKeeper, Painting, PaintRequest, call_for_image, refuse_pictures

PICTURE_BYTES = 64 * 2**20
"""The most bytes of prepared pictures that a painter caches, because a few are used repeatedly."""


class ApiPainter(ABC):
    """A painter at an image service. A subclass defines its request body and how to send it.

    Attributes:
        path: The path of requests, unless `path_for` returns another one.
        known: The options of its wire format.
        execution: Options that change no drawing, with their defaults.
        sizes: The default size for each aspect, for models whose facts name none.
        most_pictures: The most pictures that a drawing can start from; 0 if its models do not edit pictures.
        given: The options that a request is made from; `options` also says whether the service rewrites prompts.
    """

    changeable = False
    path: str
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
        given, allowed = dict(options), self.known | self.execution.keys()
        if unknown := [name for name in given if name not in allowed]:
            raise UsageError(f"{spec} has no option {unknown[0]!r}; it has: {', '.join(sorted(allowed))}")
        self.rewrites = read_switch(given, self.switch, spec)
        given.pop(SERVICE_REWRITE, None)
        self.execution = {option: float(given.pop(option, usual)) for option, usual in self.execution.items()}
        self.given: Mapping[str, Any] = given
        self.options: Mapping[str, Any] = given | ({SERVICE_REWRITE: "on"} if self.rewrites else {})
        self.facts: PainterFacts = settings.painter(self.target)
        self.prices = ImagePrice(self.target, self.facts, given, settings)
        self.group: str | None = self.facts.prompt_group
        edits = self.provider.image_input if self.facts.image_input is None else self.facts.image_input
        self.most_pictures = self.pictures_taken(model) if edits else 0
        self.url = join_path(self.provider.image_url or self.provider.base_url, "")
        host, self.port = urlsplit(self.url).hostname or "", port_of(self.url)
        self.hosts = (host, *self.provider.link_hosts)
        self.poll_hosts = (host, *self.provider.poll_hosts)
        self._settings, self._blobs = settings, blobs
        self._pictures = Preparer(lambda sha256: blobs.get(sha256), PICTURE_BYTES)

    def address(self, path: str) -> str:
        """Return the address of a path at the service, with the login and query string of the service's address."""
        return join_path(self.url, path)

    def pictures_taken(self, model: str) -> int:
        """Return the most pictures that a model can start from."""
        return self.most_pictures

    @classmethod
    def takes(cls) -> frozenset[str]:
        """Return the names of all options."""
        return cls.known | cls.execution.keys()

    @abstractmethod
    def body(self, request: PaintRequest) -> dict[str, Any]:
        """Return the request body without the switch for prompt rewriting, which `request_body` adds."""

    def request_body(self, request: PaintRequest) -> dict[str, Any]:
        """Return the complete request body; all of it is part of the call's key."""
        body = self.body(request)
        for path, value in self.switch.sent(on=self.rewrites, edits=bool(request.pictures)).items():
            set_at_path(body, path, value)
        return body

    @abstractmethod
    async def send(self, body: dict[str, Any], attempt: Attempt) -> ServiceImage:
        """Make the call once.

        Raises:
            Fault: The call failed; the kind is ``refusal`` if the service declines to draw the prompt.
        """

    def size(self, request: PaintRequest) -> str | None:
        """Return the size for the request's aspect: the user's, else the model's, else the default."""
        asked = self.given.get("size")
        if isinstance(asked, Mapping):
            asked = asked.get(request.aspect)
        return asked or self.facts.sizes.get(request.aspect) or self.sizes.get(request.aspect)

    def options_of(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the given options among these names."""
        return {name: self.given[name] for name in names if name in self.given}

    def pictures(self, request: PaintRequest) -> list[dict[str, Any]]:
        """Return the pictures to start from in the form of the body and the key: hash and form of preparation."""
        limit = self.provider.max_image_side
        how: dict[str, Any] = {"format": "native"} | ({} if limit is None else {"max_side": limit})
        return [{"sha256": sha256, **how} for sha256 in request.pictures]

    async def prepared(self, picture: Mapping[str, Any]) -> PreparedImage:
        """Return a picture prepared for sending.

        Raises:
            Fault: It is not in the store, or is not an image.
        """
        with picture_faults(picture["sha256"]):
            return await self._pictures.get(picture["sha256"], picture.get("max_side"), picture["format"])

    async def with_pictures(self, value: Any, write: Callable[[PreparedImage], Any]) -> Any:
        """Return a body with each of its `pictures` replaced by the result of `write`.

        Raises:
            Fault: A picture is not in the store, or is not an image.
        """
        if isinstance(value, list):
            return [await self.with_pictures(item, write) for item in value]
        if not isinstance(value, dict):
            return value
        if value.keys() >= {"sha256", "format"}:
            return write(await self.prepared(value))
        return {key: await self.with_pictures(item, write) for key, item in value.items()}

    def write_picture(self, image: PreparedImage) -> Any:
        """Return a picture in the form in which a request contains it."""
        return image.url

    async def encode(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the body as arguments of `limner.calls.http.exchange`, with pictures as bytes."""
        return {"body": await self.with_pictures(body, self.write_picture)}

    def path_for(self, body: Mapping[str, Any]) -> str:
        """Return the path that takes this request."""
        return self.path

    def headers(self, *, submit: bool = True) -> dict[str, str]:
        """Return the headers, with the key, for submitting a request or for polling its job."""
        return self.provider.key_headers()

    def kind(self, status: int, body: Any) -> Kind:
        """Return the kind of fault behind an error status."""
        return kind_of(status, body)

    async def form(self, fields: Mapping[str, Any], pictures: Iterable[tuple[str, Mapping[str, Any]]]) -> Form:
        """Return a form with these fields, and with pictures as files, each given with its field name.

        Raises:
            Fault: A picture is not in the store, or is not an image.
        """
        texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}
        files = []
        for number, (field_name, picture) in enumerate(pictures, 1):
            media, data = (await self.prepared(picture)).parts
            files.append((field_name, (f"{number}.{media.removeprefix('image/')}", data, media)))
        return Form(texts, files)

    def seed(self, request: PaintRequest) -> dict[str, int]:
        """Return the seed as a field of the body, if the service takes one."""
        return {"seed": request.seed} if self.seeded else {}

    @property
    def seeded(self) -> bool:
        """Whether the model accepts a seed; if not, the next drawing of a question is a repeated request."""
        return self.provider.seeds

    def check(self) -> None:
        """Check that the service's key is set.

        Raises:
            UsageError: It is missing.
        """
        self.provider.key()

    def unpriced(self) -> str | None:
        """Return why the price of one image is unknown; None if it is known."""
        return self.prices.unpriced()

    def price(self) -> tuple[float | None, str]:
        """Return the dollars for one image, and the source of the price; see `limner.core.catalogue.Priced`."""
        return self.prices.price()

    def edit_price(self, pictures: float) -> tuple[float | None, str]:
        """Return the price of an image made from that many pictures; see `limner.core.catalogue.PricedEditor`."""
        return self.prices.price(pictures)

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        """Draw through the journal; see `limner.painters.base.Painter`."""
        refuse_pictures(self, request)
        length, limit, beyond = len(request.prompt), self.facts.prompt_limit, self.facts.beyond_limit(request.prompt)
        if beyond == "refused":
            raise Fault("bad_request", f"the prompt has {length} characters; {self.target} takes at most {limit}")
        body = self.request_body(request)
        cut = {PROMPT_CUT: {"sent": length, "read": limit}} if beyond == "cut" else {}
        # If the service takes no seed, another seed means repeating the same request.
        repeat = 0 if self.seeded else request.seed
        call, keeper = Request("paint", self.target, body, repeat), ImageKeeper(self._blobs)

        async def perform(attempt: Attempt) -> Result:
            with self._blobs.place():
                drawn = await self.send(body, attempt)
                try:
                    return await self._keep(replace(drawn, edited=bool(request.pictures)), keeper)
                except StoreError:
                    # The saved progress leads to the image again; the journal counts this try as paid for.
                    if attempt.progress:
                        await attempt.save({**attempt.progress, "counted": True})
                    raise
                except Fault:
                    # The saved progress led to no image: the next try uses it for the last time.
                    if left := attempt.progress:
                        await attempt.save({} if drawn.counted else {**left, "counted": True})
                    raise

        bound = self.prices.bound_for(len(request.pictures))
        row = self._row(body, bool(request.pictures), bound)
        make = partial(calls.do, call, perform, bound=bound, row=row, provider=self.provider)
        outcome, kept = await call_for_image(make, calls, keeper, self.refetch)
        sent = outcome.payload.get("prompt") or request.prompt
        price = outcome.payload.get("price", outcome.cost)
        unasked = not self.rewrites and (self.switch.always or sent.strip() != request.prompt.strip())
        rewritten = {PROMPT_REWRITTEN: True} if unasked else {}
        return Painting(kept.data, sent, (outcome.key,), price, {"body": body} | cut | rewritten, kept)

    def unbatched(self) -> str | None:
        """Return why calls cannot be batched; None if they can, or if they are free and need not be."""
        batched = self.provider.batch is not None and self.batch_endpoint(edits=False) is not None
        paid = self.provider.key_env is not None or self.prices.bound
        return no_batches(self.target) if paid and not batched else None

    def batch_endpoint(self, *, edits: bool) -> str | None:
        """Return the endpoint for batched calls; None if the wire format has no batches."""
        return None

    async def batch_body(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the body for a batch, which is pure JSON: pictures are included as data."""
        raise NotImplementedError

    async def batch_read(self, reply: dict[str, Any], drawn: ServiceImage) -> ServiceImage:
        """Return `drawn` completed with the image from a batch's reply.

        Raises:
            Fault: There is no image; the kind says why.
        """
        raise NotImplementedError

    def batch_fault(self, status: int, body: dict[str, Any]) -> Fault:
        """Return the fault for the error of one call in a batch."""
        return Fault(kind_of(status, body), f"{status}: {error_message(body)}", result=body)

    def _row(self, body: dict[str, Any], edits: bool, bound: float | None) -> BatchRow | None:
        """Return a request as a row of a batch; None if it cannot be batched."""
        share, endpoint = self._settings.batch_share(self.target), self.batch_endpoint(edits=edits)
        if share is None or endpoint is None:
            return None

        async def line() -> tuple[dict[str, Any], dict[str, Any]]:
            return await self.batch_body(body), {}

        async def read(reply: dict[str, Any], _kept: dict[str, Any]) -> Result:
            drawn = await self.batch_read(
                reply, ServiceImage(b"", edited=edits, share=share, prompt_tokens=prompt_tokens(body))
            )
            return await self._keep(drawn, ImageKeeper(self._blobs))

        lane = BatchLane(self.target.partition("/")[0], endpoint, self.model)
        most = None if bound is None else bound * share
        return BatchRow(lane, self.provider, line, read, self.batch_fault, most)

    async def refetch(self, payload: Mapping[str, Any]) -> bytes | None:
        """Fetch an image again by the stored reply, if that is free; otherwise return None.

        Raises:
            Fault: The service no longer has it, or cannot be reached.
        """
        return None

    async def follow_link(self, link: str, drawn: ServiceImage, attempt: Attempt) -> ServiceImage:
        """Return the result with the image behind a link; after a failure, the next try resumes at the paid link.

        Raises:
            Fault: There is no image behind the link; the next try follows it once more, then gives up.
        """
        try:
            return replace(drawn, image=await fetch(link, self.hosts, self.port))
        except Fault as fault:
            paid = self.prices.bill(drawn)
            fault.cost, fault.doubt, fault.result = paid.cost, paid.doubt, dict(drawn.raw)
            keep = fault.kind in TRANSIENT or (fault.kind == "image" and not drawn.counted)
            await attempt.save({**(attempt.progress or {}), "counted": True} if keep else {})
            raise

    def unpack(self, text: str, drawn: ServiceImage) -> ServiceImage:
        """Return the result with the image that the reply contains.

        Raises:
            Fault: It is not valid base64; its cost counts nevertheless.
        """
        try:
            return replace(drawn, image=decode_base64(text))
        except ValueError as error:
            raise self.paid_fault(
                "image", f"the image from {self.target} is not valid base64: {error}", drawn
            ) from error

    def paid_fault(self, kind: Kind, detail: str, drawn: ServiceImage, *, drew: bool = True) -> Fault:
        """Return the fault of a reply that is paid for; without an image, `drew` is False."""
        paid = self.prices.bill(drawn, drew=drew)
        return Fault(kind, detail, cost=paid.cost, doubt=paid.doubt, result=dict(drawn.raw))

    async def _keep(self, drawn: ServiceImage, keeper: ImageKeeper) -> Result:
        paid = self.prices.bill(drawn)
        try:
            info = await asyncio.to_thread(check_whole, drawn.image)
            sha256 = await asyncio.to_thread(keeper.put, drawn.image, info)
        except BadImage as error:
            detail = f"the reply of {self.target} is not an image: {error}"
            raise Fault("image", detail, cost=paid.cost, doubt=paid.doubt) from error
        payload: dict[str, Any] = {"image": sha256, "raw": dict(drawn.raw)}
        if drawn.prompt:
            payload["prompt"] = drawn.prompt
        if drawn.counted:
            full_price = self.prices.bill(replace(drawn, counted=False))
            payload["price"] = self.prices.bound if full_price.doubt else full_price.cost
        return Result(payload, paid.cost, paid.doubt)


@dataclass(frozen=True)
class Service:
    """A wire format of image services, which settings name in ``image_shape``.

    Attributes:
        about: One line that says which services use it.
    """

    about: str
    painter: type[ApiPainter]


SERVICES: Registry[Service] = Registry("limner.services", "image service", Service)
COST_FIELDS = ("tokens_in", "tokens_out", "thought_tokens", "picture_tokens", "cost", "upstream_cost")
"""The fields of `ServiceImage` that determine the cost."""


@dataclass(frozen=True)
class ServiceImage:
    """A service's result: the image, the rest of its reply, and the token counts or dollars it reports.

    Counts and dollars are copied from the reply as they are; `ImagePrice.bill` checks them.

    Attributes:
        thought_tokens: Tokens written in addition to `tokens_out`.
        picture_tokens: The part of `tokens_in` that is due to pictures.
        upstream_cost: Dollars in addition to `cost`.
        counted: Whether an earlier try has counted the image's cost.
        edited: Whether it was made from pictures.
        share: The fraction of the list price that is charged, below 1 in batches.
        prompt_tokens: The fewest tokens that the prompt sent can have.
    """

    image: bytes
    raw: Mapping[str, Any] = field(default_factory=dict)
    tokens_in: Any = None
    tokens_out: Any = None
    picture_tokens: Any = None
    prompt: str | None = None
    cost: Any = None
    counted: bool = False
    edited: bool = False
    thought_tokens: Any = None
    upstream_cost: Any = None
    share: float = 1.0
    prompt_tokens: int = 0


class ImagePrice:
    """The price of a painter's images.

    Args:
        target: The provider and its model, as in the price list.
        facts: The model's facts in the settings.
        options: The painter's options; some bounds hold only for certain values.
    """

    def __init__(self, target: str, facts: PainterFacts, options: Mapping[str, Any], settings: Settings) -> None:
        self.target, self.facts, self.options, self._settings = target, facts, options, settings

    def unpriced(self) -> str | None:
        """Return why the price of one image is unknown; None if it is known."""
        if self.bound is not None:
            return None
        place = f'[painters."{self.target}"] in limner.toml'
        if (option := self._unbound_option()) is not None:
            priced = ", ".join(self.facts.bound_for[option])
            why = f"the price of {self.target} is unknown for this {option}; it is known only for {priced}"
            return f"{why}: add image_price under {place}"
        return f"{self.target} has no price: add image_price (or image_bound) under {place}"

    @property
    def bound(self) -> float | None:
        """The most that one image can cost; None if unknown."""
        if self.facts.image_price is not None:
            return self.facts.image_price
        return self.facts.image_bound if self._unbound_option() is None else None

    def _unbound_option(self) -> str | None:
        """Return the option whose value the bound does not cover."""
        for option, values in self.facts.bound_for.items():
            given = self.options.get(option)
            for value in given.values() if isinstance(given, Mapping) else () if given is None else (given,):
                if str(value) not in values:
                    return option
        return None

    def price(self, pictures: float = 0) -> tuple[float | None, str]:
        """Return the dollars for one image made from that many pictures, and the source of the price."""
        dollars = self.bound_for(pictures)
        basis = "price list" if self.facts.image_price is not None else "upper bound"
        return (dollars, basis) if dollars is not None else (None, "no price")

    def bound_for(self, pictures: float) -> float | None:
        """Return the most that an image made from that many pictures can cost; None if unknown."""
        if pictures and self.facts.edit_price is not None:
            return self.facts.edit_price
        if self.facts.image_price is not None or self.bound is None:
            return self.bound
        tokens = round(pictures * self._settings.models.get(self.target, ModelFacts()).image_tokens)
        more = self._settings.price(self.target, tokens, 0, of_pictures=tokens)
        return None if more is None and pictures else self.bound + (more or 0.0)

    def bill(self, drawn: ServiceImage, *, drew: bool = True) -> Bill:
        """Return what this try adds to the bill: nothing if an earlier try has counted the cost.

        Args:
            drawn: The result, with the cost that the service reports.
            drew: Whether there is an image; without one, the price per image is not charged.
        """
        return Bill(0.0) if drawn.counted else bill(lambda: self._reported_price(drawn, drew), self.bound)

    def _reported_price(self, drawn: ServiceImage, drew: bool) -> float | None:
        reported = {name: getattr(drawn, name) for name in COST_FIELDS}
        cost, upstream = (reported_dollars(reported, name) for name in COST_FIELDS[4:])
        listed = self.facts.edit_price if drew and drawn.edited else None
        if listed is None and drew:
            listed = self.facts.image_price
        if cost is not None:
            least = self._settings.price(self.target, drawn.prompt_tokens, IMAGE_TOKENS if drew else 0)
            return check_amount(cost + (upstream or 0.0), least if listed is None else listed)
        if listed is not None:
            return listed * drawn.share
        fewest = (drawn.prompt_tokens, IMAGE_TOKENS if drew else 0, 0, 0)
        counts = zip(COST_FIELDS[:4], fewest, strict=True)
        sent, written, thought, pictures = (reported_tokens(reported, name, least) for name, least in counts)
        if sent is None or written is None:
            return None
        price = self._settings.price(self.target, sent, written + (thought or 0), of_pictures=pictures or 0)
        return None if price is None else price * drawn.share


def prompt_tokens(body: Any) -> int:
    """Return the fewest tokens of a request's prompt, which is its longest text."""
    if isinstance(body, str):
        return fewest_tokens(body)
    parts = body.values() if isinstance(body, Mapping) else body if isinstance(body, list) else ()
    return max(map(prompt_tokens, parts), default=0)


MAX_TEXT_CHARS = 20_000
"""The length above which a text in a reply must be image data or encrypted reasoning, and is not stored."""
IMAGE_FIELDS = ("b64_json", "data", "thoughtSignature")
"""The fields that always hold such data, regardless of its length."""
LINK = ("http:", "https:")


def decode_base64(text: str) -> bytes:
    """Decode base64 text, which may be a data URL.

    Raises:
        ValueError: It is not valid base64.
    """
    payload = text.partition(",")[2] if text.startswith("data:") else text
    return binascii.a2b_base64("".join(payload.split()), strict_mode=True)


def without_image_data(value: Any, name: str = "") -> Any:
    """Return a reply with image data replaced by its length; the image itself is stored by hash."""
    if isinstance(value, list):
        return [without_image_data(item) for item in value]
    if isinstance(value, dict):
        return {key: without_image_data(item, key) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    is_image = value.startswith("data:") or (name in IMAGE_FIELDS and not value.startswith(LINK))
    return f"({len(value)} characters)" if is_image or len(value) > MAX_TEXT_CHARS else value
