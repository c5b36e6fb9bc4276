"""The messages between painter and worker, as plain JSON and bytes. Nothing here is slow to import."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ...calls import Fault, Kind
from ...core.errors import UsageError
from ...core.images import MAX_PIXELS, BadImage
from ...workers import JobFailure, JobResult, Pool, Recipe, WorkerDeath, WorkerUnfit, hosts

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from ..diffusers.options import Options

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


def open_workers(
    label: str, factory: str, load: DataclassInstance, options: Options, pool: Callable[..., Pool] = Pool
) -> Pool:
    """Open a painter's workers, one on each device; they run until the painter is deleted."""
    recipe = Recipe(
        label, factory, json.dumps(asdict(load), sort_keys=True), start_s=LOAD_S, single=False, variables=options.env,
        most=3 * MAX_PIXELS, careful=True, gpu="cpu" not in options.devices,
    )  # fmt: skip
    devices = [{"device": device} for device in hosts().devices(label, options.devices)]
    return pool(recipe, devices, options.batch_size, idle_s=None)


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


def worker_fault(error: WorkerDeath | JobFailure | WorkerUnfit) -> Exception:
    """Return a worker's failure as the fault of a drawing, or as the error that ends the run."""
    if isinstance(error, WorkerUnfit):
        return UsageError(f"cannot be loaded: {error}" if error.loading else str(error))
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
