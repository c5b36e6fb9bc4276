"""Batches as large as memory allows: halved when it runs out, and told apart when one item spoils them.

Runs in a worker process; torch is asked only where it is loaded already.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

from ...calls import Fault
from ...core.images import BadImage
from ...workers import WorkerUnfit
from .jobs import DrawFailure, DrawItem, Found

OUT = ("out of memory", "can't allocate memory")
Placed = Sequence[tuple[int, DrawItem]]
"""Items, each with its place in the job."""


class BatchDrawer:
    """Draws items in as few batches as memory allows, and remembers how many fitted.

    Args:
        device: Where it draws, for messages and to free its memory.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self._most: dict[Hashable, int] = {}

    def draw(
        self,
        shape: Hashable,
        items: Sequence[DrawItem],
        batch: Callable[[Placed], Iterable[Found]],
        advice: str,
        *,
        alone: bool = False,
    ) -> Iterator[Found]:
        """What became of each item.

        Args:
            shape: What decides how many fit.
            batch: Draws some of them in one go.
            advice: What to do where a single one does not fit.
            alone: Whether each is drawn by itself.

        Raises:
            WorkerUnfit: No item can be drawn like this.
        """
        waiting = list(enumerate(items))
        while waiting:
            most = 1 if alone else min(self._most.get(shape, len(waiting)), len(waiting))
            taken, waiting = waiting[:most], waiting[most:]
            found = self._try_batch(taken, batch, advice)
            if found is None:
                self._most[shape] = max(1, len(taken) // 2)
                waiting = taken + waiting
            else:
                yield from found

    def _try_batch(self, taken: Placed, batch: Callable[[Placed], Iterable[Found]], advice: str) -> list[Found] | None:
        """What became of a batch; None when it was too large for the memory."""
        try:
            return list(batch(taken))
        except WorkerUnfit:
            raise
        except Exception as error:
            if is_shortage(error):
                # The traceback holds on to everything that filled the memory.
                error.__traceback__ = None
                self._free()
                if len(taken) > 1:
                    return None
                return [DrawFailure(taken[0][0], "local", f"out of memory on {self.device} {advice}")]
            if len(taken) > 1:
                # One of them may have spoilt it for the others.
                return [each for one in taken for each in self._try_batch([one], batch, advice) or []]
            said = " ".join(str(error).split())[:500]
            if isinstance(error, Fault):
                return [DrawFailure(taken[0][0], error.kind, said)]
            kind = "image" if isinstance(error, BadImage) else "local"
            return [DrawFailure(taken[0][0], kind, f"{type(error).__name__}: {said}")]

    def _free(self) -> None:
        gc.collect()
        if self.device.startswith("cuda") and (torch := _torch()) is not None:
            torch.cuda.empty_cache()


def is_shortage(error: Exception) -> bool:
    """Whether an exception tells that memory ran out."""
    torch = _torch()
    if isinstance(error, MemoryError) or (torch is not None and isinstance(error, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(word in str(error).lower() for word in OUT)


def best_device() -> str:
    """The device that is taken where none is named."""
    if find_spec("torch") is None:
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda:0"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _torch() -> Any:
    return sys.modules.get("torch")
