"""The painter ``transformers/REPO_OR_PATH``: models of transformers that Limner has an adapter for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...core.errors import UsageError
from ...core.settings import PainterFacts
from ...store import Blobs
from ...workers import Pool
from ..base import Aspect, PaintRequest, refuse_pictures
from ..batched import BatchPainter, open_workers
from ..diffusers import options as readers
from ..diffusers.weights import Weights
from . import custom, server
from .custom import EXECUTION, SIZES
from .server import ModelSetup, SizeSettings

READERS: dict[str, readers.Reader] = {
    "dtype": readers.READERS["dtype"],
    "guidance": readers.NUMBER,
    "temperature": readers.POSITIVE,
    "top_k": readers.WHOLE,
    "negative_prompt": readers.TEXT,
    "revision": readers.TEXT,
    **{name: readers.READERS[name] for name in (*SIZES, *EXECUTION)},
}
DRAWING = ("dtype", "guidance", "temperature", "top_k", "negative_prompt")
"""Options that are passed to the model."""


@dataclass(frozen=True)
class Adapter:
    """A way to draw with one type of model.

    Attributes:
        version: Part of every call's key; changed whenever the same request would give other pixels.
        sizes: The sizes by aspect; None if the model has only one size.
        lacks: Options that it does not have.
    """

    factory: str
    version: str
    sizes: Mapping[Aspect, str] | None = None
    lacks: frozenset[str] = frozenset()


ADAPTERS = {
    "janus": Adapter(
        "limner.painters.worker.models:open_janus", "janus-1", lacks=frozenset({"negative_prompt", *SIZES})
    ),
    "emu3": Adapter(
        "limner.painters.worker.models:open_emu3", "emu3-1",
        {"square": "720x720", "landscape": "864x600", "portrait": "600x864"},
    ),
}  # fmt: skip
"""The adapters, by the ``model_type`` in a model's config.json."""


@dataclass(frozen=True)
class AdaptedModel:
    """A model's weights and its adapter."""

    weights: Weights
    adapter: Adapter


class TransformersPainter(BatchPainter[AdaptedModel]):
    """A Janus-Pro or Emu3 model from a folder or the Hugging Face hub, run by worker processes.

    Each drawing's noise is made on the CPU from its seed, so devices and batches do not change it.
    """

    packages = ("torch", "transformers", "accelerate")

    def __init__(
        self,
        name: str,
        spec: str,
        blobs: Blobs,
        given: Mapping[str, Any],
        facts: PainterFacts | None = None,
        pool: Callable[..., Pool] = Pool,
    ) -> None:
        super().__init__(name, spec, blobs, readers.parse(given, spec, READERS), facts, pool)
        self._place = spec.removeprefix("transformers/")
        self.changeable = custom.is_here(self._place)

    def _find(self) -> AdaptedModel:
        revision = self.options.get("revision")
        weights = custom.find_weights(f"{self._place}@{revision}" if revision else self._place)
        config = Path(custom.local_path(weights)) / "config.json"
        try:
            sort = json.loads(config.read_text("utf-8"))["model_type"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{self.spec}: {config} has no model_type: this is not a saved model") from error
        adapter = ADAPTERS.get(sort)
        if adapter is None:
            raise UsageError(
                f"{self.spec} is a {sort} model; supported are {', '.join(sorted(ADAPTERS))}. "
                "For another model write a factory: --painter worker/MODULE:FACTORY"
            )
        if unknown := sorted(adapter.lacks & self.options.keys()):
            raise UsageError(f"{self.spec}: {sort} models have no option {', '.join(unknown)}")
        return AdaptedModel(weights, adapter)

    def _model(self, model: AdaptedModel) -> str:
        return f"transformers/{model.weights.name}"

    def _draw_settings(self, request: PaintRequest) -> SizeSettings:
        refuse_pictures(self, request)
        sizes = None if self._known_weights is None else self._known_weights.adapter.sizes
        return (
            SizeSettings()
            if sizes is None
            else SizeSettings(*self._chosen.size(request.aspect, {**sizes, **self._facts.sizes}))
        )

    def _body(self, request: PaintRequest, how: Any, model: AdaptedModel) -> dict[str, Any]:
        """Return everything that determines the pixels; batch size and devices do not."""
        body = {"prompt": request.prompt, "seed": request.seed, "weights": model.weights.identity}
        body |= {"adapter": model.adapter.version, "options": self._passed()}
        return body | {name: side for name, side in asdict(how).items() if side is not None}

    def _passed(self) -> dict[str, Any]:
        return {"dtype": self._chosen.dtype} | {name: self.options[name] for name in DRAWING if name in self.options}

    def _open_pool(self, model: AdaptedModel) -> Pool:
        load = ModelSetup(model.adapter.factory, None, (custom.local_path(model.weights),), self._passed())
        return open_workers("transformers", server.FACTORY, load, self._chosen, self._make_pool)
