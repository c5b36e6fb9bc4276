"""The loss of flow matching: noise, noise levels, and the error of the predicted direction.

Imports torch; diffusers is imported when it is needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import torch

from .encodings import Tensors
from .settings import TrainSettings

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
