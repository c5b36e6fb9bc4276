"""What a step trains on: prompts and pictures as the encoders see them, and the loss of flow matching.

Encodings are computed once and cached by content. Imports torch; diffusers is imported when it is needed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from ..core.errors import DataError
from ..core.exam import Question
from ..core.images import BadImage, decode, inspect
from ..core.training import TrainSample
from ..painters.diffusers.text_encoding import encode, reason_text, token_counter
from .settings import TrainSettings, bucket

Tensors = dict[str, torch.Tensor]
FULL_SIZE_STEP = 64
"""The sides of full-size pictures are multiples of this; for smaller ones, the pipeline's step is used."""


class Encoder:
    """An encoder of samples with the parts of a FLUX pipeline.

    Args:
        pipe: The pipeline; only its tokenizers, text encoders and autoencoder are used.
        identity: The identity of the weights, part of the cache key.
        settings: The settings; only size and tokens are used.
        cache: The cache folder; None computes encodings each time.
    """

    def __init__(self, pipe: Any, identity: str, settings: TrainSettings, cache: Path | None) -> None:
        self._pipe, self._identity, self._settings, self._cache = pipe, identity, settings, cache
        step = int(pipe.vae_scale_factor) * 2
        self._step = max(step, FULL_SIZE_STEP) if settings.size >= 2 * FULL_SIZE_STEP else step

    def bucket(self, sample: Question[TrainSample]) -> tuple[int, int]:
        """Return the width and height to which the picture is scaled for training."""
        assert sample.reference is not None
        header = inspect(Path(str(sample.reference.path)))
        return bucket(header.width, header.height, self._settings.size, self._step)

    def text(self, sample: Question[TrainSample]) -> Tensors:
        """Return the T5 encoding of trace, separator and final prompt, and the CLIP encoding of the question."""
        row = sample.rubric
        words = reason_text(row.trace, row.final_prompt, self._settings.tokens, token_counter(self._pipe.tokenizer_2))
        made = {"text": words, "short": sample.prompt, "tokens": self._settings.tokens}
        return self._kept("text", made, lambda: self._encode_text(words, sample.prompt))

    def picture(self, sample: Question[TrainSample]) -> Tensors:
        """Return the mean and the spread of the picture's latents; each step samples from them.

        Raises:
            DataError: The picture cannot be decoded.
        """
        assert sample.reference is not None
        data, size = sample.reference.read() or b"", self.bucket(sample)
        made = {"image": hashlib.sha256(data).hexdigest(), "size": size}
        try:
            return self._kept("latents", made, lambda: self._encode_picture(data, size))
        except BadImage as error:
            why = f"{error}; replace the picture or remove the sample"
            raise DataError(why, file=sample.reference.path, id=sample.id) from error

    @torch.no_grad()
    def _encode_text(self, words: str, short: str) -> Tensors:
        encoded = encode(self._pipe, [words], self._settings.tokens, [short])
        return {name: value[0] for name, value in encoded.items()}

    @torch.no_grad()
    def _encode_picture(self, data: bytes, size: tuple[int, int]) -> Tensors:
        from PIL import Image, ImageOps

        picture = ImageOps.fit(decode(data), size, Image.Resampling.LANCZOS)
        pixels = torch.from_numpy(np.asarray(picture, dtype=np.float32).transpose(2, 0, 1).copy()) / 127.5 - 1
        vae = self._pipe.vae
        given = pixels.unsqueeze(0).to(vae.device, vae.dtype)
        spread = vae.encode(given).latent_dist
        shift, scale = vae.config.shift_factor or 0.0, vae.config.scaling_factor
        return {"mean": (spread.mean[0] - shift) * scale, "std": spread.std[0] * scale}

    def _kept(self, kind: str, made: Mapping[str, Any], make: Any) -> Tensors:
        if self._cache is None:
            return {name: value.cpu() for name, value in make().items()}
        body = json.dumps({"kind": kind, "weights": self._identity, **made}, sort_keys=True)
        key = hashlib.sha256(body.encode()).hexdigest()
        path = self._cache / key[:2] / f"{key}.safetensors"
        if path.is_file():
            kept: Tensors = load_file(path)
            return kept
        tensors = {name: value.cpu().contiguous() for name, value in make().items()}
        path.parent.mkdir(parents=True, exist_ok=True)
        # If the process is killed while writing, no file has the final name.
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        save_file(tensors, temporary)
        temporary.replace(path)
        return tensors


