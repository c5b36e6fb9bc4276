"""A chat model behind any OpenAI-compatible endpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..calls import Attempt, Bill, Calls, Fault, Kind, Outcome, Request, Result, bill
from ..calls.batch_services import CHAT_ENDPOINT, GEMINI_ENDPOINT, MESSAGES_ENDPOINT, no_batches
from ..calls.http import TEXT_REPLY_BYTES, error_message, exchange, kind_of
from ..calls.journal import BatchLane, BatchRow
from ..calls.usage import (
    PICTURE_TOKENS,
    Incredible,
    billed_cost,
    check_amount,
    fewest_tokens,
    reported_tokens,
    reported_usage,
)
from ..core.asks import Part, Picture, Text
from ..core.errors import UsageError
from ..core.faults import picture_faults
from ..core.images import PreparedImage, Preparer
from ..core.settings import ModelFacts, Provider, Settings
from .base import USUAL_REPLY, Context

LIMITS = ("max_completion_tokens", "max_tokens")
"""Arguments that limit a reply's length."""
MIN_CAP, CAP_FACTOR = 4096, 4
"""The limit of a reply that Limner sets: at least `MIN_CAP` tokens, and `CAP_FACTOR` times the usual length."""
LONG_REPLY = 32_768
"""A model that can write more tokens than this may think before it replies."""
USUAL_EFFORT = "medium"
ENDPOINTS = {"openai": CHAT_ENDPOINT, "gemini": GEMINI_ENDPOINT, "anthropic": MESSAGES_ENDPOINT}
"""Endpoints of batched calls, by the wire format of the batches."""


