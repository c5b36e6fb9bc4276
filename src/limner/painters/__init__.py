"""Painters, opened by ``kind/rest`` and named by ``name=kind/rest``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..core.errors import UsageError
from ..core.evaluator import name_and_spec
from ..core.exam import Exam
from ..core.settings import PainterFacts, Settings
from ..evidence.probe import OcrProbe
from ..store import Blobs
from .base import PAINTERS, Aspect, Painter, PainterInputs, PainterKind, Painting, PaintRequest, translate_options
from .controls.painter import NAMES as CONTROLS
from .controls.painter import SIZE, ControlPainter
from .folder import FolderPainter
from .service import SERVICES, ApiPainter


def open_painter(
    word: str,
    exam: Exam[Any],
    blobs: Blobs,
    ocr: OcrProbe,
    settings: Settings,
    options: Mapping[str, Any],
    blank: tuple[int, int] = SIZE,
) -> Painter:
    """Return the painter behind a word: of a registered kind, or ``provider/model`` for an image service."""
    name, spec = name_and_spec(word)
    kind, _, rest = spec.partition("/")
    if rest and PAINTERS.serves(kind, settings.providers):
        return PAINTERS.get(kind).open(PainterInputs(name, spec, rest, options, exam, blobs, settings, ocr, blank))
    if rest and kind in settings.providers:
        return open_service(spec, settings, blobs, options, name)
    services = [f"{name}/MODEL" for name, p in settings.providers.items() if p.image_shape]
    raise UsageError(f"{spec!r} is not a painter: write {', '.join([*PAINTERS.usages(), *services])}")


def painter_args(
    word: str, preset: Mapping[str, Any], given: Mapping[str, Any], settings: Settings
) -> Mapping[str, Any]:
    """Return a painter's options: a preset's under its own names, and the given ones; see `limner.painters.base`."""
    spec = name_and_spec(word)[1]
    kind, _, rest = spec.partition("/")
    takes: Collection[str] | None = None
    if rest and PAINTERS.serves(kind, settings.providers):
        asked = PAINTERS.get(kind).takes
        takes = asked(rest) if preset and asked is not None else None
    elif rest and kind in settings.providers and (shape := settings.provider(kind).image_shape) is not None:
        takes = SERVICES.get(shape).painter.takes()
    names = settings.painters.get(spec, PainterFacts()).option_names
    return translate_options(preset, given, takes, names)


def add_devices(word: str, options: Mapping[str, Any], devices: str | None) -> Mapping[str, Any]:
    """Return a painter's options with the devices it runs on, if it runs on this machine."""
    if devices is None:
        return options
    kind = name_and_spec(word)[1].partition("/")[0]
    runs_here = kind in PAINTERS.names() and PAINTERS.get(kind).devices
    return {**options, "devices": devices} if runs_here else options


def open_service(
    spec: str, settings: Settings, blobs: Blobs, options: Mapping[str, Any] | None = None, name: str | None = None
) -> ApiPainter:
    """Return the painter behind ``provider/model``.

    Raises:
        UsageError: The provider is unknown or does not draw.
    """
    provider, _, model = spec.partition("/")
    shape = settings.provider(provider).image_shape
    if shape is None:
        raise UsageError(f"{provider} has no image_shape: add one under [providers.{provider}] in limner.toml")
    return SERVICES.get(shape).painter(name or spec, spec, model, options or {}, settings, blobs)
