"""A run in which one evaluator that is no judge speaks of stored drawings: a metric, or a model asked as one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable
from functools import cached_property
from typing import Any, TypeVar

from ..calls import Fault
from ..core.errors import LimnerError, LostImage
from ..core.faults import lost, unexpected
from ..evidence.probe import Probe
from ..judges import Judge
from ..painters import Painter
from ..store import Store
from ..store.records import save_setup
from ..strategies import Strategy
from .plan import Plan, setup_id
from .runner import Runner
from .steps import stop_if_pointless

METRIC = "metric"
"""What sort of evaluator it is."""
NO_IMAGE = "the drawing came without its image; import it again with --images"
REASON = 500
"""Characters kept of why there is no value."""
T = TypeVar("T")


class EvaluatingRunner(Runner, ABC):
    """Draws and marks nothing. Run it again to resume.

    Args:
        plan: Which stored drawings; it has no judges and no probes.
        store: Where they are.
        evaluator: Who speaks; checked before anything is done.
        metric: What failures are counted under.
    """

    def __init__(self, plan: Plan, store: Store, evaluator: Any, metric: str) -> None:
        super().__init__(plan, store)
        self._evaluator, self._metric = evaluator, metric

    @property
    @abstractmethod
    def setup(self) -> dict[str, Any]:
        """Everything that shapes what is said."""

    @cached_property
    def setup_id(self) -> str:
        """How the store knows this evaluator."""
        return setup_id(self.setup)

    def run(self) -> Any:
        """Run to the end; see `Runner.run`."""
        self.check()
        save_setup(self.store, self.setup_id, self.setup, METRIC)
        return super().run()

    def _everyone(self) -> list[Painter | Strategy | Judge | Probe]:
        return [self._evaluator]

    @property
    def _steps(self) -> int:
        return 0

    async def _outcome(self, question: str, work: Awaitable[T]) -> tuple[T | None, str | None]:
        """What comes of one ask, counted: its value, or why there is none; a fault is never a value."""
        value, fault = None, None
        try:
            value = await work
        except (Fault, LostImage) as error:
            fault = lost(error)
            stop_if_pointless(fault)
        except LimnerError:
            raise
        except Exception as error:
            fault = unexpected(error)
        kind, detail = (None, None) if fault is None else (fault.kind, fault.detail)
        self.progress.count(question, "failed" if fault else "done", kind, detail)
        self._slips.count(self._metric, kind, detail)
        return value, None if fault is None else f"{kind}: {detail}"[:REASON]
