"""The fake image service, driven through the real SDK."""

from __future__ import annotations

import base64
import hashlib
import urllib.request
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.fakes.images_client import PICTURE_TOKENS, ImageServer, picture, revised
from tests.fakes.images_plan import HTTP, USER

KEY = "sk-test-0123456789abcdef"
PROMPT = "Draw a prism."


@pytest.fixture(scope="module")
def service() -> Iterator[ImageServer]:
    with ImageServer() as server:
        yield server


@pytest.fixture
def server(service: ImageServer) -> ImageServer:
    service.reset()
    return service


@pytest.fixture(scope="module")
def sdk(service: ImageServer) -> Iterator[OpenAI]:
    plain = openai.DefaultHttpxClient(verify=False)
    with OpenAI(base_url=service.base_url, api_key=KEY, max_retries=0, timeout=20, http_client=plain) as client:
        yield client


def test_the_images_shape_is_the_sdk_s(server: ImageServer, sdk: OpenAI) -> None:
    reply = sdk.images.generate(model="gpt-image-2", prompt=PROMPT, n=1, size="1536x1024", quality="low")
    assert reply.data is not None
    assert base64.b64decode(reply.data[0].b64_json or "") == picture(PROMPT, 0, "1536x1024")
    assert reply.usage is not None
    assert reply.usage.total_tokens == reply.usage.input_tokens + reply.usage.output_tokens
    body = {"model": "gpt-image-2", "prompt": PROMPT, "n": 1, "size": "1536x1024", "quality": "low"}
    assert server.requests() == [body]


def test_links_and_revised_prompts(server: ImageServer, sdk: OpenAI) -> None:
    server.configure(revise=True)
    reply = sdk.images.generate(model="dall-e-3", prompt=PROMPT, size="1024x1792", response_format="url")
    assert reply.data is not None
    assert reply.data[0].revised_prompt == revised(PROMPT)
    with urllib.request.urlopen(reply.data[0].url or "") as file:
        assert file.read() == picture(PROMPT, 0, "1024x1792")
    assert server.counts()["fetched"] == 1


def test_the_chat_shape_is_the_sdk_s(server: ImageServer, sdk: OpenAI) -> None:
    more = {"modalities": ["image", "text"], "image_config": {"aspect_ratio": "3:2"}, "seed": 4}
    messages: Any = [{"role": "user", "content": PROMPT}]
    reply = sdk.chat.completions.create(model="x/draws", messages=messages, extra_body=more)
    (image,) = (reply.choices[0].message.model_extra or {})["images"]
    head, _, payload = image["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(payload) == picture(PROMPT, 4, "3:2")


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({"model": "gpt-image-2", "seed": 1}, "unknown_parameter", "seed"),
        ({"model": "gpt-image-2", "response_format": "url"}, "unknown_parameter", "response_format"),
        ({"model": "gpt-image-2", "style": "vivid"}, "unknown_parameter", "style"),
        ({"model": "gpt-image-2", "quality": "hd"}, "invalid_value", "quality"),
        ({"model": "gpt-image-2", "size": "1000x1000"}, "invalid_value", "size"),
        ({"model": "gpt-image-2", "output_compression": 5}, "invalid_value", "output_compression"),
        ({"model": "gpt-image-2", "n": 2}, "invalid_value", "n"),
        ({"model": "dall-e-3", "size": "1536x1024"}, "invalid_value", "size"),
        ({"model": "dall-e-3", "background": "opaque"}, "unknown_parameter", "background"),
        ({"model": "dall-e-3", "prompt": "x" * 4001}, "string_above_max_length", "prompt"),
        ({"model": "local", "moderation": "low"}, "unknown_parameter", "moderation"),
        ({"model": "local", "prompt": ""}, "missing_required_parameter", "prompt"),
    ],
)
def test_wrong_requests_are_refused(
    server: ImageServer, sdk: OpenAI, body: dict[str, Any], code: str, param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.post("/images/generations", body={"prompt": PROMPT, **body}, cast_to=object)
    assert (caught.value.code, caught.value.param) == (code, param)
    assert server.counts()["rejected"] == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"modalities": ["text"]}, 404),
        ({"modalities": ["image"], "image_config": {"hue": 1}}, 400),
        ({"modalities": ["image"], "image_config": {"aspect_ratio": "1024x1024"}}, 400),
        ({"modalities": ["image"], "size": "1:1"}, 400),
    ],
)
def test_wrong_chats_are_refused(server: ImageServer, sdk: OpenAI, body: dict[str, Any], status: int) -> None:
    messages = [{"role": "user", "content": PROMPT}]
    with pytest.raises(openai.APIStatusError) as caught:
        sdk.post("/chat/completions", body={"model": "x/draws", "messages": messages, **body}, cast_to=object)
    assert caught.value.status_code == status
    assert server.counts()["rejected"] == 1