Noised = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""A sample's latents, noise, and the noise level between them: 0 is the picture, 1 is noise."""


def generator(seed: int, place: int | str, id: str) -> torch.Generator:
    """Return the random generator of one sample at one pass: equal on every machine and after an interruption."""
    digest = hashlib.sha256(f"{seed}/{place}/{id}".encode()).digest()
    return torch.Generator("cpu").manual_seed(int.from_bytes(digest[:7]))


def sample_noise(
    picture: Tensors, dice: torch.Generator, settings: TrainSettings, scheduler: Any, level: float | None = None
) -> Noised:
    """Return latents, noise and noise level of one sample at one pass.

    Args:
        picture: The mean and the spread of the latents.
        dice: The source of randomness.
        settings: The settings; only time sampling and shift are used.
        scheduler: The pipeline's scheduler, which shifts noise levels.
        level: A share from 0 to 1 of drawing's noise levels, instead of a sampled one: 0.5 is their median.
    """
    from diffusers.training_utils import compute_density_for_timestep_sampling

    mean = picture["mean"].float()
    latents = mean + picture["std"].float() * torch.randn(mean.shape, generator=dice)
    noise = torch.randn(mean.shape, generator=dice)
    if level is not None:
        time = torch.tensor([level])
    elif settings.time_sampling == "uniform":
        time = torch.rand(1, generator=dice)
    else:
        time = compute_density_for_timestep_sampling("logit_normal", 1, 0.0, 1.0, generator=dice)
    if level is not None or settings.shift == "resolution":
        time = shift_times(time, scheduler, mean.shape[-2] // 2 * (mean.shape[-1] // 2))
    return latents, noise, time


def shift_times(times: torch.Tensor, scheduler: Any, tokens: int) -> torch.Tensor:
    """Return noise levels shifted as in drawing.

    Args:
        times: Evenly spaced or sampled noise levels.
        scheduler: The pipeline's scheduler.
        tokens: The number of patches of the picture, which the shift depends on.
    """
    from diffusers.pipelines.flux.pipeline_flux import calculate_shift

    config = scheduler.config
    if not config.use_dynamic_shifting:
        return config.shift * times / (1 + (config.shift - 1) * times)
    mu = calculate_shift(
        tokens, config.base_image_seq_len, config.max_image_seq_len, config.base_shift, config.max_shift
    )
    shifted: torch.Tensor = scheduler.time_shift(mu, 1.0, times)
    return shifted


def loss(
    transformer: Any, texts: Sequence[Tensors], noised: Sequence[Noised], guidance: float | None,
    device: torch.device, dtype: torch.dtype,
) -> torch.Tensor:  # fmt: skip
    """Return the mean squared error of one batch, whose pictures have one size; `guidance` is None if not embedded."""
    from diffusers import FluxPipeline

    latents, noise = (torch.stack([one[place] for one in noised]).to(device) for place in (0, 1))
    times = torch.cat([one[2] for one in noised]).to(device)
    at = times.view(-1, 1, 1, 1)
    noisy, target = (1 - at) * latents + at * noise, noise - latents
    n, channels, height, width = latents.shape
    pack = FluxPipeline._pack_latents
    sequence, pooled = (
        torch.stack([text[name] for text in texts]).to(device, dtype)
        for name in ("prompt_embeds", "pooled_prompt_embeds")
    )
    guidances = None if guidance is None else torch.full((n,), guidance, device=device, dtype=torch.float32)
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
