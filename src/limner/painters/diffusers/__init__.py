"""The painter ``diffusers/REPO_OR_PATH``: a local pipeline, drawn in batches by one worker process per device.

Nothing here is slow to import.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ...core.settings import PainterFacts
from ...store import Blobs
from ...store.records import OVERLAP
from ...workers import Pool, WorkerUnfit
from ..base import MAX_PICTURES, PainterInputs, PainterKind, PaintRequest
from ..batched import BatchPainter, DrawItem, DrawResult, Sent, open_workers, serve_jobs
from . import options, text_encoding, weights


class DiffusersPainter(BatchPainter[weights.Weights]):
    """A diffusers pipeline from a folder or the Hugging Face hub, run by worker processes.

    A drawing's noise is made on the CPU from its seed, so devices and batches do not change it.
    """

    most_pictures = MAX_PICTURES
    reads_short = True
    packages = ("torch", "diffusers", "transformers", "accelerate")

    def __init__(self, given: PainterInputs) -> None:
        super().__init__(given, options.parse(given.options, given.spec))
        # A folder's weights may change between two runs; as long as they do not, the journal has the result.
        self.changeable = weights.is_pipeline_here(self._place) or bool(self._chosen.loras)
        self.encoder_tokens: int | None = self.options.get("max_sequence_length", self._facts.encoder_tokens)

    def token_counter(self) -> Callable[[str], int] | None:
        """Return a function that counts tokens as the pipeline's T5 does; None if it has no T5. Slow the first time."""
        with self._lock:
            return self._counter

    @cached_property
    def _counter(self) -> Callable[[str], int] | None:
        tokenizer = weights.load_t5_tokenizer(weights.find_pipeline(self._place, self.options.get("revision")))
        return None if tokenizer is None else text_encoding.token_counter(tokenizer)

    def _model(self, pipeline: weights.Weights) -> str:
        return f"diffusers/{pipeline.name}"

    def _draw_settings(self, request: PaintRequest) -> DrawSettings:
        width, height = self._chosen.size(request.aspect, self._facts.sizes)
        names = ("steps", "guidance", "true_cfg_scale", "negative_prompt", "max_sequence_length")
        given = {name: self.options[name] for name in names if name in self.options}
        if request.pictures:
            given |= {"editing": True, "strength": self.options.get("strength")}
        return DrawSettings(width, height, **given)

    def _body(self, request: PaintRequest, how: DrawSettings, pipeline: weights.Weights) -> dict[str, Any]:
        """Return everything that determines the pixels; batch size, devices and offloading do not."""
        settings = {name: value for name, value in asdict(how).items() if value is not None and name != "editing"}
        body = {
            "prompt": request.prompt,
            "seed": request.seed,
            "weights": pipeline.identity,
            "dtype": self._chosen.dtype,
        }
        for name in ("variant", "scheduler", "quantize"):
            if name in self.options:
                body[name] = self.options[name]
        if pipeline.loras:
            body["loras"] = [[sha256, scale] for _, sha256, scale in pipeline.loras]
        if pipeline.code is not None:
            body["code"] = pipeline.code
        if request.short is not None:
            body["short"] = request.short
        return body | settings | ({"images": list(request.pictures)} if request.pictures else {})

    def _find(self) -> weights.Weights:
        """Return the pipeline's weights with those of its LoRAs and its custom code."""
        pipeline = weights.find_pipeline(self._place, self.options.get("revision"))
        loras = [(*weights.find_lora(place), scale) for place, scale in self._chosen.loras]
        custom = self.options.get("custom_pipeline")
        code = None if custom is None else weights.code_identity(custom)
        return replace(pipeline, loras=tuple((str(file), sha256, scale) for file, sha256, scale in loras), code=code)

    def _extra_notes(self, pipeline: weights.Weights) -> dict[str, Any]:
        overlaps = [weights.training_metadata(Path(file)).get(OVERLAP) for file, _, _ in pipeline.loras]
        reported = [each for each in overlaps if isinstance(each, dict) and each.get("concepts")]
        return {OVERLAP: reported} if reported else {}

    def _open_pool(self, pipeline: weights.Weights) -> Pool:
        chosen, variant = self._chosen, self.options.get("variant")
        here = weights.download_if_private(pipeline, variant)
        load = PipelineSetup(
            here.source, here.revision, chosen.dtype, variant, None, chosen.offload, chosen.split,
            tuple((file, scale) for file, _, scale in pipeline.loras), self.options.get("scheduler"),
            self.options.get("quantize"), self.options.get("custom_pipeline"),
            self.options.get("trust_remote_code", False),
        )  # fmt: skip
        return open_workers("diffusers", FACTORY, load, chosen)


FACTORY = "limner.painters.diffusers:open_worker"


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


def open_worker(**load: Any) -> Callable[..., Iterator[Sent]]:
    """Return the function that draws in a worker; see `limner.workers`."""
    from .pipeline import Pipeline

    try:
        pipeline = Pipeline.open(PipelineSetup(**load))
        return serve_jobs(lambda how, items: pipeline.draw(DrawSettings(**how), items))
    except Exception as error:
        raise WorkerUnfit(f"{type(error).__name__}: {' '.join(str(error).split())[:600]}") from error


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


DIFFUSERS = PainterKind(
    "diffusers/REPO_OR_PATH", "running a diffusers pipeline on your own GPUs", DiffusersPainter, devices=True,
    takes=lambda _: options.READERS,
)  # fmt: skip
