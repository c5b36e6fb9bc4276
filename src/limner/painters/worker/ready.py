"""The painter ``transformers/REPO_OR_PATH``: models that transformers has and Limner knows how to draw with."""

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
from ..batched.jobs import open_workers
from ..batched.painter import BatchPainter
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
"""Options that are the model's."""


@dataclass(frozen=True)
class Adapter:
    """How Limner draws with a sort of model.

    Attributes:
        version: Goes into every call's key; another one where the same request brings other pixels.
        sizes: By aspect; None where the model has one size only.
        lacks: Options it does not have.
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
"""By the ``model_type`` of a model's config.json."""


@dataclass(frozen=True)
class AdaptedModel:
    """A model's weights, and how it is drawn with."""

    weights: Weights
    adapter: Adapter


class TransformersPainter(BatchPainter[AdaptedModel]):
    """Janus-Pro or Emu3 from a folder or from the Hugging Face hub, drawn by worker processes.

    Each drawing has noise of its own, made on the CPU by its seed: devices and batches do not change it.
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
        found = custom.find(f"{self._place}@{revision}" if revision else self._place)
        config = Path(custom.fetched(found)) / "config.json"
        try:
            sort = json.loads(config.read_text("utf-8"))["model_type"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{self.spec}: {config} names no model_type: no model was saved there") from error
        adapter = ADAPTERS.get(sort)
        if adapter is None:
            raise UsageError(
                f"{self.spec} is {sort}; known are {', '.join(sorted(ADAPTERS))}. "
                "For any other model write a factory: --painter worker/MODULE:FACTORY"
            )
        if unknown := sorted(adapter.lacks & self.options.keys()):
            raise UsageError(f"{self.spec}: {sort} models have no option {', '.join(unknown)}")
        return AdaptedModel(found, adapter)

    def _model(self, found: AdaptedModel) -> str:
        return f"transformers/{found.weights.name}"

    def _draw_settings(self, request: PaintRequest) -> SizeSettings:
        refuse_pictures(self, request)
        sizes = None if self._found is None else self._found.adapter.sizes
        return (
            SizeSettings()
            if sizes is None
            else SizeSettings(*self._chosen.size(request.aspect, {**sizes, **self._facts.sizes}))
        )

    def _body(self, request: PaintRequest, how: Any, found: AdaptedModel) -> dict[str, Any]:
        """Everything that decides the pixels; neither batch size nor devices do."""
        body = {"prompt": request.prompt, "seed": request.seed, "weights": found.weights.identity}
        body |= {"adapter": found.adapter.version, "options": self._passed()}
        return body | {name: side for name, side in asdict(how).items() if side is not None}

    def _passed(self) -> dict[str, Any]:
        return {"dtype": self._chosen.dtype} | {name: self.options[name] for name in DRAWING if name in self.options}

    def _open_pool(self, found: AdaptedModel) -> Pool:
        load = ModelSetup(found.adapter.factory, None, (custom.fetched(found.weights),), self._passed())
        return open_workers("transformers", server.FACTORY, load, self._chosen, self._make_pool)
