"""The examination of a judge: all trials are marked through the call journal, so that nothing is paid twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from .. import exams
from ..calls import Budget, Calls, Limits, purpose
from ..calls.journal import NotAsked, StoredCalls
from ..core.asks import Contract, Part, Picture, Prompts, Reply, Text, Unreadable
from ..core.errors import UsageError
from ..core.exam import Exam, Question, Selection
from ..core.json_text import loads
from ..core.loops import process_all, run_to_end
from ..core.marks import Mark
from ..core.protocol import Protocol
from ..core.settings import Settings
from ..evidence.probe import OcrProbe
from ..judges import Judge, ModelJudge, Subject, Unseeing
from ..models import Context, complete
from ..running.estimate import Estimate, marking_cost
from ..running.plan import setup_id
from ..running.progress import Progress
from ..running.setup import Asking, load_exam_or_data, make_plan
from ..running.steps import answer_or_fault
from ..store import Store
from ..store.markings import CertificateRow, save_certificate
from ..store.records import add_exam, load_replies, save_setup
from ..store.schema import attempts
from .bias import UNSEEN, PairAnswer, TrialAnswer
from .trials import Trial, TrialMaker, pairs_of

PROMPTS = Path(__file__).parent / "prompts"
CHOICES = ("first", "second", "tie")


@dataclass(frozen=True)
class MarkedTrial:
    """One marking of a trial by the judge, without marks if it failed; `paid` is whether a service was asked."""

    trial: Trial
    repeat: int
    marks: tuple[Mark, ...] = ()
    cost: float | None = 0.0
    seconds: float = 0.0
    fault: str | None = None
    detail: str | None = None
    paid: bool = False

    def answers(self, tops: Mapping[str, int]) -> Iterator[TrialAnswer]:
        """Yield an answer for each criterion of the exam; `tops` are the best marks."""
        trial, given = self.trial, {mark.criterion: mark.value for mark in self.marks}
        for id, top in tops.items():
            if id in given:
                value = given[id]
                yes = None if value is None else value >= top
                yield TrialAnswer(
                    trial.question.id, trial.kind, trial.dose, id, trial.expected.get(id), yes, self.repeat
                )


@dataclass(frozen=True)
class ChosenPair:
    """The judge's choice between two pictures; `first` is whether the reference was shown first.

    `faulty` may also be an equally good copy.
    """

    clean: Trial
    faulty: Trial
    first: bool
    choice: str | None = None
    cost: float | None = 0.0
    fault: str | None = None
    detail: str | None = None

    def answer(self) -> PairAnswer | None:
        """Return the choice; None if the judge made none."""
        if self.choice is None:
            return None
        if self.choice == "tie":
            return PairAnswer(self.clean.question.id, self.faulty.kind, None, None)
        chose_first = self.choice == "first"
        return PairAnswer(self.clean.question.id, self.faulty.kind, chose_first, chose_first == self.first)


Step = MarkedTrial | ChosenPair


@dataclass(frozen=True)
class Examination:
    """A judge under examination.

    Attributes:
        judge: The judge to examine.
        exam: The exam that it is examined for.
        limits: Service -> its rate limits.
    """

    exam: Exam[Any]
    judge: Judge
    protocol: Protocol[Any]
    store: Store
    limits: Mapping[str, Limits] = field(default_factory=dict)

    @property
    def setup(self) -> str:
        """The evaluator's id."""
        return setup_id(self.judge.setup)

    @property
    def questions(self) -> dict[str, Question[Any]]:
        """The exam's questions by id."""
        return {question.id: question for question in self.exam.questions}

    def trials(self, questions: int, seed: int, quick: bool = False) -> list[Step]:
        """Read the references (by OCR, at no cost), make the pictures, and return all steps."""
        maker = TrialMaker(self.exam, self.protocol, self.store.blobs, OcrProbe(), questions, seed, quick)

        async def make() -> list[Step]:
            async with Calls(self.store) as calls:
                made = await maker.make(calls)
            return self.steps(made, await asyncio.to_thread(pairs_of, made, maker))

        return run_to_end(make())

    def save(self, kind: str, body: Mapping[str, Any]) -> CertificateRow:
        """Store and return a certificate of this kind."""
        save_setup(self.store, self.setup, self.judge.setup)
        about = {"kind": kind, "judge": self.judge.name, "exam": self.exam.name}
        return save_certificate(self.store, self.setup, self.exam.name, about | dict(body))

    def steps(self, trials: Sequence[Trial], pairs: Sequence[tuple[Trial, Trial]] = ()) -> list[Step]:
        """Return all steps, still without answers; steps that the judge cannot take are left out."""
        steps: list[Step] = []
        for trial in trials:
            if trial.kind != UNSEEN or isinstance(self.judge, Unseeing):
                steps += [MarkedTrial(trial, repeat) for repeat in range(trial.repeats)]
        if isinstance(self.judge, ModelJudge):
            # The same picture twice gives the same request in both orders.
            orders = {True: (True,), False: (True, False)}
            steps += [ChosenPair(a, b, first) for a, b in pairs for first in orders[a.image == b.image]]
        return steps

    def check(self, budget: float | None) -> None:
        """Raise an error early if nothing can be asked or a budget cannot be kept."""
        self.judge.check()
        if budget is not None and (why := self.judge.unpriced()) is not None:
            raise UsageError(f"--budget cannot be enforced: {why}")

    def estimate(self, steps: Sequence[Step], settings: Settings, retry_failed: bool = False) -> Estimate:
        """Return how much remains to be asked and its approximate cost; a pair counts as one marking."""
        missing = run_to_end(self._missing(steps, retry_failed))
        return marking_cost(self.judge, [_trial(step).question for step in missing], self.store, settings)

    async def _missing(self, steps: Sequence[Step], retry_failed: bool) -> list[Step]:
        calls, missing = StoredCalls(self.store, retry_failed=retry_failed), []
        for step in steps:
            try:
                await self.take(step, calls)
            except NotAsked:
                missing.append(step)
        return missing

    def ask(
        self,
        steps: Sequence[Step],
        *,
        budget: float | None = None,
        concurrency: int = 64,
        retry_failed: bool = False,
        watch: Callable[[Progress], None] = lambda _: None,
        enough: Callable[[Sequence[Step]], bool] = lambda _: False,
        batch: int | None = None,
    ) -> tuple[list[Step], Progress]:
        """Ask everything, in batches of `batch` until `enough` says so; stored answers come from the journal.

        Raises:
            UsageError: A budget cannot be kept.
        """
        self.check(budget)
        progress, done = Progress(total=len(steps)), list[Step]()

        async def run() -> None:
            calls = Calls(
                self.store, retry_failed=retry_failed, budget=Budget(budget), limits=self.limits,
                concurrency=concurrency,
            )  # fmt: skip
            async with calls:
                size = batch or max(1, len(steps))
                for start in range(0, len(steps), size):
                    part = steps[start : start + size]
                    done.extend(await _all(part, lambda step: self._counted(step, calls, progress, watch), concurrency))
                    if enough(done):
                        return

        run_to_end(run())
        return done, progress

    async def _counted(self, step: Step, calls: Calls, progress: Progress, watch: Callable[[Progress], None]) -> Step:
        made = calls.tally.made
        with purpose(self.exam.name, _trial(step).painter):
            answered = await self.take(step, calls)
        status = "failed" if answered.fault else "done"
        question = _trial(step).question.id
        progress.count(question, status, answered.fault, answered.detail, stored=calls.tally.made == made)
        progress.account(calls.tally)
        watch(progress)
        return answered

    async def take(self, step: Step, calls: Calls) -> Step:
        """Return the step with its answer, or with the fault that prevented it."""
        asked: Awaitable[Step] = self._mark(step, calls) if isinstance(step, MarkedTrial) else self._choose(step, calls)
        taken, fault = await answer_or_fault(asked)
        if taken is not None:
            return taken
        assert fault is not None
        if isinstance(step, MarkedTrial):
            return MarkedTrial(step.trial, step.repeat, (), fault.cost, 0.0, fault.kind, fault.detail)
        return ChosenPair(step.clean, step.faulty, step.first, None, fault.cost, fault.kind, fault.detail)

    async def _mark(self, step: MarkedTrial, calls: Calls) -> MarkedTrial:
        trial = step.trial
        subject = Subject(self.exam.name, trial.question, trial.painter, trial.image, step.repeat)
        if trial.kind == UNSEEN:
            assert isinstance(self.judge, Unseeing)
            result = await self.judge.mark_unseen(subject, calls)
        else:
            result = await self.judge.mark(subject, calls)
        keys = [key for _, key in result.replies]
        if result.marks is not None:
            marks = result.marks
        else:
            texts = await asyncio.to_thread(load_replies, self.store, keys)
            replies = [Reply(ask, texts[key], key) for ask, key in result.replies if key in texts]
            marks = tuple(self.protocol.marks(trial.question, replies, "careful"))
        seconds = await asyncio.to_thread(_seconds, self.store, keys)
        paid = isinstance(self.judge, ModelJudge) and self.judge.paid
        return MarkedTrial(trial, step.repeat, marks, result.cost, seconds, paid=paid)

    async def _choose(self, step: ChosenPair, calls: Calls) -> ChosenPair:
        assert isinstance(self.judge, ModelJudge)
        question = step.clean.question
        images = [step.clean.image, step.faulty.image]
        shown: list[Part] = [Text(Prompts(PROMPTS).fill("pair", prompt=question.prompt))]
        for word, image in zip(("First", "Second"), images if step.first else images[::-1], strict=True):
            shown += [Text(f"{word} picture:"), Picture(image)]
        order = "clean-first" if step.first else "clean-second"
        context = Context(self.exam.name, question.id, step.faulty.painter, f"pair/{order}")
        answer = await complete(self.judge.model, tuple(shown), Contract(_choice), context, calls)
        return ChosenPair(step.clean, step.faulty, step.first, answer.value, answer.cost)


