"""The entry points of the command line: certify a judge, watch it for changes, and prove a rubric."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import exams
from ..calls import Calls
from ..core import catalogue, settings
from ..core.errors import UsageError
from ..core.exam import Exam, Selection
from ..core.loops import run_to_end
from ..core.protocol import Protocol
from ..core.settings import Settings
from ..evidence.probe import OcrProbe
from ..judges import Judge
from ..running.estimate import Estimate
from ..running.plan import setup_id
from ..running.progress import Progress
from ..running.setup import Asking, load_exam_or_data, make_plan
from ..store import Store
from ..store.markings import (
    CERTIFICATE,
    DRIFT,
    CertificateRow,
    count_drift_sessions,
    newest_certificates,
    save_certificate,
)
from ..store.records import add_exam, save_setup
from .certificate import make_certificate
from .examine import Examination, MarkedTrial, Step
from .proof import ProofTrials, RubricProof, WordRules, make_proof, proof_trials, unkilled
from .trials import Trial, TrialMaker, pairs_of
from .watch import ask_again, gold_steps

DEFAULT_QUESTIONS, QUICK_QUESTIONS = 50, 20
"""The number of questions that a judge is examined on by default, and in a quick examination of about 200 markings."""


@dataclass(frozen=True)
class JudgeExam:
    """A judge and the exam it is examined for."""

    judge: Judge
    exam: Exam[Any]
    protocol: Protocol[Any]
    examination: Examination
    store: Store

    @property
    def setup(self) -> str:
        """The evaluator's id."""
        return setup_id(self.judge.setup)

    def trials(self, questions: int, seed: int, quick: bool = False) -> list[Step]:
        """Read the references (by OCR, at no cost), make the pictures, and return all steps."""
        maker = TrialMaker(self.exam, self.protocol, self.store.blobs, OcrProbe(), questions, seed, quick)

        async def make() -> list[Step]:
            async with Calls(self.store) as calls:
                made = await maker.make(calls)
            return self.examination.steps(made, await asyncio.to_thread(pairs_of, made, maker))

        return run_to_end(make())


def open_judge_exam(
    judge: str, exam: str, store: Store, asking: Asking, data: Path | None = None, selection: Selection | None = None
) -> JudgeExam:
    """Return the judge and the exam, after adding the exam to the store."""
    _named, whole = load_exam_or_data(exam, data, store)
    add_exam(store, whole)
    asking = replace(asking, judges=(judge,))
    plan = make_plan(whole.name, store, asking=asking, selection=selection, draw=False)
    (one,) = plan.judges
    protocol = exams.kind(whole.kind).protocol
    return JudgeExam(one, plan.exam, protocol, Examination(whole.name, one, protocol, store, plan.limits), store)


def certify(
    opened: JudgeExam,
    steps: Sequence[Step],
    *,
    seed: int,
    selected: int,
    quick: bool = False,
    watch: Callable[[Progress], None] = lambda _: None,
    **how: Any,
) -> tuple[CertificateRow, Progress]:
    """Ask everything, and store and return the certificate; call it again to resume."""
    done, progress = opened.examination.ask(steps, watch=watch, **how)
    about: dict[str, Any] = {
        "kind": CERTIFICATE,
        "judge": opened.judge.name,
        "exam": opened.exam.name,
        "setup": dict(opened.judge.setup),
    }
    about |= {"seed": seed, "selected": selected, "quick": quick}
    save_setup(opened.store, opened.setup, opened.judge.setup)
    body = make_certificate(about, done, opened.protocol)
    return save_certificate(opened.store, opened.setup, opened.exam.name, body), progress


@dataclass(frozen=True)
class Rewatch:
    """A judge to be asked again.

    Attributes:
        baseline: The certificate that its new answers are compared with.
        predecessor: The judge of that certificate, if the judge is the successor of one that is gone.
        first: The number of the first new repeat.
    """

    opened: JudgeExam
    baseline: CertificateRow
    predecessor: str | None
    session: int
    first: int

    def estimate(self, retry_failed: bool) -> Estimate:
        """Return the cost of asking everything; the test may end earlier."""
        steps = gold_steps(self.baseline.body["gold"], _by_id(self.opened.exam), self.first)
        return self.opened.examination.estimate(steps, settings.load(), retry_failed)

    def ask(self, watch: Callable[[Progress], None] = lambda _: None, **how: Any) -> tuple[CertificateRow, Progress]:
        """Ask about the gold set again, and store and return the outcome."""
        opened, gold = self.opened, self.baseline.body["gold"]
        body, _done, progress = ask_again(opened.examination, gold, _by_id(opened.exam), self.first, watch, **how)
        about: dict[str, Any] = {
            "kind": DRIFT,
            "judge": opened.judge.name,
            "exam": opened.exam.name,
            "session": self.session,
        }
        about |= {"predecessor": self.predecessor, "since": self.baseline.day, "certificate": self.baseline.id}
        save_setup(opened.store, opened.setup, opened.judge.setup)
        return save_certificate(opened.store, opened.setup, opened.exam.name, about | body), progress


