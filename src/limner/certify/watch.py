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
from ..core.exam import Exam, Question
from ..core.marks import Mark
from ..core.protocol import Protocol
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
    save_certificate,
)
from ..store.records import save_setup
from .bias import clustered_share
from .certificate import JudgeExam, open_judge_exam
from .examine import Examination, MarkedTrial, Step
from .trials import Trial

ROUNDS = 2
"""The maximum number of times the gold set is asked about again, the same as in the examination."""
ANSWERS_PER_LOOK = 16
"""The number of answers between two looks of the test."""


def gold_steps(gold: Sequence[Mapping[str, Any]], questions: Mapping[str, Question[Any]], first: int) -> list[Step]:
    """Return the steps to ask about the gold set again, round by round, with repeats numbered from `first`.

    Raises:
        UsageError: The questions have changed since the examination.
    """
    steps: list[Step] = []
    for answer in sorted(gold, key=lambda answer: int(answer["repeat"])):
        question = questions.get(answer["question"])
        if question is None or question.hash != answer["hash"]:
            raise UsageError(
                f"{answer['question']} has changed since the judge was examined; "
                "run the examination again without --again"
            )
        trial = Trial(question, answer["kind"], answer["dose"], answer["image"], {}, "")
        steps.append(MarkedTrial(trial, first + int(answer["repeat"])))
    return steps


def ask_again(
    examination: Examination,
    gold: Sequence[Mapping[str, Any]],
    questions: Mapping[str, Question[Any]],
    first: int,
    watch: Callable[[Progress], None] = lambda _: None,
    **how: Any,
) -> tuple[dict[str, Any], list[Step], Progress]:
    """Ask about the gold set again until a move is certain or all is asked; return the outcome, steps and progress."""
    protocol = examination.protocol
    steps = gold_steps(gold, questions, first)

    def enough(done: Sequence[Step]) -> bool:
        return has_moved(differences(gold, done, protocol, first))[0]

    done, progress = examination.ask(steps, watch=watch, enough=enough, batch=ANSWERS_PER_LOOK, **how)
    moved = drift(differences(gold, done, protocol, first), moved_scores(gold, done, protocol, first))
    costs = [step.cost for step in done]
    body = {**moved.to_json(), "asked": len(done), "of": len(steps), "failed": sum(s.fault is not None for s in done)}
    body["cost"] = None if None in costs else sum(cost or 0.0 for cost in costs)
    return body, done, progress


def differences(
    gold: Sequence[Mapping[str, Any]], done: Iterable[Step], protocol: Protocol[Any], first: int
) -> list[GoldDifference]:
    """Return the changes by question, comparing each new answer with the old one of the same round."""
    before, changes = _by_place(gold), list[GoldDifference]()
    now: dict[tuple[int, str], tuple[dict[tuple[str, str], bool], dict[tuple[str, str], bool]]] = {}
    for trial in done:
        if not isinstance(trial, MarkedTrial) or not trial.marks:
            continue
        turn, question = trial.repeat - first, trial.trial.question
        old, new = now.setdefault((turn, question.id), ({}, {}))
        place = question.id, trial.trial.kind, turn
        tops = {criterion.id: criterion.top for criterion in protocol.criteria(question)}
        old |= _answers(trial.trial.kind, before[place], tops)
        new |= _answers(trial.trial.kind, {mark.criterion: mark.value for mark in trial.marks}, tops)
    for (_turn, id), (old, new) in now.items():
        if (changed := gold_difference(id, old, new)) is not None:
            changes.append(changed)
    return changes


def moved_scores(
    gold: Sequence[Mapping[str, Any]], done: Iterable[Step], protocol: Protocol[Any], first: int
) -> dict[str, list[tuple[str, float]]]:
    """Return score -> the change on each picture, with its question."""
    before, changes = _by_place(gold), dict[str, list[tuple[str, float]]]()
    for trial in done:
        if not isinstance(trial, MarkedTrial) or not trial.marks:
            continue
        question = trial.trial.question
        values = before[question.id, trial.trial.kind, trial.repeat - first]
        marks = [Mark.abstain(id, "") if value is None else Mark(id, value) for id, value in values.items()]
        old, new = (protocol.scores(question, given, {}) for given in (marks, trial.marks))
        for score in protocol.scored:
            was, now = old.get(score.name), new.get(score.name)
            if score.main and was is not None and now is not None:
                changes.setdefault(score.name, []).append((question.id, now - was))
    return changes


def _by_place(gold: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, int], Mapping[str, int | None]]:
    return {(answer["question"], answer["kind"], int(answer["repeat"])): answer["values"] for answer in gold}


def _answers(kind: str, values: Mapping[str, int | None], tops: Mapping[str, int]) -> Answers:
    return {(kind, id): value >= tops[id] for id, value in values.items() if value is not None and id in tops}


DRIFT_ALPHA = 0.01
"""The probability that an unchanged judge is reported as moved, however often the test looks."""
Answers = Mapping[tuple[str, str], bool]
"""Picture and criterion -> whether it is met, without undecided ones."""


@dataclass(frozen=True)
class GoldDifference:
    """The change on one question: the mean over answers given both times, each +1, 0 or -1."""

    question: str
    answers: int
    value: float


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


def gold_difference(question: str, old: Answers, new: Answers) -> GoldDifference | None:
    """Return the change on one question; None if nothing was answered both times."""
    both = old.keys() & new.keys()
    if not both:
        return None
    return GoldDifference(question, len(both), sum(int(new[key]) - int(old[key]) for key in both) / len(both))


def has_moved(differences: Iterable[GoldDifference]) -> tuple[bool, float, int]:
    """Return whether the judge has moved, the evidence, and after how many questions; stop once it is certain."""
    evidence, count = 1.0, 0
    values = (difference.value for difference in differences)
    for count, evidence in enumerate(sequential_moves(values), 1):
        if evidence >= 1 / DRIFT_ALPHA:
            return True, evidence, count
    return False, evidence, count


def drift(
    differences: Sequence[GoldDifference], scores: Mapping[str, Sequence[tuple[str, float]]] | None = None
) -> Drift:
    """Return the outcome of the test, with the change in the share of yes and in `scores`.

    `scores` maps each score to its changes, each with its question.
    """
    moved, evidence, after = has_moved(differences)
    yes = clustered_share((difference.question, difference.value) for difference in differences).interval(-1.0)
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
