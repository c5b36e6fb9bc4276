"""Carries out stored plans, one after the other, until nothing is left; several processes do so together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ..calls import Calls
from ..calls.budget import BudgetReached
from ..core.errors import LimnerError, StoreError
from ..store import Store
from ..store.plans import DONE, OPEN, WITHDRAWN, PlanWorker, StoredPlan, end_plan, load_plan, load_plans, load_workers
from .attendance import Attendance, is_alive
from .progress import Progress
from .queued import reopen
from .runner import Runner

FAILED = 3
"""The exit code of what was done in part."""
AHEAD = 64
"""So many slots at least are looked up at a time."""


class SharedRunner(Runner):
    """Runs a plan beside others who run the same.

    In one order all would wait for each other's calls. So each takes the questions in an order of its own, and before
    it comes to a slot it looks whether somebody else has filled it.
    """

    _coming: Iterator[Any] | None = None

    def _slots(self) -> tuple[int, Iterable[Any]]:
        self.backlog.shuffle()
        return super()._slots()

    async def _work(self, queue: Iterator[Any], calls: Calls) -> None:
        if self._coming is None:
            self._coming = self._looked_up(queue)
        await super()._work(self._coming, calls)

    def _looked_up(self, queue: Iterator[Any]) -> Iterator[Any]:
        while some := list(islice(queue, max(AHEAD, self.plan.concurrency))):
            yield from self.backlog.look_again(some)


@dataclass(frozen=True)
class PlanState:
    """How a plan stands.

    Attributes:
        state: ``waiting``, ``working``, ``stopped`` (nobody works on it, and `detail` says why), ``done``, ``failures``
            (done, and some steps failed), ``withdrawn``.
        workers: Those who work on it now.
    """

    plan: StoredPlan
    state: str
    workers: tuple[PlanWorker, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        plan = self.plan
        return {
            "plan": plan.id, "exam": plan.exam, "state": self.state, "queued": plan.queued, "detail": plan.detail,
            "result": plan.result, "purse": plan.body.get("purse"),
            "workers": [
                {"host": one.host.partition("|")[0], "pid": one.pid, "settled": one.settled, "total": one.total}
                for one in self.workers
            ],
        }  # fmt: skip


@dataclass(frozen=True)
class WorkedPlan:
    """What one worker made of a plan.

    Attributes:
        state: ``done``, ``failures``, ``stopped``, ``withdrawn`` or ``interrupted``.
        why: Why it is not done.
        code: The exit code that goes with it.
    """

    plan: StoredPlan
    state: str
    code: int = 0
    why: str | None = None
    progress: Progress = field(default_factory=Progress)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"plan": self.plan.id, "exam": self.plan.exam, "state": self.state, "why": self.why} | _result(
            self.progress
        )


def plan_states(store: Store) -> list[PlanState]:
    """All plans, the oldest first."""
    workers = [one for one in load_workers(store) if is_alive(one)]
    return [_state(plan, [one for one in workers if one.plan == plan.id]) for plan in load_plans(store)]


def _state(plan: StoredPlan, workers: Sequence[PlanWorker]) -> PlanState:
    if workers and plan.status == OPEN:
        return PlanState(plan, "working", tuple(workers))
    if plan.status == OPEN:
        return PlanState(plan, "stopped" if plan.detail else "waiting")
    if plan.status == DONE:
        return PlanState(plan, "failures" if (plan.result or {}).get("failed") else "done")
    return PlanState(plan, plan.status)


def withdraw(store: Store, word: str) -> StoredPlan | None:
    """Take an open plan back: workers finish what is in flight; None where there is nothing left to take back.

    What was drawn and marked stays.
    """
    plan = load_plan(store, word)
    return plan if end_plan(store, plan, WITHDRAWN, None, None) else None


def work(
    store: Store,
    words: Sequence[str] = (),
    *,
    concurrency: int | None = None,
    devices: str | None = None,
    begin: Callable[[StoredPlan], Callable[[Progress], None]] = lambda _: lambda _: None,
    end: Callable[[WorkedPlan], None] = lambda _: None,
) -> list[WorkedPlan]:
    """Carry out the plans of a store, the oldest first, until none is left that can be carried out here.

    A plan that cannot be, for want of a key, money or a file, is left to others and told; the next one follows.

    Args:
        store: Where they are.
        words: Only these plans, by how their ids begin.
        concurrency: Calls at once, in place of what the plans say.
        devices: Where local pipelines run, in place of what the plans say.
        begin: Called before each plan; what it gives back watches it.
        end: Called after each.
    """
    wanted, tried = {load_plan(store, word).id for word in words}, set[tuple[str, float]]()
    found: list[WorkedPlan] = []
    while (plan := _next(store, wanted, tried)) is not None:
        tried.add((plan.id, plan.queued))
        found.append(one := _carry_out(store, plan, begin, concurrency=concurrency, devices=devices))
        end(one)
        if one.state == "interrupted":
            break
    return found


def _next(store: Store, wanted: set[str], tried: set[tuple[str, float]]) -> StoredPlan | None:
    for plan in load_plans(store):
        # One that was asked for again meanwhile is another task.
        if plan.status == OPEN and (plan.id, plan.queued) not in tried and (not wanted or plan.id in wanted):
            return load_plan(store, plan.id)
    return None


def _carry_out(
    store: Store, plan: StoredPlan, begin: Callable[[StoredPlan], Callable[[Progress], None]], **how: Any
) -> WorkedPlan:
    try:
        runner = SharedRunner(reopen(plan, store, **how), store)
        runner.check()
    except StoreError:
        raise
    except LimnerError as error:
        return _stopped(store, plan, error, Progress())
    runner.watch = begin(plan)
    try:
        with Attendance(store, plan, runner) as attendance:
            progress = runner.run()
    except StoreError:
        raise
    except LimnerError as error:
        return _stopped(store, plan, error, runner.progress)
    if progress.interrupted:
        return WorkedPlan(plan, "interrupted", 130, progress=progress)
    if attendance.withdrawn:
        return WorkedPlan(plan, "withdrawn", why="it was withdrawn", progress=progress)
    # Calls of others were waited for on the way: who has gone through all of it has seen all of it done.
    end_plan(store, plan, DONE, _result(progress), None)
    return WorkedPlan(plan, "failures" if progress.failed else "done", FAILED if progress.failed else 0, None, progress)


def _stopped(store: Store, plan: StoredPlan, error: LimnerError, progress: Progress) -> WorkedPlan:
    why, code = str(error), FAILED
    if isinstance(error, BudgetReached):
        why, code = f"{why}, or queue the run again with a higher --budget", error.exit_code
    end_plan(store, plan, OPEN, None, why)
    return WorkedPlan(plan, "stopped", code, why, progress)


def _result(progress: Progress) -> dict[str, Any]:
    return {
        "done": progress.done, "stored": progress.stored, "failed": progress.failed,
        "failures": dict(progress.failures), "asked_again": progress.asked_again,
        "not_applicable": progress.not_applicable,
        "spent": round(progress.spent, 6), "unpriced_calls": progress.unpriced, "doubted_calls": progress.doubted,
    }  # fmt: skip