def rewatch(judge: str, exam: str, store: Store, asking: Asking, data: Path | None = None) -> Rewatch:
    """Return the judge to be asked again, or its successor if it is gone; stored answers are looked up first.

    Raises:
        UsageError: The judge was never examined.
    """
    old = open_judge_exam(judge, exam, store, asking, data)
    name = old.exam.name
    baseline = newest_certificates(store, name).get(old.setup)
    if baseline is None:
        raise UsageError(f"{judge} was not examined on {name}: `limner examine-judge {judge} --exam {name}`")
    models, day = settings.load().models, catalogue.today()
    gone = judge in models and catalogue.state_of(models[judge], day) == "gone"
    heir = catalogue.successor_of(judge, models, day) if gone else None
    if heir is not None:
        # The successor's answers for its own certificate count too, because the pictures are the same.
        return Rewatch(open_judge_exam(heir, name, store, asking), baseline, judge, 0, 0)
    session = count_drift_sessions(store, name, old.setup)
    return Rewatch(old, baseline, None, session, 2 * (session + 1))


def _by_id(exam: Exam[Any]) -> dict[str, Any]:
    return {question.id: question for question in exam.questions}


@dataclass(frozen=True)
class ProofRun:
    """A rubric to be proved by one judge.

    Attributes:
        every_fault: Whether to ask about every corruption, even if the first ones killed all criteria.
    """

    opened: JudgeExam
    trials: tuple[ProofTrials, ...]
    every_fault: bool = False

    def steps(self) -> tuple[list[Step], list[Step]]:
        """Return the steps that are always asked, and those that are asked if needed."""
        first = [trial for of_question in self.trials for trial in of_question.first]
        rest = [trial for of_question in self.trials for trial in of_question.rest]
        return self._steps(first), self._steps(rest)

    def estimate(self, settings: Settings, retry_failed: bool = False) -> Estimate:
        """Return the cost of all steps; it may turn out lower, as unneeded corruptions are not asked about."""
        first, rest = self.steps()
        return self.opened.examination.estimate([*first, *rest], settings, retry_failed)

    def prove(
        self,
        words: WordRules,
        *,
        budget: float | None = None,
        watch: Callable[[Progress], None] = lambda _: None,
        **how: Any,
    ) -> tuple[RubricProof, list[Progress]]:
        """Ask the steps and return the proof with the progress of each part; call it again to resume."""
        first, _ = self.steps()
        ask = self.opened.examination.ask
        done, progress = ask(first, budget=budget, watch=watch, **how)
        parts, marked = [progress], _marked(done)
        needed = unkilled(marked, self.opened.protocol)
        rest = [of_question for of_question in self.trials if self.every_fault or of_question.question.id in needed]
        more = self._steps([trial for of_question in rest for trial in of_question.rest])
        if more:
            left = None if budget is None else max(0.0, budget - progress.spent)
            done, progress = ask(more, budget=left, watch=watch, **how)
            parts.append(progress)
            marked += _marked(done)
        questions = [of_question.question for of_question in self.trials]
        return make_proof(marked, questions, self.opened.protocol, words), parts

    def impossible(self) -> list[dict[str, Any]]:
        """Return the pictures that could not be made, with the reason and the number of questions."""
        counted = Counter((what, why) for of_question in self.trials for what, why in of_question.impossible.items())
        return [{"picture": what, "why": why, "questions": count} for (what, why), count in counted.items()]

    def describe(self, proof: RubricProof, seed: int) -> dict[str, Any]:
        """Return the proof as plain JSON, with the judge, the questions and the pictures that could not be made."""
        opened = self.opened
        certificate = newest_certificates(opened.store, opened.exam.name).get(opened.setup)
        marked = proof.marked
        costs = [trial.cost for trial in marked]
        return {
            "exam": opened.exam.name,
            "judge": opened.judge.name,
            "examined": None if certificate is None else certificate.words,
            "setup": dict(opened.judge.setup),
            "seed": seed,
            "questions": len(self.trials),
            "asked": len(marked),
            "failed": sum(trial.fault is not None for trial in marked),
            "cost": None if None in costs else sum(cost or 0.0 for cost in costs),
            "impossible": self.impossible(),
            **proof.to_json(),
        }

    def _steps(self, trials: Sequence[Trial]) -> list[Step]:
        return self.opened.examination.steps(trials)


def open_proof(opened: JudgeExam, seed: int = 0, every_fault: bool = False) -> ProofRun:
    """Read the references (by OCR, at no cost), make the pictures, and return the proof to run."""
    maker = TrialMaker(opened.exam, opened.protocol, opened.store.blobs, OcrProbe(), len(opened.exam.questions), seed)

    async def make() -> list[ProofTrials]:
        async with Calls(opened.store) as calls:
            return await proof_trials(maker, calls)

    return ProofRun(opened, tuple(asyncio.run(make())), every_fault)


def _marked(steps: Sequence[Step]) -> list[MarkedTrial]:
    return [step for step in steps if isinstance(step, MarkedTrial)]
