"""The default summary of a protocol, and means with gaps in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from pydantic import BaseModel

from limner.core.asks import Ask, Reply, Variant
from limner.core.exam import Question
from limner.core.marks import Criterion, Mark
from limner.core.protocol import Evidence, Protocol, Reading, Row, mean_of_known


class Plain(BaseModel):
    pass


class Counting(Protocol[Plain]):
    """Scores that average over criteria rather than drawings, and one derived from another."""

    scored = ()
    variants = ("plain",)

    def criteria(self, question: Question[Plain]) -> list[Criterion]:
        return []

    def asks(self, question: Question[Plain], image: str, evidence: Evidence, variant: Variant) -> list[Ask]:
        return []

    def templates(self, variant: Variant) -> tuple[str, ...]:
        return ()

    def marks(self, question: Question[Plain], replies: Sequence[Reply], reading: Reading) -> list[Mark]:
        return []

    def scores(self, question: Question[Plain], marks: Sequence[Mark], evidence: Evidence) -> dict[str, float | None]:
        return {}


class Micro(Counting):
    def parts(self, row: Row) -> dict[str, tuple[float, float]]:
        answered = [mark.value for mark in row.marks if mark.value is not None]
        return {"share": (float(sum(answered)), float(len(answered)))}

    def derive(self, means: Mapping[str, float]) -> dict[str, float]:
        return {**means, "lacking": 1 - means["share"]}


def row(*marks: int, **scores: float | None) -> Row:
    question = Question("q", "Draw.", Plain())
    return Row(question, tuple(Mark(str(n), mark) for n, mark in enumerate(marks)), scores)


def test_the_default_summary_is_the_mean_of_the_rows_that_have_the_score() -> None:
    rows = [row(a=1.0, b=None), row(a=0.0, b=4.0), row(a=0.5, c=None)]
    assert Counting().summary(rows) == {"a": 0.5, "b": 4.0}


def test_a_summary_over_criteria_is_exact() -> None:
    found = Micro().summary([row(1), row(0, 0, 0), row()])
    assert found == {"share": 0.25, "lacking": 0.75}


def test_a_mean_leaves_out_what_is_missing() -> None:
    assert mean_of_known([0.5, 0.25]) == 0.375
    found = mean_of_known([np.array([1.0, np.nan, np.nan]), np.array([0.0, 0.5, np.nan])])
    assert found == pytest.approx([0.5, 0.5, np.nan], nan_ok=True)
