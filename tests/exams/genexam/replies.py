"""Questions and replies for tests of the protocol: well-formed verdicts in the many ways models write them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from limner.core.exam import Question, Reference
from limner.exams.genexam.data import ScoringPoint, ScoringPointsRubric

RATINGS = ("Spelling", "Clarity and Readability", "Logical Consistency")
SHA = "0" * 64


def question(*weights: float) -> Question[ScoringPointsRubric]:
    points = tuple(ScoringPoint(question=f"Is part {n} there?", score=weight) for n, weight in enumerate(weights, 1))
    return Question(
        "Q_1", "Draw a thing.", ScoringPointsRubric(scoring_points=points), {}, Reference("Q/Q_1.png", known_sha256=SHA)
    )


def even(count: int) -> Question[ScoringPointsRubric]:
    """A question whose points weigh about the same and sum to one."""
    share = round(1 / count, 4)
    return question(*[share] * (count - 1), round(1 - share * (count - 1), 4))


def reply(answers: Sequence[Any], ratings: Sequence[Any], names: Sequence[str] = RATINGS) -> dict[str, Any]:
    return {
        "description": 'A drawing with a "label", a {brace} and a back\\slash.',
        "answers": [{"reasoning": "It's there, 50%.", "answer": answer} for answer in answers],
        "global_evaluation": {
            name: {"reasoning": "seen", "score": score} for name, score in zip(names, ratings, strict=True)
        },
    }


VERDICTS = st.lists(st.integers(0, 1), min_size=1, max_size=8).flatmap(
    lambda answers: st.tuples(st.just(answers), st.tuples(*[st.integers(0, 2)] * 3))
)

Form = Callable[[Mapping[str, Any]], str]
SHARED: dict[str, Form] = {
    "bare": lambda body: json.dumps(body),
    "indented": lambda body: json.dumps(body, indent=2),
    "json fence": lambda body: f"```json\n{json.dumps(body)}\n```",
    "json fence in prose": lambda body: f"Let me see.\n```json\n{json.dumps(body, indent=1)}\n```\nThat is all.",
    "Python literal": lambda body: repr(dict(body)),
    "Python literal in a json fence": lambda body: f"```json\n{dict(body)!r}\n```",
    "trailing comma": lambda body: json.dumps(body)[:-1] + ",}",
}
"""Forms that the release takes, and every other reading too."""
CAREFUL: dict[str, Form] = {
    "plain fence": lambda body: f"```\n{json.dumps(body)}\n```",
    "prose around": lambda body: f"Here is my verdict: {json.dumps(body)} I hope it helps.",
    "thinking first": lambda body: f"<think>maybe {{0}} or 1?</think>\n{json.dumps(body)}",
    "comment": lambda body: "{// verdict\n" + json.dumps(body)[1:],
    "draft, then fenced": lambda body: f'{{"answers": []}}\n```json5\n{json.dumps(body)}\n```',
    "typographic quotes": lambda body: json.dumps({**body, "description": "x"}).replace('"answers"', "“answers”"),
}
"""Forms that only the careful reading takes."""
