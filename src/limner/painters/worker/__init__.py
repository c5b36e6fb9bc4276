"""Models outside diffusers, drawn in batches by one worker per device: ``worker/…`` and ``transformers/…``.

``worker/MODULE:FACTORY`` is a model of the user's own, opened by a function in a worker process;
``transformers/REPO_OR_PATH`` one of transformers that Limner has an adapter for. Below the painters is the worker's
side, which opens a model by its factory and draws batches with it.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...calls import Fault, canonical
from ...core.errors import UsageError
from ...core.images import decode, flatten
from ...core.settings import PainterFacts
from ...store import Blobs
from ...workers import Pool, WorkerUnfit
from ..base import MAX_PICTURES, Aspect, PainterInputs, PainterKind, PaintRequest, refuse_pictures
from ..batched import (
    BatchDrawer,
    BatchPainter,
    DrawFailure,
    DrawItem,
    DrawResult,
    NumberedItems,
    RawDrawing,
    Sent,
    best_device,
    open_workers,
    serve_jobs,
)
from ..diffusers import options as readers
from ..diffusers.weights import Weights, find_weights, is_here, local_path
from ..python import working_folder

EXECUTION = ("batch_size", "devices", "timeout_s", "env")
SIZES = ("size", "width", "height")
OWN_OPTIONS = {name: readers.READERS[name] for name in (*EXECUTION, *SIZES)} | {
    "weights": readers.PLACES, "edits": readers.FLAG
}  # fmt: skip
"""Options of ``worker/…`` that Limner reads; all others go to the factory."""


class WorkerPainter(BatchPainter[tuple[Weights, ...]]):
    """A model opened by a factory ``(device, **options)``, which returns a function from a batch to its images.

    A drawing is identified by the source of the factory's module, the named weights and the options.
    """

    changeable = True  # It draws again after a change of source or folder; otherwise the journal has the result.

    def __init__(self, given: PainterInputs) -> None:
        self._factory, self._source = find_factory(given.spec)
        own = {key: value for key, value in given.options.items() if readers.ALIASES.get(key, key) in OWN_OPTIONS}
        super().__init__(given, readers.parse(own, given.spec, OWN_OPTIONS))
        self._passed = {key: value for key, value in given.options.items() if key not in own}
        self._places = self._chosen.drawing.get("weights", [])
        for place in self._places:
            is_here(place)
        self.most_pictures = MAX_PICTURES if self._chosen.drawing.get("edits") else 0
        drawing = {name: value for name, value in self._chosen.drawing.items() if name != "edits"}
        self.options = {**self._passed, **drawing}
        try:
            canonical(self.options)
        except (TypeError, ValueError) as error:
            raise UsageError(f"{given.spec}: an option cannot be written as JSON: {error}") from error

    def _find(self) -> tuple[Weights, ...]:
        return tuple(find_weights(place) for place in self._places)

    def _model(self, weights: tuple[Weights, ...]) -> str:
        return self.spec

    def _draw_settings(self, request: PaintRequest) -> SizeSettings:
        refuse_pictures(self, request)
        return SizeSettings(*self._chosen.size(request.aspect, self._facts.sizes))

    def _body(self, request: PaintRequest, how: Any, weights: tuple[Weights, ...]) -> dict[str, Any]:
        body = {"prompt": request.prompt, "seed": request.seed, "source": self._source, "options": self._passed}
        body |= {"weights": [each.identity for each in weights]} | asdict(how)
        return body | ({"images": list(request.pictures)} if request.pictures else {})

    def _open_pool(self, weights: tuple[Weights, ...]) -> Pool:
        here = tuple(local_path(each) for each in weights)
        load = ModelSetup(self._factory, str(Path.cwd()), here, self._passed)
        return open_workers("worker", FACTORY, load, self._chosen)


def find_factory(spec: str) -> tuple[str, str]:
    """Return ``module:function`` and the sha256 of the module's source, without importing the module.

    Raises:
        UsageError: The module does not exist.
    """
    factory = spec.removeprefix("worker/")
    module, colon, function = factory.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), function)):
        raise UsageError(f"{spec!r} is not a factory: write worker/module:function")
    try:
        with working_folder():
            module_spec = find_spec(module)
    except (ImportError, ValueError):
        module_spec = None
    if module_spec is None or module_spec.origin is None or not Path(module_spec.origin).is_file():
        raise UsageError(f"{spec}: no module {module!r}, neither in the working folder nor installed")
    return factory, hashlib.sha256(Path(module_spec.origin).read_bytes()).hexdigest()


READERS: dict[str, readers.Reader] = {
    "dtype": readers.READERS["dtype"],
    "guidance": readers.NUMBER,
    "temperature": readers.POSITIVE,
    "top_k": readers.WHOLE,
    "negative_prompt": readers.TEXT,
    "revision": readers.TEXT,
    **{name: readers.READERS[name] for name in (*SIZES, *EXECUTION)},
}
DRAWING = ("dtype", "guidance", "temperature", "top_k", "negative_prompt")
"""Options that are passed to the model."""


@dataclass(frozen=True)
class Adapter:
    """A way to draw with one type of model.

    Attributes:
        version: Part of every call's key; changed whenever the same request would give other pixels.
        sizes: The sizes by aspect; None if the model has only one size.
        lacks: Options that it does not have.
    """

    factory: str
    version: str
    sizes: Mapping[Aspect, str] | None = None
    lacks: frozenset[str] = frozenset()


ADAPTERS = {
    "janus": Adapter(
        "limner.painters.worker.models:open_janus", "janus-1", lacks=frozenset({"negative_prompt", *SIZES})
    ),
    "emu3": Adapter(
        "limner.painters.worker.models:open_emu3", "emu3-1",
        {"square": "720x720", "landscape": "864x600", "portrait": "600x864"},
    ),
}  # fmt: skip
"""The adapters, by the ``model_type`` in a model's config.json."""


