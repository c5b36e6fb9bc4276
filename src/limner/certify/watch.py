"""Watching a judge: asking about the gold set again and comparing with earlier answers, its or its predecessor's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log
from pathlib import Path
from typing import Any

import numpy as np

from ..core import catalogue, settings
from ..core.errors import UsageError
from ..core.marks import Mark
from ..running.estimate import Estimate
from ..running.progress import Progress
from ..running.setup import Asking
from ..scoring.stats import Interval
from ..scoring.stats.resample import Plain
from ..store import Store
from ..store.markings import (
    DRIFT,
    CertificateRow,
    count_drift_sessions,
    newest_certificates,
)
from .bias import clustered_share
from .examine import Examination, MarkedTrial, Step, open_judge_exam, totals
from .trials import Trial

ANSWERS_PER_LOOK = 16
"""The number of answers between two looks of the test."""
DRIFT_ALPHA = 0.01
"""The probability that an unchanged judge is reported as moved, however often the test looks."""
Values = Mapping[str, int | None]
"""Criterion -> the mark."""
Answers = Mapping[tuple[str, str], bool]
"""Picture and criterion -> whether it is met, without undecided ones."""
QuestionChange = tuple[str, float]
"""A question, and a change on it."""


@dataclass(frozen=True)
class Drift(Plain):
    """Whether a judge has moved.

    Attributes:
        moved: Whether the test says so.
        evidence: The test's capital; a move is called at 1 / alpha.
        after: The number of questions at which a move was called, or of all questions if none was.
        yes: The change in the share of yes.
        scores: The change in each score of the exam.
    """

    moved: bool
    evidence: float
    after: int
    yes: Interval
    scores: Mapping[str, Interval]


def gold_difference(old: Answers, new: Answers) -> float | None:
    """Return the mean change over answers given both times, each +1, 0 or -1; None without any."""
    both = old.keys() & new.keys()
    return sum(int(new[key]) - int(old[key]) for key in both) / len(both) if both else None


def has_moved(differences: Iterable[QuestionChange]) -> tuple[bool, float, int]:
    """Return whether the judge has moved, the evidence, and after how many questions; stop once it is certain."""
    evidence, count = 1.0, 0
    for count, evidence in enumerate(sequential_moves(value for _, value in differences), 1):
        if evidence >= 1 / DRIFT_ALPHA:
            return True, evidence, count
    return False, evidence, count


def drift(differences: Sequence[QuestionChange], scores: Mapping[str, Sequence[QuestionChange]] | None = None) -> Drift:
    """Return the outcome of the test, with the change in the share of yes and in `scores`."""
    moved, evidence, after = has_moved(differences)
    yes = clustered_share(differences).interval(-1.0)
    by_score = {name: clustered_share(changes).interval(-1e9, 1e9) for name, changes in (scores or {}).items()}
    return Drift(moved, evidence, after, yes, by_score)


BETS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""The stakes of the sequential test; its capital is split equally among them and between both directions."""


def sequential_moves(differences: Iterable[float]) -> Iterator[float]:
    """Yield, after each difference, the evidence that they are not centred on zero; at 1/alpha, it counts as a move.

    If old and new do not differ, each difference is equally likely to have the opposite sign, whatever came before. A
    bet on the sign then wins nothing on average, however often one looks (a test martingale): its capital reaches
    1/alpha with a probability of at most alpha.

    >>> [round(value, 2) for value in sequential_moves([0.0, 0.0])]
    [1.0, 1.0]
    """
    logs = [0.0] * (2 * len(BETS))
    bets = [*BETS, *(-bet for bet in BETS)]
    for difference in differences:
        for n, bet in enumerate(bets):
            stake = bet * difference
            logs[n] += stake - _log_cosh(stake)
        top = max(logs)
        capital = log(sum(exp(value - top) for value in logs) / len(logs)) + top
        yield exp(capital) if capital < 700 else inf


def _log_cosh(value: float) -> float:
    return abs(value) + float(np.log1p(exp(-2 * abs(value)))) - log(2)


