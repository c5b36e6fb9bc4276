"""Painters whose drawings are made in batches by worker processes, and the messages between the two.

Nothing here is slow to import.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from ..calls import Attempt, Calls, Fault, Kind, Request, Result
from ..core.errors import UsageError
from ..core.faults import picture_faults
from ..core.images import MAX_PIXELS, BadImage, encode_png
from ..core.settings import PainterFacts
from ..store.records import PROMPT_CUT
from ..workers import JobFailure, JobResult, Pool, Recipe, WorkerDeath, WorkerUnfit, hosts
from .base import FreePainter, ImageKeeper, PainterInputs, Painting, PaintRequest, call_for_image

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from .diffusers.options import Options


KINDS: dict[str, Kind] = {"bad_request": "bad_request", "refusal": "refusal", "image": "image", "local": "local"}
"""The kinds of fault that a worker may report for an item; any other kind is a fault of the worker."""
LOAD_S = 6 * 3600.0
"""Seconds allowed for opening a model, whose weights may have to be downloaded first."""
Sent = tuple[dict[str, Any], tuple[bytes, ...]]


@dataclass(frozen=True)
class DrawItem:
    """One drawing to make.

    Attributes:
        images: The bytes of the pictures to start from.
        short: The text for a second text encoder instead of the prompt.
    """

    prompt: str
    seed: int
    images: tuple[bytes, ...] = ()
    short: str | None = None


@dataclass(frozen=True)
class RawDrawing:
    """A finished drawing: raw RGB pixels, and how it was made.

    Attributes:
        place: The number of its item in the job.
    """

    place: int
    size: tuple[int, int]
    pixels: bytes
    about: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DrawFailure:
    """An item that could not be drawn, with the kind of its fault."""

    place: int
    kind: str
    detail: str


DrawResult = RawDrawing | DrawFailure


def open_workers(label: str, factory: str, load: DataclassInstance, options: Options) -> Pool:
    """Open a painter's workers, one on each device; they run until the painter is deleted."""
    recipe = Recipe(
        label, factory, json.dumps(asdict(load), sort_keys=True), start_s=LOAD_S, single=False, variables=options.env,
        most=3 * MAX_PIXELS, careful=True, gpu="cpu" not in options.devices,
    )  # fmt: skip
    devices = [{"device": device} for device in hosts().devices(label, options.devices)]
    return Pool(recipe, devices, options.batch_size, idle_s=None)


def submit(pool: Pool, how: DataclassInstance, item: DrawItem, seconds: float) -> Future[JobResult]:
    """Submit a drawing, which is drawn together with others of equal settings."""
    words = {"prompt": item.prompt, "seed": item.seed} | ({} if item.short is None else {"short": item.short})
    return pool.submit({"how": asdict(how)}, item.images, seconds=seconds, item=words)


def serve_jobs(
    draw: Callable[[dict[str, Any], Sequence[DrawItem]], Iterator[DrawResult]],
) -> Callable[..., Iterator[Sent]]:
    """Return the function that answers jobs in a worker by drawing them."""

    def serve(items: Sequence[tuple[dict[str, Any], Sequence[bytes]]], how: dict[str, Any]) -> Iterator[Sent]:
        for drawn in draw(how, [DrawItem(**words, images=tuple(images)) for words, images in items]):
            if isinstance(drawn, RawDrawing):
                yield {"place": drawn.place, "value": {"size": drawn.size, "about": drawn.about}}, (drawn.pixels,)
            else:
                yield {"place": drawn.place, "fault": drawn.kind, "detail": drawn.detail}, ()

    return serve


def read_drawing(answer: JobResult) -> RawDrawing:
    """Return the drawing in a worker's answer.

    Raises:
        Fault: It is not a picture.
    """
    value = answer.value if isinstance(answer.value, dict) else {}
    size, about = value.get("size"), value.get("about")
    if isinstance(size, list) and len(size) == 2 and all(type(side) is int and side > 0 for side in size):
        width, height = size
        if isinstance(about, dict) and [len(body) for body in answer.bodies] == [3 * width * height]:
            return RawDrawing(0, (width, height), answer.bodies[0], about)
    raise Fault("image", "the worker did not send a picture")


