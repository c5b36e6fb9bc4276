from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from limner.core.exam import Question
from limner.core.protocol import Row
from limner.exams.genexam.data import ScoringPoint, ScoringPointsRubric
from limner.exams.genexam.protocol import GenExam
from limner.scoring.parts import RowParts, gathered, row_parts

RUBRIC = ScoringPointsRubric(scoring_points=(ScoringPoint(question="Is it there?", score=1.0),))
values = st.none() | st.floats(0, 100) | st.integers(0, 2)
rows_of_scores = st.lists(st.dictionaries(st.sampled_from("abc"), values, max_size=3), min_size=1, max_size=8)


@given(rows_of_scores, st.randoms(use_true_random=False))
def test_columns_of_plain_means_are_what_row_by_row_gives(many: list[dict[str, Any]], random: Any) -> None:
    protocol = GenExam()
    questions = [Question(f"q{n}", "Draw it.", RUBRIC) for n in range(len(many))]
    random.shuffle(questions)
    rows = [Row(question, (), scores) for question, scores in zip(questions, many, strict=True)]
    found, settled = row_parts(rows, protocol)
    wanted, counted = gathered(RowParts(row.question.id, row.question.id, protocol.parts(row)) for row in rows)
    assert settled == counted
    assert found.keys() == wanted.keys()
    for name, pair in wanted.items():
        assert all(np.array_equal(one, other) for one, other in zip(found[name], pair, strict=True))
