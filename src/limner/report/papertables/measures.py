"""Statistics of a stored exam, by the words layouts use for them. Pure.

``count``, ``share`` (percent of all questions), ``taxonomy N`` (nodes on that level), and ``mean``, ``min`` or ``max``
of ``points``, ``words``, ``entities``, ``dependencies`` or ``atoms [ROLE] [MODALITY]``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...exam import Question

Questions = Sequence[Question[Any]]
_HOW: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": lambda values: sum(values) / len(values),
    "min": min,
    "max": max,
}


def measure(words: str, questions: Questions, where: Mapping[str, str], cluster: Callable[[Any], str]) -> float | None:
    """The statistic over the questions that have all the tags; None where there is none of them.

    Args:
        words: See the module.
        questions: All questions of the exam.
        where: Tags and the values they must have.
        cluster: Questions of one cluster are counted once.
    """
    chosen = [question for question in questions if where.items() <= question.tags.items()]
    if not chosen:
        return None
    first, *rest = words.split()
    if first == "count":
        return float(len({cluster(question) for question in chosen}))
    if first == "share":
        return 100 * len(chosen) / len(questions)
    if first == "taxonomy":
        return float(len(_nodes(chosen, int(rest[0])))) or None
    return _HOW[first]([_number(question, rest) for question in chosen])


def _nodes(questions: Questions, level: int) -> set[tuple[str, ...]]:
    names = [f"taxonomy{n}" for n in range(1, level + 1)]
    return {tuple(q.tags[name] for name in names) for q in questions if all(name in q.tags for name in names)}


def _number(question: Question[Any], words: Sequence[str]) -> float:
    rubric = question.rubric
    if words[0] == "words":
        return len(question.prompt.split())
    if words[0] == "points":
        return len(rubric.scoring_points)
    if words[0] == "entities":
        return len(rubric.elements)
    if words[0] == "dependencies":
        return len(rubric.dependencies)
    if words[0] != "atoms":
        raise ValueError(f"nothing is called {words[0]!r} that could be counted")
    wanted = set(words[1:])
    roles, modalities = wanted & {"instruction", "reasoning"}, wanted & {"visual", "text", "relation"}
    return sum(
        not roles or atom.role in roles
        for modality in (modalities or ("visual", "text", "relation"))
        for atom in rubric.of(modality)
    )
