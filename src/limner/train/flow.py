"""The loss of rectified flow: how far the transformer is from the way between a picture and noise.

Imports torch and diffusers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import torch

from .encodings import Tensors


def generator(seed: int, step: int, id: str) -> torch.Generator:
    """The chance of one sample at one step: the same on every machine, in every batch and after a kill."""
    said = hashlib.sha256(f"{seed}/{step}/{id}".encode()).digest()
    return torch.Generator("cpu").manual_seed(int.from_bytes(said[:7]))


def drawn(picture: Tensors, dice: torch.Generator) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Latents, noise and the time between them (0 the picture, 1 noise), as one sample has them at one step."""
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
    """The mean squared error of one batch; all pictures have one size."""
    from diffusers import FluxPipeline

    parts = [drawn(picture, one) for picture, one in zip(pictures, dice, strict=True)]
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
    told = None
    if transformer_config(transformer).guidance_embeds:
        told = torch.full((n,), guidance, device=device, dtype=torch.float32)
    found = transformer(
        hidden_states=pack(noisy, n, channels, height, width).to(dtype),
        timestep=times.to(dtype),
        guidance=told,
        pooled_projections=pooled,
        encoder_hidden_states=sequence,
        txt_ids=torch.zeros(sequence.shape[1], 3, device=device, dtype=dtype),
        img_ids=FluxPipeline._prepare_latent_image_ids(n, height // 2, width // 2, device, dtype),
        return_dict=False,
    )[0]
    return torch.nn.functional.mse_loss(found.float(), pack(target, n, channels, height, width).float())


def transformer_config(transformer: Any) -> Any:
    """The configuration behind whatever accelerate or compiling has wrapped around a transformer."""
    for name in ("module", "_orig_mod"):
        transformer = getattr(transformer, name, transformer)
    return transformer.config
