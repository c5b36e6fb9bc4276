"""From an exam and a judge to the proof of its rubric: priced before, asked through the journal, resumed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..calls import Calls
from ..core.settings import Settings
from ..evidence.probe import OcrProbe
from ..running.estimate import Estimate
from ..running.progress import Progress
from ..store.ratings import newest_certificates
from .certification import JudgeExam
from .examine import MarkedTrial, Step
from .proof import RubricProof, WordRules, make_proof, unkilled
from .proof_trials import ProofTrials, proof_trials
from .trials import Trial, TrialMaker


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
        """What is asked in any case, and what at most beyond that."""
        first = [trial for one in self.trials for trial in one.first]
        rest = [trial for one in self.trials for trial in one.rest]
        return self._steps(first), self._steps(rest)

    def estimate(self, settings: Settings, retry_failed: bool = False) -> Estimate:
        """What all of it would cost; corruptions that are not needed are not asked about."""
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
        """What could not be tried, why, and for how many questions."""
        counted = Counter((what, why) for one in self.trials for what, why in one.impossible.items())
        return [{"picture": what, "why": why, "questions": count} for (what, why), count in counted.items()]

    def told(self, proof: RubricProof, seed: int) -> dict[str, Any]:
        """The proof as plain JSON, with who proved it, on what, and what could not be tried."""
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
