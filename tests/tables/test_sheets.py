"""Sheets: what stands in a table stands in Markdown too, and names are shown as they are."""

from __future__ import annotations

import pytest

from limner.tables.analyses import analysis_sheets
from limner.tables.sheets import Sheet, markdown, number, print_sheets
from tests.tables.test_scores import standing

SHEET = Sheet("a [bold]title[/bold]", ["painter", "n"], [["[red]x[/red] a|b", "3"]], ["a note"])


def test_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_sheets([SHEET, Sheet("empty", ["x"], [], ["nothing here"])])
    out = capsys.readouterr().out
    for words in ("a [bold]title[/bold]", "[red]x[/red] a|b", "a note", "empty\nnothing here\n"):
        assert words in out


def test_narrow_terminals_leave_out_what_is_extra(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sheet = Sheet("t", ["painter", "n", "more"], [["x", "3", "seven"]], extra=frozenset({2}))
    print_sheets([sheet])
    assert "seven" in capsys.readouterr().out
    monkeypatch.setattr("limner.tables.console.PLAIN_WIDTH", 90)
    print_sheets([sheet])
    out = capsys.readouterr().out
    assert "seven" not in out
    assert "more columns on a wider screen" in out
    assert "seven" in markdown([sheet])


def test_extra_columns_go_before_a_name_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    name = "gpt-5 · reasoning_effort=high"
    columns = ["first", "second", *(f"number {n}" for n in range(9))]
    sheet = Sheet("t", columns, [[name, name, *["12.3"] * 9]], words=2, extra=frozenset({9, 10}))
    print_sheets([sheet])
    out = capsys.readouterr().out
    assert out.count(name) == 2
    assert "number 6" in out
    assert "number 7" not in out
    assert "more columns on a wider screen" in out


def test_what_must_be_known_first_stands_above(capsys: pytest.CaptureFixture[str]) -> None:
    sheet = Sheet("t", ["x"], [["cell"]], ["below"], first=["above"])
    print_sheets([sheet])
    for text in (capsys.readouterr().out, markdown([sheet])):
        assert text.index("above") < text.index("cell") < text.index("below")


def test_as_markdown() -> None:
    text = markdown([SHEET, Sheet("empty", ["x"], [])])
    assert "| [red]x[/red] a\\|b | 3 |" in text
    assert "|---|--:|" in text
    assert text.endswith("### empty\n\n")


def test_no_minus_before_nothing() -> None:
    assert number(-0.04, 1) == "0.0"
    assert number(-0.06, 1) == "-0.1"


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
    found = {sheet.title.rpartition(" · ")[2]: sheet for sheet in analysis_sheets([one, two])}
    assert list(found) == ["low scores", "questions", "complexity", "gaps", "count"]
    assert [list(row) for row in found["low scores"].rows] == [["a", "x", "1", "0.500"], ["a", "y", "0", "–"]]
    assert [list(row) for row in found["questions"].rows] == [["a", "3", "4"], ["b", "5", "6"]]
    assert list(found["complexity"].columns) == ["painter", "atoms", "n", "if"]
    assert list(found["complexity"].rows[0]) == ["a", "3 to 8", "2", "0.500 / 0.250"]
    assert found["complexity"].notes == ["if: mean / q1"]
    assert found["gaps"].notes == ["nothing to show: what it is made of is not known"]
    assert [list(row) for row in found["count"].rows] == [["a", "7"]]
