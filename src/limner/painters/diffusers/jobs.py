"""The pipeline that a worker opens, its settings and the arguments of its call. Nothing here is slow to import."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...workers import Pool, WorkerUnfit
from ..batched import DrawItem, DrawResult, Sent, open_workers, serve_jobs
from .options import Options

FACTORY = "limner.painters.diffusers.jobs:open_worker"


@dataclass(frozen=True)
class PipelineSetup:
    """The pipeline that a worker opens, and where it runs.

    Attributes:
        source: A folder, or a repository of the Hugging Face hub.
        revision: The repository's commit; None for a folder.
        device: Such as ``cuda:1``; None takes the best one.
        offload: ``none``, ``model`` or ``sequential``; ignored without a GPU.
        split: Whether it is distributed over all GPUs.
        loras: Files of LoRA weights with their scales.
        scheduler: The name of a scheduler class of diffusers, instead of the pipeline's own.
        quantize: The kind of quantisation of the largest part, if any.
        custom_pipeline: The code that makes the pipeline; only with `trusted`.
        trusted: Whether code that comes with the weights may run.
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
    """A drawing's settings other than prompt, seed and pictures; drawings of equal settings share a batch.

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
    """Open a painter's workers, one on each device; they run until the painter is deleted."""
    return open_workers("diffusers", FACTORY, load, options, pool)


def open_worker(**load: Any) -> Callable[..., Iterator[Sent]]:
    """Return the function that draws in a worker; see `limner.workers`."""
    from .pipeline import Pipeline

    try:
        return job_server(Pipeline.open(PipelineSetup(**load)).draw)
    except Exception as error:
        raise WorkerUnfit(f"{type(error).__name__}: {' '.join(str(error).split())[:600]}") from error


def job_server(
    draw: Callable[[DrawSettings, Sequence[DrawItem]], Iterator[DrawResult]],
) -> Callable[..., Iterator[Sent]]:
    """Return the function that answers jobs by drawing them."""
    return serve_jobs(lambda how, items: draw(DrawSettings(**how), items))


def call_parameters(pipe: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a pipeline's call."""
    return inspect.signature(pipe.__call__).parameters


def drawn_size(how: DrawSettings, step: int) -> tuple[int, int]:
    """Return width and height, rounded down to multiples that the pipeline can draw."""
    width, height = (max(step, side // step * step) for side in (how.width, how.height))
    return width, height


def call_arguments(pipe: Any, how: DrawSettings, prompts: Sequence[str], step: int) -> dict[str, Any]:
    """Return the arguments of a pipeline's call, except noise and pictures.

    Raises:
        WorkerUnfit: It does not take a given option.
    """
    parameters = call_parameters(pipe)
    by_true_guidance = _is_true_guided(parameters)
    negative = how.negative_prompt
    if negative is None and by_true_guidance:
        negative = " "  # Without one, these pipelines skip their guidance.
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
        if name not in parameters:
            raise WorkerUnfit(f"{type(pipe).__name__} takes no {option}")
        given[name] = value
    width, height = drawn_size(how, step)
    # Without max_area some editors always draw a million pixels.
    room = {"width": width, "height": height, "max_area": width * height}
    return given | {name: value for name, value in room.items() if name in parameters}


def _is_true_guided(parameters: Mapping[str, inspect.Parameter]) -> bool:
    """Return whether ``true_cfg_scale`` sets the guidance and is on by default, as in Qwen-Image."""
    default = parameters["true_cfg_scale"].default if "true_cfg_scale" in parameters else None
    return isinstance(default, int | float) and not math.isnan(default) and default > 1