def worker_fault(error: WorkerDeath | JobFailure | WorkerUnfit, spec: str) -> Exception:
    """Return a worker's failure as the fault of a drawing, or as the error that ends the run."""
    if isinstance(error, WorkerUnfit):
        return UsageError(f"{spec}: cannot be loaded: {error}" if error.loading else f"{spec}: {error}")
    if isinstance(error, JobFailure):
        return Fault(KINDS.get(error.kind, "server"), error.detail)
    return Fault("timeout" if error.late else "server", str(error))


MEMORY_ERRORS = ("out of memory", "can't allocate memory")
NumberedItems = Sequence[tuple[int, DrawItem]]
"""Items, each with its number in the job."""


class BatchDrawer:
    """A drawer of items in as few batches as memory allows; it remembers the batch size that fits.

    Args:
        device: The device, for messages and to free its memory.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self._most: dict[Hashable, int] = {}

    def draw(
        self,
        shape: Hashable,
        items: Sequence[DrawItem],
        batch: Callable[[NumberedItems], Iterable[DrawResult]],
        advice: str,
        *,
        alone: bool = False,
    ) -> Iterator[DrawResult]:
        """Yield the result of each item.

        Args:
            shape: The properties that determine how many fit.
            items: The drawings to make.
            batch: Draws some of them together.
            advice: The end of the message if a single one does not fit.
            alone: Whether each is drawn separately.

        Raises:
            WorkerUnfit: No item can be drawn like this.
        """
        waiting = list(enumerate(items))
        while waiting:
            most = 1 if alone else min(self._most.get(shape, len(waiting)), len(waiting))
            taken, waiting = waiting[:most], waiting[most:]
            results = self._try_batch(taken, batch, advice)
            if results is None:
                self._most[shape] = max(1, len(taken) // 2)
                waiting = taken + waiting
            else:
                yield from results

    def _try_batch(
        self, taken: NumberedItems, batch: Callable[[NumberedItems], Iterable[DrawResult]], advice: str
    ) -> list[DrawResult] | None:
        """Return the results of a batch; None if it did not fit into memory."""
        try:
            return list(batch(taken))
        except WorkerUnfit:
            raise
        except Exception as error:
            if is_out_of_memory(error):
                # The traceback refers to the objects that fill the memory.
                error.__traceback__ = None
                self._free()
                if len(taken) > 1:
                    return None
                return [DrawFailure(taken[0][0], "local", f"out of memory on {self.device} {advice}")]
            if len(taken) > 1:
                # A single item may have made the others fail.
                return [each for item in taken for each in self._try_batch([item], batch, advice) or []]
            message = " ".join(str(error).split())[:500]
            if isinstance(error, Fault):
                return [DrawFailure(taken[0][0], error.kind, message)]
            kind = "image" if isinstance(error, BadImage) else "local"
            return [DrawFailure(taken[0][0], kind, f"{type(error).__name__}: {message}")]

    def _free(self) -> None:
        gc.collect()
        if self.device.startswith("cuda") and (torch := _torch()) is not None:
            torch.cuda.empty_cache()


def is_out_of_memory(error: Exception) -> bool:
    """Return whether an exception says that memory ran out."""
    torch = _torch()
    if isinstance(error, MemoryError) or (torch is not None and isinstance(error, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(word in str(error).lower() for word in MEMORY_ERRORS)


def best_device() -> str:
    """Return the device to use if none is named."""
    if find_spec("torch") is None:
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda:0"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _torch() -> Any:
    return sys.modules.get("torch")


BATCHES_AHEAD = 2
"""Batches per device that are claimed at once: one is drawn while the next is gathered."""
W = TypeVar("W")
"""The type of a painter's weights."""


