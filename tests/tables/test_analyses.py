"""Analyses: plain JSON of every shape becomes a table."""

from __future__ import annotations

from limner.tables.analyses import analysis_tables
from limner.tables.model import Table
from tests.tables.test_scores import standing


def cells(table: Table) -> list[list[str]]:
    (sheet,) = table.sheets
    return [[row.label, *(cell.text for cell in row.cells)] for row in sheet.rows()]


def test_analyses_of_every_shape() -> None:
    one = standing("a", analyses={
        "low_scores": {"x": {"low": 1, "share": 0.5}, "y": {"low": 0, "share": None}},
        "questions": {"component": 3, "phase": 4},
        "complexity": [
            {"atoms": [3, 8], "n": 2, "if": {"mean": 0.5, "q1": 0.25}}, {"atoms": [9, 9], "n": 1, "if": None},
        ],
        "gaps": {"multi - single": {}},
        "count": 7,
    })  # fmt: skip
    two = standing("b", analyses={"questions": {"component": 5, "phase": 6}})
    found = {table.title.rpartition(" · ")[2]: table for table in analysis_tables([one, two])}
    assert list(found) == ["low scores", "questions", "complexity", "gaps", "count"]
    assert cells(found["low scores"]) == [["a", "x", "1", "0.500"], ["a", "y", "0", "–"]]
    assert cells(found["questions"]) == [["a", "3", "4"], ["b", "5", "6"]]
    (sheet,) = found["complexity"].sheets
    assert [sheet.stub, *(column.head for column in sheet.columns)] == ["painter", "atoms", "n", "if"]
    assert cells(found["complexity"])[0] == ["a", "3 to 8", "2", "0.500 / 0.250"]
    assert found["complexity"].notes == ("if: mean / q1",)
    assert found["gaps"].notes == ("nothing to show: what it is made of is not known",)
    assert cells(found["count"]) == [["a", "7"]]
