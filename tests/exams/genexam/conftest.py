"""A GenExam question of any number of points, and replies about it."""

from __future__ import annotations

import pytest

from limner.core.exam import Question
from limner.exams.genexam.data import ScoringPointsRubric
from tests.exams.genexam.replies import question


@pytest.fixture
def three() -> Question[ScoringPointsRubric]:
    """A question with three points, of weights 0.5, 0.3 and 0.2."""
    return question(0.5, 0.3, 0.2)
