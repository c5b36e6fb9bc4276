"""Requests for the fake chat service, sent through the real SDK."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from typing import Any

import openai
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion
from PIL import Image

from tests.fakes.client import ChatServer

KEY = "sk-test-0123456789abcdef"
PROMPT = """Mark the drawing. Reply in JSON.

## Scoring Points
1. Is it round?
2. Is it red?
3. Is it labelled?

## Ratings
1. Spelling
"""
Body = dict[str, Any]


def picture(shade: int, kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (shade % 256, shade // 256, 0)).save(buffer, kind)
    return buffer.getvalue()


def data_url(data: bytes, media: str = "image/png") -> str:
    return f"data:{media};base64,{base64.b64encode(data).decode()}"


def body(text: str = PROMPT, *images: bytes, **more: Any) -> Body:
    parts: list[Body] = [{"type": "text", "text": text}]
    parts += [{"type": "image_url", "image_url": {"url": data_url(i), "detail": "high"}} for i in images]
    return {"model": "judge", "messages": [{"role": "user", "content": parts}], **more}


def connect(server: ChatServer, **settings: Any) -> AsyncOpenAI:
    """The real SDK, without its own retries."""
    # Reading the certificate store, which loopback does not need, would take longer than most tests.
    plain = openai.DefaultAsyncHttpxClient(verify=False)
    chosen: Body = {"api_key": KEY, "max_retries": 0, "timeout": 20, **settings}
    return AsyncOpenAI(base_url=server.base_url, http_client=plain, **chosen)


async def send(client: AsyncOpenAI, request: Body) -> ChatCompletion | openai.APIError:
    try:
        reply: ChatCompletion = await client.chat.completions.create(**request)
    except openai.APIError as error:
        return error
    return reply


def ask_all(server: ChatServer, *requests: Body, **client: Any) -> list[ChatCompletion | openai.APIError]:
    """Sends the requests all at once through the real SDK; failures come back as its exceptions."""

    async def run() -> list[ChatCompletion | openai.APIError]:
        async with connect(server, **client) as sdk:
            return await asyncio.gather(*(send(sdk, request) for request in requests))

    return asyncio.run(run())


def ask(server: ChatServer, request: Body, **client: Any) -> ChatCompletion:
    (reply,) = ask_all(server, request, **client)
    assert isinstance(reply, ChatCompletion), reply
    return reply


def fail(server: ChatServer, request: Body, **client: Any) -> openai.APIError:
    (error,) = ask_all(server, request, **client)
    assert isinstance(error, openai.APIError), error
    return error


def content(reply: ChatCompletion) -> str:
    return reply.choices[0].message.content or ""


def readable(text: str, n: int) -> bool:
    try:
        answers = [a["answer"] for a in json.loads(text)["answers"]]
    except ValueError:
        return False
    return len(answers) == n and set(answers) <= {0, 1}


def image_body(url: str) -> Body:
    part = {"type": "image_url", "image_url": {"url": url}}
    return {"model": "judge", "messages": [{"role": "user", "content": [part]}]}
