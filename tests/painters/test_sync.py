from __future__ import annotations

from typing import Any

import pytest

from limner.painters import sync
from limner.painters.image_data import without_image_data
from limner.painters.services.chat_images import ChatImages
from limner.painters.services.openai_images import OpenAIImages
from limner.painters.sync import OneReplyPainter
from limner.store import Store
from tests.fakes.images_client import ImageServer
from tests.painters.studio import Studio


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
