"""From a judge's name to its certificate, and to whether it has moved since: what the command line calls."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import exams
from ..calls import Calls
from ..core import catalogue, settings
from ..core.catalogue import ModelFacts
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
from ..scoring import Group, load_groups
from ..scoring.stats import ClusteredShare, clustered_gap
from ..store import Store
from ..store.ratings import CERTIFICATE, DRIFT, CertificateRow, newest_certificates, save_certificate, sessions
from ..store.records import add_exam, save_setup
from .certificate import make_certificate
from .examine import Examination, MarkedTrial, Step
from .proof import ProofTrials, RubricProof, WordRules, make_proof, proof_trials, unkilled
from .trials import Trial, TrialMaker, pairs_of
from .watch import ask_again, gold_steps

QUESTIONS = 50
"""A judge is examined on so many questions unless others are chosen."""


@dataclass(frozen=True)
class JudgeExam:
    """A judge, and the exam it is examined for."""

    judge: Judge
    exam: Exam[Any]
    protocol: Protocol[Any]
    examination: Examination
    store: Store

    @property
    def setup(self) -> str:
        """The evaluator's id."""
        return setup_id(self.judge.setup)

    def trials(self, questions: int, seed: int, every_dose: bool) -> list[Step]:
        """Everything it is asked; references are read (OCR, free) and pictures made."""
        ocr = OcrProbe()
        maker = TrialMaker(self.exam, self.protocol, self.store.blobs, ocr, questions, seed, every_dose)

        async def make() -> list[Step]:
            async with Calls(self.store) as calls:
                made = await maker.make(calls)
            return self.examination.steps(made, pairs_of(made))

        return run_to_end(make())


def open_judge_exam(
    judge: str, exam: str, store: Store, asking: Asking, data: Path | None = None, selection: Selection | None = None
) -> JudgeExam:
    """Return the judge and the exam, which is kept in the store."""
    _named, whole = load_exam_or_data(exam, data, store)
    add_exam(store, whole)
    asking = replace(asking, judges=(judge,))
    plan = make_plan(whole.name, store, asking=asking, selection=selection, draw=False)
    (one,) = plan.judges
    protocol = exams.kind(whole.kind).protocol
    return JudgeExam(one, plan.exam, protocol, Examination(whole.name, one, protocol, store, plan.limits), store)


def certify(
    found: JudgeExam,
    steps: Sequence[Step],
    *,
    seed: int,
    selected: int,
    every_dose: bool,
    watch: Callable[[Progress], None] = lambda _: None,
    **how: Any,
) -> tuple[CertificateRow, Progress]:
    """Ask everything and keep the certificate; run it again to resume."""
    done, progress = found.examination.ask(steps, watch=watch, **how)
    lead, models = found.protocol.scored[0], settings.load().models
    groups = load_groups(found.store, found.exam.name)
    own = stored_preference(groups, found.judge.name, found.setup, lead.name, lead.top, models)
    about: dict[str, Any] = {
        "kind": CERTIFICATE,
        "judge": found.judge.name,
        "exam": found.exam.name,
        "setup": dict(found.judge.setup),
    }
    about |= {"seed": seed, "selected": selected, "every_dose": every_dose}
    save_setup(found.store, found.setup, found.judge.setup)
    body = make_certificate(about, done, found.protocol, own)
    return save_certificate(found.store, found.setup, found.exam.name, body), progress


@dataclass(frozen=True)
class Rewatch:
    """A judge to be asked again.

    Attributes:
        baseline: The certificate that its new answers are held against.
        predecessor: Whose certificate that is, where the judge is the successor of one that is gone.
        first: The number of the first new repeat.
    """

    found: JudgeExam
    baseline: CertificateRow
    predecessor: str | None
    session: int
    first: int

    def estimate(self, retry_failed: bool) -> Estimate:
        """Return what all of it would cost; the test may end sooner."""
        steps = gold_steps(self.baseline.body["gold"], _by_id(self.found.exam), self.first)
        return self.found.examination.estimate(steps, settings.load(), retry_failed)

    def ask(self, watch: Callable[[Progress], None] = lambda _: None, **how: Any) -> tuple[CertificateRow, Progress]:
        """Ask the gold set again and keep what was found."""
        found, gold = self.found, self.baseline.body["gold"]
        body, _done, progress = ask_again(found.examination, gold, _by_id(found.exam), self.first, watch, **how)
        about: dict[str, Any] = {
            "kind": DRIFT,
            "judge": found.judge.name,
            "exam": found.exam.name,
            "session": self.session,
        }
        about |= {"predecessor": self.predecessor, "since": self.baseline.day, "certificate": self.baseline.id}
        save_setup(found.store, found.setup, found.judge.setup)
        return save_certificate(found.store, found.setup, found.exam.name, about | body), progress


