"""Does the steps of a checklist one after the other, under one budget; run again, it goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ..calls.budget import Budget, BudgetReached
from ..core.errors import LimnerError
from ..running.progress import SHOWN, Progress
from ..running.runner import Runner
from .checklist import Checklist
from .steps import StepState


@dataclass
class CarriedOut:
    """What came of it.

    Attributes:
        progress: What each step did.
        not_run: Steps that could not be done, and why.
        stopped: Why nothing more was done: the budget is reached.
    """

    progress: list[Progress] = field(default_factory=list)
    not_run: list[tuple[StepState, str]] = field(default_factory=list)
    stopped: str | None = None
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        """As elsewhere: 0 done, 3 in part, 4 budget reached, 130 interrupted."""
        if self.interrupted:
            return 130
        if self.stopped is not None:
            return BudgetReached.exit_code
        return 3 if self.not_run or any(one.failed for one in self.progress) else 0

    @property
    def failures(self) -> Progress:
        """What failed in all steps, with some of it in words."""
        details = [detail for one in self.progress for detail in one.details]
        return Progress(failures=sum((one.failures for one in self.progress), Counter()), details=details[:SHOWN])

    def total(self, name: str) -> Any:
        """A number over all steps."""
        return sum(getattr(one, name) for one in self.progress)


def carry_out(
    checklist: Checklist,
    *,
    budget: float | None,
    purse: str | None = None,
    change_purse: bool = False,
    concurrency: int = 64,
    retry_failed: bool = False,
    begin: Callable[[StepState], Callable[[Progress], None]] = lambda _: lambda _: None,
) -> CarriedOut:
    """Run every step that is not done.

    A step that cannot start, for want of a key, a price or a package, is left out and told; the others go on.

    Args:
        checklist: What is to be done.
        budget: Dollars that all steps together may spend.
        purse: The purse they spend from; see `limner.calls.purse`.
        change_purse: Whether `budget` becomes the purse's limit.
        concurrency: Calls at once.
        retry_failed: Whether refusals and unreadable replies are tried again.
        begin: Called before each step; what it gives back watches the step.
    """
    found, shared = CarriedOut(), Budget(budget, purse)
    how: dict[str, Any] = {"budget": budget, "purse": purse, "concurrency": concurrency, "retry_failed": retry_failed}
    steps = checklist.steps if retry_failed else checklist.runnable
    for step in (step for step in steps if step.step.cannot is None):
        if step.plan is None:
            found.not_run.append((step, step.why or "its questions are not known"))
            continue
        plan = replace(step.plan, **how, change_purse=change_purse and not found.progress)
        runner = Runner(plan, checklist.planner.store, budget=shared)
        try:
            runner.check()
            runner.watch = begin(step)
            progress = runner.run()
        except BudgetReached as error:
            found.progress.append(runner.progress)
            found.stopped = str(error)
            break
        except LimnerError as error:
            found.progress.append(runner.progress)
            found.not_run.append((step, str(error)))
            continue
        found.progress.append(progress)
        if progress.interrupted:
            found.interrupted = True
            break
    return found
