"""From a judge's name to its certificate, and to whether it has moved since: what the command line calls."""

from __future__ import annotations

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
from ..evidence.probe import OcrProbe
from ..judges import Judge
from ..running.estimate import Estimate
from ..running.plan import setup_id
from ..running.progress import Progress
from ..running.setup import Asking, load_exam_or_data, make_plan
from ..scoring import load_groups
from ..store import Store
from ..store.ratings import CERTIFICATE, DRIFT, CertificateRow, newest_certificates, save_certificate, sessions
from ..store.records import add_exam, save_setup
from .certificate import make_certificate
from .examine import Examination, Step
from .preference import stored_preference
from .trials import TrialMaker, pairs_of
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
    """The judge and the exam, which is kept in the store."""
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
        """What all of it would cost; the test may end sooner."""
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
    """The judge to be asked again, or where it is gone its successor; what was stored is asked for first.

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