def open_judge_exam(
    judge: str, exam: str, store: Store, asking: Asking, data: Path | None = None, selection: Selection | None = None
) -> Examination:
    """Return the judge and the exam, after adding the exam to the store."""
    _named, whole = load_exam_or_data(exam, data, store)
    add_exam(store, whole)
    asking = replace(asking, judges=(judge,))
    plan = make_plan(whole.name, store, asking=asking, selection=selection, draw=False)
    (one,) = plan.judges
    return Examination(plan.exam, one, exams.kind(whole.kind).protocol, store, plan.limits)


def totals(steps: Sequence[Step]) -> dict[str, Any]:
    """Return how many steps were asked and failed, and the dollars they cost; None if any cost is unknown."""
    costs = [step.cost for step in steps]
    failed = sum(step.fault is not None for step in steps)
    return {
        "asked": len(steps),
        "failed": failed,
        "cost": None if None in costs else sum(cost or 0.0 for cost in costs),
    }


def _choice(reply: str) -> str:
    word = loads(reply).get("better")
    if word not in CHOICES:
        raise Unreadable(f'"better" must be one of {", ".join(CHOICES)}')
    return str(word)


def _trial(step: Step) -> Trial:
    return step.trial if isinstance(step, MarkedTrial) else step.faulty


def _seconds(store: Store, keys: Sequence[str]) -> float:
    """Return how many seconds the calls took when they were made."""
    query = sa.select(attempts.c.call, attempts.c.seconds)
    return float(sum(row.seconds for row in store.rows(query, attempts.c.call, keys)))


async def _all(steps: Sequence[Step], take: Callable[[Step], Awaitable[Step]], concurrency: int) -> list[Step]:
    """Take all steps concurrently; calls in flight are paid for, so they finish before an error is raised."""
    taken: dict[int, Step] = {}

    async def keep(numbered: tuple[int, Step]) -> None:
        taken[numbered[0]] = await take(numbered[1])

    await process_all(enumerate(steps), keep, min(concurrency, len(steps)))
    return [taken[n] for n in sorted(taken)]
