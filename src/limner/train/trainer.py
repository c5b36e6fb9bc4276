"""The trainer of a FLUX transformer's LoRA matrices; after an interruption it resumes with the same result.

Imports torch, accelerate, peft and diffusers.
"""

from __future__ import annotations

import gc
import hashlib
import json
import math
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
import torch.utils.checkpoint
from accelerate import Accelerator
from accelerate.utils import set_seed
from safetensors import safe_open
from safetensors.torch import save_file

from ..core.errors import UsageError
from ..core.exam import Question
from ..core.training import TrainSample
from ..painters.diffusers.text_encoding import is_flux
from ..painters.diffusers.weights import METADATA
from .encodings import Encoder, Tensors
from .settings import TrainSettings, order

WEIGHTS = "flux-reason.safetensors"
ABOUT = "flux-reason.json"
LOG = "loss.jsonl"
CHECKPOINT = "checkpoint"
Look = Callable[[Any, int], None]
"""A function called with the pipeline, whose transformer has the current weights, and the number of steps done."""


def recomputing(transformer: Any, share: float) -> Callable[..., Any]:
    """Return a function that calls a block, recomputing activations for this share of the blocks."""
    blocks = [*transformer.transformer_blocks, *transformer.single_transformer_blocks]
    twice = {id(block) for n, block in enumerate(blocks) if int((n + 1) * share) > int(n * share)}

    def call(block: Any, *given: Any) -> Any:
        if id(block) in twice:
            return torch.utils.checkpoint.checkpoint(block.__call__, *given, use_reentrant=False)
        return block(*given)

    return call


