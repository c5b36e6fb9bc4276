"""The worker's side: it opens a model by its factory and draws batches with it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from ...calls import Fault
from ...core.images import decode, flatten
from ...workers import WorkerUnfit
from ..batched import (
    BatchDrawer,
    DrawFailure,
    DrawItem,
    DrawResult,
    NumberedItems,
    RawDrawing,
    Sent,
    best_device,
    serve_jobs,
)


@dataclass(frozen=True)
class BatchItem:
    """One drawing of a batch, as passed to a model's function.

    Attributes:
        width: The width in pixels; None if the model has only one size.
        images: Pictures to start from, as PIL images.
    """

    prompt: str
    seed: int
    width: int | None = None
    height: int | None = None
    images: list[Any] = field(default_factory=list)


DrawBatch = Callable[[list[BatchItem]], Sequence[Any]]
DrawSize = tuple[int | None, int | None]


def open_worker(**load: Any) -> Callable[..., Iterator[Sent]]:
    """Return the function that draws in a worker; see `limner.workers`."""
    setup = ModelSetup(**load)
    if setup.folder is not None:
        sys.path.insert(0, setup.folder)
    module, _, name = setup.factory.partition(":")
    device = setup.device or best_device()
    given = dict(setup.options) | ({"weights": list(setup.weights)} if setup.weights else {})
    try:
        draw = getattr(import_module(module), name)(device=device, **given)
    except WorkerUnfit:
        raise
    except Exception as error:
        raise WorkerUnfit(f"{type(error).__name__}: {' '.join(str(error).split())[:600]}") from error
    if not callable(draw):
        kind = type(draw).__name__
        raise WorkerUnfit(f"{setup.factory} returned {kind}; expected a function that draws a batch")
    return batch_server(draw, device)


def batch_server(draw: DrawBatch, device: str) -> Callable[..., Iterator[Sent]]:
    """Return the function that answers jobs, using a function that draws a batch."""
    drawer = BatchDrawer(device)

    def serve(how: dict[str, Any], items: Sequence[DrawItem]) -> Iterator[DrawResult]:
        size = how["width"], how["height"]
        advice = "for one image; try a smaller size or fewer bits"
        return drawer.draw(size, items, lambda batch: _draw_batch(draw, batch, size, device), advice)

    return serve_jobs(serve)


def _draw_batch(draw: DrawBatch, batch: NumberedItems, size: DrawSize, device: str) -> Iterator[DrawResult]:
    given = [BatchItem(item.prompt, item.seed, *size, [decode(data) for data in item.images]) for _, item in batch]
    drawn = list(draw(given))
    if len(drawn) != len(batch):
        raise WorkerUnfit(f"the model returned {len(drawn)} images for {len(batch)} items; expected one for each")
    for (place, _), each in zip(batch, drawn, strict=True):
        if isinstance(each, Fault):
            yield DrawFailure(place, each.kind, each.detail)
        else:
            image = _to_image(each)
            yield RawDrawing(place, image.size, image.tobytes(), {"device": device, "batch": len(batch)})


def _to_image(returned: Any) -> Any:
    """Convert a PIL image, the bytes of a file, or a uint8 array (height, width, 3) to an RGB image."""
    import numpy as np
    from PIL import Image

    if isinstance(returned, Image.Image):
        return flatten(returned)
    if isinstance(returned, bytes | bytearray):
        return decode(bytes(returned))
    kind = type(returned).__name__
    if isinstance(returned, np.ndarray):
        if returned.dtype == np.uint8 and returned.ndim == 3 and returned.shape[2] == 3:
            return Image.fromarray(np.ascontiguousarray(returned))
        kind += f" of {returned.dtype}"
    raise TypeError(f"the model returned {kind}; expected PIL images, bytes, or uint8 arrays (height, width, 3)")


FACTORY = "limner.painters.worker.server:open_worker"


@dataclass(frozen=True)
class ModelSetup:
    """The model that a worker opens, and where it runs.

    Attributes:
        factory: ``module:function``; called once with device, weights and options, it returns a batch function.
        folder: The folder to search first for modules.
        weights: Folders and files.
        device: Such as ``cuda:1``; None takes the best one.
    """

    factory: str
    folder: str | None = None
    weights: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    device: str | None = None


@dataclass(frozen=True)
class SizeSettings:
    """The size of a drawing; drawings of equal size share a batch. None leaves it to the model."""

    width: int | None = None
    height: int | None = None
