"""A chat model behind any OpenAI-compatible endpoint."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..calls import Attempt, Calls, Fault, Request, Result
from ..images import BadImage, Preparer
from ..protocol import Part, Picture, Text
from ..settings import Settings
from .base import Context
from .openai_faults import fault_of

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class ChatModel:
    """One model of one provider, with the arguments sent along."""

    def __init__(
        self, provider: str, model: str, args: dict[str, Any], settings: Settings, images: Preparer
    ) -> None:
        self.name = f"{provider}/{model}"
        self.settings: dict[str, Any] = {"model": model, "args": args}
        self._provider = settings.provider(provider)
        self._model, self._args, self._prices, self._images = model, args, settings, images

    @cached_property
    def _client(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI

        # Retries are the journal's: the client must make exactly one request per attempt.
        return AsyncOpenAI(
            base_url=self._provider.base_url,
            api_key=self._provider.key() or "none",
            max_retries=0,
            timeout=self._provider.timeout_s,
        )

    def check(self) -> None:
        """Fail early when the key is not there."""
        self._provider.key()

    async def turn(
        self, shown: tuple[Part, ...], said: tuple[tuple[str, str], ...], context: Context, calls: Calls
    ) -> tuple[str, str, float | None]:
        """One request; see `limner.models.base.Model`."""
        messages = [{"role": "user", "content": [_plain(part) for part in shown]}]
        for reply, wrong in said:
            messages.append({"role": "assistant", "content": [{"type": "text", "text": reply}]})
            messages.append({"role": "user", "content": [{"type": "text", "text": wrong}]})
        body = {"model": self._model, "messages": messages, "args": self._args}
        request = Request("chat", self.name, body, context.repeat, context.round)

        async def perform(_attempt: Attempt) -> Result:
            return await self._send(messages)

        outcome = await calls.do(request, perform)
        return outcome.payload["text"], outcome.key, outcome.cost

    async def _send(self, messages: list[dict[str, Any]]) -> Result:
        wire = [{"role": m["role"], "content": [await self._wire(p) for p in m["content"]]} for m in messages]
        try:
            reply = await self._client.chat.completions.create(
                model=self._model,
                messages=wire,  # type: ignore[arg-type]
                extra_body=self._args,
            )
        except Exception as error:
            raise fault_of(error) from error
        raw: dict[str, Any] = reply.model_dump(mode="json", exclude_none=True)
        return self._result(raw)

    def _result(self, raw: dict[str, Any]) -> Result:
        usage = raw.get("usage") or {}
        sent, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
        cost = None
        if sent is not None and written is not None:
            cost = self._prices.price(self.name, sent, written)
        choices = raw.get("choices")
        if not choices:
            error = raw.get("error")
            raise Fault("server", f"no choices in the reply: {error or raw}"[:500], cost=cost, result=raw)
        message = choices[0].get("message") or {}
        reason = choices[0].get("finish_reason")
        if message.get("refusal") or reason == "content_filter":
            raise Fault("refusal", message.get("refusal") or "content filter", cost=cost, result=raw)
        text = message.get("content") or ""
        if reason == "length":
            raise Fault(
                "truncated", "the reply hit the token limit; raise it with --judge-arg", cost=cost, result=raw
            )
        return Result({"text": text, "raw": raw}, cost)

    async def _wire(self, part: dict[str, Any]) -> dict[str, Any]:
        if part["type"] == "text":
            return part
        try:
            image = await self._images.get(part["sha256"], part.get("max_side"))
        except BadImage as error:
            raise Fault("image", f"{part['sha256']}: {error}") from error
        url = {"url": image.url}
        if "detail" in part:
            url["detail"] = part["detail"]
        return {"type": "image_url", "image_url": url}


def _plain(part: Part) -> dict[str, Any]:
    """The part as it stands in the key: pictures by hash and preparation."""
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    assert isinstance(part, Picture)
    plain: dict[str, Any] = {"type": "image", "sha256": part.sha256, "format": "jpeg"}
    if part.max_side is not None:
        plain["max_side"] = part.max_side
    if part.detail is not None:
        plain["detail"] = part.detail
    return plain
