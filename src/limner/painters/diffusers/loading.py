"""Opens a pipeline as a painter asks for it: quantised, split, with LoRA weights, with another scheduler.

Imports torch and diffusers, and so runs in a worker process.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from ...workers import WorkerUnfit
from .jobs import PipelineSetup

DENOISERS = ("transformer", "unet")
"""The part that is quantised: by far the largest."""


def load_pipeline(load: PipelineSetup) -> Any:
    """The pipeline, not yet on its device unless it is split.

    Raises:
        WorkerUnfit: It has no such scheduler, or what quantises is not installed.
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
        warnings.simplefilter("ignore", FutureWarning)  # A newer name for torch_dtype, which older ones lack.
        pipe = diffusers.DiffusionPipeline.from_pretrained(load.source, **how)
    if load.scheduler is not None:
        _set_scheduler(pipe, load.scheduler)
    if load.loras:
        _add_loras(pipe, load.loras)
    return pipe


def quantization(name: str, dtype: str) -> Any:
    """The configuration that quantises a pipeline's denoiser."""
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
    fitting = {one.__name__ for one in getattr(pipe.scheduler, "compatibles", ())} | {type(pipe.scheduler).__name__}
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
