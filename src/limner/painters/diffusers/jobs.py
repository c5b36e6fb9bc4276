"""The pipeline a worker opens and how it draws, as plain JSON. Nothing here is heavy to import."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from ...workers import Pool
from ..batched.jobs import DrawFailure, DrawItem, RawDrawing, fault_of, open_workers, read_drawing, submit
from .options import Options

__all__ = [
    "FACTORY", "DrawFailure", "DrawItem", "DrawSettings", "PipelineSetup", "RawDrawing", "fault_of", "open_pool",
    "read_drawing", "submit",
]  # fmt: skip

FACTORY = "limner.painters.diffusers.pipeline:opened"


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
    """The workers of a painter, one on each device; they stay until the painter goes."""
    return open_workers("diffusers", FACTORY, asdict(load), options.devices, options.batch_size, options.env, pool)
