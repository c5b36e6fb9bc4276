"""A chat model behind Anthropic's Messages API, whose OpenAI-shaped endpoint takes no description of a reply's shape.

https://platform.claude.com/docs/en/api/messages, build-with-claude/structured-outputs and api/errors; read 2026-11-16.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..calls import Bill, Fault, Kind, Result
from ..calls.batch_services import anthropic_headers
from ..calls.usage import Incredible, reported_tokens, reported_usage
from ..core.images import PreparedImage, Preparer
from ..core.settings import Settings
from .chat import LIMITS, ChatModel

USUAL_TOKENS = 16_000
"""The limit of a reply's tokens if none is derived from its usual length; every request must state one."""
SENT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
CUT = ("max_tokens", "model_context_window_exceeded")
"""Stop reasons of incomplete replies."""
SPENT = ("enforced_spend_limit_reached", "usage limit", "spend limit")


class AnthropicModel(ChatModel):
    """One model of a provider whose ``shape`` is ``anthropic``."""

    def __init__(self, provider: str, model: str, args: dict[str, Any], settings: Settings, images: Preparer) -> None:
        given = {("max_tokens" if name in LIMITS else name): value for name, value in args.items()}
        super().__init__(provider, model, given, settings, images)

    def _limited(self, usual: int, full: bool = False) -> dict[str, Any]:
        least = min(USUAL_TOKENS, self._facts.max_output_tokens or USUAL_TOKENS)
        return {"max_tokens": least} | super()._limited(usual, full)

    def kind(self, status: int, body: Any) -> Kind:
        """Return the kind of fault; a spending limit (400 or 429) counts as missing credits, not as a rate limit."""
        spent = status in (400, 429) and any(word in str(body).casefold() for word in SPENT)
        return "credits" if spent else super().kind(status, body)

    def request(
        self, messages: list[dict[str, Any]], extra: Mapping[str, Any]
    ) -> tuple[str, dict[str, str], dict[str, Any]]:
        """See `limner.models.chat.ChatModel`."""
        system = [part for message in messages if message["role"] == "system" for part in message["content"]]
        talk = [message for message in messages if message["role"] != "system"]
        args = dict(extra)
        shape = args.pop("response_format", None)
        if isinstance(shape, Mapping) and "json_schema" in shape:
            reply_format = {"type": "json_schema", "schema": shape["json_schema"]["schema"]}
            args["output_config"] = {**args.get("output_config", {}), "format": reply_format}
        body = {"model": self.settings["model"], "messages": talk, **({"system": system} if system else {}), **args}
        return self.provider.address("/messages"), anthropic_headers(self.provider), body

    def picture(self, image: PreparedImage, part: Mapping[str, Any]) -> dict[str, Any]:
        """See `limner.models.chat.ChatModel`."""
        media, data = image.packed
        return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}

    def reply_text(self, raw: Mapping[str, Any]) -> str:
        """See `limner.models.chat.ChatModel`."""
        parts = raw.get("content") or []
        return "".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")

    def told_price(self, raw: Mapping[str, Any], fewest: tuple[int, int]) -> float | None:
        """See `limner.models.chat.ChatModel`."""
        usage = reported_usage(raw)
        counts = [reported_tokens(usage, name) for name in SENT]
        written = reported_tokens(usage, "output_tokens", fewest[1])
        if counts[0] is None or written is None:
            return None
        sent = sum(count or 0 for count in counts)
        if not sent or sent < fewest[0]:
            raise Incredible(f"the input tokens are {sent}")
        return self.price(sent, written)

    def result(self, raw: dict[str, Any], sizes: list[dict[str, Any]], paid: Bill) -> Result:
        """See `limner.models.chat.ChatModel`."""
        paid_for: dict[str, Any] = {"cost": paid.cost, "doubt": paid.doubt, "result": raw}
        if raw.get("type") == "error" or not isinstance(raw.get("content"), list):
            raise Fault("server", f"no answer in the reply: {raw}"[:500], **paid_for)
        text = self.reply_text(raw)
        reason = raw.get("stop_reason")
        if reason == "refusal":
            why = raw.get("stop_details") or text or "no word why"
            raise Fault("refusal", f"refusal: {why}"[:500], **paid_for)
        if reason in CUT:
            raise Fault("truncated", f"the reply ended by {reason}; raise max_tokens with --judge-arg", **paid_for)
        clean = text.encode("utf-8", "replace").decode()
        return Result({"text": clean, "images": sizes, "raw": raw}, paid.cost, paid.doubt)
