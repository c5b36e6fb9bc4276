"""Loading a pipeline in its worker process, and drawing batches with it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from ...core.images import decode
from ...workers import WorkerUnfit
from ..batched import BatchDrawer, DrawFailure, DrawItem, RawDrawing, best_device
from . import DrawSettings, PipelineSetup, call_arguments, call_parameters, drawn_size
from .text_encoding import encode_long_prompts, find_unread, is_flux


class MissingForm(ValueError):
    """An error: the pipeline cannot start from a picture, or cannot draw from text only."""


class Pipeline:
    """A pipeline on its device.

    Args:
        pipe: A diffusers pipeline.
        load: Where and how it runs.
    """

    def __init__(self, pipe: Any, load: PipelineSetup) -> None:
        self.pipe, self._load = pipe, load
        self.device = load.device or best_device()
        self._forms: dict[bool, Any] = {}
        self._placed: Any = None
        self._drawer = BatchDrawer(self.device)

    @classmethod
    def open(cls, load: PipelineSetup) -> Pipeline:
        """Load the pipeline a painter names."""
        pipe = load_pipeline(load)
        pipeline = cls(pipe, load)
        pipeline._move_to_device(pipe)
        return pipeline

    def form(self, *, editing: bool) -> Any:
        """Return the form of the pipeline that draws from text, or that starts from a picture; they share weights.

        Raises:
            MissingForm: The pipeline does not have this form.
        """
        if editing not in self._forms:
            self._forms[editing] = self._make_form(editing)
        return self._forms[editing]

    def _make_form(self, editing: bool) -> Any:
        from diffusers import AutoPipelineForImage2Image, AutoPipelineForText2Image

        starts_from_picture = "Img2Img" in type(self.pipe).__name__
        if starts_from_picture == editing or (editing and "image" in call_parameters(self.pipe)):
            return self.pipe
        wanted = AutoPipelineForImage2Image if editing else AutoPipelineForText2Image
        try:
            return wanted.from_pipe(self.pipe)
        except Exception as error:
            form = "image-to-image" if editing else "text-to-image"
            raise MissingForm(f"{type(self.pipe).__name__} has no {form} form: {error}") from error

    def _move_to_device(self, pipe: Any) -> None:
        pipe.set_progress_bar_config(disable=True)
        if pipe is self._placed or self._load.split:
            return
        on_gpu = not self.device.startswith("cpu")
        if on_gpu and self._load.offload == "model":
            pipe.enable_model_cpu_offload(device=self.device)
        elif on_gpu and self._load.offload == "sequential":
            pipe.enable_sequential_cpu_offload(device=self.device)
        elif self._placed is None:
            pipe.to(self.device)
        self._placed = pipe

    def draw(self, how: DrawSettings, items: Sequence[DrawItem]) -> Iterator[RawDrawing | DrawFailure]:
        """Draw all items in as few batches as memory allows; the batch size that fits is remembered.

        Raises:
            WorkerUnfit: No item can be drawn like this.
        """
        try:
            alone = how.editing and self._edits_alone()
        except MissingForm as error:
            yield from (DrawFailure(place, "bad_request", str(error)) for place in range(len(items)))
            return
        advice = f"for one image of {how.width} x {how.height}; try offload=model or another size"
        shape = how.width, how.height, how.editing
        yield from self._drawer.draw(shape, items, lambda batch: self._batch(how, batch), advice, alone=alone)

    def _batch(self, how: DrawSettings, batch: Sequence[tuple[int, DrawItem]]) -> Iterator[RawDrawing | DrawFailure]:
        pipe = self.form(editing=how.editing)
        self._move_to_device(pipe)
        given = call_arguments(pipe, how, [item.prompt for _, item in batch], self._step())
        if any(item.short is not None for _, item in batch):
            given |= {"prompt": [item.short or item.prompt for _, item in batch], "prompt_2": given["prompt"]}
            if not is_flux(pipe):
                raise WorkerUnfit(f"{type(pipe).__name__} reads one text; only FLUX.1 reads two")
        if how.editing:
            given["image"] = self._pictures([item for _, item in batch], drawn_size(how, self._step()))
        # On the CPU, so that noise does not depend on the device; one per drawing, so that batches do not change it.
        noise = [torch.Generator("cpu").manual_seed(item.seed) for _, item in batch]
        with torch.inference_mode():
            output = pipe(**encode_long_prompts(pipe, given), generator=noise, output_type="np")
        withheld = getattr(output, "nsfw_content_detected", None) or [False] * len(batch)
        about = self._about(pipe, given)
        for (place, item), pixels, unsafe in zip(batch, output.images, withheld, strict=True):
            if unsafe:
                yield DrawFailure(place, "refusal", "the pipeline's own safety checker withheld the image")
            elif not np.isfinite(pixels).all():
                yield DrawFailure(place, "image", f"{self._load.dtype} overflowed; try dtype=float32")
            else:
                image = Image.fromarray((pixels.clip(0, 1) * 255).round().astype(np.uint8)).convert("RGB")
                cut = find_unread(pipe, item.prompt, how.max_sequence_length)
                notes = about | {"batch": len(batch)} | ({} if cut is None else {"cut": cut})
                yield RawDrawing(place, image.size, image.tobytes(), notes)

    def _pictures(self, items: Sequence[DrawItem], size: tuple[int, int]) -> Any:
        if self._edits_alone():
            (item,) = items
            pictures = [decode(data) for data in item.images]
            return pictures[0] if len(pictures) == 1 else pictures
        for item in items:
            if len(item.images) != 1:
                raise ValueError(f"{type(self.pipe).__name__} starts from one picture, not from {len(item.images)}")
        return [decode(item.images[0]).resize(size, Image.Resampling.LANCZOS) for item in items]

    def _edits_alone(self) -> bool:
        """Return whether the pipeline is an editor: its pictures are references, and a drawing may have many."""
        return "Img2Img" not in type(self.form(editing=True)).__name__

    def _step(self) -> int:
        """Return the number that both sides must be multiples of."""
        return int(getattr(self.pipe, "vae_scale_factor", 8)) * 2

    def _about(self, pipe: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        import diffusers

        numbers = {name: value for name, value in given.items() if isinstance(value, int | float)}
        if "negative_prompt" in given:
            numbers["negative_prompt"] = given["negative_prompt"][0]
        name = torch.cuda.get_device_name(self.device) if self.device.startswith("cuda") else self.device
        versions = {"diffusers": diffusers.__version__, "torch": str(torch.__version__)}
        return {"pipeline": type(pipe).__name__, "arguments": numbers, "device": name, **versions}


DENOISERS = ("transformer", "unet")
"""The names of the part that is quantised, by far the largest of a pipeline."""


def load_pipeline(load: PipelineSetup) -> Any:
    """Return the pipeline, not yet on its device unless it is split.

    Raises:
        WorkerUnfit: It has no such scheduler, or the package for quantisation is not installed.
    """
    diffusers: Any = import_module("diffusers")
    for package in ("diffusers", "transformers"):
        import_module(f"{package}.utils.logging").disable_progress_bar()
    how: dict[str, Any] = {"torch_dtype": getattr(torch, load.dtype)}
    named = {"revision": load.revision, "variant": load.variant, "custom_pipeline": load.custom_pipeline}
    how |= {name: value for name, value in named.items() if value is not None}
    if load.trusted:
        how["trust_remote_code"] = True
    if load.quantize is not None:
        how["quantization_config"] = quantization(load.quantize, load.dtype)
    if load.split:
        how["device_map"] = "balanced"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch_dtype was renamed, but older versions lack the new name.
        pipe = diffusers.DiffusionPipeline.from_pretrained(load.source, **how)
    if load.scheduler is not None:
        _set_scheduler(pipe, load.scheduler)
    if load.loras:
        _add_loras(pipe, load.loras)
    return pipe


def quantization(name: str, dtype: str) -> Any:
    """Return the configuration that quantises a pipeline's denoiser."""
    library, _, bits = name.partition("-")
    try:
        import_module(library)
    except ImportError as error:
        raise WorkerUnfit(f"quantize={name} needs {library}: install it with pip install 'limner[quantize]'") from error
    diffusers: Any = import_module("diffusers")
    if library == "torchao":
        configs: Any = import_module("torchao.quantization")
        kinds = {"int8": configs.Int8WeightOnlyConfig, "float8": configs.Float8WeightOnlyConfig}
        config = diffusers.TorchAoConfig(kinds[bits]())
    elif bits == "4bit":
        config = diffusers.BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=getattr(torch, dtype)
        )
    else:
        config = diffusers.BitsAndBytesConfig(load_in_8bit=True)
    return diffusers.PipelineQuantizationConfig(quant_mapping=dict.fromkeys(DENOISERS, config))


def _set_scheduler(pipe: Any, name: str) -> None:
    kind = getattr(import_module("diffusers"), name, None)
    if kind is None or not hasattr(kind, "set_timesteps"):
        raise WorkerUnfit(f"diffusers has no scheduler {name}")
    fitting = {scheduler.__name__ for scheduler in getattr(pipe.scheduler, "compatibles", ())} | {
        type(pipe.scheduler).__name__
    }
    if name not in fitting:
        raise WorkerUnfit(f"{name} does not fit {type(pipe).__name__}; these do: {', '.join(sorted(fitting))}")
    pipe.scheduler = kind.from_config(pipe.scheduler.config)


def _add_loras(pipe: Any, loras: tuple[tuple[str, float], ...]) -> None:
    if not hasattr(pipe, "load_lora_weights"):
        raise WorkerUnfit(f"{type(pipe).__name__} takes no LoRA weights")
    names = [f"lora{place}" for place in range(len(loras))]
    for name, (file, _) in zip(names, loras, strict=True):
        path = Path(file)
        pipe.load_lora_weights(str(path.parent), weight_name=path.name, adapter_name=name)
    pipe.set_adapters(names, [scale for _, scale in loras])
