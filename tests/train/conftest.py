from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.needs import need
from tests.painters.diffusers import tiny

CONCEPTS = ("water cycle", "plant cell", "moon phases", "human heart")


def picture(n: int) -> Image.Image:
    """Four pictures that nobody takes for each other."""
    pixels = np.full((16, 16, 3), 255, np.uint8)
    if n == 0:
        pixels[:8] = 220, 30, 30
    elif n == 1:
        pixels[:, :8] = 30, 30, 220
    elif n == 2:
        pixels[4:12, 4:12] = 20, 160, 60
    else:
        pixels[::4] = pixels[1::4] = 10, 10, 10
    return Image.fromarray(pixels)


def write_samples(folder: Path, count: int = 4, **changes: Any) -> Path:
    """A folder as a build exports it."""
    (folder / "images").mkdir(parents=True)
    rows = []
    for n, concept in enumerate(CONCEPTS[:count]):
        picture(n).save(folder / f"images/{n}.png")
        row = {
            "id": f"s{n}", "level": "PhD", "discipline": "Biology", "concept": concept,
            "prompt": f"Draw the {concept}.", "image": f"images/{n}.png",
            "elements": ["a", "b"], "dependencies": ["Defines(a, b)"],
            "trace": f"Think of the {concept}. It has parts.", "final_prompt": f"A {concept}, labelled.",
        }  # fmt: skip
        rows.append(row | changes)
    (folder / "train.jsonl").write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    return folder


def make_flux(wide: bool = False) -> Any:
    """A tiny FLUX whose autoencoder is certain of what it sees; a wider one can learn four pictures.

    The wider one shifts the noise levels of 16 pixels as FLUX.1 [dev] shifts those of 1,024.
    """
    import torch

    pipe, diffusers = tiny.flux(), import_module("diffusers")
    if wide:
        torch.manual_seed(0)
        transformer = diffusers.FluxTransformer2DModel(
            patch_size=1, in_channels=16, num_layers=2, num_single_layers=2, attention_head_dim=16,
            num_attention_heads=8, joint_attention_dim=32, pooled_projection_dim=32, axes_dims_rope=(4, 4, 8),
            guidance_embeds=True,
        )  # fmt: skip
        scheduler = diffusers.FlowMatchEulerDiscreteScheduler(
            shift=3.0, use_dynamic_shifting=True, base_image_seq_len=1, max_image_seq_len=16
        )
        pipe.register_modules(transformer=transformer, scheduler=scheduler)
    with torch.no_grad():
        pipe.vae.encoder.conv_out.bias[4:] -= 20
    return pipe


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.util import find_spec

    missing = [name for name in ("torch", "diffusers", "transformers", "accelerate", "peft") if find_spec(name) is None]
    need("torch", not missing, f"not installed: {', '.join(missing)}; pip install 'limner[train]'")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import torch

    torch.set_num_threads(1)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_samples(tmp_path / "data")
