"""The sorts of painters there are: each by the word before the first slash, registered under ``limner.painters``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.exam import Exam
from ..core.registry import Opener, Registry
from ..core.settings import Settings
from ..evidence.probe import OcrProbe
from ..store import Blobs
from .base import Painter


@dataclass(frozen=True)
class PainterInputs:
    """What a painter is made from.

    Attributes:
        name: The row it gets in tables.
        spec: All of ``kind/rest``, and what stands behind the first slash of it.
        options: The ``--painter-arg`` given.
        exam: For painters that draw from its references; never to be shown to a model.
        blank: The size of a blank sheet.
    """

    name: str
    spec: str
    rest: str
    options: Mapping[str, Any]
    exam: Exam[Any]
    blobs: Blobs
    settings: Settings
    ocr: OcrProbe
    blank: tuple[int, int]


@dataclass(frozen=True)
class PainterKind(Opener[PainterInputs, Painter]):
    """A sort of painter.

    A painter that may cost money has `limner.core.catalogue.Priced.price`, for estimates.

    Attributes:
        takes: The options it takes, of what stands behind the slash; where it is not said, presets speak as they are.
        devices: Whether it runs where ``--devices`` says, and takes that as an option.
    """

    devices: bool = False
    takes: Callable[[str], Collection[str]] | None = None


PAINTERS: Registry[PainterKind] = Registry("limner.painters", "painter", PainterKind)
