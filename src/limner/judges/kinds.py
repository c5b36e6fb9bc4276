"""The sorts of judges there are: each by the word before the first slash, registered under ``limner.judges``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.asks import Variant
from ..core.images import Preparer
from ..core.registry import Registry
from ..core.settings import Settings
from ..evidence.probe import OcrProbe
from ..exams import Kind
from ..store import Blobs
from .base import Judge


@dataclass(frozen=True)
class JudgeInputs:
    """What a judge is made from.

    Attributes:
        spec: The word, and what stands behind its first slash.
        args: The ``--judge-arg`` given.
        variant: How it is asked.
        images: Prepares pictures to be sent.
        rules: By which rules a judge without prose marks, where a user has chosen among them.
    """

    spec: str
    rest: str
    args: Mapping[str, Any]
    exam: Kind[Any]
    variant: Variant
    settings: Settings
    images: Preparer
    blobs: Blobs
    ocr: OcrProbe
    rules: str | None = None


@dataclass(frozen=True)
class JudgeKind:
    """A sort of judge.

    A judge that may cost money has `limner.core.prices.Priced.price`, for estimates.

    Attributes:
        usage: How it is written: ``replay/FILE``.
        about: How it marks, in a line.
        open: Makes one; it refuses what it cannot work with, such as an exam it does not serve.
    """

    usage: str
    about: str
    open: Callable[[JudgeInputs], Judge]


JUDGES: Registry[JudgeKind] = Registry("limner.judges", "judge", JudgeKind)