@dataclass
class Trainer:
    """One training run.

    Attributes:
        pipe: A FLUX pipeline, whose transformer is trained.
        identity: The identity of the base's weights.
        out: The folder for checkpoints, the log and the trained weights.
        cache: The folder for encodings; None computes them at every step.
        save_every: Steps between two checkpoints.
        look: Called every `look_every` steps, unless that is 0.
        trackers: The trackers that accelerate logs to, such as ``tensorboard``.
        about: Facts to write next to the weights.
    """

    pipe: Any
    identity: str
    samples: Sequence[Question[TrainSample]]
    settings: TrainSettings
    out: Path
    cache: Path | None
    save_every: int = 500
    look: Look | None = None
    look_every: int = 0
    trackers: tuple[str, ...] = ()
    about: dict[str, Any] | None = None
    say: Callable[[str], None] = print

    def train(self) -> list[float]:
        """Train to the last step and export; return the losses of the steps done now.

        Raises:
            UsageError: The base is not a FLUX model, or the folder has a checkpoint of another training.
        """
        if not is_flux(self.pipe):
            raise UsageError(f"--base: {type(self.pipe).__name__} is not a FLUX.1 model, which FLUX-Reason needs")
        self.out.mkdir(parents=True, exist_ok=True)
        self._prepare()
        begun, losses, started = self._resume(), [], time.monotonic()
        for step in range(begun, self.settings.steps):
            losses.append(self._update(step))
            if not math.isfinite(losses[-1]):
                raise UsageError(
                    f"the loss of step {step + 1:,} is not a number; the last checkpoint is intact. Start again in "
                    "another --out with a lower learning_rate or with precision=no"
                )
            self._log(step + 1, losses[-1])
            done = step + 1
            if done % self.save_every == 0 or done == self.settings.steps:
                self._save(done)
            if self.look is not None and self.look_every and done % self.look_every == 0:
                self._show(done)
            if done % 10 == 0 or done == self.settings.steps:
                each = (time.monotonic() - started) / (done - begun)
                left = each * (self.settings.steps - done)
                self.say(f"step {done:,} of {self.settings.steps:,} · loss {losses[-1]:.4f} · {each:.2f} s a step · "
                         f"{left / 3600:.1f} h left")  # fmt: skip
        self.accelerator.wait_for_everyone()
        if self.accelerator.is_main_process:
            self.export(self.out)
        self.accelerator.end_training()
        return losses

    @cached_property
    def accelerator(self) -> Any:
        """The accelerator that distributes the work over all GPUs."""
        on_gpu = torch.cuda.is_available()
        # cuDNN's attention gave NaN gradients at 6,144 tokens (torch 2.11 on an H200).
        torch.backends.cuda.enable_cudnn_sdp(False)
        precision = self.settings.precision if on_gpu else "no"
        return Accelerator(
            mixed_precision=precision, log_with=list(self.trackers) or None, project_dir=str(self.out), cpu=not on_gpu
        )

    @property
    def _dtype(self) -> torch.dtype:
        return torch.bfloat16 if self.accelerator.mixed_precision == "bf16" else torch.float32

    def _prepare(self) -> None:
        from diffusers.optimization import get_scheduler
        from diffusers.training_utils import cast_training_params
        from peft import LoraConfig

        accelerator, settings = self.accelerator, self.settings
        for part in (self.pipe.transformer, self.pipe.vae, self.pipe.text_encoder, self.pipe.text_encoder_2):
            part.requires_grad_(False).eval()
        self._encoder = Encoder(self.pipe, self.identity, settings, self.cache)
        self._groups = [self._encoder.bucket(sample) for sample in self.samples]
        if self.cache is not None:
            self._fill()
        transformer = self.pipe.transformer.to(accelerator.device, self._dtype)
        set_seed(settings.seed)
        transformer.add_adapter(
            LoraConfig(
                r=settings.rank, lora_alpha=settings.alpha, init_lora_weights="gaussian",
                target_modules=list(settings.modules),
            )
        )  # fmt: skip
        if settings.recompute:
            transformer.enable_gradient_checkpointing(recomputing(transformer, settings.recompute))
        cast_training_params([transformer], dtype=torch.float32)
        self._parameters = [each for each in transformer.parameters() if each.requires_grad]
        optimizer = torch.optim.AdamW(
            self._parameters, settings.learning_rate, (0.9, 0.999), 1e-8, settings.weight_decay,
            fused=torch.cuda.is_available(),
        )  # fmt: skip
        rate = get_scheduler("constant_with_warmup", optimizer, num_warmup_steps=settings.warmup)
        if settings.compiled:
            transformer.compile_repeated_blocks(fullgraph=True)
        self._model, self._optimizer, self._rate = accelerator.prepare(transformer, optimizer, rate)
        accelerator.register_save_state_pre_hook(self._save_lora)
        accelerator.register_load_state_pre_hook(self._load_lora)
        if self.trackers:
            accelerator.init_trackers("flux-reason", config={k: str(v) for k, v in settings.to_json().items()})

    def _fill(self) -> None:
        """Encode everything once, then move the encoders off the GPU."""
        accelerator = self.accelerator
        with accelerator.autocast():
            for part in ("vae", "text_encoder", "text_encoder_2"):
                getattr(self.pipe, part).to(accelerator.device)
            for place, sample in enumerate(self.samples):
                if place % accelerator.num_processes == accelerator.process_index:
                    self._encoder.text(sample)
                    self._encoder.picture(sample)
                if (place + 1) % 100 == 0:
                    self.say(f"encoded {place + 1:,} of {len(self.samples):,} samples")
        accelerator.wait_for_everyone()
        for part in ("vae", "text_encoder", "text_encoder_2"):
            getattr(self.pipe, part).to("cpu")
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _place(self, step: int, turn: int) -> int:
        """Return the number of a pass; two processes with one pass each are equivalent to one process with two."""
        passes = step * self.settings.accumulate + turn
        return int(passes * self.accelerator.num_processes + self.accelerator.process_index)

    def _batch(self, place: int) -> list[Question[TrainSample]]:
        """Return the samples of one pass: a pure function of its number, so that an interruption changes nothing."""
        batches = len(self._order(0))
        return [self.samples[index] for index in self._order(place // batches)[place % batches]]

    def _order(self, epoch: int) -> list[list[int]]:
        if getattr(self, "_epoch", None) != epoch:
            self._epoch, self._orders = epoch, order(self._groups, self.settings.batch, self.settings.seed, epoch)
        return self._orders

    def _update(self, step: int) -> float:
        accelerator, settings, total = self.accelerator, self.settings, 0.0
        self._model.train()
        for turn in range(settings.accumulate):
            place = self._place(step, turn)
            batch = self._batch(place)
            with accelerator.autocast():
                batch_loss = loss(
                    self._model,
                    [self._encoder.text(sample) for sample in batch],
                    [self._encoder.picture(sample) for sample in batch],
                    [generator(settings.seed, place, sample.id) for sample in batch],
                    settings.guidance,
                    accelerator.device,
                    self._dtype,
                )
            accelerator.backward(batch_loss / settings.accumulate)
            total += float(accelerator.gather(batch_loss.detach()).mean()) / settings.accumulate
        accelerator.clip_grad_norm_(self._parameters, settings.clip)
        self._optimizer.step()
        self._rate.step()
        self._optimizer.zero_grad(set_to_none=True)
        return total

    def _log(self, step: int, loss: float) -> None:
        if self.trackers:
            self.accelerator.log({"loss": loss, "rate": self._rate.get_last_lr()[0]}, step=step)
        if self.accelerator.is_main_process:
            with (self.out / LOG).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"step": step, "loss": loss}) + "\n")

    def _show(self, done: int) -> None:
        assert self.look is not None
        if self.accelerator.is_main_process:
            self._model.eval()
            with torch.inference_mode(), self.accelerator.autocast():
                self.look(self.pipe, done)
        self.accelerator.wait_for_everyone()

    def _resume(self) -> int:
        """Load the state of an interrupted training, and return the number of steps done."""
        checkpoints = sorted(self.out.glob(f"{CHECKPOINT}-????????"))
        if not checkpoints:
            return 0
        place = checkpoints[-1]
        state = json.loads((place / "state.json").read_text("utf-8"))
        if state["training"] != self._training():
            raise UsageError(f"{place}: a checkpoint of another base, samples or settings; choose another --out")
        self.accelerator.load_state(str(place))
        self._trim_log(state["step"])
        self.say(f"resuming after step {state['step']:,}")
        return int(state["step"])

    def _training(self) -> dict[str, Any]:
        fixed = {k: v for k, v in self.settings.to_json().items() if k not in ("steps", "compiled", "recompute")}
        return json.loads(json.dumps({"base": self.identity, "samples": [s.hash for s in self.samples]} | fixed))  # type: ignore[no-any-return]

    def _trim_log(self, step: int) -> None:
        if self.accelerator.is_main_process and (self.out / LOG).is_file():
            lines = (self.out / LOG).read_text("utf-8").splitlines()[:step]
            (self.out / LOG).write_text("".join(f"{line}\n" for line in lines), "utf-8")

    def _save(self, step: int) -> None:
        """Store the state; it gets its final name only when it is complete."""
        place, new = self.out / f"{CHECKPOINT}-{step:08}", self.out / f"{CHECKPOINT}.new"
        if self.accelerator.is_main_process:
            shutil.rmtree(new, ignore_errors=True)
        self.accelerator.wait_for_everyone()
        self.accelerator.save_state(str(new))
        if self.accelerator.is_main_process:
            (new / "state.json").write_text(json.dumps({"step": step, "training": self._training()}), "utf-8")
            new.rename(place)
            for older in self.out.glob(f"{CHECKPOINT}-????????"):
                if older != place:
                    shutil.rmtree(older, ignore_errors=True)
        self.accelerator.wait_for_everyone()

    def _save_lora(self, models: list[Any], weights: list[Any], folder: str) -> None:
        if self.accelerator.is_main_process:
            self.export(Path(folder))
        weights.clear()

    def _load_lora(self, models: list[Any], folder: str) -> None:
        from diffusers import FluxPipeline
        from diffusers.utils import convert_unet_state_dict_to_peft
        from peft import set_peft_model_state_dict

        models.clear()
        loaded = FluxPipeline.lora_state_dict(folder, weight_name=WEIGHTS)
        own = {key.removeprefix("transformer."): value for key, value in loaded.items()}
        set_peft_model_state_dict(self._bare(), convert_unet_state_dict_to_peft(own), adapter_name="default")

    def _bare(self) -> Any:
        model = self.accelerator.unwrap_model(self._model)
        return getattr(model, "_orig_mod", model)

    def export(self, folder: Path) -> Path:
        """Write the LoRA weights in the format of diffusers with their provenance, and return the file."""
        from diffusers import FluxPipeline
        from peft.utils import get_peft_model_state_dict

        model = self._bare()
        layers = {key: value.float().cpu() for key, value in get_peft_model_state_dict(model).items()}
        FluxPipeline.save_lora_weights(
            folder, transformer_lora_layers=layers, weight_name=WEIGHTS,
            transformer_lora_adapter_metadata=model.peft_config["default"].to_dict(),
        )  # fmt: skip
        body = {"settings": self.settings.to_json(), "base": self.identity, "samples": len(self.samples)}
        body |= self.about or {}
        (folder / ABOUT).write_text(json.dumps(body, indent=1, sort_keys=True), "utf-8")
        # Also in the file itself, so that the provenance stays with the weights.
        with safe_open(folder / WEIGHTS, "pt") as file:
            held = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        save_file(tensors, folder / WEIGHTS, {**held, METADATA: json.dumps(body, sort_keys=True)})
        return folder / WEIGHTS


