"""The pipeline a worker opens, how it draws and what its call is given. Nothing here is heavy to import."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...workers import Pool, WorkerUnfit
from ..batched.jobs import (
    DrawFailure,
    DrawItem,
    Found,
    RawDrawing,
    Sent,
    fault_of,
    open_workers,
    read_drawing,
    serve_jobs,
    submit,
)
from .options import Options

__all__ = [
    "FACTORY", "DrawFailure", "DrawItem", "DrawSettings", "PipelineSetup", "RawDrawing", "fault_of", "open_pool",
    "read_drawing", "submit",
]  # fmt: skip

FACTORY = "limner.painters.diffusers.jobs:opened"


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


def open_pool(load: PipelineSetup, options: Options, pool: Callable[..., Pool] = Pool) -> Pool:
    """Return the workers of a painter, one on each device; they stay until the painter goes."""
    return open_workers("diffusers", FACTORY, load, options, pool)


def opened(**load: Any) -> Callable[..., Iterator[Sent]]:
    """Return what a worker draws with; see `limner.workers`."""
    from .pipeline import Pipeline

    try:
        return job_server(Pipeline.open(PipelineSetup(**load)).draw)
    except Exception as error:
        raise WorkerUnfit(f"{type(error).__name__}: {' '.join(str(error).split())[:600]}") from error


def job_server(draw: Callable[[DrawSettings, Sequence[DrawItem]], Iterator[Found]]) -> Callable[..., Iterator[Sent]]:
    """Return what answers jobs, by what draws them."""
    return serve_jobs(lambda how, items: draw(DrawSettings(**how), items))


def takes(pipe: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a pipeline's call."""
    return inspect.signature(pipe.__call__).parameters


def sides(how: DrawSettings, step: int) -> tuple[int, int]:
    """Width and height, cut down to multiples of what the pipeline can draw."""
    width, height = (max(step, side // step * step) for side in (how.width, how.height))
    return width, height


def arguments(pipe: Any, how: DrawSettings, prompts: Sequence[str], step: int) -> dict[str, Any]:
    """Return what to call a pipeline with; noise and pictures come on top.

    Raises:
        WorkerUnfit: It does not take an option that was given.
    """
    known = takes(pipe)
    by_true_guidance = _is_true_guided(known)
    negative = how.negative_prompt
    if negative is None and by_true_guidance:
        negative = " "  # Without one, these pipelines leave their guidance out.
    options = {
        "num_inference_steps": ("steps", how.steps),
        "true_cfg_scale": ("true_cfg_scale", how.true_cfg_scale),
        "negative_prompt": ("negative_prompt", None if negative is None else [negative] * len(prompts)),
        "max_sequence_length": ("max_sequence_length", how.max_sequence_length),
        "strength": ("strength", how.strength if how.editing else None),
    }
    if how.guidance is not None:
        true = by_true_guidance and how.true_cfg_scale is None
        options["true_cfg_scale" if true else "guidance_scale"] = ("guidance", how.guidance)
    given: dict[str, Any] = {"prompt": list(prompts)}
    for name, (option, value) in options.items():
        if value is None:
            continue
        if name not in known:
            raise WorkerUnfit(f"{type(pipe).__name__} takes no {option}")
        given[name] = value
    width, height = sides(how, step)
    # Some editors draw a million pixels whatever the sides, unless told otherwise.
    room = {"width": width, "height": height, "max_area": width * height}
    return given | {name: value for name, value in room.items() if name in known}


def _is_true_guided(known: Mapping[str, inspect.Parameter]) -> bool:
    """Whether classifier-free guidance goes by ``true_cfg_scale``, as with Qwen-Image, and is on by default."""
    default = known["true_cfg_scale"].default if "true_cfg_scale" in known else None
    return isinstance(default, int | float) and not math.isnan(default) and default > 1
