"""Chat models behind one interface, opened by ``provider/model``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..core.errors import UsageError
from ..core.images import Preparer
from ..core.settings import Settings
from .anthropic import AnthropicModel
from .base import Answer, Context, ReplayModel, complete
from .chat import ChatModel

SHAPES: dict[str, type[ChatModel]] = {"openai": ChatModel, "anthropic": AnthropicModel}
"""Wire formats of chat calls, as ``shape`` names them."""


def open_model(spec: str, args: dict[str, Any], settings: Settings, images: Preparer) -> ChatModel | ReplayModel:
    """Return the model behind ``provider/model`` or ``replay/FILE``."""
    provider, slash, rest = spec.partition("/")
    if not (slash and rest):
        raise UsageError(f"{spec!r} is not a model: write provider/model, such as openai/gpt-6.1-sol, or replay/FILE")
    if provider == "replay":
        return ReplayModel(Path(rest))
    shape = settings.provider(provider).shape
    return SHAPES[shape](provider, rest, args, settings, images)