@dataclass(frozen=True)
class Rewatch:
    """A judge to be asked about the gold set again.

    Attributes:
        baseline: The certificate that its new answers are compared with.
        predecessor: The judge of that certificate, if the judge is the successor of one that is gone.
        first: The number of the first new repeat.
    """

    opened: Examination
    baseline: CertificateRow
    predecessor: str | None
    session: int
    first: int

    def steps(self) -> list[Step]:
        """Return the steps, round by round.

        Raises:
            UsageError: The questions have changed since the examination.
        """
        steps: list[Step] = []
        questions = self.opened.questions
        for answer in sorted(self.baseline.body["gold"], key=lambda answer: int(answer["repeat"])):
            question = questions.get(answer["question"])
            if question is None or question.hash != answer["hash"]:
                raise UsageError(
                    f"{answer['question']} has changed since the judge was examined; "
                    "run the examination again without --again"
                )
            trial = Trial(question, answer["kind"], answer["dose"], answer["image"], {}, "")
            steps.append(MarkedTrial(trial, self.first + int(answer["repeat"])))
        return steps

    def estimate(self, retry_failed: bool) -> Estimate:
        """Return the cost of asking everything; the test may end earlier."""
        return self.opened.estimate(self.steps(), settings.load(), retry_failed)

    def ask(self, watch: Callable[[Progress], None] = lambda _: None, **how: Any) -> tuple[CertificateRow, Progress]:
        """Ask until a move is certain or all is asked, and store and return the outcome."""
        steps = self.steps()

        def enough(done: Sequence[Step]) -> bool:
            return has_moved(self._differences(done))[0]

        done, progress = self.opened.ask(steps, watch=watch, enough=enough, batch=ANSWERS_PER_LOOK, **how)
        about = {"session": self.session, "predecessor": self.predecessor, "since": self.baseline.day}
        moved = drift(self._differences(done), self._moved_scores(done)).to_json()
        body = {**about, "certificate": self.baseline.id, **moved, "of": len(steps), **totals(done)}
        return self.opened.save(DRIFT, body), progress

    def _answered(self, done: Iterable[Step]) -> Iterator[tuple[MarkedTrial, int, Values]]:
        """Yield each new answer with its round and the earlier marks of the same round."""
        gold = self.baseline.body["gold"]
        before = {(answer["question"], answer["kind"], int(answer["repeat"])): answer["values"] for answer in gold}
        for step in done:
            if isinstance(step, MarkedTrial) and step.marks:
                turn = step.repeat - self.first
                yield step, turn, before[step.trial.question.id, step.trial.kind, turn]

    def _differences(self, done: Iterable[Step]) -> list[QuestionChange]:
        """Return the changes by question and round."""
        answers: dict[tuple[int, str], tuple[dict[tuple[str, str], bool], dict[tuple[str, str], bool]]] = {}
        for step, turn, values in self._answered(done):
            kind, question = step.trial.kind, step.trial.question
            old, new = answers.setdefault((turn, question.id), ({}, {}))
            tops = {criterion.id: criterion.top for criterion in self.opened.protocol.criteria(question)}
            for both, given in ((old, values), (new, {mark.criterion: mark.value for mark in step.marks})):
                both |= {
                    (kind, id): value >= tops[id] for id, value in given.items() if value is not None and id in tops
                }
        changes = ((id, gold_difference(old, new)) for (_, id), (old, new) in answers.items())
        return [(id, change) for id, change in changes if change is not None]

    def _moved_scores(self, done: Iterable[Step]) -> dict[str, list[QuestionChange]]:
        """Return score -> the change on each picture."""
        protocol, changes = self.opened.protocol, dict[str, list[QuestionChange]]()
        for step, _, values in self._answered(done):
            question = step.trial.question
            marks = [Mark.abstain(id, "") if value is None else Mark(id, value) for id, value in values.items()]
            old, new = (protocol.scores(question, given, {}) for given in (marks, step.marks))
            for score in protocol.scored:
                was, now = old.get(score.name), new.get(score.name)
                if score.main and was is not None and now is not None:
                    changes.setdefault(score.name, []).append((question.id, now - was))
        return changes


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
