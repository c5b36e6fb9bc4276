"""The trainer of a FLUX transformer's LoRA matrices; after an interruption it resumes with the same result.

Imports torch, accelerate, peft and diffusers.
"""

from __future__ import annotations

import gc
import json
import math
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.utils.checkpoint
from accelerate import Accelerator
from accelerate.utils import InitProcessGroupKwargs, set_seed

from ..core.errors import UsageError
from ..core.exam import Question
from ..core.training import TrainSample
from ..painters.diffusers.text_encoding import is_flux
from . import weights
from .flow import Encoder, generator, loss, sample_noise
from .settings import TrainSettings, hold_out, order
from .start import Preview

LOG = "loss.jsonl"
ENCODERS = ("vae", "text_encoder", "text_encoder_2")
LEAST_LEVELS = 16
"""The fewest noise levels at which a held-out loss is measured."""
PROCESS_WAIT = timedelta(hours=6)
"""How long processes wait for each other, for example while one of them draws and marks validation pictures."""


Look = Callable[[Any, int], Preview]
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
        samples: All samples; a share of them is held out.
        out: The folder for checkpoints, the log and the trained weights.
        cache: The folder for encodings; None computes them at every step.
        save_every: Steps between two checkpoints; the held-out loss is measured at each.
        keep: The number of newest checkpoints to keep, besides the best.
        look: Called every `look_every` steps, unless that is 0.
        trackers: The trackers that accelerate logs to, such as ``tensorboard``.
        about: Facts to write next to the weights.
        trained: The samples that are trained on.
        held_out: The samples that are held out.
    """

    pipe: Any
    identity: str
    samples: Sequence[Question[TrainSample]]
    settings: TrainSettings
    out: Path
    cache: Path | None
    save_every: int = 500
    keep: int = 1
    look: Look | None = None
    look_every: int = 0
    trackers: tuple[str, ...] = ()
    about: dict[str, Any] | None = None
    say: Callable[[str], None] = print

    def __post_init__(self) -> None:
        self.trained, self.held_out = hold_out(self.samples, self.settings.held_out, self.settings.seed)

    def train(self) -> list[float]:
        """Train to the last step and export; return the losses of the steps done now.

        Raises:
            UsageError: The base is not a FLUX model, a setting does not fit it, or the folder has a checkpoint of
                another training.
            DataError: A picture cannot be read.
        """
        if not is_flux(self.pipe):
            raise UsageError(f"--base: {type(self.pipe).__name__} is not a FLUX.1 model, which FLUX-Reason needs")
        self.out.mkdir(parents=True, exist_ok=True)
        self._prepare()
        begun, losses, started, held_out_loss = self._resume(), [], time.monotonic(), None
        for step in range(begun, self.settings.steps):
            done, numbers = step + 1, self._update(step)
            losses.append(numbers["loss"])
            if not math.isfinite(losses[-1]):
                raise UsageError(
                    f"the loss of step {done:,} is not a number; the last checkpoint is intact. Start again in "
                    "another --out with a lower learning_rate or with precision=no"
                )
            saves = done % self.save_every == 0 or done == self.settings.steps
            if saves and self.held_out:
                numbers["held-out loss"] = held_out_loss = self._held_out_loss()
                self.tell(f"step {done:,} · held-out loss {held_out_loss:.4f}")
            self._log(done, numbers)
            if saves:
                self._save(done, held_out_loss)
            if self.look is not None and self.look_every and done % self.look_every == 0:
                self._show(done)
            if done % 10 == 0 or done == self.settings.steps:
                each = (time.monotonic() - started) / (done - begun)
                left = each * (self.settings.steps - done)
                self.tell(f"step {done:,} of {self.settings.steps:,} · loss {losses[-1]:.4f} · {each:.2f} s a step · "
                          f"{left / 3600:.1f} h left")  # fmt: skip
        self._finish()
        return losses

    def tell(self, line: str) -> None:
        """Report progress, from one process only."""
        if self.accelerator.is_main_process:
            self.say(line)

    @cached_property
    def accelerator(self) -> Any:
        """The accelerator that distributes the work over all GPUs."""
        on_gpu, log = torch.cuda.is_available(), " ".join(f"--log {name}" for name in self.trackers)
        # cuDNN's attention gave NaN gradients at 6,144 tokens (torch 2.11 on an H200).
        torch.backends.cuda.enable_cudnn_sdp(False)
        try:
            accelerator = Accelerator(
                mixed_precision=self.settings.precision if on_gpu else "no", log_with=list(self.trackers) or None,
                project_dir=str(self.out), cpu=not on_gpu,
                kwargs_handlers=[InitProcessGroupKwargs(timeout=PROCESS_WAIT)],
                # Otherwise accelerate's scheduler makes as many steps as there are processes.
                step_scheduler_with_optimizer=False,
            )  # fmt: skip
        except ValueError as error:
            raise UsageError(f"{log or f'--set precision={self.settings.precision}'}: {error}") from error
        if len(accelerator.log_with) < len(set(self.trackers)):
            raise UsageError(f"{log}: a package of this name is not installed")
        return accelerator

    @property
    def _dtype(self) -> torch.dtype:
        return torch.bfloat16 if self.accelerator.mixed_precision == "bf16" else torch.float32

    def _prepare(self) -> None:
        from diffusers.optimization import get_scheduler

        accelerator, settings = self.accelerator, self.settings
        for part in ("transformer", *ENCODERS):
            getattr(self.pipe, part).requires_grad_(False).eval()
        self._encoder = Encoder(self.pipe, self.identity, settings, self.cache)
        self._groups = [self._encoder.bucket(sample) for sample in self.trained]
        self._batches = len(self._order(0))
        self.tell(f"{len(self.trained):,} samples to train on, {len(self.held_out):,} held out")
        weights.target_layers(self.pipe.transformer, settings.modules)  # Report wrong names before hours of encoding.
        self._move_encoders(accelerator.device)
        if self.cache is not None:
            self._fill()
        transformer = self.pipe.transformer.to(accelerator.device, self._dtype)
        set_seed(settings.seed)
        weights.add_lora(transformer, settings)
        if settings.recompute:
            transformer.enable_gradient_checkpointing(recomputing(transformer, settings.recompute))
        self._parameters = [each for each in transformer.parameters() if each.requires_grad]
        optimizer = torch.optim.AdamW(
            self._parameters, settings.learning_rate, (0.9, 0.999), 1e-8, settings.weight_decay,
            fused=torch.cuda.is_available(),
        )  # fmt: skip
        kind = "cosine" if settings.schedule == "cosine" else "constant_with_warmup"
        rate = get_scheduler(kind, optimizer, num_warmup_steps=settings.warmup, num_training_steps=settings.steps)
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
            for place, sample in enumerate(self.samples):
                if place % accelerator.num_processes == accelerator.process_index:
                    self._encoder.text(sample)
                    self._encoder.picture(sample)
                if (place + 1) % 100 == 0:
                    self.tell(f"encoded {place + 1:,} of {len(self.samples):,} samples")
        accelerator.wait_for_everyone()
        self._move_encoders("cpu")

    def _move_encoders(self, device: Any) -> None:
        for part in ENCODERS:
            getattr(self.pipe, part).to(device)
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _place(self, step: int, turn: int) -> int:
        """Return the number of a pass; two processes with one pass each are equivalent to one process with two."""
        passes = step * self.settings.accumulate + turn
        return int(passes * self.accelerator.num_processes + self.accelerator.process_index)

    def _batch(self, place: int) -> list[Question[TrainSample]]:
        """Return the samples of one pass: a pure function of its number, so that an interruption changes nothing."""
        epoch, number = divmod(place, self._batches)
        return [self.trained[index] for index in self._order(epoch)[number]]

    def _order(self, epoch: int) -> list[list[int]]:
        if getattr(self, "_epoch", None) != epoch:
            self._epoch, self._orders = epoch, order(self._groups, self.settings.batch, self.settings.seed, epoch)
        return self._orders

    def _loss(
        self, model: Any, samples: Sequence[Question[TrainSample]], place: int | str, level: float | None = None
    ) -> torch.Tensor:
        settings, scheduler = self.settings, self.pipe.scheduler
        with self.accelerator.autocast():
            texts = [self._encoder.text(sample) for sample in samples]
            dice = [generator(settings.seed, place, sample.id) for sample in samples]
            pictures = [self._encoder.picture(sample) for sample in samples]
            noised = [sample_noise(*pair, settings, scheduler, level) for pair in zip(pictures, dice, strict=True)]
            guidance = settings.guidance if self.pipe.transformer.config.guidance_embeds else None
            return loss(model, texts, noised, guidance, self.accelerator.device, self._dtype)

    def _update(self, step: int) -> dict[str, float]:
        """Update the weights once, and return the numbers to log."""
        accelerator, settings, total = self.accelerator, self.settings, 0.0
        self._model.train()
        for turn in range(settings.accumulate):
            place = self._place(step, turn)
            batch_loss = self._loss(self._model, self._batch(place), place)
            accelerator.backward(batch_loss / settings.accumulate)
            total += float(accelerator.gather(batch_loss.detach()).mean()) / settings.accumulate
        norm = accelerator.clip_grad_norm_(self._parameters, settings.clip)
        numbers = {"loss": total, "gradient norm": float(norm), "learning rate": self._rate.get_last_lr()[0]}
        self._optimizer.step()
        self._rate.step()
        self._optimizer.zero_grad(set_to_none=True)
        return numbers

    @torch.no_grad()
    def _held_out_loss(self) -> float:
        """Return the loss on the held-out samples, always with the same noise, at the noise levels of drawing."""
        accelerator, count = self.accelerator, len(self.held_out)
        passes, model = max(count, LEAST_LEVELS), self._bare().eval()
        own = [
            float(self._loss(model, [self.held_out[n % count]], f"held-out {n}", (n + 0.5) / passes))
            for n in range(accelerator.process_index, passes, accelerator.num_processes)
        ]
        return float(accelerator.reduce(torch.tensor(sum(own), device=accelerator.device), "sum")) / passes

    def _log(self, step: int, numbers: Mapping[str, float]) -> None:
        if self.trackers:
            self.accelerator.log(dict(numbers), step=step)
        if self.accelerator.is_main_process:
            with (self.out / LOG).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"step": step, **numbers}) + "\n")

    def _show(self, done: int) -> None:
        assert self.look is not None
        if self.accelerator.is_main_process:
            self._bare().eval()
            self._move_encoders(self.accelerator.device)
            preview = self.look(self.pipe, done)
            if self.cache is not None:
                self._move_encoders("cpu")
            for tracker in self.accelerator.trackers:
                form = {"dataformats": "NHWC"} if tracker.name == "tensorboard" else {}
                pictures = {f"validation/{id}": np.asarray(image)[None] for id, image in preview.pictures.items()}
                if hasattr(tracker, "log_images"):
                    tracker.log_images(pictures, step=done, **form)
                tracker.log(dict(preview.scores), step=done)
        self.accelerator.wait_for_everyone()

    def _resume(self) -> int:
        """Load the state of an interrupted training, and return the number of steps done."""
        existing = weights.checkpoints(self.out)
        if not existing:
            return 0
        folder, state = existing[-1]
        if state["training"] != self._training():
            raise UsageError(f"{folder}: a checkpoint of another base, samples or settings; choose another --out")
        self.accelerator.load_state(str(folder))
        self._trim_log(state["step"])
        self.tell(f"resuming after step {state['step']:,}")
        return int(state["step"])

    def _training(self) -> dict[str, Any]:
        """Return the identity of the training; more steps continue it, unless the schedule depends on their number."""
        free = {"compiled", "recompute"} | ({"steps"} if self.settings.schedule == "constant" else set())
        fixed = {k: v for k, v in self.settings.to_json().items() if k not in free}
        return json.loads(json.dumps({"base": self.identity, "samples": [s.hash for s in self.samples]} | fixed))  # type: ignore[no-any-return]

    def _trim_log(self, step: int) -> None:
        if self.accelerator.is_main_process and (self.out / LOG).is_file():
            lines = (self.out / LOG).read_text("utf-8").splitlines()[:step]
            (self.out / LOG).write_text("".join(f"{line}\n" for line in lines), "utf-8")

    def _save(self, step: int, held_out_loss: float | None) -> None:
        """Store the state; it gets its final name only when it is complete."""
        accelerator, folder = self.accelerator, weights.new_checkpoint(self.out)
        self._facts = {"step": step, "held_out_loss": held_out_loss}
        if accelerator.is_main_process:
            shutil.rmtree(folder, ignore_errors=True)
        accelerator.wait_for_everyone()
        accelerator.save_state(str(folder))
        if accelerator.is_main_process:
            weights.finish_checkpoint(self.out, self._facts | {"training": self._training()}, self.keep)
        accelerator.wait_for_everyone()

    def _save_lora(self, models: list[Any], tensors: list[Any], folder: str) -> None:
        if self.accelerator.is_main_process:
            self.export(Path(folder))
        tensors.clear()

    def _load_lora(self, models: list[Any], folder: str) -> None:
        models.clear()
        weights.load_lora(self._bare(), Path(folder))

    def _bare(self) -> Any:
        model = self.accelerator.unwrap_model(self._model)
        return getattr(model, "_orig_mod", model)

    def _finish(self) -> None:
        self.accelerator.wait_for_everyone()
        if self.accelerator.is_main_process:
            self._facts = {name: weights.checkpoints(self.out)[-1][1][name] for name in ("step", "held_out_loss")}
            self.export(self.out)
            if (best := weights.best_checkpoint(self.out)) is not None:
                loss, step = best[1]["held_out_loss"], best[1]["step"]
                self.say(f"lowest held-out loss: {loss:.4f} after step {step:,}, in {best[0]}")
        self.accelerator.end_training()

    def export(self, folder: Path) -> Path:
        """Write the LoRA weights with their provenance and model card, and return the file."""
        counts = {"samples": len(self.trained), "held_out": len(self.held_out)}
        facts = {"base": self.identity, **counts, **self._facts, **(self.about or {})}
        return weights.save_lora(self._bare(), folder, self.settings, facts)
