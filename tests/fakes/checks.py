"""Reads a chat request as strictly as a service does, and refuses it in the service's words."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.arguments import FIELDS, check_arguments
from tests.fakes.images import ImageError, outline, read_data_url
from tests.fakes.refusals import choice_message, need, refused

Json = dict[str, Any]

ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_IMAGE_TOKENS = {"low": 85, "auto": 765, "high": 765, "original": 765}


@dataclass(slots=True)
class Ask:
    """What a request comes to: the first user message's text, the first image, how far the talk has got."""

    model: str
    text: str = ""
    image: bytes = b""
    turn: int = 0
    prompt_chars: int = 0
    image_tokens: int = 0
    limit: int | None = None
    effort: str = "none"
    shown: Json = field(default_factory=dict)
    _texts: list[str] | None = None

    @property
    def prompt_tokens(self) -> int:
        return self.prompt_chars // 4 + 1 + self.image_tokens


def authorise(header: str | None, api_key: str | None) -> None:
    """Lets in the one key, or anyone where there is none."""
    if api_key is None or header == f"Bearer {api_key}":
        return
    given = (header or "").removeprefix("Bearer ").strip()
    message = "You didn't provide an API key in an Authorization header."
    if given:
        # The real service shows both ends of the key, so a client that repeats the message leaks them.
        masked = given if len(given) <= 12 else f"{given[:8]}{'*' * (len(given) - 12)}{given[-4:]}"
        message = f"Incorrect API key provided: {masked}."
    raise refused(message, code="invalid_api_key", status=401)


def decode(raw: bytes) -> Any:
    """The request body's JSON."""
    try:
        return json.loads(raw)
    except ValueError:
        raise refused("We could not parse the JSON body of your request.") from None


def check(body: Any, *, models: list[str] | None = None, unsupported: list[str] | None = None) -> Ask:
    """Reads a decoded body; raises `RefusedError` where a service would."""
    need(isinstance(body, dict), "We could not parse the JSON body of your request as an object.")
    if unknown := sorted(set(body) - FIELDS):
        plural = "s" if len(unknown) > 1 else ""
        raise refused(f"Unrecognized request argument{plural} supplied: {', '.join(unknown)}")
    need(isinstance(body.get("model"), str) and body["model"] != "", "you must provide a model parameter")
    for name in unsupported or []:
        message = f"Unsupported parameter: '{name}' is not supported with this model."
        need(name not in body, message, name, "unsupported_parameter")
    if models is not None and body["model"] not in models:
        message = f"The model `{body['model']}` does not exist or you do not have access to it."
        raise refused(message, code="model_not_found", status=404)
    messages = body.get("messages")
    missing = "Missing required parameter: 'messages'."
    need(isinstance(messages, list) and bool(messages), missing, "messages", "missing_required_parameter")
    ask = Ask(body["model"])
    shown = [_message(m, f"messages[{i}]", ask) for i, m in enumerate(messages)]
    ask.text = "\n".join(ask._texts or [])
    ask.limit = check_arguments(body)
    ask.effort = body.get("reasoning_effort") or "none"
    ask.shown = {**body, "messages": shown}
    return ask


def shorten(value: Any) -> Any:
    """A refused body for the record: whatever is wrong with it, its data URLs are left out."""
    if isinstance(value, dict):
        return {name: shorten(item) for name, item in value.items()}
    if isinstance(value, list):
        return [shorten(item) for item in value]
    if isinstance(value, str) and value.startswith("data:"):
        return outline(value.encode(), None)
    return value


def _message(message: Any, at: str, ask: Ask) -> Json:
    role, content = message.get("role"), message.get("content")
    need(role in ROLES, choice_message(role, ROLES), f"{at}.role", "invalid_value")
    ask.turn += role == "assistant"
    where = f"{at}.content"
    shown: Any = content
    if isinstance(content, str):
        texts = [content]
        ask.prompt_chars += len(content)
    elif content is None and role == "assistant":
        return dict(message)
    else:
        shown = [_part(part, f"{where}[{i}]", role, ask) for i, part in enumerate(content)]
        texts = [part["text"] for part in shown if part["type"] == "text"]
    if role == "user" and ask._texts is None:
        ask._texts = texts
    return {**message, "content": shown}


def _part(part: Any, at: str, role: str, ask: Ask) -> Json:
    kinds = ("text", "image_url")
    need(part.get("type") in kinds, choice_message(part.get("type"), kinds), f"{at}.type", "invalid_value")
    if part["type"] == "text":
        ask.prompt_chars += len(part["text"])
        return dict(part)
    need(role == "user", f"Invalid '{at}'. Image URLs are only allowed for messages with role 'user'.", at)
    image = part["image_url"]
    detail, details = image.get("detail", "auto"), tuple(_IMAGE_TOKENS)
    need(detail in details, choice_message(detail, details), f"{at}.image_url.detail", "invalid_value")
    try:
        media, data = read_data_url(image["url"])
    except ImageError as wrong:
        raise refused(str(wrong), code=wrong.code) from None
    ask.image = ask.image or data
    ask.image_tokens += _IMAGE_TOKENS[detail]
    return {**part, "image_url": {**image, "url": outline(data, media)}}
