"""What a worker opens and how it draws, as plain JSON. Nothing here is heavy to import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FACTORY = "limner.painters.worker.server:opened"


@dataclass(frozen=True)
class ModelSetup:
    """The model a worker is to open, and where it is to run.

    Attributes:
        factory: ``module:function``; called once with device, weights and options, it gives what draws a batch.
        folder: Where modules are looked for first; None for none.
        weights: Folders and files.
        device: Such as ``cuda:1``; None takes the best there is.
    """

    factory: str
    folder: str | None = None
    weights: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    device: str | None = None


@dataclass(frozen=True)
class SizeSettings:
    """The size of a drawing: what agrees in it can be drawn in one batch. None leaves it to the model."""

    width: int | None = None
    height: int | None = None
