"""What painter and worker say to each other, as plain JSON and bytes. Nothing here is heavy to import."""

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
"""What a worker may say of an item; whatever else it says is its own fault."""
LOAD_S = 6 * 3600.0
"""Seconds that opening a model may take; its weights may have to be fetched first."""
Sent = tuple[dict[str, Any], tuple[bytes, ...]]


@dataclass(frozen=True)
class DrawItem:
    """One drawing to be made.

    Attributes:
        images: The bytes of the pictures to start from.
        short: What a second text encoder reads in place of the prompt.
    """

    prompt: str
    seed: int
    images: tuple[bytes, ...] = ()
    short: str | None = None


@dataclass(frozen=True)
class RawDrawing:
    """A finished drawing: raw RGB pixels, and how it came about.

    Attributes:
        place: Which of the job's items it is.
    """

    place: int
    size: tuple[int, int]
    pixels: bytes
    about: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DrawFailure:
    """An item that cannot be drawn, by the kind of its fault."""

    place: int
    kind: str
    detail: str


Found = RawDrawing | DrawFailure


def open_workers(
    label: str, factory: str, load: DataclassInstance, options: Options, pool: Callable[..., Pool] = Pool
) -> Pool:
    """Return the workers of a painter, one on each device; they stay until the painter goes."""
    recipe = Recipe(
        label, factory, json.dumps(asdict(load), sort_keys=True), start_s=LOAD_S, single=False, variables=options.env,
        most=3 * MAX_PIXELS, careful=True, gpu="cpu" not in options.devices,
    )  # fmt: skip
    devices = [{"device": device} for device in hosts().devices(label, options.devices)]
    return pool(recipe, devices, options.batch_size, idle_s=None)


def submit(pool: Pool, how: DataclassInstance, item: DrawItem, seconds: float) -> Future[JobResult]:
    """Have something drawn, with others that agree in how."""
    words = {"prompt": item.prompt, "seed": item.seed} | ({} if item.short is None else {"short": item.short})
    return pool.submit({"how": asdict(how)}, item.images, seconds=seconds, item=words)


def serve_jobs(
    draw: Callable[[dict[str, Any], Sequence[DrawItem]], Iterator[Found]],
) -> Callable[..., Iterator[Sent]]:
    """Return what answers jobs in a worker, by what draws them."""

    def serve(items: Sequence[tuple[dict[str, Any], Sequence[bytes]]], how: dict[str, Any]) -> Iterator[Sent]:
        for found in draw(how, [DrawItem(**words, images=tuple(images)) for words, images in items]):
            if isinstance(found, RawDrawing):
                yield {"place": found.place, "value": {"size": found.size, "about": found.about}}, (found.pixels,)
            else:
                yield {"place": found.place, "fault": found.kind, "detail": found.detail}, ()

    return serve


def read_drawing(answer: JobResult) -> RawDrawing:
    """Return what a worker has drawn.

    Raises:
        Fault: It is no picture.
    """
    value = answer.value if isinstance(answer.value, dict) else {}
    size, about = value.get("size"), value.get("about")
    if isinstance(size, list) and len(size) == 2 and all(type(side) is int and side > 0 for side in size):
        width, height = size
        if isinstance(about, dict) and [len(body) for body in answer.bodies] == [3 * width * height]:
            return RawDrawing(0, (width, height), answer.bodies[0], about)
    raise Fault("image", "what the worker sent is no picture")


def fault_of(error: WorkerDeath | JobFailure | WorkerUnfit) -> Exception:
    """Return what the worker says of itself, or what became of it: a fault of the drawing, or the end of the run."""
    if isinstance(error, WorkerUnfit):
        return UsageError(f"it cannot be loaded: {error}" if error.loading else str(error))
    if isinstance(error, JobFailure):
        return Fault(KINDS.get(error.kind, "server"), error.detail)
    return Fault("timeout" if error.late else "server", str(error))


OUT = ("out of memory", "can't allocate memory")
Placed = Sequence[tuple[int, DrawItem]]
"""Items, each with its place in the job."""


class BatchDrawer:
    """Draws items in as few batches as memory allows, and remembers how many fitted.

    Args:
        device: Where it draws, for messages and to free its memory.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self._most: dict[Hashable, int] = {}

    def draw(
        self,
        shape: Hashable,
        items: Sequence[DrawItem],
        batch: Callable[[Placed], Iterable[Found]],
        advice: str,
        *,
        alone: bool = False,
    ) -> Iterator[Found]:
        """Yield what became of each item.

        Args:
            shape: What decides how many fit.
            batch: Draws some of them in one go.
            advice: What to do where a single one does not fit.
            alone: Whether each is drawn by itself.

        Raises:
            WorkerUnfit: No item can be drawn like this.
        """
        waiting = list(enumerate(items))
        while waiting:
            most = 1 if alone else min(self._most.get(shape, len(waiting)), len(waiting))
            taken, waiting = waiting[:most], waiting[most:]
            found = self._try_batch(taken, batch, advice)
            if found is None:
                self._most[shape] = max(1, len(taken) // 2)
                waiting = taken + waiting
            else:
                yield from found

    def _try_batch(self, taken: Placed, batch: Callable[[Placed], Iterable[Found]], advice: str) -> list[Found] | None:
        """Return what became of a batch; None when it was too large for the memory."""
        try:
            return list(batch(taken))
        except WorkerUnfit:
            raise
        except Exception as error:
            if is_shortage(error):
                # The traceback holds on to everything that filled the memory.
                error.__traceback__ = None
                self._free()
                if len(taken) > 1:
                    return None
                return [DrawFailure(taken[0][0], "local", f"out of memory on {self.device} {advice}")]
            if len(taken) > 1:
                # One of them may have spoilt it for the others.
                return [each for one in taken for each in self._try_batch([one], batch, advice) or []]
            said = " ".join(str(error).split())[:500]
            if isinstance(error, Fault):
                return [DrawFailure(taken[0][0], error.kind, said)]
            kind = "image" if isinstance(error, BadImage) else "local"
            return [DrawFailure(taken[0][0], kind, f"{type(error).__name__}: {said}")]

    def _free(self) -> None:
        gc.collect()
        if self.device.startswith("cuda") and (torch := _torch()) is not None:
            torch.cuda.empty_cache()


def is_shortage(error: Exception) -> bool:
    """Whether an exception tells that memory ran out."""
    torch = _torch()
    if isinstance(error, MemoryError) or (torch is not None and isinstance(error, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(word in str(error).lower() for word in OUT)


def best_device() -> str:
    """Return the device that is taken where none is named."""
    if find_spec("torch") is None:
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda:0"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _torch() -> Any:
    return sys.modules.get("torch")
