from __future__ import annotations

from typing import Any

import pytest

from limner.painters import sync
from limner.painters.image_data import decode_base64, without_image_data
from limner.painters.services.chat_images import ChatImages
from limner.painters.services.openai_images import OpenAIImages
from limner.painters.sync import OneReplyPainter, error_within
from limner.store import Store
from tests.fakes.images_client import ImageServer
from tests.painters.studio import Studio


@pytest.mark.parametrize("text", ["aGk=", "aG\nk=\n", "data:image/png;base64,aGk="])
def test_base64_with_and_without_a_frame(text: str) -> None:
    assert decode_base64(text) == b"hi"


@pytest.mark.parametrize("text", ["aGk", "aG!k", "aGk=aGk=", "data:image/png;base64,a"])
def test_base64_that_is_not_whole(text: str) -> None:
    with pytest.raises(ValueError):
        decode_base64(text)


@pytest.mark.parametrize(
    ("error", "kind", "detail"),
    [
        ({"code": 502, "message": "away"}, "server", "502: away"),
        ({"code": "429", "message": "slow down"}, "rate_limit", "429: slow down"),
        ({"code": "rate_limit_exceeded", "message": "slow down"}, "rate_limit", "rate_limit_exceeded: slow down"),
        ({"code": 400, "message": "odd size"}, "bad_request", "400: odd size"),
        ({"code": 402, "message": "top up"}, "credits", "402: top up"),
        ({"code": "content_policy_violation", "message": "no"}, "refusal", "content_policy_violation: no"),
        ({"code": None, "message": "hm"}, "server", "hm"),
        ({"code": 7, "message": "hm"}, "server", "7: hm"),
        ("it broke", "server", "it broke"),
    ],
)
def test_errors_within_a_success(error: Any, kind: str, detail: str) -> None:
    fault = error_within(error, {"error": error})
    assert (fault.kind, fault.detail, fault.cost) == (kind, detail, None)


def test_a_reply_is_kept_without_what_is_bulky() -> None:
    reply = {
        "data": [{"b64_json": "aGk=", "url": None}],
        "seal": "x" * 30_000,
        "n": 1,
        "u": ["data:image/png;base64,aGk="],
    }
    kept = {"data": [{"b64_json": "(4 characters)", "url": None}], "seal": "(30000 characters)", "n": 1}
    assert without_image_data(reply) == kept | {"u": ["(26 characters)"]}
    inline = {"inlineData": {"data": "aGk="}, "thoughtSignature": "abc", "text": "abc"}
    assert without_image_data(inline) == {
        "inlineData": {"data": "(4 characters)"}, "thoughtSignature": "(3 characters)", "text": "abc"
    }  # fmt: skip
    assert without_image_data({"data": "https://image.example/1"}) == {"data": "https://image.example/1"}


@pytest.mark.parametrize("kind", [OpenAIImages, ChatImages])
@pytest.mark.parametrize(
    "inside",
    [
        None,
        7,
        "text",
        [],
        {},
        [None],
        [7],
        [{}],
        [{"b64_json": 7}],
        [{"url": ["http://x"]}],
        [{"url": "http://[::1"}],
        [{"url": "file:///etc/passwd"}],
        [{"message": None}],
        [{"message": {"images": [{}]}}],
        [{"message": {"images": [{"image_url": {"url": None}}]}}],
        [{"message": {"images": {"image_url": "x"}, "content": 7}}],
        [{"message": {"content": [{"type": "text", "text": "Here."}]}}],
    ],
)
def test_no_reply_breaks_a_run(
    images: ImageServer, store: Store, monkeypatch: pytest.MonkeyPatch, kind: type[OneReplyPainter], inside: Any
) -> None:
    async def exchange(*words: Any, **more: Any) -> dict[str, Any]:
        usage = {"input_tokens": "12", "output_tokens": [], "prompt_tokens": True, "completion_tokens": {}, "cost": "1"}
        return {"data": inside, "choices": inside, "usage": usage}

    monkeypatch.setattr(sync, "exchange", exchange)
    assert Studio(kind, images, store, "m").fail("a prompt", tries=1).kind in ("server", "image", "unreadable")
