"""The fake chat and image services, driven through OpenAI's own SDK: what it sends is taken, and read whole."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.fakes.client import ChatServer
from tests.fakes.images_client import PICTURE_TOKENS, ImageServer
from tests.fakes.images_client import picture as drawing
from tests.fakes.images_plan import USER
from tests.fakes.truth import verdict
from tests.support import picture

PROMPT = """Mark the drawing. Reply in JSON.

## Scoring Points
1. Is it round?
2. Is it red?
3. Is it labelled?

## Ratings
1. Spelling
"""


def connect(server: ChatServer | ImageServer, **settings: Any) -> OpenAI:
    # Reading the certificate store, which loopback does not need, would take longer than the tests.
    plain = openai.DefaultHttpxClient(verify=False)
    chosen: dict[str, Any] = {"api_key": "sk-test-0123456789abcdef", "max_retries": 0, "timeout": 20, **settings}
    return OpenAI(base_url=server.base_url, http_client=plain, **chosen)


def body(*images: bytes, **more: Any) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"type": "text", "text": PROMPT}]
    for image in images:
        url = f"data:image/png;base64,{base64.b64encode(image).decode()}"
        parts.append({"type": "image_url", "image_url": {"url": url, "detail": "high"}})
    return {"model": "judge", "messages": [{"role": "user", "content": parts}], **more}


@pytest.fixture(scope="module")
def images() -> Iterator[ImageServer]:
    with ImageServer() as server:
        yield server


def test_chat(chat: ChatServer) -> None:
    chat.configure(seed=9)
    with connect(chat) as sdk:
        reply = sdk.chat.completions.create(**body(picture(1), picture(2), max_completion_tokens=16384))
        cut = sdk.chat.completions.create(**body(max_completion_tokens=20))
        with pytest.raises(openai.BadRequestError) as raised:
            sdk.chat.completions.create(**body(temperature=3))
    assert json.loads(reply.choices[0].message.content or "") == verdict(PROMPT, picture(1), 3, 9)
    assert (reply.object, reply.model, reply.choices[0].finish_reason) == ("chat.completion", "judge", "stop")
    assert reply.usage is not None
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
    assert (cut.choices[0].finish_reason, cut.usage and cut.usage.completion_tokens) == ("length", 20)
    assert (raised.value.code, raised.value.param) == ("decimal_out_of_range", "temperature")


FAULTS = [
    ("http_401", openai.AuthenticationError, "invalid_api_key"),
    ("http_402", openai.APIStatusError, "402"),
    ("http_403", openai.PermissionDeniedError, "403"),
    ("http_429", openai.RateLimitError, "rate_limit_exceeded"),
    ("http_429_quota", openai.RateLimitError, "insufficient_quota"),
    ("http_500", openai.InternalServerError, None),
    ("content_policy", openai.BadRequestError, "content_policy_violation"),
    ("drop", openai.APIConnectionError, None),
]


def test_faults_raise_what_a_real_service_raises(chat: ChatServer) -> None:
    with connect(chat) as sdk:
        for kind, exception, code in FAULTS:
            chat.reset()
            chat.configure(faults={kind: 1.0}, fault_first=1)
            with pytest.raises(exception) as raised:
                sdk.chat.completions.create(**body())
            assert (kind, type(raised.value), getattr(raised.value, "code", None)) == (kind, exception, code)
            sdk.chat.completions.create(**body())
            counts = chat.counts()
            assert (counts["faults"], counts["answered"], counts["total"]) == ({kind: 1}, 1, 2)


def test_images(images: ImageServer) -> None:
    images.reset()
    with connect(images) as sdk:
        reply = sdk.images.generate(model="gpt-image-2", prompt=PROMPT, n=1, size="1536x1024", quality="low")
        images.configure(faults={"moderation_blocked": 1.0})
        with pytest.raises(openai.BadRequestError) as raised:
            sdk.images.generate(model="gpt-image-2", prompt=PROMPT)
    assert reply.data is not None
    assert base64.b64decode(reply.data[0].b64_json or "") == drawing(PROMPT, 0, "1536x1024")
    assert reply.usage is not None
    assert reply.usage.total_tokens == reply.usage.input_tokens + reply.usage.output_tokens
    assert (raised.value.type, raised.value.code, raised.value.param) == (USER, "moderation_blocked", None)


def test_images_in_a_chat(images: ImageServer) -> None:
    images.reset()
    more = {"modalities": ["image", "text"], "image_config": {"aspect_ratio": "3:2"}, "seed": 4}
    with connect(images) as sdk:
        messages: Any = [{"role": "user", "content": PROMPT}]
        reply = sdk.chat.completions.create(model="x/draws", messages=messages, extra_body=more)
    (image,) = (reply.choices[0].message.model_extra or {})["images"]
    head, _, payload = image["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(payload) == drawing(PROMPT, 4, "3:2")


def test_edits(images: ImageServer) -> None:
    images.reset()
    files = [drawing("one"), drawing("two", kind="jpeg")]
    named = [("one.png", files[0], "image/png"), ("two.jpeg", files[1], "image/jpeg")]
    fields: dict[str, Any] = {"model": "gpt-image-2", "prompt": PROMPT, "size": "1024x1024", "input_fidelity": "high"}
    with connect(images) as sdk:
        reply = sdk.images.edit(image=named, **fields)
    shown = [hashlib.sha256(data).hexdigest() for data in files]
    assert reply.data is not None
    assert base64.b64decode(reply.data[0].b64_json or "") == drawing(PROMPT, shown=shown)
    assert reply.usage is not None
    assert reply.usage.input_tokens_details.image_tokens == 2 * PICTURE_TOKENS
    (sent,) = images.requests()
    assert [file["sha256"] for file in sent.pop("image[]")] == shown
    assert sent == fields
