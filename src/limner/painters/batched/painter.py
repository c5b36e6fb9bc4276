"""A painter whose drawings are made in batches by workers: its way through the journal."""

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
from ..base import FreePainter, ImageKeeper, Painting, PaintRequest, kept_image
from . import jobs
from .jobs import DrawItem, RawDrawing

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from ..diffusers.options import Options

AHEAD = 2
"""How many batches per device are claimed at once: one is drawn while the next is gathered."""
W = TypeVar("W")
"""What is known of a painter's weights."""


class BatchPainter(FreePainter, ABC, Generic[W]):
    """Draws by worker processes, several drawings in one go.

    Attributes:
        packages: What must be installed for it.

    Args:
        chosen: The options, checked: those that change a drawing, and how it is made.
        facts: What the settings say of the model.
        pool: What makes the workers.
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
        self._ahead, self._timeout_s, self._make_pool = AHEAD * chosen.batch_size * workers, chosen.timeout_s, pool
        self._lock = threading.Lock()
        self._found: W | None = None
        self._pool: Pool | None = None
        self._semaphores: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]
        self._semaphores = weakref.WeakKeyDictionary()

    def check(self) -> None:
        """Fail early when the packages are not there."""
        missing = [package for package in self.packages if find_spec(package) is None]
        if missing:
            raise UsageError(f"{self.spec} needs {' and '.join(missing)}: install them with pip install 'limner[gpu]'")

    @abstractmethod
    def _find(self) -> W:
        """Return the weights; takes a while the first time."""

    @abstractmethod
    def _model(self, found: W) -> str:
        """Return what the call is journalled under: the same wherever the weights lie."""

    @abstractmethod
    def _draw_settings(self, request: PaintRequest) -> DataclassInstance:
        """Everything about a drawing but its prompt, seed and pictures: what agrees in it is drawn in one batch."""

    @abstractmethod
    def _body(self, request: PaintRequest, how: Any, found: W) -> dict[str, Any]:
        """Everything that decides the pixels."""

    @abstractmethod
    def _open_pool(self, found: W) -> Pool:
        """Return the workers."""

    def _told(self, found: W) -> dict[str, Any]:
        """Return what else is to be known of drawings by these weights."""
        return {}

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        """Draw through the journal; see `limner.painters.base.Painter`."""
        found = await self._weights()
        how = self._draw_settings(request)
        body, keeper = self._body(request, how, found), ImageKeeper(self._blobs)

        async def perform(_attempt: Attempt) -> Result:
            pictures = await asyncio.to_thread(self._pictures, request)
            item = DrawItem(request.prompt, request.seed, pictures, request.short)
            pool = self._pool
            if pool is None:
                pool = await asyncio.to_thread(self._workers, found)
            job = jobs.submit(pool, how, item, self._timeout_s)
            try:
                drawn = jobs.read_drawing(await asyncio.wrap_future(job))
            except (WorkerDeath, JobFailure, WorkerUnfit) as error:
                raise self._fault(error) from error
            sha256 = await asyncio.to_thread(_keep, drawn, keeper)
            return Result({"image": sha256, "about": drawn.about})

        # The wait for a free worker stands before the call, so that nothing is claimed long before it is drawn.
        async with self._semaphore():
            make = partial(calls.do, Request("paint", self._model(found), body), perform)
            outcome, kept = await kept_image(make, calls, keeper)
        about = outcome.payload.get("about", {})
        notes = {"body": body, "about": about} | ({PROMPT_CUT: about["cut"]} if "cut" in about else {})
        notes |= self._told(found)
        return Painting(kept.data, request.prompt, (outcome.key,), outcome.cost, notes, kept)

    def _fault(self, error: WorkerDeath | JobFailure | WorkerUnfit) -> Exception:
        found = jobs.fault_of(error)
        return UsageError(f"{self.spec}: {found}") if isinstance(found, UsageError) else found

    async def _weights(self) -> W:
        def find() -> W:
            with self._lock:
                found = self._find() if self._found is None else self._found
                self._found = found
                return found

        return await asyncio.to_thread(find) if self._found is None else self._found

    def _workers(self, found: W) -> Pool:
        with self._lock:
            if self._pool is None:
                self._pool = self._open_pool(found)
                # Also at the interpreter's end.
                weakref.finalize(self, self._pool.close)
            return self._pool

    def _semaphore(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if loop not in self._semaphores:
            self._semaphores[loop] = asyncio.Semaphore(self._ahead)
        return self._semaphores[loop]

    def _pictures(self, request: PaintRequest) -> tuple[bytes, ...]:
        with picture_faults("a picture to start from"):
            return tuple(self._blobs.get(sha256) for sha256 in request.images)


def _keep(drawn: RawDrawing, keeper: ImageKeeper) -> str:
    from PIL import Image

    return keeper.put(encode_png(Image.frombytes("RGB", drawn.size, drawn.pixels)))
