"""What painter and worker say to each other, as plain JSON and bytes. Nothing here is heavy to import."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field
from typing import Any

from ...calls import Fault, Kind
from ...core.errors import UsageError
from ...core.images import MAX_PIXELS
from ...workers import JobFailure, JobResult, Pool, Recipe, WorkerDeath, WorkerUnfit
from .options import Options

FACTORY = "limner.painters.diffusers.worker:opened"
KINDS: dict[str, Kind] = {"bad_request": "bad_request", "refusal": "refusal", "image": "image"}
"""What a worker may say of an item; whatever else it says is its own fault."""
LOAD_S = 6 * 3600.0
"""Seconds that opening a pipeline may take; its weights may have to be fetched first."""


@dataclass(frozen=True)
class PipelineSetup:
    """The pipeline a worker is to open, and where it is to run.

    Attributes:
        source: A folder, or a repository of the Hugging Face hub.
        revision: The repository's commit; None for a folder.
        device: Such as ``cuda:1``; None takes the best there is.
        offload: ``none``, ``model`` or ``sequential``; of no account without a GPU.
        split: Whether it is spread over all GPUs there are.
        loras: Files of LoRA weights with their scales.
        scheduler: The name of a class of diffusers, in place of the pipeline's own.
        quantize: How the largest part is quantised, if it is.
        custom_pipeline: Code that the pipeline is made by; with `trusted` alone.
        trusted: Whether code that came with the weights may run.
    """

    source: str
    revision: str | None = None
    dtype: str = "bfloat16"
    variant: str | None = None
    device: str | None = None
    offload: str = "none"
    split: bool = False
    loras: tuple[tuple[str, float], ...] = ()
    scheduler: str | None = None
    quantize: str | None = None
    custom_pipeline: str | None = None
    trusted: bool = False


@dataclass(frozen=True)
class DrawSettings:
    """Everything about a drawing but its prompt, seed and pictures: what agrees in it can be drawn in one batch.

    None leaves the choice to the pipeline.
    """

    width: int
    height: int
    steps: int | None = None
    guidance: float | None = None
    true_cfg_scale: float | None = None
    negative_prompt: str | None = None
    max_sequence_length: int | None = None
    strength: float | None = None
    editing: bool = False


@dataclass(frozen=True)
class DrawItem:
    """One drawing to be made.

    Attributes:
        images: The bytes of the pictures to start from.
    """

    prompt: str
    seed: int
    images: tuple[bytes, ...] = ()


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


def open_pool(load: PipelineSetup, options: Options, pool: Callable[..., Pool] = Pool) -> Pool:
    """The workers of a painter, one on each device; they stay until the painter goes."""
    recipe = Recipe(
        "diffusers", FACTORY, json.dumps(asdict(load), sort_keys=True), start_s=LOAD_S, single=False,
        variables=options.env, most=3 * MAX_PIXELS, careful=True,
    )  # fmt: skip
    places = [{"device": device} for device in options.devices]
    return pool(recipe, places, options.batch_size, idle_s=None)


def submit(pool: Pool, how: DrawSettings, item: DrawItem, seconds: float) -> Future[JobResult]:
    """Have something drawn, with others that agree in how."""
    words = {"prompt": item.prompt, "seed": item.seed}
    return pool.submit({"how": asdict(how)}, item.images, seconds=seconds, item=words)


def read_drawing(answer: JobResult) -> RawDrawing:
    """What a worker has drawn.

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
    """What the worker says of itself, or what became of it: a fault of the drawing, or the end of the run."""
    if isinstance(error, WorkerUnfit):
        return UsageError(f"it cannot be loaded: {error}" if error.loading else str(error))
    if isinstance(error, JobFailure):
        return Fault(KINDS.get(error.kind, "server"), error.detail)
    return Fault("timeout" if error.late else "server", str(error))
