"""The painter: what is asked of the pipeline, what identifies a drawing, and its way through the journal."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from importlib.util import find_spec
from typing import Any

from ...calls import Attempt, Calls, Request, Result
from ...core.errors import UsageError
from ...core.faults import picture_faults
from ...core.images import encode_png
from ...core.settings import PainterFacts
from ...store import Blobs
from ...workers import JobFailure, Pool, WorkerDeath, WorkerUnfit
from ..base import FreePainter, Painting, PaintRequest
from . import jobs, options, weights
from .jobs import DrawItem, DrawSettings, PipelineSetup, RawDrawing

PACKAGES = ("torch", "diffusers", "transformers", "accelerate")
AHEAD = 2
"""How many batches per device are claimed at once: one is drawn while the next is gathered."""


class DiffusersPainter(FreePainter):
    """A diffusers pipeline from a folder or from the Hugging Face hub, drawn by worker processes.

    The drawing's seed is the seed of its noise, which is drawn on the CPU: devices and batches do not change it.
    """

    edits = True

    def __init__(
        self,
        name: str,
        spec: str,
        blobs: Blobs,
        given: Mapping[str, Any],
        facts: PainterFacts | None = None,
        pool: Callable[..., Pool] = Pool,
    ) -> None:
        facts = facts or PainterFacts()
        self.name, self.spec, self._blobs = name, spec, blobs
        self._place = spec.removeprefix("diffusers/")
        self._chosen = options.parse(given, spec)
        self.options = self._chosen.drawing
        self.group = facts.prompt_group or "open"
        # A folder's weights may be trained on between two runs; the journal answers while they are the same.
        self.changeable = weights.folder_of(self._place) is not None or bool(self._chosen.loras)
        self._sizes = facts.sizes
        self._make_pool = pool
        self._lock = threading.Lock()
        self._found: weights.Weights | None = None
        self._pool: Pool | None = None
        self._semaphores: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]
        self._semaphores = weakref.WeakKeyDictionary()

    def check(self) -> None:
        """Fail early when the packages are not there."""
        missing = [package for package in PACKAGES if find_spec(package) is None]
        if missing:
            raise UsageError(f"{self.spec} needs {' and '.join(missing)}: install them with pip install 'limner[gpu]'")

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        """Draw through the journal; see `limner.painters.base.Painter`."""
        found = await self._weights()
        how = self._draw_settings(request)
        body = self._body(request, how, found)

        async def perform(_attempt: Attempt) -> Result:
            item = DrawItem(request.prompt, request.seed, await asyncio.to_thread(self._pictures, request))
            pool = self._pool
            if pool is None:
                pool = await asyncio.to_thread(self._workers, found)
            job = jobs.submit(pool, how, item, self._chosen.timeout_s)
            try:
                drawn = jobs.read_drawing(await asyncio.wrap_future(job))
            except (WorkerDeath, JobFailure, WorkerUnfit) as error:
                raise self._fault(error) from error
            sha256 = await asyncio.to_thread(self._keep, drawn)
            return Result({"image": sha256, "about": drawn.about})

        # The wait for a free worker stands before the call, so that nothing is claimed long before it is drawn.
        async with self._semaphore():
            outcome = await calls.do(Request("paint", f"diffusers/{found.name}", body), perform)
        data = await asyncio.to_thread(self._blobs.get, outcome.payload["image"])
        notes = {"body": body, "about": outcome.payload.get("about", {})}
        return Painting(data, request.prompt, (outcome.key,), outcome.cost, notes)

    def _fault(self, error: WorkerDeath | JobFailure | WorkerUnfit) -> Exception:
        found = jobs.fault_of(error)
        return UsageError(f"{self.spec}: {found}") if isinstance(found, UsageError) else found

    def _draw_settings(self, request: PaintRequest) -> DrawSettings:
        width, height = self._chosen.size(request.aspect, self._sizes)
        names = ("steps", "guidance", "true_cfg_scale", "negative_prompt", "max_sequence_length")
        given = {name: self.options[name] for name in names if name in self.options}
        if request.images:
            given |= {"editing": True, "strength": self.options.get("strength")}
        return DrawSettings(width, height, **given)

    def _body(self, request: PaintRequest, how: DrawSettings, found: weights.Weights) -> dict[str, Any]:
        """Everything that decides the pixels; neither batch size nor devices nor offloading do."""
        settings = {name: value for name, value in asdict(how).items() if value is not None and name != "editing"}
        body = {"prompt": request.prompt, "seed": request.seed, "weights": found.identity, "dtype": self._chosen.dtype}
        for name in ("variant", "scheduler", "quantize"):
            if name in self.options:
                body[name] = self.options[name]
        if found.loras:
            body["loras"] = [[sha256, scale] for _, sha256, scale in found.loras]
        if found.code is not None:
            body["code"] = found.code
        return body | settings | ({"images": list(request.images)} if request.images else {})

    async def _weights(self) -> weights.Weights:
        def find() -> weights.Weights:
            with self._lock:
                found = self._found or self._find()
                self._found = found
                return found

        return await asyncio.to_thread(find) if self._found is None else self._found

    def _find(self) -> weights.Weights:
        """The pipeline's weights with those of its LoRAs and its custom code."""
        found = weights.find(self._place, self.options.get("revision"))
        loras = [(*weights.find_lora(place), scale) for place, scale in self._chosen.loras]
        custom = self.options.get("custom_pipeline")
        code = None if custom is None else weights.code_identity(custom)
        return replace(found, loras=tuple((str(file), sha256, scale) for file, sha256, scale in loras), code=code)

    def _workers(self, found: weights.Weights) -> Pool:
        with self._lock:
            if self._pool is None:
                chosen, variant = self._chosen, self.options.get("variant")
                here = weights.in_cache(found, variant)
                load = PipelineSetup(
                    here.source, here.revision, chosen.dtype, variant, None, chosen.offload, chosen.split,
                    tuple((file, scale) for file, _, scale in found.loras), self.options.get("scheduler"),
                    self.options.get("quantize"), self.options.get("custom_pipeline"),
                    self.options.get("trust_remote_code", False),
                )  # fmt: skip
                self._pool = jobs.open_pool(load, chosen, self._make_pool)
                # Also at the interpreter's end.
                weakref.finalize(self, self._pool.close)
            return self._pool

    def _semaphore(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if loop not in self._semaphores:
            self._semaphores[loop] = asyncio.Semaphore(AHEAD * self._chosen.batch_size * len(self._chosen.devices))
        return self._semaphores[loop]

    def _pictures(self, request: PaintRequest) -> tuple[bytes, ...]:
        with picture_faults("a picture to start from"):
            return tuple(self._blobs.get(sha256) for sha256 in request.images)

    def _keep(self, drawn: RawDrawing) -> str:
        from PIL import Image

        return self._blobs.put(encode_png(Image.frombytes("RGB", drawn.size, drawn.pixels)))[0]