def test_a_refusal_s_body(server: ImageServer, sdk: OpenAI) -> None:
    server.configure(faults={"moderation_blocked": 1.0})
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.images.generate(model="gpt-image-2", prompt=PROMPT)
    assert (caught.value.type, caught.value.code, caught.value.param) == (USER, "moderation_blocked", None)


def test_every_request_ends_in_one_count(server: ImageServer, sdk: OpenAI) -> None:
    server.configure(seed=2, faults=dict.fromkeys(HTTP, 0.5 / len(HTTP)))
    for n in range(60):
        try:
            sdk.images.generate(model="gpt-image-2", prompt=f"{n}: {PROMPT}")
        except openai.APIError:
            continue
    counts = server.counts()
    assert counts["total"] == 60 == counts["answered"] + sum(counts["faults"].values())
    assert 10 < counts["answered"] < 50


def test_no_two_pictures_are_alike() -> None:
    asks = [(prompt, which, size) for prompt in ("a", "b") for which in (0, 1) for size in ("1:1", "3:2", "1536x1024")]
    assert len({picture(*ask) for ask in asks}) == len(asks)


def test_the_edits_shape_is_the_sdk_s(server: ImageServer, sdk: OpenAI) -> None:
    files = [picture("one"), picture("two", kind="jpeg")]
    named = [("one.png", files[0], "image/png"), ("two.jpeg", files[1], "image/jpeg")]
    reply = sdk.images.edit(model="gpt-image-2", image=named, prompt=PROMPT, size="1024x1024", input_fidelity="high")
    shown = [hashlib.sha256(data).hexdigest() for data in files]
    assert reply.data is not None
    assert base64.b64decode(reply.data[0].b64_json or "") == picture(PROMPT, shown=shown)
    assert reply.usage is not None
    assert reply.usage.input_tokens_details.image_tokens == 2 * PICTURE_TOKENS
    (body,) = server.requests()
    assert [file["sha256"] for file in body.pop("image[]")] == shown
    assert body == {"model": "gpt-image-2", "prompt": PROMPT, "size": "1024x1024", "input_fidelity": "high"}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"image": [("one.png", b"no image", "image/png")]}, "invalid_image_file"),
        ({"image": [("one.png", picture("one"), "image/jpeg")]}, "invalid_image_file"),
        ({"image": []}, "missing_required_parameter"),
        ({"image": [("1.png", picture("one"), "image/png")] * 17}, "invalid_value"),
        ({"input_fidelity": "some"}, "invalid_value"),
        ({"extra_body": {"moderation": "low"}}, "unknown_parameter"),
    ],
)
def test_what_is_wrong_with_an_edit_is_told(server: ImageServer, sdk: OpenAI, changes: Any, code: str) -> None:
    words: dict[str, Any] = {"model": "gpt-image-2", "prompt": PROMPT}
    words["image"] = [("one.png", picture("one"), "image/png")]
    with pytest.raises(openai.BadRequestError) as raised:
        sdk.images.edit(**words | changes)
    assert raised.value.code == code