def rewatch(judge: str, exam: str, store: Store, asking: Asking, data: Path | None = None) -> Rewatch:
    """Return the judge to be asked again, or where it is gone its successor; what was stored is asked for first.

    Raises:
        UsageError: It was never examined.
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
        # What the successor was asked for its own certificate counts: the pictures are the same.
        return Rewatch(open_judge_exam(heir, name, store, asking), baseline, judge, 0, 0)
    session = sessions(store, name, old.setup)
    return Rewatch(old, baseline, None, session, 2 * (session + 1))


def _by_id(exam: Exam[Any]) -> dict[str, Any]:
    return {question.id: question for question in exam.questions}


Scored = Mapping[tuple[str, str], float]
"""Painter and question -> the main score, as a share of the best."""


def self_preference(own: Scored, others: Scored, by_maker: Mapping[str, bool]) -> ClusteredShare | None:
    """How much higher it marks its maker's painters than others do, beyond how much higher it marks all painters.

    Args:
        own: What the judge gave.
        others: What other judges gave the same drawings, on average.
        by_maker: Painter -> whether it is of the judge's maker.

    Returns:
        The gap, by question; None without drawings of both sorts that others have marked too.
    """
    sides: dict[bool, list[tuple[str, float]]] = {True: [], False: []}
    for key in own.keys() & others.keys():
        painter, question = key
        sides[by_maker[painter]].append((question, own[key] - others[key]))
    return clustered_gap(sorted(sides[True]), sorted(sides[False])) if sides[True] and sides[False] else None


def stored_preference(
    groups: Sequence[Group], judge: str, setup: str, score: str, top: float, models: Mapping[str, ModelFacts]
) -> ClusteredShare | None:
    """Return the same from what a store has; None where the judge's maker is not known or has no painter there."""
    maker = _maker(judge, models)
    if maker is None:
        return None
    own: dict[tuple[str, str], float] = {}
    others: dict[tuple[str, str], list[float]] = {}
    by_maker: dict[str, bool] = {}
    for group in groups:
        if group.control:
            continue
        by_maker[group.name] = _maker(group.spec, models) == maker
        for entry in group.scored:
            value, key = entry.scores.get(score), (group.name, entry.question.id)
            if value is None:
                continue
            if group.evaluator.id == setup:
                own[key] = value / top
            elif _maker(group.judge, models) != maker:
                others.setdefault(key, []).append(value / top)
    return self_preference(own, {key: sum(found) / len(found) for key, found in others.items()}, by_maker)


def _maker(spec: str, models: Mapping[str, ModelFacts]) -> str | None:
    return models[spec].maker if spec in models else None


@dataclass(frozen=True)
class ProofRun:
    """A rubric to be proved by one judge.

    Attributes:
        every_fault: Every corruption is asked about, also where the first ones have taken a criterion away.
    """

    found: JudgeExam
    trials: tuple[ProofTrials, ...]
    every_fault: bool = False

    def steps(self) -> tuple[list[Step], list[Step]]:
        """Return what is asked in any case, and what at most beyond that."""
        first = [trial for one in self.trials for trial in one.first]
        rest = [trial for one in self.trials for trial in one.rest]
        return self._steps(first), self._steps(rest)

    def estimate(self, settings: Settings, retry_failed: bool = False) -> Estimate:
        """Return what all of it would cost; corruptions that are not needed are not asked about."""
        first, rest = self.steps()
        return self.found.examination.estimate([*first, *rest], settings, retry_failed)

    def prove(
        self,
        words: WordRules,
        *,
        budget: float | None = None,
        watch: Callable[[Progress], None] = lambda _: None,
        **how: Any,
    ) -> tuple[RubricProof, list[Progress]]:
        """Ask what is to be asked; run it again to resume."""
        first, _ = self.steps()
        ask = self.found.examination.ask
        done, progress = ask(first, budget=budget, watch=watch, **how)
        parts, marked = [progress], _marked(done)
        needed = unkilled(marked, self.found.protocol)
        rest = [one for one in self.trials if self.every_fault or one.question.id in needed]
        more = self._steps([trial for one in rest for trial in one.rest])
        if more:
            left = None if budget is None else max(0.0, budget - progress.spent)
            done, progress = ask(more, budget=left, watch=watch, **how)
            parts.append(progress)
            marked += _marked(done)
        questions = [one.question for one in self.trials]
        return make_proof(marked, questions, self.found.protocol, words), parts

    def impossible(self) -> list[dict[str, Any]]:
        """Return what could not be tried, why, and for how many questions."""
        counted = Counter((what, why) for one in self.trials for what, why in one.impossible.items())
        return [{"picture": what, "why": why, "questions": count} for (what, why), count in counted.items()]

    def told(self, proof: RubricProof, seed: int) -> dict[str, Any]:
        """Return the proof as plain JSON, with who proved it, on what, and what could not be tried."""
        found = self.found
        there = newest_certificates(found.store, found.exam.name).get(found.setup)
        marked = proof.marked
        costs = [one.cost for one in marked]
        return {
            "exam": found.exam.name,
            "judge": found.judge.name,
            "examined": None if there is None else there.day,
            "setup": dict(found.judge.setup),
            "seed": seed,
            "questions": len(self.trials),
            "asked": len(marked),
            "failed": sum(one.fault is not None for one in marked),
            "cost": None if None in costs else sum(cost or 0.0 for cost in costs),
            "impossible": self.impossible(),
            **proof.to_json(),
        }

    def _steps(self, trials: Sequence[Trial]) -> list[Step]:
        return self.found.examination.steps(trials)


def open_proof(found: JudgeExam, seed: int = 0, every_fault: bool = False) -> ProofRun:
    """Reads the references (OCR, free) and makes the pictures."""
    maker = TrialMaker(found.exam, found.protocol, found.store.blobs, OcrProbe(), len(found.exam.questions), seed)

    async def make() -> list[ProofTrials]:
        async with Calls(found.store) as calls:
            return await proof_trials(maker, calls)

    return ProofRun(found, tuple(asyncio.run(make())), every_fault)


def _marked(steps: Sequence[Step]) -> list[MarkedTrial]:
    return [step for step in steps if isinstance(step, MarkedTrial)]
