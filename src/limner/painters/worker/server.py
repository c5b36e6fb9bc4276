"""The far end: opens a model by its factory and draws batches with it. Runs in a worker process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from ...calls import Fault
from ...core.images import decode, flatten
from ...workers import WorkerUnfit
from ..batched.jobs import BatchDrawer, DrawFailure, DrawItem, Found, Placed, RawDrawing, Sent, best_device, serve_jobs


@dataclass(frozen=True)
class BatchItem:
    """One drawing of a batch, as a model's function is given it.

    Attributes:
        width: None where the model has one size only.
        images: Pictures to start from, as PIL images.
    """

    prompt: str
    seed: int
    width: int | None = None
    height: int | None = None
    images: list[Any] = field(default_factory=list)


DrawBatch = Callable[[list[BatchItem]], Sequence[Any]]


def opened(**load: Any) -> Callable[..., Iterator[Sent]]:
    """Return what a worker draws with; see `limner.workers`."""
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
        raise WorkerUnfit(f"{setup.factory} returned {type(draw).__name__}; wanted is a function that draws a batch")
    return batch_server(draw, device)


def batch_server(draw: DrawBatch, device: str) -> Callable[..., Iterator[Sent]]:
    """Return what answers jobs, by a function that draws a batch."""
    drawer = BatchDrawer(device)

    def serve(how: dict[str, Any], items: Sequence[DrawItem]) -> Iterator[Found]:
        width, height = how["width"], how["height"]
        advice = "for one image; try a smaller size or fewer bits"
        return drawer.draw((width, height), items, lambda batch: _drawn(draw, batch, width, height, device), advice)

    return serve_jobs(serve)


def _drawn(draw: DrawBatch, batch: Placed, width: int | None, height: int | None, device: str) -> Iterator[Found]:
    given = [
        BatchItem(item.prompt, item.seed, width, height, [decode(data) for data in item.images]) for _, item in batch
    ]
    found = list(draw(given))
    if len(found) != len(batch):
        raise WorkerUnfit(f"the model returned {len(found)} images for {len(batch)} items; wanted is one for each")
    for (place, _), each in zip(batch, found, strict=True):
        if isinstance(each, Fault):
            yield DrawFailure(place, each.kind, str(each))
        else:
            image = _picture(each)
            yield RawDrawing(place, image.size, image.tobytes(), {"device": device, "batch": len(batch)})


def _picture(found: Any) -> Any:
    """Return an RGB image out of a PIL image, the bytes of a file, or an array of bytes by height, width and colour."""
    import numpy as np
    from PIL import Image

    if isinstance(found, Image.Image):
        return flatten(found)
    if isinstance(found, bytes | bytearray):
        return decode(bytes(found))
    if isinstance(found, np.ndarray) and found.dtype == np.uint8 and found.ndim == 3 and found.shape[2] == 3:
        return Image.fromarray(np.ascontiguousarray(found))
    told = f"{type(found).__name__} of {found.dtype}" if isinstance(found, np.ndarray) else type(found).__name__
    raise TypeError(f"the model returned {told}; wanted are PIL images, bytes, or uint8 arrays (height, width, 3)")


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
