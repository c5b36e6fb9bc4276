"""Statistics counted on GenExam's released annotations, held against what the paper and its appendix print."""

from __future__ import annotations

from collections import Counter

import pytest

from limner.core.exam import Exam
from limner.exams.genexam.data import ScoringPointsRubric, read
from limner.exams.paper import rows
from limner.report.paper import build, find
from limner.store import Store
from limner.store.records import add_exam
from tests.needs import shared


@pytest.fixture(scope="module")
def released() -> Exam[ScoringPointsRubric]:
    return read(shared("data", "genexam"))


@pytest.mark.slow
def test_table_1_counts_match_paper(released: Exam[ScoringPointsRubric], store: Store) -> None:
    add_exam(store, released)
    (sheet,) = build(find("genexam:table1"), store).sheets
    counts = {line.label: [cell.text for cell in line.cells] for line in sheet.rows()}
    for label in (
        "Taxonomy nodes, level 1",
        "Taxonomy nodes, level 2",
        "Taxonomy nodes, level 3",
        "Subject knowledge difficulty: easy (%)",
        "Subject knowledge difficulty: medium (%)",
        "Subject knowledge difficulty: hard (%)",
        "Minimum number of scoring points",
    ):
        printed, counted = counts[label]
        assert printed == counted, label
    # The note below the table: here the release is not what the paper counted.
    assert counts["Taxonomy nodes, level 4"] == ["236", "150"]
    assert counts["Average number of scoring points"] == ["6.9", "7.0"]
    assert counts["Average prompt length (words)"] == ["74.8", "73.8"]


@pytest.mark.parametrize("level", [1, 2])
def test_taxonomy_counts(released: Exam[ScoringPointsRubric], level: int) -> None:
    names = [f"taxonomy{n}" for n in range(1, level + 1)]
    counted = Counter(
        tuple(question.tags[name].replace("_", " ").casefold() for name in names) for question in released.questions
    )
    printed = {
        tuple(row[f"level{n}"].casefold() for n in range(1, level + 1)): int(row["count"])
        for row in rows("genexam", "taxonomy")
        if row[f"level{level}"] and not row[f"level{level + 1}"]
    }
    assert dict(counted) == printed
