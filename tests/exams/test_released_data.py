"""Readers and protocols on every row of the released data, where a user has it: see `tests.needs.released`."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from limner import exams
from limner.core.exam import Question
from limner.judges import make_variant
from tests.needs import released

WHOLE = {"aibench": 300, "mmmg": 4456, "worldgenbench": 1072}
"""Questions, as the papers count them."""


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
def test_every_row_is_read_and_can_be_asked(name: str) -> None:
    kind = exams.kind(name)
    exam = kind.read(released(name), name)
    assert len(exam.questions) == WHOLE[name]
    assert len({question.hash for question in exam.questions}) == WHOLE[name]
    for question in exam.questions:
        again = Question.from_json(json.loads(json.dumps(question.to_json())), kind.rubric, None)
        assert again.rubric == question.rubric
        keys = [criterion.id for criterion in kind.protocol.criteria(question)]
        assert len(set(keys)) == len(keys) > 0
        assert question.prompt.strip()
        for word in kind.protocol.variants:
            variant = make_variant(kind, word, {})
            assert kind.protocol.asks(question, "0" * 64, dict.fromkeys(kind.protocol.needs, "."), variant)


@pytest.mark.slow
def test_aibench_has_questions_on_four_levels() -> None:
    exam = exams.kind("aibench").read(released("aibench"), "aibench")
    items = [item for question in exam.questions for item in question.rubric.checklist]
    assert len(items) == 5704
    assert set(Counter(item.dimension for item in items)) == {"component", "topology", "phase", "semantics"}
    assert all(set(item.options) == {"A", "B"} for item in items if item.dimension == "component")


@pytest.mark.slow
def test_worldgenbench_has_two_domains() -> None:
    exam = exams.kind("worldgenbench").read(released("worldgenbench"), "worldgenbench")
    assert Counter(question.tags["domain"] for question in exam.questions) == {"humanities": 732, "nature": 340}
