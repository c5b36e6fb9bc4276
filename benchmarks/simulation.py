"""A run of many machines in virtual time: the real runner, journal, limits and store, with made-up services.

A service answers after a time drawn from a seeded distribution and refuses what is over its limit; a machine's event
loop and cores, and the database, do one thing after the other and take as long as they are said to. Everything else,
and above all the order in which things happen, is the runner's.
"""

from __future__ import annotations

import asyncio
import io
import math
import random
import tempfile
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from unittest import mock

from PIL import Image

from benchmarks.virtual_time import Server, TimedStore, run_virtually
from limner import exams
from limner.calls import Attempt, Calls, Fault, Limits, Request, Result
from limner.core.exam import Exam
from limner.judges.base import JudgeResult, Subject
from limner.painters import Painting, PaintRequest
from limner.painters.base import FreePainter
from limner.running import runner as runner_module
from limner.running.plan import Plan
from limner.running.progress import Progress
from limner.running.runner import Runner
from limner.running.work import SharedRunner
from limner.store import Store

SAMPLE = "sample/genexam"
MINUTE_S = 60.0
EXACT_S = 1e-6
"""Times are sums of fractions: by so much a minute may seem too short."""


@dataclass(frozen=True)
class ServiceSettings:
    """A made-up service.

    Attributes:
        median_s: Half of its answers take longer than this.
        spread: The standard deviation of the answers' logarithm: 0 for answers that all take as long.
        per_minute: Requests that it takes in a minute; it refuses all others.
        told: Whether Limner is told the limit, shared out evenly over the machines.
    """

    median_s: float
    spread: float = 0.0
    per_minute: float | None = None
    told: bool = True


@dataclass(frozen=True)
class Costs:
    """Measured seconds of one machine or of the database, for one drawing, marking or write."""

    draw_loop_s: float = 0.0
    mark_loop_s: float = 0.0
    prepare_s: float = 0.0
    write_s: float = 0.0
    commit_s: float = 0.0


@dataclass(frozen=True)
class Case:
    """What is simulated.

    Attributes:
        sharing: How machines share the questions: each has a part of its own, or all have all of them, and go through
            them in one order (as `limner run` does) or each in an order of its own (as `limner work` does).
        bound: Dollars set aside for each call; with `purse`, the limit of a purse that all machines share.
    """

    name: str
    drawings: int
    painter: ServiceSettings
    judge: ServiceSettings
    machines: int = 1
    in_flight: int = 64
    cores: int = 2
    sharing: Literal["parts", "one order", "own orders"] = "parts"
    costs: Costs = Costs()
    bound: float = 0.0
    purse: float | None = None
    seed: int = 0


@dataclass(frozen=True)
class Outcome:
    """What came of a case.

    Attributes:
        seconds: From the start to the end of the last machine, in virtual time.
        finished: When each marking was there.
        refused: Calls that a service turned down for its limit.
        busy: By what could be the narrowest place, the share of the time it was busy.
    """

    seconds: float
    marked: int
    failed: int
    calls: int
    refused: int
    writes: int
    finished: tuple[float, ...]
    busy: Mapping[str, float]

    @property
    def rate(self) -> float:
        """Marked drawings a second in the middle of the run: from a quarter to three quarters of them."""
        first, last = len(self.finished) // 4, 3 * len(self.finished) // 4
        took = self.finished[last] - self.finished[first] if last > first else 0.0
        return (last - first) / took if took else math.inf


class Service:
    """Answers late, and refuses what is over its limit."""

    def __init__(self, settings: ServiceSettings, seed: int, name: str) -> None:
        self.settings, self.seed, self.name = settings, seed, name
        self.calls = self.refused = 0
        self.answered: list[float] = []
        self._minute: deque[float] = deque()

    async def ask(self, key: str) -> None:
        """Wait for the answer to a request; the same request takes as long in every simulation.

        Raises:
            Fault: The limit of its minute is reached.
        """
        loop = asyncio.get_running_loop()
        self.calls += 1
        while self._minute and self._minute[0] + MINUTE_S <= loop.time() + EXACT_S:
            self._minute.popleft()
        limit = self.settings.per_minute
        if limit is not None and len(self._minute) >= limit:
            self.refused += 1
            raise Fault("rate_limit", "slow down", retry_after=self._minute[0] + MINUTE_S - loop.time())
        self._minute.append(loop.time())
        chance = random.Random(f"{self.seed}/{self.name}/{key}")
        await asyncio.sleep(chance.lognormvariate(math.log(self.settings.median_s), self.settings.spread))
        self.answered.append(loop.time())


class Machine:
    """One event loop and a few cores."""

    def __init__(self, cores: int, costs: Costs) -> None:
        self.loop, self.cores, self.costs = Server(), Server(cores), costs


class FakePainter(FreePainter):
    """Asks a made-up service through the journal."""

    name, spec, changeable = "studio/painter", "studio/painter", False

    def __init__(self, service: Service, machine: Machine, image: bytes, bound: float) -> None:
        self._service, self._machine, self._image, self._bound = service, machine, image, bound

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        """Wait as long as the service takes; all drawings are the same picture."""

        async def perform(_: Attempt) -> Result:
            await self._service.ask(request.question)
            await self._machine.loop.use(self._machine.costs.draw_loop_s)
            return Result({"image": "drawn"}, cost=self._bound)

        body = {"question": request.question, "seed": request.seed}
        outcome = await calls.do(Request("paint", self.spec, body), perform, bound=self._bound)
        return Painting(self._image, request.prompt, (outcome.key,), outcome.cost)


