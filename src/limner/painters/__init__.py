"""Painters: what draws, found by ``kind/rest`` and named by ``name=kind/rest``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..evidence.probe import OcrProbe
from ..exam import Exam
from ..settings import Settings
from ..store import Blobs
from .api import ApiPainter
from .base import Aspect, Painter, Painting, PaintRequest
from .controls import NAMES as CONTROLS
from .controls import SIZE, ControlPainter
from .folder import FolderPainter

__all__ = [
    "CONTROLS",
    "ApiPainter",
    "Aspect",
    "ControlPainter",
    "FolderPainter",
    "PaintRequest",
    "Painter",
    "Painting",
    "open_painter",
    "with_devices",
]


SHAPES = {
    "openai-images": "openai_images:OpenAIImages",
    "chat-images": "chat_images:ChatImages",
    "gemini": "gemini:Gemini",
    "dashscope": "dashscope:DashScopePainter",
    "bfl": "bfl:BflPainter",
}
"""The wire formats of image services, and who speaks them."""


def open_painter(
    word: str,
    exam: Exam[Any],
    blobs: Blobs,
    ocr: OcrProbe,
    settings: Settings,
    options: Mapping[str, Any],
    blank: tuple[int, int] = SIZE,
) -> Painter:
    """The painter behind a word, with a short name by ``mine=…``.

    ``folder/PATH``, ``control/NAME``, ``python/module:function``, ``diffusers/REPO_OR_PATH``, or ``provider/model`` for
    an image service.
    """
    named = re.match(r"([\w.:+-]+)=(.+)", word)
    name, spec = (named[1], named[2]) if named else (word, word)
    kind, _, rest = spec.partition("/")
    if kind == "folder" and rest:
        return FolderPainter(name, spec, Path(rest).expanduser())
    if kind == "control":
        return ControlPainter(name, spec, rest, exam, blobs, ocr, blank)
    if kind == "python" and rest:
        from .own import OwnPainter

        return OwnPainter(name, spec, blobs, options)
    if kind == "diffusers" and rest:
        from .diffusion import DiffusersPainter

        return DiffusersPainter(name, spec, blobs, options, settings.painters.get(spec))
    if rest and kind in settings.providers:
        return _service(name, spec, settings, blobs, options)
    services = ", ".join(f"{name}/MODEL" for name, p in settings.providers.items() if p.image_shape)
    kinds = f"folder/PATH, control/{{{','.join(CONTROLS)}}}, python/MODULE:FUNCTION, diffusers/REPO_OR_PATH, {services}"
    raise UsageError(f"{spec!r} is no painter: write {kinds}")


def with_devices(word: str, options: Mapping[str, Any], devices: str | None) -> Mapping[str, Any]:
    """The options of a painter with where it runs, if it is one that runs here."""
    runs_here = re.match(r"([\w.:+-]+=)?diffusers/", word)
    return {**options, "devices": devices} if devices is not None and runs_here else options


def _service(name: str, spec: str, settings: Settings, blobs: Blobs, options: Mapping[str, Any]) -> Painter:
    provider, _, model = spec.partition("/")
    shape = settings.provider(provider).image_shape
    if shape is None:
        raise UsageError(f"{provider} has no image_shape: add one under [providers.{provider}] in limner.toml")
    module, _, made = SHAPES[shape].partition(":")
    found: type[ApiPainter] = getattr(import_module(f".{module}", __name__), made)
    return found(name, spec, model, options, settings, blobs)
