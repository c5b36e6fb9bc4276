"""The certificate: what a judge saw and missed in trials, as plain JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..core.marks import Criterion, Mark
from ..core.protocol import Protocol
from ..painters.controls.faults import FAULTS
from ..running.progress import Progress
from ..store.markings import (
    CERTIFICATE,
    CertificateRow,
)
from .bias import CLEAN, ClusteredShare, PairAnswer, TrialAnswer, clustered_share, judge_tests, verdict
from .examine import Examination, MarkedTrial, Step, totals
from .trials import GOLD, Trial

MAX_REASON_CHARACTERS = 300
"""The maximum length of a stored reason."""


def make_certificate(about: Mapping[str, Any], steps: Sequence[Step], protocol: Protocol[Any]) -> dict[str, Any]:
    """Return the certificate's body.

    Args:
        about: The setup, the seed and other facts about the examination.
        steps: All steps with their answers.
        protocol: The exam's protocol.
    """
    marked = [step for step in steps if isinstance(step, MarkedTrial)]
    answers, pairs = answers_of(steps, protocol)
    tests = judge_tests(answers, pairs)
    return {
        **about,
        "questions": len({one.trial.question.id for one in marked}),
        **totals(steps),
        "verdict": verdict(tests),
        "tests": [test.to_json() for test in tests],
        "flagged": [test.name for test in tests if test.flagged],
        "doses": dose_response(answers),
        "false_alarms": _false_alarms(answers),
        "consistency": consistency(marked, protocol),
        "seconds": _per_call(marked),
        "pictures": _pictures(marked, protocol),
        "gold": _gold(marked),
    }  # fmt: skip


def answers_of(steps: Sequence[Step], protocol: Protocol[Any]) -> tuple[list[TrialAnswer], list[PairAnswer]]:
    """Return the answers to single criteria, and the choices between two pictures."""
    answers: list[TrialAnswer] = []
    pairs: list[PairAnswer] = []
    for step in steps:
        if isinstance(step, MarkedTrial):
            answers += step.answers(_tops(protocol, step.trial))
        elif (answer := step.answer()) is not None:
            pairs.append(answer)
    return answers, pairs


def _per_call(marked: Sequence[MarkedTrial]) -> float | None:
    """Return the mean seconds of a marking; None for judges without a service, which mostly wait for a free core."""
    timed = [trial.seconds for trial in marked if trial.paid and not trial.fault]
    return sum(timed) / len(timed) if timed else None


def dose_response(answers: Iterable[TrialAnswer]) -> list[dict[str, Any]]:
    """Return for each kind and dose the share that fell of the criteria that must fall, and of those that must not."""
    by: dict[tuple[str, int], list[TrialAnswer]] = {}
    for answer in answers:
        if not answer.repeat and answer.kind in FAULTS:
            by.setdefault((answer.kind, answer.dose), []).append(answer)
    rows = []
    for kind in FAULTS.values():
        for dose, words in enumerate(kind.doses, 1):
            here = by.get((kind.name, dose), [])
            must = [answer for answer in here if answer.expected == "fall"]
            keep = [answer for answer in here if answer.expected == "stand"]
            fell, lost = (_share_of_no(answers_here) for answers_here in (must, keep))
            undecided = sum(answer.yes is None for answer in (*must, *keep))
            row = {
                "kind": kind.name,
                "dose": dose,
                "about": words,
                "questions": len({answer.question for answer in here}),
            }
            row |= {"must_fall": len(must), "must_stand": len(keep), "undecided": undecided}
            rows.append(row | {"seen": fell.share().to_json(), "false_alarms": lost.share().to_json()})
    return rows


def _share_of_no(answers: Iterable[TrialAnswer]) -> ClusteredShare:
    return clustered_share((answer.question, float(not answer.yes)) for answer in answers if answer.yes is not None)


def _false_alarms(answers: Sequence[TrialAnswer]) -> dict[str, Any]:
    """Return how often unaltered references got a no: over all criteria, and over those with labels surely read."""
    clean = [answer for answer in answers if answer.kind == CLEAN and not answer.repeat]
    sure = [answer for answer in clean if answer.expected == "stand"]
    return {"all": _share_of_no(clean).share().to_json(), "labels": _share_of_no(sure).share().to_json()}


def consistency(marked: Sequence[MarkedTrial], protocol: Protocol[Any]) -> dict[str, Any]:
    """Return the exam's scores of its own references, by the first tag of its paper if that reports them."""
    least = dict(protocol.consistency)
    tag = protocol.breakdowns[0] if least and protocol.breakdowns else ""
    names = list(least) or [score.name for score in protocol.scored if score.main]
    by: dict[str, dict[str, list[float]]] = {}
    for trial in marked:
        if trial.trial.kind != CLEAN or trial.repeat or not trial.marks:
            continue
        scores = protocol.scores(trial.trial.question, trial.marks, {})
        place = by.setdefault(trial.trial.question.tags.get(tag, ""), {})
        for name in names:
            if (value := scores.get(name)) is not None:
                place.setdefault(name, []).append(value)
    rows: list[dict[str, Any]] = []
    for word in protocol.in_order(tag, by):
        means = {name: sum(given) / len(given) for name, given in by[word].items()}
        rows.append({"value": word, "n": max(map(len, by[word].values()), default=0), "scores": means})
    reached = None
    if least and rows:
        reached = all(row["scores"].get(name, -1.0) > bound for row in rows for name, bound in least.items())
    return {"tag": tag, "scores": names, "rows": rows, "least": least, "reached": reached}


