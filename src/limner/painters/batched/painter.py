"""The base class of painters whose drawings are made in batches by workers, through the journal."""

from __future__ import annotations

import asyncio
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from ...calls import Attempt, Calls, Request, Result
from ...core.errors import UsageError
from ...core.faults import picture_faults
from ...core.images import encode_png
from ...core.settings import PainterFacts
from ...store import Blobs
from ...store.records import PROMPT_CUT
from ...workers import JobFailure, Pool, WorkerDeath, WorkerUnfit, hosts
from ..base import FreePainter, ImageKeeper, Painting, PaintRequest, call_for_image
from . import jobs
from .jobs import DrawItem, RawDrawing

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from ..diffusers.options import Options

BATCHES_AHEAD = 2
"""Batches per device that are claimed at once: one is drawn while the next is gathered."""
W = TypeVar("W")
"""The type of a painter's weights."""


class BatchPainter(FreePainter, ABC, Generic[W]):
    """A painter that makes several drawings at once in worker processes.

    Attributes:
        packages: Packages that must be installed.

    Args:
        chosen: The checked options: those that change a drawing, and those that affect only how it is computed.
        facts: The model's facts in the settings.
        pool: Makes the workers.
    """

    packages: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        name: str,
        spec: str,
        blobs: Blobs,
        chosen: Options,
        facts: PainterFacts | None = None,
        pool: Callable[..., Pool] = Pool,
    ) -> None:
        self.name, self.spec, self._blobs = name, spec, blobs
        self._chosen, self._facts = chosen, facts or PainterFacts()
        self.options, self.group = chosen.drawing, self._facts.prompt_group or "open"
        workers = len(hosts().devices(spec.partition("/")[0], chosen.devices))
        self._ahead, self._timeout_s, self._make_pool = (
            BATCHES_AHEAD * chosen.batch_size * workers,
            chosen.timeout_s,
            pool,
        )
        self._lock = threading.Lock()
        self._known_weights: W | None = None
        self._pool: Pool | None = None
        self._semaphores: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]
        self._semaphores = weakref.WeakKeyDictionary()

    def check(self) -> None:
        """Raise an error early if a package is missing."""
        missing = [package for package in self.packages if find_spec(package) is None]
        if missing:
            raise UsageError(f"{self.spec} needs {' and '.join(missing)}: install them with pip install 'limner[gpu]'")

    @abstractmethod
    def _find(self) -> W:
        """Find the weights; slow the first time."""

    @abstractmethod
    def _model(self, weights: W) -> str:
        """Return the name under which calls are journalled; it does not depend on the location of the weights."""

    @abstractmethod
    def _draw_settings(self, request: PaintRequest) -> DataclassInstance:
        """Return a drawing's settings other than prompt, seed and pictures; equal settings share a batch."""

    @abstractmethod
    def _body(self, request: PaintRequest, how: Any, weights: W) -> dict[str, Any]:
        """Return everything that determines the pixels."""

    @abstractmethod
    def _open_pool(self, weights: W) -> Pool:
        """Return the workers."""

    def _extra_notes(self, weights: W) -> dict[str, Any]:
        """Return further notes on drawings made with these weights."""
        return {}

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        """Draw through the journal; see `limner.painters.base.Painter`."""
        weights = await self._weights()
        how = self._draw_settings(request)
        body, keeper = self._body(request, how, weights), ImageKeeper(self._blobs)

        async def perform(_attempt: Attempt) -> Result:
            pictures = await asyncio.to_thread(self._pictures, request)
            item = DrawItem(request.prompt, request.seed, pictures, request.short)
            pool = self._pool
            if pool is None:
                pool = await asyncio.to_thread(self._workers, weights)
            job = jobs.submit(pool, how, item, self._timeout_s)
            try:
                drawn = jobs.read_drawing(await asyncio.wrap_future(job))
            except (WorkerDeath, JobFailure, WorkerUnfit) as error:
                raise self._fault(error) from error
            sha256 = await asyncio.to_thread(_store_drawing, drawn, keeper)
            return Result({"image": sha256, "about": drawn.about})

        # Wait for a free worker before the call, so that nothing is claimed long before it is drawn.
        async with self._semaphore():
            make = partial(calls.do, Request("paint", self._model(weights), body), perform)
            outcome, kept = await call_for_image(make, calls, keeper)
        about = outcome.payload.get("about", {})
        notes = {"body": body, "about": about} | ({PROMPT_CUT: about["cut"]} if "cut" in about else {})
        notes |= self._extra_notes(weights)
        return Painting(kept.data, request.prompt, (outcome.key,), outcome.cost, notes, kept)

    def _fault(self, error: WorkerDeath | JobFailure | WorkerUnfit) -> Exception:
        fault = jobs.worker_fault(error)
        return UsageError(f"{self.spec}: {fault}") if isinstance(fault, UsageError) else fault

    async def _weights(self) -> W:
        def find() -> W:
            with self._lock:
                weights = self._find() if self._known_weights is None else self._known_weights
                self._known_weights = weights
                return weights

        return await asyncio.to_thread(find) if self._known_weights is None else self._known_weights

    def _workers(self, weights: W) -> Pool:
        with self._lock:
            if self._pool is None:
                self._pool = self._open_pool(weights)
                # This also runs when the interpreter exits.
                weakref.finalize(self, self._pool.close)
            return self._pool

    def _semaphore(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if loop not in self._semaphores:
            self._semaphores[loop] = asyncio.Semaphore(self._ahead)
        return self._semaphores[loop]

    def _pictures(self, request: PaintRequest) -> tuple[bytes, ...]:
        with picture_faults("a picture to start from"):
            return tuple(self._blobs.get(sha256) for sha256 in request.pictures)


def _store_drawing(drawn: RawDrawing, keeper: ImageKeeper) -> str:
    from PIL import Image

    return keeper.put(encode_png(Image.frombytes("RGB", drawn.size, drawn.pixels)))
