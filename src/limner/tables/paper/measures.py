"""Statistics of a stored exam, by the words layouts use for them. Pure.

``count``, ``share`` (percent of all questions), ``distinct TAG…`` (how many values the tags have together), and
``mean``, ``min`` or ``max`` of ``words`` (of the prompt) or of what the exam's own statistics name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core.errors import UsageError
from ...core.exam import Question
from ...exams import Kind

Questions = Sequence[Question[Any]]
_HOW: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": lambda values: sum(values) / len(values),
    "min": min,
    "max": max,
}


def measure(words: str, questions: Questions, where: Mapping[str, str], kind: Kind[Any]) -> float | None:
    """The statistic over the questions that have all the tags; None where there is none of them.

    Args:
        words: See the module.
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
    numbers = {"words": lambda question: len(question.prompt.split()), **kind.statistics}
    if first not in _HOW or not rest or rest[0] not in numbers:
        raise UsageError(f"{kind.name} has no statistic {words!r}; there is: {', '.join(numbers)}")
    try:
        return _HOW[first]([numbers[rest[0]](question, *rest[1:]) for question in chosen])
    except Exception as error:
        broken = f"the statistic {words!r} of the exam {kind.name!r} is broken"
        raise UsageError(f"{broken}: {type(error).__name__}: {error}") from error
