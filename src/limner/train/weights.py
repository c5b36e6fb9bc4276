"""Trained weights: the layers with LoRA matrices, their file with provenance and model card, and checkpoints.

Imports torch and safetensors; diffusers and peft are imported when they are needed.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from ..core.asks import Prompts
from ..core.errors import UsageError
from ..painters.diffusers.weights import METADATA
from ..store.records import OVERLAP
from .settings import TrainSettings

WEIGHTS = "flux-reason.safetensors"
ABOUT = "flux-reason.json"
CARD = "README.md"
BLOCK = r"(?:single_)?transformer_blocks\.\d+\."


def target_layers(transformer: Any, endings: Sequence[str]) -> str:
    """Return a pattern of the names of linear layers with these endings.

    An ending matches layers of the blocks only; if the blocks have no such layer, it matches layers outside them.

    Raises:
        UsageError: No layer has one of the endings.
    """
    names = [name for name, layer in transformer.named_modules() if isinstance(layer, torch.nn.Linear)]
    patterns = []
    for ending in endings:
        tail = rf"(?:.+\.)?{re.escape(ending)}"
        pattern = next((p for p in (BLOCK + tail, tail) if any(re.fullmatch(p, name) for name in names)), None)
        if pattern is None:
            known = dict.fromkeys(re.sub(f"^{BLOCK}", "", name) for name in names if re.match(BLOCK, name))
            raise UsageError(
                f"--set modules={ending}: no linear layer has this name; the blocks have {', '.join(known)}"
            )
        patterns.append(pattern)
    return "|".join(patterns)


def add_lora(transformer: Any, settings: TrainSettings) -> None:
    """Add LoRA matrices in float32 to a transformer whose weights are frozen."""
    from diffusers.training_utils import cast_training_params
    from peft import LoraConfig

    layers = target_layers(transformer, settings.modules)
    transformer.add_adapter(
        LoraConfig(r=settings.rank, lora_alpha=settings.alpha, init_lora_weights="gaussian", target_modules=layers)
    )
    cast_training_params([transformer], dtype=torch.float32)


def load_lora(transformer: Any, folder: Path) -> None:
    """Load the LoRA matrices in a folder into a transformer that already has such matrices."""
    from diffusers import FluxPipeline
    from diffusers.utils import convert_unet_state_dict_to_peft
    from peft import set_peft_model_state_dict

    loaded = FluxPipeline.lora_state_dict(folder, weight_name=WEIGHTS)
    own = {key.removeprefix("transformer."): value for key, value in loaded.items()}
    set_peft_model_state_dict(transformer, convert_unet_state_dict_to_peft(own), adapter_name="default")


def save_lora(transformer: Any, folder: Path, settings: TrainSettings, facts: Mapping[str, Any]) -> Path:
    """Write the LoRA weights in the format of diffusers with their provenance and a model card; return their file.

    Args:
        transformer: The transformer with LoRA matrices.
        folder: The folder to write to.
        settings: The settings of the training.
        facts: The provenance: ``base``, ``model``, ``step``, ``samples``, ``held_out_loss`` and others, as plain JSON.
    """
    from diffusers import FluxPipeline
    from peft.utils import get_peft_model_state_dict

    layers = {key: value.float().cpu() for key, value in get_peft_model_state_dict(transformer).items()}
    FluxPipeline.save_lora_weights(
        folder, transformer_lora_layers=layers, weight_name=WEIGHTS,
        transformer_lora_adapter_metadata=transformer.peft_config["default"].to_dict(),
    )  # fmt: skip
    body = {"settings": settings.to_json(), **facts}
    (folder / ABOUT).write_text(json.dumps(body, indent=1, sort_keys=True), "utf-8")
    (folder / CARD).write_text(model_card(settings, facts), "utf-8")
    # Also in the file itself, so that the provenance stays with the weights.
    with safe_open(folder / WEIGHTS, "pt") as file:
        held = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file(tensors, folder / WEIGHTS, {**held, METADATA: json.dumps(body, sort_keys=True)})
    return folder / WEIGHTS


def model_card(settings: TrainSettings, facts: Mapping[str, Any]) -> str:
    """Return the model card of trained weights, in the form of the Hugging Face hub."""
    loss, overlap, exam = facts.get("held_out_loss"), facts.get(OVERLAP), facts.get("exam")
    if overlap is not None:
        fairness = f"**{len(overlap['concepts'])} of their concepts occur in {exam}**, so it is not a fair test."
    else:
        fairness = f"None of their concepts occurs in {exam}." if exam else "They were not compared with an exam."
    shown = {name: value for name, value in settings.to_json().items() if name not in ("modules", "paper")}
    return Prompts(Path(__file__).parent).fill(
        "model_card", model=str(facts.get("model", facts["base"])), identity=str(facts["base"]), file=WEIGHTS,
        version=version("limner"), tokens=str(settings.tokens), step=f"{facts['step']:,}",
        samples=f"{facts['samples']:,}",
        held_out="" if loss is None else f"The loss on {facts['held_out']:,} held-out samples is {loss:.4f}.",
        overlap=fairness, settings="\n".join(f"| `{name}` | {value} |" for name, value in shown.items()),
        modules=", ".join(f"`{name}`" for name in settings.modules),
    )  # fmt: skip


CHECKPOINT, STATE = "checkpoint", "state.json"


def checkpoints(out: Path) -> list[tuple[Path, dict[str, Any]]]:
    """Return the complete checkpoints of a training with their states, the oldest first."""
    folders = sorted(out.glob(f"{CHECKPOINT}-????????"))
    return [(folder, json.loads((folder / STATE).read_text("utf-8"))) for folder in folders]


def best_checkpoint(out: Path) -> tuple[Path, dict[str, Any]] | None:
    """Return the checkpoint with the lowest held-out loss; None if none has such a loss."""
    measured = [each for each in checkpoints(out) if each[1]["held_out_loss"] is not None]
    return min(measured, key=lambda each: float(each[1]["held_out_loss"]), default=None)


def new_checkpoint(out: Path) -> Path:
    """Return the folder in which the next checkpoint is written."""
    return out / f"{CHECKPOINT}.new"


def finish_checkpoint(out: Path, state: dict[str, Any], keep: int) -> None:
    """Give a written checkpoint its final name; remove all but the newest `keep` and the best."""
    (new_checkpoint(out) / STATE).write_text(json.dumps(state), "utf-8")
    new_checkpoint(out).rename(out / f"{CHECKPOINT}-{state['step']:08}")
    best = best_checkpoint(out)
    for folder, _ in checkpoints(out)[:-keep]:
        if best is None or folder != best[0]:
            shutil.rmtree(folder, ignore_errors=True)