class BatchPainter(FreePainter, ABC, Generic[W]):
    """A painter that makes several drawings at once in worker processes.

    Attributes:
        packages: Packages that must be installed.

    Args:
        given: The painter's inputs.
        chosen: The checked options: those that change a drawing, and those that affect only how it is computed.
    """

    packages: ClassVar[tuple[str, ...]] = ()

    def __init__(self, given: PainterInputs, chosen: Options) -> None:
        self.name, self.spec, self._place, self._blobs = given.name, given.spec, given.rest, given.blobs
        self._chosen, self._facts = chosen, given.settings.painters.get(given.spec, PainterFacts())
        self.options, self.group = chosen.drawing, self._facts.prompt_group or "open"
        workers = len(hosts().devices(given.spec.partition("/")[0], chosen.devices))
        self._ahead = BATCHES_AHEAD * chosen.batch_size * workers
        self._lock = threading.Lock()
        self._known_weights: W | None = None
        self._pool: Pool | None = None
        self._semaphores: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]
        self._semaphores = weakref.WeakKeyDictionary()

    def check(self) -> None:
        """Raise an error early if a package is missing."""
        missing = [package for package in self.packages if find_spec(package) is None]
        if missing:
            raise UsageError(f"{self.spec} needs {' and '.join(missing)}: install them with pip install 'limner[gpu]'")

    @abstractmethod
    def _find(self) -> W:
        """Find the weights; slow the first time."""

    @abstractmethod
    def _model(self, weights: W) -> str:
        """Return the name under which calls are journalled; it does not depend on the location of the weights."""

    @abstractmethod
    def _draw_settings(self, request: PaintRequest) -> DataclassInstance:
        """Return a drawing's settings other than prompt, seed and pictures; equal settings share a batch."""

    @abstractmethod
    def _body(self, request: PaintRequest, how: Any, weights: W) -> dict[str, Any]:
        """Return everything that determines the pixels."""

    @abstractmethod
    def _open_pool(self, weights: W) -> Pool:
        """Return the workers."""

    def _extra_notes(self, weights: W) -> dict[str, Any]:
        """Return further notes on drawings made with these weights."""
        return {}

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        """Draw through the journal; see `limner.painters.base.Painter`."""
        weights = await self._weights()
        how = self._draw_settings(request)
        body, keeper = self._body(request, how, weights), ImageKeeper(self._blobs)

        async def perform(_attempt: Attempt) -> Result:
            pictures = await asyncio.to_thread(self._pictures, request)
            item = DrawItem(request.prompt, request.seed, pictures, request.short)
            pool = self._pool
            if pool is None:
                pool = await asyncio.to_thread(self._workers, weights)
            job = submit(pool, how, item, self._chosen.timeout_s)
            try:
                drawn = read_drawing(await asyncio.wrap_future(job))
            except (WorkerDeath, JobFailure, WorkerUnfit) as error:
                raise worker_fault(error, self.spec) from error
            sha256 = await asyncio.to_thread(_store_drawing, drawn, keeper)
            return Result({"image": sha256, "about": drawn.about})

        # Wait for a free worker before the call, so that nothing is claimed long before it is drawn.
        async with self._semaphore():
            make = partial(calls.do, Request("paint", self._model(weights), body), perform)
            outcome, kept = await call_for_image(make, calls, keeper)
        about = outcome.payload.get("about", {})
        notes = {"body": body, "about": about} | ({PROMPT_CUT: about["cut"]} if "cut" in about else {})
        notes |= self._extra_notes(weights)
        return Painting(kept.data, request.prompt, (outcome.key,), outcome.cost, notes, kept)

    async def _weights(self) -> W:
        def find() -> W:
            with self._lock:
                weights = self._find() if self._known_weights is None else self._known_weights
                self._known_weights = weights
                return weights

        return await asyncio.to_thread(find) if self._known_weights is None else self._known_weights

    def _workers(self, weights: W) -> Pool:
        with self._lock:
            if self._pool is None:
                self._pool = self._open_pool(weights)
                # This also runs when the interpreter exits.
                weakref.finalize(self, self._pool.close)
            return self._pool

    def _semaphore(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if loop not in self._semaphores:
            self._semaphores[loop] = asyncio.Semaphore(self._ahead)
        return self._semaphores[loop]

    def _pictures(self, request: PaintRequest) -> tuple[bytes, ...]:
        with picture_faults("a picture to start from"):
            return tuple(self._blobs.get(sha256) for sha256 in request.pictures)


def _store_drawing(drawn: RawDrawing, keeper: ImageKeeper) -> str:
    from PIL import Image

    return keeper.put(encode_png(Image.frombytes("RGB", drawn.size, drawn.pixels)))