class ChatModel:
    """A model of one provider, with the arguments sent in each call."""

    def __init__(self, provider: str, model: str, args: dict[str, Any], settings: Settings, images: Preparer) -> None:
        self.name = f"{provider}/{model}"
        self.settings: dict[str, Any] = {"model": model, "args": args}
        self.provider = settings.provider(provider)
        self._model, self._args, self._prices, self._images = model, args, settings, images
        self._shapeless = False

    def check(self) -> None:
        """Raise an error if the key is missing, or an argument is not accepted."""
        self.provider.key()
        effort, efforts = self._args.get("reasoning_effort"), self._facts.efforts
        if effort is not None and efforts and effort not in efforts:
            raise UsageError(f"{self.name} does not accept reasoning_effort={effort}; use one of {', '.join(efforts)}")

    def price(self, tokens_in: int, tokens_out: int) -> float | None:
        """Return the dollars for these numbers of tokens, or None if the price is unknown."""
        return self._prices.price(self.name, tokens_in, tokens_out)

    def unpriced(self) -> str | None:
        """Return why the cost of a call is unknown, or None."""
        if self._prices.price(self.name, 0, 0) is None:
            place = f'[models."{self.name}"] in limner.toml'
            free = "" if self.provider.key_env else ", 0 for a server of your own"
            return f"{self.name} has no price: add input_price and output_price under {place}{free}"
        if self._most_tokens([], self._limited(USUAL_REPLY))[1] is None:
            return f"{self.name} has no limit on its replies: add --judge-arg max_completion_tokens=N"
        return None

    async def turn(
        self, shown: tuple[Part, ...], earlier: tuple[tuple[str, str], ...], context: Context, calls: Calls
    ) -> tuple[str, str, float | None]:
        """Send one request; see `limner.models.base.Model`."""
        messages: list[dict[str, Any]] = []
        if context.system is not None:
            messages.append({"role": "system", "content": [{"type": "text", "text": context.system}]})
        messages.append({"role": "user", "content": [_keyed_part(part, self.provider) for part in shown]})
        for reply, wrong in earlier:
            messages.append({"role": "assistant", "content": [{"type": "text", "text": reply}]})
            messages.append({"role": "user", "content": [{"type": "text", "text": wrong}]})
        shape = None if self._shapeless else response_format(self.provider.structured, context.schema)
        args: dict[str, Any] = self._limited(context.usual)
        paid: float | None = 0.0
        try:
            outcome = await self._call(messages, args, shape, context, calls)
        except Fault as fault:
            whole = self._limited(context.usual, full=True)
            cut = fault.kind == "truncated" and args != whole
            if not cut and (shape is None or fault.kind != "bad_request" or not _blames_shape(fault.detail)):
                raise
            # Both calls are kept.
            if cut:
                args, paid = whole, fault.cost
            else:
                # The service rejects the description of the shape: ask without it from now on.
                self._shapeless, shape = True, None
            outcome = await self._call(messages, args, shape, context, calls)
        cost = None if paid is None or outcome.cost is None else paid + outcome.cost
        return outcome.payload["text"], outcome.key, cost

    def _limited(self, usual: int, full: bool = False) -> dict[str, Any]:
        """Return the arguments with a limit on the reply, unless they have one or the model's replies cost nothing.

        With `full`, the limit is the model's own, for a reply that was cut off.
        """
        if any(name in self._args for name in LIMITS) or not self.provider.cap_replies or not self.price(1, 1):
            return self._args
        most = self._facts.max_output_tokens
        cap = reply_cap(usual, most, self._args.get("reasoning_effort"))
        return self._args | {self.provider.limit_name: (most or CAP_FACTOR * cap) if full else cap}

    @property
    def _facts(self) -> ModelFacts:
        return self._prices.models.get(self.name, ModelFacts())

    async def _call(
        self,
        messages: list[dict[str, Any]],
        args: dict[str, Any],
        shape: dict[str, Any] | None,
        context: Context,
        calls: Calls,
    ) -> Outcome:
        extra = args if shape is None else {"response_format": shape, **args}
        body = {"model": self._model, "messages": messages, "args": extra}
        sent, written = self._most_tokens(messages, args)
        sent += len(json.dumps(shape)) if shape is not None else 0
        bound = None if written is None else self._prices.price(self.name, sent, written)

        async def perform(_attempt: Attempt) -> Result:
            return await self._send(messages, extra, bound)

        request = Request("chat", self.name, body, context.repeat, context.round)
        row = self._row(messages, extra, bound)
        return await calls.do(request, perform, bound=bound, tokens=sent, row=row, provider=self.provider)

    def unbatched(self) -> str | None:
        """Return why its calls cannot be batched, or None; calls without key and price are made at once."""
        if self.provider.batch is None:
            paid = self.provider.key_env is not None or self.price(1, 1)
            return no_batches(self.name) if paid else None
        return unsayable(self.name, self._args) if self.provider.batch.shape == "gemini" else None

    def _row(self, messages: list[dict[str, Any]], extra: dict[str, Any], bound: float | None) -> BatchRow | None:
        """Return how to put a request into a batch; None if it cannot be batched."""
        share = self._prices.batch_share(self.name)
        if share is None or self.provider.batch is None:
            return None
        gemini = self.provider.batch.shape == "gemini"
        most = None if bound is None else bound * share

        async def line() -> tuple[dict[str, Any], dict[str, Any]]:
            wire, sizes = await self._wired(messages)
            body = self.request(wire, extra)[2]
            return (to_gemini(body) if gemini else body), {"images": sizes}

        async def read(reply: dict[str, Any], kept: dict[str, Any]) -> Result:
            raw = without_nothing(from_gemini(reply) if gemini else reply)
            return self._read(raw, kept.get("images", []), most, messages, share)

        def fault(status: int, body: dict[str, Any]) -> Fault:
            return Fault(self.kind(status, body), f"{status}: {error_message(body)}", result=body)

        lane = BatchLane(self.name.partition("/")[0], ENDPOINTS[self.provider.batch.shape], self._model)
        return BatchRow(lane, self.provider, line, read, fault, most)

    def _most_tokens(self, messages: list[dict[str, Any]], args: dict[str, Any]) -> tuple[int, int | None]:
        """Return upper bounds on the tokens of the messages and of the reply."""
        facts, sent = self._facts, 0
        for part in (part for message in messages for part in message["content"]):
            # A token is at least one byte; the frame around each part takes a few more.
            sent += 16 + (len(part["text"].encode()) if part["type"] == "text" else facts.image_tokens)
        limit = next((args[name] for name in LIMITS if name in args), facts.max_output_tokens)
        replies = args.get("n", 1)  # All of them are paid for.
        is_bounded = type(limit) is int and type(replies) is int and limit > 0 and replies > 0
        return sent, limit * replies if is_bounded else None

    async def _send(self, messages: list[dict[str, Any]], extra: dict[str, Any], bound: float | None) -> Result:
        wire, sizes = await self._wired(messages)
        url, head, body = self.request(wire, extra)
        how: dict[str, Any] = {"timeout": self.provider.timeout_s, "most": TEXT_REPLY_BYTES, "kinds": self.kind}
        raw = without_nothing(await exchange("POST", url, headers=head, body=body, **how))
        return self._read(raw, sizes, bound, messages)

    async def _wired(self, messages: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return the messages as sent, and the sizes of their pictures."""
        sizes: list[dict[str, Any]] = []
        wire = [{"role": m["role"], "content": [await self._wire(p, sizes) for p in m["content"]]} for m in messages]
        return wire, sizes

    def _read(
        self,
        raw: dict[str, Any],
        sizes: list[dict[str, Any]],
        bound: float | None,
        messages: list[dict[str, Any]],
        share: float = 1,
    ) -> Result:
        """Return the result in the reply to these messages, at this share of the list price."""
        try:
            fewest = self._fewest_tokens(messages, raw)
            return self.result(raw, sizes, bill(lambda: self._shared_price(raw, fewest, share), bound))
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            raise Fault("server", f"the reply does not fit the API: {raw}"[:500], cost=None, result=raw) from error

    def _fewest_tokens(self, messages: list[dict[str, Any]], raw: Mapping[str, Any]) -> tuple[int, int]:
        """Return lower bounds on the tokens of the messages and of the reply; 0 if they cost nothing."""
        if not self.price(1, 1):
            return 0, 0
        parts = (part for message in messages for part in message["content"])
        sent = sum(fewest_tokens(part["text"]) if part["type"] == "text" else PICTURE_TOKENS for part in parts)
        return max(1, sent), fewest_tokens(self.reply_text(raw))

    def _shared_price(self, raw: Mapping[str, Any], fewest: tuple[int, int], share: float) -> float | None:
        price = self.told_price(raw, fewest)
        # A reported amount already includes the discount.
        return price if price is None or billed_cost(reported_usage(raw)) is not None else price * share

    def request(
        self, messages: list[dict[str, Any]], extra: Mapping[str, Any]
    ) -> tuple[str, dict[str, str], dict[str, Any]]:
        """Return address, headers and body of a request with these messages and arguments."""
        # Servers that need no key may still require some value.
        head = self.provider.key_headers(otherwise="none")
        return self.provider.address("/chat/completions"), head, {"model": self._model, "messages": messages, **extra}

    def picture(self, image: PreparedImage, part: Mapping[str, Any]) -> dict[str, Any]:
        """Return a picture of a message as it is sent."""
        url = {"url": image.url}
        return {"type": "image_url", "image_url": url | ({"detail": part["detail"]} if "detail" in part else {})}

    def kind(self, status: int, body: Any) -> Kind:
        """Return the kind of fault behind an error status; a refused description of the shape is not a wrong setup."""
        kind = kind_of(status, body)
        return "bad_request" if kind == "setup" and _blames_shape(str(body)) else kind

    def reply_text(self, raw: Mapping[str, Any]) -> str:
        """Return the words of all messages in a reply."""
        return "".join(_text((choice.get("message") or {}).get("content")) for choice in raw.get("choices") or [])

    def told_price(self, raw: Mapping[str, Any], fewest: tuple[int, int]) -> float | None:
        """Return the dollars for a reply: the amount the service reports, else tokens times list price.

        Args:
            raw: The reply.
            fewest: Lower bounds on the tokens sent and received.

        Raises:
            Incredible: The reported usage cannot be true.
        """
        usage = reported_usage(raw)
        sent = reported_tokens(usage, "prompt_tokens", fewest[0])
        written = reported_tokens(usage, "completion_tokens", fewest[1])
        if sent == 0:
            raise Incredible("prompt_tokens is 0")
        if (cost := billed_cost(usage)) is not None:
            return check_amount(cost, self.price(sent or fewest[0], written or fewest[1]))
        return None if sent is None or written is None else self._prices.price(self.name, sent, written)

    def result(self, raw: dict[str, Any], sizes: list[dict[str, Any]], paid: Bill) -> Result:
        """Return the text of a reply.

        Raises:
            Fault: The reply is an error, a refusal, or incomplete.
        """
        paid_for: dict[str, Any] = {"cost": paid.cost, "doubt": paid.doubt, "result": raw}
        choices = raw.get("choices")
        error = raw.get("error") or (choices[0].get("error") if choices else None)
        if error or not choices:
            raise Fault(_kind(error), f"no answer in the reply: {error or raw}"[:500], **paid_for)
        message = choices[0].get("message") or {}
        reason = choices[0].get("finish_reason")
        if message.get("refusal") or reason == "content_filter":
            raise Fault("refusal", message.get("refusal") or "content filter", **paid_for)
        text = _text(message.get("content"))
        if reason == "length":
            raise Fault("truncated", "the reply hit the token limit; raise it with --judge-arg", **paid_for)
        return Result({"text": text, "images": sizes, "raw": raw}, paid.cost, paid.doubt)

    async def _wire(self, part: dict[str, Any], sizes: list[dict[str, Any]]) -> dict[str, Any]:
        if part["type"] == "text":
            return part
        with picture_faults(part["sha256"]):
            image = await self._images.get(part["sha256"], part.get("max_side"), part["format"])
        sizes.append({"sha256": part["sha256"], "width": image.width, "height": image.height})
        return self.picture(image, part)


def reply_cap(usual: int, most: int | None, effort: Any) -> int:
    """Return the limit of a reply that Limner sets.

    Args:
        usual: The usual number of tokens of a reply.
        most: The most that the model can write, if known.
        effort: How long the model is told to think, if it is told.

    >>> reply_cap(3000, 128_000, "low"), reply_cap(40, 16_384, None), reply_cap(3000, 8192, None)
    (13024, 4096, 8192)
    """
    thinks = effort is not None or most is None or most > LONG_REPLY
    thinking = EFFORTS.get(str(effort or USUAL_EFFORT), max(EFFORTS.values())) if thinks else 0
    cap = max(MIN_CAP, CAP_FACTOR * usual) + thinking
    return cap if most is None else min(cap, most)


def without_nothing(value: Any) -> Any:
    """Return a reply without the fields that are null, as it is kept."""
    if isinstance(value, dict):
        return {key: without_nothing(item) for key, item in value.items() if item is not None}
    return [without_nothing(item) for item in value] if isinstance(value, list) else value


def _kind(error: Any) -> Kind:
    """Return the kind of an error that came with a status of 200."""
    code = error.get("code") if isinstance(error, dict) else None
    return kind_of(code, error) if isinstance(code, int) and 400 <= code < 600 else "server"


def _text(content: Any) -> str:
    """Return the words of a message, which some services give in parts; what UTF-8 cannot hold is replaced."""
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content)
    return str(content or "").encode("utf-8", "replace").decode()


def _keyed_part(part: Part, provider: Provider) -> dict[str, Any]:
    """Return the part as it stands in the key: pictures by hash and preparation."""
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    assert isinstance(part, Picture)
    native = part.max_side is None
    plain: dict[str, Any] = {"type": "image", "sha256": part.sha256, "format": "native" if native else "jpeg"}
    side = provider.max_image_side if native else part.max_side
    if side is not None:
        plain["max_side"] = side
    if part.detail is not None:
        plain["detail"] = part.detail
    return plain


def response_format(mode: str, schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the service's field that describes the reply's shape; None if it takes none."""
    if schema is None or mode == "none":
        return None
    if mode == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": dict(schema), "strict": True}}


def _blames_shape(complaint: str) -> bool:
    words = ("response_format", "json_schema", "json_object", "structured", "output_config")
    return any(word in complaint.casefold() for word in words)


SAMPLING = {
    "temperature": "temperature", "top_p": "topP", "max_completion_tokens": "maxOutputTokens",
    "max_tokens": "maxOutputTokens", "seed": "seed", "n": "candidateCount", "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
}  # fmt: skip
"""Arguments that have another name in Gemini's API but the same value."""
EFFORTS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576}
"""Thinking tokens for each effort, for models that take a number."""
COUNTING = "gemini-2.5"
KNOWN = {*SAMPLING, "stop", "reasoning_effort", "response_format"}
REASONS = {"STOP": "stop", "MAX_TOKENS": "length"}
"""Stop reasons; with any other reason the reply was blocked."""


