"""One call of every client of Limner's to one server."""

from __future__ import annotations

import asyncio
from typing import Any

from limner.calls import Calls, Fault
from limner.calls.turns import Unusable
from limner.core.asks import Text
from limner.core.images import Preparer
from limner.core.settings import Settings
from limner.models import ChatModel, Context
from limner.painters.base import PaintRequest
from limner.painters.service import SERVICES
from limner.store import Store

SHAPES = ("openai-images", "chat-images", "gemini", "dashscope", "bfl")
CONTEXT = Context("genexam", "q1", "mine", "mark")


def settings(base_url: str, shape: str | None = None, **provider: Any) -> Settings:
    """A service called ``fake``, with prices: a chat call of 100 tokens out is bound at well below a dollar."""
    about = {"base_url": base_url, "timeout_s": 20, **({"image_shape": shape} if shape else {}), **provider}
    return Settings.model_validate(
        {
            "providers": {"fake": about},
            "models": {"fake/m": {"input_price": 1000.0, "output_price": 1000.0, "max_output_tokens": 100}},
            "painters": {"fake/m": {"image_bound": 0.5}},
        }
    )


def chat(store: Store, base_url: str, **provider: Any) -> ChatModel:
    """The chat model ``fake/m``."""
    return ChatModel("fake", "m", {}, settings(base_url, **provider), Preparer(store.blobs.get))


def ask(store: Store, base_url: str, words: str = "Mark it.", tries: int = 1, **provider: Any) -> str:
    """The text of one chat reply."""
    model = chat(store, base_url, **provider)
    return asyncio.run(model.turn((Text(words),), (), CONTEXT, Calls(store, tries=tries)))[0]


def paint(store: Store, base_url: str, shape: str, **provider: Any) -> bytes:
    """The image of one call to an image service."""
    painter = SERVICES.get(shape).painter
    options = {"size": "1024x1024"} if shape == "bfl" else {}
    known = settings(base_url, shape, **provider)
    made = painter("mine", "fake/m", "m", options, known, store.blobs)
    return asyncio.run(made.paint(PaintRequest("q1", "A prompt nobody else may read"), Calls(store, tries=1))).image


def fault_of(store: Store, base_url: str, client: str, **provider: Any) -> Fault:
    """The fault of one call by a client: ``chat``, or a shape of image services."""
    try:
        if client == "chat":
            ask(store, base_url, "A prompt nobody else may read", **provider)
        else:
            paint(store, base_url, client, **provider)
    except Fault as fault:
        return fault
    except Unusable as error:
        return error.fault
    raise AssertionError(f"{client}: there is no fault")