def generator(seed: int, step: int, id: str) -> torch.Generator:
    """Return the random generator of one sample at one step: equal on every machine and after an interruption."""
    digest = hashlib.sha256(f"{seed}/{step}/{id}".encode()).digest()
    return torch.Generator("cpu").manual_seed(int.from_bytes(digest[:7]))


def sample_latents(picture: Tensors, dice: torch.Generator) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return latents, noise and the time between them (0 the picture, 1 noise) of one sample at one step."""
    from diffusers.training_utils import compute_density_for_timestep_sampling

    mean = picture["mean"].float()
    latents = mean + picture["std"].float() * torch.randn(mean.shape, generator=dice)
    noise = torch.randn(mean.shape, generator=dice)
    time = compute_density_for_timestep_sampling("logit_normal", 1, 0.0, 1.0, generator=dice)
    return latents, noise, time


def loss(
    transformer: Any, texts: Sequence[Tensors], pictures: Sequence[Tensors], dice: Sequence[torch.Generator],
    guidance: float, device: torch.device, dtype: torch.dtype,
) -> torch.Tensor:  # fmt: skip
    """Return the mean squared error of one batch, whose pictures have one size."""
    from diffusers import FluxPipeline

    parts = [sample_latents(picture, sample_dice) for picture, sample_dice in zip(pictures, dice, strict=True)]
    latents, noise = (torch.stack([part[place] for part in parts]).to(device) for place in (0, 1))
    times = torch.cat([part[2] for part in parts]).to(device)
    at = times.view(-1, 1, 1, 1)
    noisy, target = (1 - at) * latents + at * noise, noise - latents
    n, channels, height, width = latents.shape
    pack = FluxPipeline._pack_latents
    sequence, pooled = (
        torch.stack([text[name] for text in texts]).to(device, dtype)
        for name in ("prompt_embeds", "pooled_prompt_embeds")
    )
    guidances = None
    if transformer_config(transformer).guidance_embeds:
        guidances = torch.full((n,), guidance, device=device, dtype=torch.float32)
    predicted = transformer(
        hidden_states=pack(noisy, n, channels, height, width).to(dtype),
        timestep=times.to(dtype),
        guidance=guidances,
        pooled_projections=pooled,
        encoder_hidden_states=sequence,
        txt_ids=torch.zeros(sequence.shape[1], 3, device=device, dtype=dtype),
        img_ids=FluxPipeline._prepare_latent_image_ids(n, height // 2, width // 2, device, dtype),
        return_dict=False,
    )[0]
    return torch.nn.functional.mse_loss(predicted.float(), pack(target, n, channels, height, width).float())


def transformer_config(transformer: Any) -> Any:
    """Return a transformer's configuration, whatever accelerate or compiling has wrapped around it."""
    for name in ("module", "_orig_mod"):
        transformer = getattr(transformer, name, transformer)
    return transformer.config