def unsayable(name: str, args: Mapping[str, Any]) -> str | None:
    """Return the message about arguments that a batch cannot carry; None if there are none."""
    strange = [arg for arg in args if arg not in KNOWN]
    if not strange:
        return None
    return f"{name} does not accept {', '.join(strange)} in a batch: leave it out, or leave out --batch"


def to_gemini(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a generateContent request that asks for the same."""
    request: dict[str, Any] = {"contents": []}
    for message in body["messages"]:
        parts = [_part(part) for part in message["content"]]
        if message["role"] == "system":
            request["systemInstruction"] = {"parts": parts}
        else:
            role = "model" if message["role"] == "assistant" else "user"
            request["contents"].append({"role": role, "parts": parts})
    config: dict[str, Any] = {SAMPLING[name]: value for name, value in body.items() if name in SAMPLING}
    if (stop := body.get("stop")) is not None:
        config["stopSequences"] = [stop] if isinstance(stop, str) else list(stop)
    if (effort := body.get("reasoning_effort")) is not None:
        counted = str(body["model"]).startswith(COUNTING)
        config["thinkingConfig"] = (
            {"thinkingBudget": EFFORTS.get(str(effort), -1)} if counted else {"thinkingLevel": str(effort)}
        )
    if isinstance(shape := body.get("response_format"), Mapping):
        config["responseMimeType"] = "application/json"
        if "json_schema" in shape:
            config["responseJsonSchema"] = shape["json_schema"]["schema"]
    return request | ({"generationConfig": config} if config else {})


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"text": part["text"]}
    media, _, data = str(part["image_url"]["url"]).removeprefix("data:").partition(";base64,")
    return {"inlineData": {"mimeType": media, "data": data}}


def from_gemini(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reply of generateContent as chat/completions would have given it."""
    choices = [_choice(n, candidate) for n, candidate in enumerate(reply.get("candidates") or [])]
    if blocked := (reply.get("promptFeedback") or {}).get("blockReason"):
        message = {"role": "assistant", "refusal": f"the prompt is blocked ({blocked})"}
        choices = [{"index": 0, "message": message, "finish_reason": "content_filter"}]
    usage = reply.get("usageMetadata") or {}
    counts: dict[str, Any] = {"prompt_tokens": usage.get("promptTokenCount")}
    written, thought = usage.get("candidatesTokenCount", 0), usage.get("thoughtsTokenCount", 0)
    # Anything but a number is passed on; the check of usage rejects it.
    added = written + thought if isinstance(written, int) and isinstance(thought, int) else written
    counts["completion_tokens"] = added if usage else None
    header = {"id": reply.get("responseId"), "model": reply.get("modelVersion"), "object": "chat.completion"}
    return {**header, "choices": choices, "usage": counts}


def _choice(n: int, candidate: Mapping[str, Any]) -> dict[str, Any]:
    parts = (candidate.get("content") or {}).get("parts") or []
    text = "".join(str(part.get("text", "")) for part in parts if not part.get("thought"))
    reason = REASONS.get(str(candidate.get("finishReason", "STOP")), "content_filter")
    return {"index": n, "message": {"role": "assistant", "content": text}, "finish_reason": reason}