class FakeJudge:
    """Asks a made-up service through the journal, with images prepared on the machine's cores."""

    def __init__(self, service: Service, machine: Machine, bound: float) -> None:
        self.name = "bench/judge"
        self.setup: dict[str, Any] = {"judge": self.name}
        self._service, self._machine, self._bound = service, machine, bound

    async def mark(self, subject: Subject, calls: Calls) -> JudgeResult:
        """Wait as long as the service takes; there is nothing to read."""

        async def perform(_: Attempt) -> Result:
            await self._service.ask(subject.question.id)
            await self._machine.loop.use(self._machine.costs.mark_loop_s)
            return Result({"text": "{}"}, cost=self._bound)

        await self._machine.cores.use(self._machine.costs.prepare_s)
        body = {"question": subject.question.id, "image": subject.image}
        outcome = await calls.do(Request("chat", self.name, body), perform, bound=self._bound)
        return JudgeResult((("marks", outcome.key),), None, outcome.cost)

    def check(self) -> None:
        """Nothing can be missing."""

    def unpriced(self) -> str | None:
        """Its price is told."""
        return None


def exam_of(questions: int) -> Exam[Any]:
    """An exam with so many questions."""
    sample = exams.read(exams.resolve(SAMPLE))
    first = replace(sample.questions[0], reference=None)
    made = tuple(replace(first, id=f"q{n}", prompt=f"Drawing number {n}.") for n in range(questions))
    return replace(sample, name="simulated", questions=made, subsets={})


def plans(case: Case, painter: Service, judge: Service, machines: list[Machine]) -> list[Plan]:
    """What each machine is told to do."""
    exam = exam_of(case.drawings)
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), "white").save(buffer, "PNG")
    services = {"studio": case.painter, "bench": case.judge}
    limits = {
        name: Limits(requests_per_minute=one.per_minute / case.machines)
        for name, one in services.items()
        if one.per_minute is not None and one.told
    }
    found = []
    for n, machine in enumerate(machines):
        part = replace(exam, questions=exam.questions[n :: case.machines]) if case.sharing == "parts" else exam
        painters = [FakePainter(painter, machine, buffer.getvalue(), case.bound)]
        purse = {} if case.purse is None else {"budget": case.purse, "purse": "all"}
        found.append(
            Plan(
                part, painters, [FakeJudge(judge, machine, case.bound)], concurrency=case.in_flight, limits=limits,
                whole=exam, **purse,  # type: ignore[arg-type]
            )
        )  # fmt: skip
    return found


async def run_here(runner: Runner) -> Progress:
    """As `Runner.run`, but in the loop that runs already, beside others."""
    begun: list[Any] = []
    with mock.patch.object(runner_module, "run_to_end", lambda work, _stop: begun.append(work)):
        runner.run()
    await begun[0]
    if runner._stop is not None:
        raise runner._stop
    return runner.progress


async def carry_out(case: Case, store: Store) -> Outcome:
    """Run all machines of a case on one store, in whatever loop this is, and count."""
    loop = asyncio.get_running_loop()
    services = [Service(one, case.seed, name) for one, name in ((case.painter, "painter"), (case.judge, "judge"))]
    machines = [Machine(case.cores, case.costs) for _ in range(case.machines)]
    kind: type[Runner] = SharedRunner if case.sharing == "own orders" else Runner
    runners = [kind(plan, store) for plan in plans(case, services[0], services[1], machines)]
    began = loop.time()
    ended = await asyncio.gather(*(run_here(runner) for runner in runners))
    seconds = loop.time() - began
    timed = store if isinstance(store, TimedStore) else None
    room = seconds * case.machines or 1.0
    limits = [one.settings.per_minute for one in services]
    busy = {
        "event loops": sum(one.loop.busy for one in machines) / room,
        "cores": sum(one.cores.busy for one in machines) / (room * case.cores),
        "database": timed.database.busy / seconds if timed else 0.0,
    }
    for one, limit in zip(services, limits, strict=True):
        if limit is not None:
            busy[f"limit of the {one.name}'s service"] = len(one.answered) / (limit * seconds / MINUTE_S)
    return Outcome(
        seconds,
        marked=len(services[1].answered),
        failed=sum(progress.failed for progress in ended),
        calls=sum(one.calls for one in services),
        refused=sum(one.refused for one in services),
        writes=timed.writes if timed else 0,
        finished=tuple(at - began for at in services[1].answered),
        busy=busy,
    )


def simulate(case: Case) -> Outcome:
    """A case in virtual time."""
    with tempfile.TemporaryDirectory(prefix="limner-") as folder:
        store = TimedStore(str(Path(folder) / "store"), Server(), case.costs.write_s, case.costs.commit_s)
        with store:
            outcome, _ = run_virtually(lambda: carry_out(case, store), case.seed)
    return outcome


def run_really(case: Case) -> Outcome:
    """The same case by the real clock, with real threads; what the machine takes is then what it takes."""
    with tempfile.TemporaryDirectory(prefix="limner-") as folder, Store(Path(folder) / "store") as store:
        return asyncio.run(carry_out(replace(case, costs=Costs()), store))
