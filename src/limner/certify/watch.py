"""Watches a judge: its gold set is asked again, and held against what it, or its predecessor, said before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..core.errors import UsageError
from ..core.exam import Question
from ..core.marks import Mark
from ..core.protocol import Protocol
from ..running.progress import Progress
from .drift import Answers, GoldDifference, drift, gold_difference, has_moved
from .examine import Examination, MarkedTrial, Step
from .trials import Trial

ROUNDS = 2
"""How often the whole gold set is asked at most: as often as at first."""
LOOK = 16
"""After so many answers the test looks at them."""


def gold_steps(gold: Sequence[Mapping[str, Any]], questions: Mapping[str, Question[Any]], first: int) -> list[Step]:
    """The gold set to be asked again, its repeats numbered from `first` on: the first round whole, then the second.

    Raises:
        UsageError: The questions have changed since.
    """
    steps: list[Step] = []
    for one in sorted(gold, key=lambda one: int(one["repeat"])):
        question = questions.get(one["question"])
        if question is None or question.hash != one["hash"]:
            raise UsageError(
                f"{one['question']} has changed since the judge was examined; examine it anew, without --again"
            )
        trial = Trial(question, one["kind"], one["dose"], one["image"], {}, "")
        steps.append(MarkedTrial(trial, first + int(one["repeat"])))
    return steps


def ask_again(
    examination: Examination,
    gold: Sequence[Mapping[str, Any]],
    questions: Mapping[str, Question[Any]],
    first: int,
    watch: Callable[[Progress], None] = lambda _: None,
    **how: Any,
) -> tuple[dict[str, Any], list[Step], Progress]:
    """Ask the gold set again until a move is certain or all of it was asked twice; the body of what was found."""
    protocol = examination.protocol
    steps = gold_steps(gold, questions, first)

    def enough(done: Sequence[Step]) -> bool:
        return has_moved(differences(gold, done, protocol, first))[0]

    done, progress = examination.ask(steps, watch=watch, enough=enough, batch=LOOK, **how)
    found = drift(differences(gold, done, protocol, first), moved_scores(gold, done, protocol, first))
    costs = [step.cost for step in done]
    body = {**found.to_json(), "asked": len(done), "of": len(steps), "failed": sum(s.fault is not None for s in done)}
    body["cost"] = None if None in costs else sum(cost or 0.0 for cost in costs)
    return body, done, progress


def differences(
    gold: Sequence[Mapping[str, Any]], done: Iterable[Step], protocol: Protocol[Any], first: int
) -> list[GoldDifference]:
    """What changed, question by question: each new answer against the old one of the same round."""
    before, found = _by_place(gold), list[GoldDifference]()
    now: dict[tuple[int, str], tuple[dict[tuple[str, str], bool], dict[tuple[str, str], bool]]] = {}
    for one in done:
        if not isinstance(one, MarkedTrial) or not one.marks:
            continue
        turn, question = one.repeat - first, one.trial.question
        old, new = now.setdefault((turn, question.id), ({}, {}))
        place = question.id, one.trial.kind, turn
        tops = {criterion.id: criterion.top for criterion in protocol.criteria(question)}
        old |= _answers(one.trial.kind, before[place], tops)
        new |= _answers(one.trial.kind, {mark.criterion: mark.value for mark in one.marks}, tops)
    for (_turn, id), (old, new) in now.items():
        if (changed := gold_difference(id, old, new)) is not None:
            found.append(changed)
    return found


def moved_scores(
    gold: Sequence[Mapping[str, Any]], done: Iterable[Step], protocol: Protocol[Any], first: int
) -> dict[str, list[tuple[str, float]]]:
    """By score, what changed on each picture, with its question."""
    before, found = _by_place(gold), dict[str, list[tuple[str, float]]]()
    for one in done:
        if not isinstance(one, MarkedTrial) or not one.marks:
            continue
        question = one.trial.question
        values = before[question.id, one.trial.kind, one.repeat - first]
        marks = [Mark.abstain(id, "") if value is None else Mark(id, value) for id, value in values.items()]
        old, new = (protocol.scores(question, given, {}) for given in (marks, one.marks))
        for score in protocol.scored:
            was, now = old.get(score.name), new.get(score.name)
            if score.main and was is not None and now is not None:
                found.setdefault(score.name, []).append((question.id, now - was))
    return found


def _by_place(gold: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, int], Mapping[str, int | None]]:
    return {(one["question"], one["kind"], int(one["repeat"])): one["values"] for one in gold}


def _answers(kind: str, values: Mapping[str, int | None], tops: Mapping[str, int]) -> Answers:
    return {(kind, id): value >= tops[id] for id, value in values.items() if value is not None and id in tops}
