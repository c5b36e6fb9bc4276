"""Encodings to train on: prompts and pictures as the encoders see them, computed once and cached by content.

Imports torch.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
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
