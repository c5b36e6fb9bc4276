"""Statistics of an exam's questions, in the words of layouts: counts, shares, and means of what questions have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core.errors import UsageError
from ...core.exam import Question
from ...exams import Kind

_HOW: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": lambda values: sum(values) / len(values),
    "min": min,
    "max": max,
}


def measure(words: str, questions: Sequence[Question[Any]], where: Mapping[str, str], kind: Kind[Any]) -> float | None:
    """A statistic over the questions that have all the tags; None where there is none of them.

    ``count``, ``share`` (percent of all questions), ``distinct TAG…`` (how many values the tags have together), and
    ``mean``, ``min`` or ``max`` of ``words`` (of the prompt) or of what the exam's own statistics name.

    Args:
        words: Which statistic.
        questions: All questions of the exam.
        where: Tags and the values they must have.
        kind: The exam's kind: says which questions count once, and has statistics of its own.

    Raises:
        UsageError: The exam has no such statistic, or it cannot be computed.
    """
    chosen = [question for question in questions if where.items() <= question.tags.items()]
    if not chosen:
        return None
    first, *rest = words.split()
    if first == "count":
        return float(len({kind.protocol.cluster(question) for question in chosen}))
    if first == "share":
        return 100 * len(chosen) / len(questions)
    if first == "distinct":
        return float(len({tuple(q.tags[tag] for tag in rest) for q in chosen if q.tags.keys() >= set(rest)})) or None
    if first not in _HOW or not rest:
        raise UsageError(f"{kind.name} has no statistic {words!r}; there is: {', '.join(_numbers(kind))}")
    return _HOW[first](each_number(" ".join(rest), chosen, kind, words))


def each_number(
    words: str, questions: Sequence[Question[Any]], kind: Kind[Any], said: str | None = None
) -> list[float]:
    """A statistic of each question: ``words`` (of the prompt), or one of the exam's own; `said` names it in errors.

    Raises:
        UsageError: The exam has no such statistic, or it cannot be computed.
    """
    first, *rest = words.split()
    numbers = _numbers(kind)
    if first not in numbers:
        raise UsageError(f"{kind.name} has no statistic {said or words!r}; there is: {', '.join(numbers)}")
    try:
        return [numbers[first](question, *rest) for question in questions]
    except Exception as error:
        broken = f"the statistic {said or words!r} of the exam {kind.name!r} is broken"
        raise UsageError(f"{broken}: {type(error).__name__}: {error}") from error


def _numbers(kind: Kind[Any]) -> dict[str, Callable[..., float]]:
    return {"words": lambda question: len(question.prompt.split()), **kind.statistics}
