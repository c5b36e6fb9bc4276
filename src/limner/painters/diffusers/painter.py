"""The painter: the pipeline's settings, and what identifies a drawing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ...core.settings import PainterFacts
from ...store import Blobs
from ...store.records import OVERLAP
from ...workers import Pool
from ..base import MAX_PICTURES, PaintRequest
from ..batched import BatchPainter
from . import jobs, options, text_encoding, weights
from .jobs import DrawSettings, PipelineSetup


class DiffusersPainter(BatchPainter[weights.Weights]):
    """A diffusers pipeline from a folder or the Hugging Face hub, run by worker processes.

    A drawing's noise is made on the CPU from its seed, so devices and batches do not change it.
    """

    most_pictures = MAX_PICTURES
    reads_short = True
    packages = ("torch", "diffusers", "transformers", "accelerate")

    def __init__(
        self,
        name: str,
        spec: str,
        blobs: Blobs,
        given: Mapping[str, Any],
        facts: PainterFacts | None = None,
        pool: Callable[..., Pool] = Pool,
    ) -> None:
        super().__init__(name, spec, blobs, options.parse(given, spec), facts, pool)
        self._place = spec.removeprefix("diffusers/")
        # A folder's weights may change between two runs; as long as they do not, the journal has the result.
        self.changeable = weights.folder_of(self._place) is not None or bool(self._chosen.loras)
        self.encoder_tokens: int | None = self.options.get("max_sequence_length", self._facts.encoder_tokens)

    def token_counter(self) -> Callable[[str], int] | None:
        """Return a function that counts tokens as the pipeline's T5 does; None if it has no T5. Slow the first time."""
        with self._lock:
            return self._counter

    @cached_property
    def _counter(self) -> Callable[[str], int] | None:
        tokenizer = weights.load_t5_tokenizer(weights.find_pipeline(self._place, self.options.get("revision")))
        return None if tokenizer is None else text_encoding.token_counter(tokenizer)

    def _model(self, pipeline: weights.Weights) -> str:
        return f"diffusers/{pipeline.name}"

    def _draw_settings(self, request: PaintRequest) -> DrawSettings:
        width, height = self._chosen.size(request.aspect, self._facts.sizes)
        names = ("steps", "guidance", "true_cfg_scale", "negative_prompt", "max_sequence_length")
        given = {name: self.options[name] for name in names if name in self.options}
        if request.pictures:
            given |= {"editing": True, "strength": self.options.get("strength")}
        return DrawSettings(width, height, **given)

    def _body(self, request: PaintRequest, how: DrawSettings, pipeline: weights.Weights) -> dict[str, Any]:
        """Return everything that determines the pixels; batch size, devices and offloading do not."""
        settings = {name: value for name, value in asdict(how).items() if value is not None and name != "editing"}
        body = {
            "prompt": request.prompt,
            "seed": request.seed,
            "weights": pipeline.identity,
            "dtype": self._chosen.dtype,
        }
        for name in ("variant", "scheduler", "quantize"):
            if name in self.options:
                body[name] = self.options[name]
        if pipeline.loras:
            body["loras"] = [[sha256, scale] for _, sha256, scale in pipeline.loras]
        if pipeline.code is not None:
            body["code"] = pipeline.code
        if request.short is not None:
            body["short"] = request.short
        return body | settings | ({"images": list(request.pictures)} if request.pictures else {})

    def _find(self) -> weights.Weights:
        """Return the pipeline's weights with those of its LoRAs and its custom code."""
        pipeline = weights.find_pipeline(self._place, self.options.get("revision"))
        loras = [(*weights.find_lora(place), scale) for place, scale in self._chosen.loras]
        custom = self.options.get("custom_pipeline")
        code = None if custom is None else weights.code_identity(custom)
        return replace(pipeline, loras=tuple((str(file), sha256, scale) for file, sha256, scale in loras), code=code)

    def _extra_notes(self, pipeline: weights.Weights) -> dict[str, Any]:
        overlaps = [weights.training_metadata(Path(file)).get(OVERLAP) for file, _, _ in pipeline.loras]
        reported = [each for each in overlaps if isinstance(each, dict) and each.get("concepts")]
        return {OVERLAP: reported} if reported else {}

    def _open_pool(self, pipeline: weights.Weights) -> Pool:
        chosen, variant = self._chosen, self.options.get("variant")
        here = weights.download_if_private(pipeline, variant)
        load = PipelineSetup(
            here.source, here.revision, chosen.dtype, variant, None, chosen.offload, chosen.split,
            tuple((file, scale) for file, _, scale in pipeline.loras), self.options.get("scheduler"),
            self.options.get("quantize"), self.options.get("custom_pipeline"),
            self.options.get("trust_remote_code", False),
        )  # fmt: skip
        return jobs.open_pool(load, chosen, self._make_pool)