@dataclass(frozen=True)
class AdaptedModel:
    """A model's weights and its adapter."""

    weights: Weights
    adapter: Adapter


class TransformersPainter(BatchPainter[AdaptedModel]):
    """A Janus-Pro or Emu3 model from a folder or the Hugging Face hub, run by worker processes.

    Each drawing's noise is made on the CPU from its seed, so devices and batches do not change it.
    """

    packages = ("torch", "transformers", "accelerate")

    def __init__(self, given: PainterInputs) -> None:
        super().__init__(given, readers.parse(given.options, given.spec, READERS))
        self.changeable = is_here(self._place)

    def _find(self) -> AdaptedModel:
        weights = find_weights(self._place, self.options.get("revision"))
        config = Path(local_path(weights)) / "config.json"
        try:
            sort = json.loads(config.read_text("utf-8"))["model_type"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{self.spec}: {config} has no model_type: this is not a saved model") from error
        adapter = ADAPTERS.get(sort)
        if adapter is None:
            raise UsageError(
                f"{self.spec} is a {sort} model; supported are {', '.join(sorted(ADAPTERS))}. "
                "For another model write a factory: --painter worker/MODULE:FACTORY"
            )
        if unknown := sorted(adapter.lacks & self.options.keys()):
            raise UsageError(f"{self.spec}: {sort} models have no option {', '.join(unknown)}")
        return AdaptedModel(weights, adapter)

    def _model(self, model: AdaptedModel) -> str:
        return f"transformers/{model.weights.name}"

    def _draw_settings(self, request: PaintRequest) -> SizeSettings:
        refuse_pictures(self, request)
        sizes = None if self._known_weights is None else self._known_weights.adapter.sizes
        return (
            SizeSettings()
            if sizes is None
            else SizeSettings(*self._chosen.size(request.aspect, {**sizes, **self._facts.sizes}))
        )

    def _body(self, request: PaintRequest, how: Any, model: AdaptedModel) -> dict[str, Any]:
        """Return everything that determines the pixels; batch size and devices do not."""
        body = {"prompt": request.prompt, "seed": request.seed, "weights": model.weights.identity}
        body |= {"adapter": model.adapter.version, "options": self._passed()}
        return body | {name: side for name, side in asdict(how).items() if side is not None}

    def _passed(self) -> dict[str, Any]:
        return {"dtype": self._chosen.dtype} | {name: self.options[name] for name in DRAWING if name in self.options}

    def _open_pool(self, model: AdaptedModel) -> Pool:
        load = ModelSetup(model.adapter.factory, None, (local_path(model.weights),), self._passed())
        return open_workers("transformers", FACTORY, load, self._chosen)


WORKER = PainterKind(
    "worker/MODULE:FACTORY", "running your own model in batches on your own GPUs", WorkerPainter, devices=True
)
TRANSFORMERS = PainterKind(
    "transformers/REPO_OR_PATH", "running Janus-Pro or Emu3 on your own GPUs", TransformersPainter, devices=True
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


FACTORY = "limner.painters.worker:open_worker"


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