def _pictures(marked: Sequence[MarkedTrial], protocol: Protocol[Any]) -> list[dict[str, Any]]:
    """Return one trial of each kind and dose with its answers, preferably one in which a criterion must fall."""
    best: dict[tuple[str, int], MarkedTrial] = {}
    for one in marked:
        key = one.trial.kind, one.trial.dose
        if one.repeat or not one.marks:
            continue
        if key not in best or ("fall" in one.trial.expected.values()) > ("fall" in best[key].trial.expected.values()):
            best[key] = one
    order = [CLEAN, *FAULTS]
    pictures = []
    for (kind, dose), one in sorted(best.items(), key=lambda item: (order.index(item[0][0]), item[0][1])):
        trial, marks = one.trial, {mark.criterion: mark for mark in one.marks}
        criteria = protocol.criteria(trial.question)
        answers = [_answer_json(criterion, trial, marks.get(criterion.id)) for criterion in criteria]
        row = {"kind": kind, "dose": dose, "question": trial.question.id, "image": trial.image, "said": trial.said}
        pictures.append(row | {"answers": answers})
    return pictures


def _answer_json(criterion: Criterion, trial: Trial, mark: Mark | None) -> dict[str, Any]:
    return {
        "criterion": criterion.id,
        "text": criterion.text,
        "top": criterion.top,
        "expected": trial.expected.get(criterion.id),
        "value": mark.value if mark else None,
        "reason": mark.reason[:MAX_REASON_CHARACTERS] if mark else "",
    }


def _gold(marked: Sequence[MarkedTrial]) -> list[dict[str, Any]]:
    """Return the answers about the gold set, which is asked about again when the judge is watched."""
    return [
        {
            "question": one.trial.question.id,
            "hash": one.trial.question.hash,
            "kind": one.trial.kind,
            "dose": one.trial.dose,
            "image": one.trial.image,
            "repeat": one.repeat,
            "values": {mark.criterion: mark.value for mark in one.marks},
        }
        for one in marked
        if (one.trial.kind, one.trial.dose) in GOLD and one.marks
    ]


def _tops(protocol: Protocol[Any], trial: Trial) -> dict[str, int]:
    return {criterion.id: criterion.top for criterion in protocol.criteria(trial.question)}


DEFAULT_QUESTIONS, QUICK_QUESTIONS = 50, 20
"""The number of questions that a judge is examined on by default, and in a quick examination of about 200 markings."""


def certify(
    opened: Examination,
    steps: Sequence[Step],
    *,
    seed: int,
    selected: int,
    quick: bool = False,
    watch: Callable[[Progress], None] = lambda _: None,
    **how: Any,
) -> tuple[CertificateRow, Progress]:
    """Ask everything, and store and return the certificate; call it again to resume."""
    done, progress = opened.ask(steps, watch=watch, **how)
    about = {"setup": dict(opened.judge.setup), "seed": seed, "selected": selected, "quick": quick}
    return opened.save(CERTIFICATE, make_certificate(about, done, opened.protocol)), progress
