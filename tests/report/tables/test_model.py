"""Tables as people see them: on terminals, as cards of steps, and analyses of every shape."""

from __future__ import annotations

import pytest

from limner.report.tables.analyses import analysis_tables
from limner.report.tables.model import Cell, Table, interval_cell, score_cell, simple_table
from limner.report.tables.render import rendered, show
from limner.report.tables.text import NARROWEST, PLAIN_WIDTH, console, escape
from limner.scoring.stats import Interval
from tests.report.tables.test_scores import standing

TABLE = simple_table("a [bold]title[/bold]", ["painter", "n"], [["[red]x[/red] a|b", "3"]], ["a note"])
EMPTY = simple_table("empty", ["x"], [], ["nothing here"])


def test_tables_are_printed_verbatim_on_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show("table", lambda: [TABLE, EMPTY])
    out = capsys.readouterr().out
    for words in ("a [bold]title[/bold]", "[red]x[/red] a|b", "a note", "empty\nnothing here\n"):
        assert words in out


def test_narrow_screens_omit_no_content(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    name = "gpt-5 · reasoning_effort=high"
    heads = ["first", "second", *(f"number {n}" for n in range(9))]
    table = simple_table("t", heads, [[name, name, *(f"{n}2.3" for n in range(1, 10))]], names=2)
    for width in (40, 90, 160):
        monkeypatch.setenv("COLUMNS", str(width))
        show("table", lambda: [table])
        out = capsys.readouterr().out
        assert max(map(len, out.splitlines())) <= width
        assert [word for n in range(1, 10) if (word := f"{n}2.3") in out.split()] == [f"{n}2.3" for n in range(1, 10)]
    assert out.count("reasoning_effort=high") == 2


def test_notes_above_precede_table(capsys: pytest.CaptureFixture[str]) -> None:
    table = simple_table("t", ["x"], [["cell"]], ["below"], above=["above"])
    show("table", lambda: [table])
    for text in (capsys.readouterr().out, rendered(table, "md")):
        assert text.index("above") < text.index("cell") < text.index("below")


def test_plain_table_renders_in_every_format() -> None:
    for form in ("table", "md", "csv", "latex", "html"):
        assert "3" in rendered(TABLE, form)


def test_number_cells_are_formatted() -> None:
    assert interval_cell(2.0, 1.0, 3.0, 1) == Cell("2.0", 2.0, "1.0", "3.0")
    assert interval_cell(2.0, None, None, 1) == Cell("2.0", 2.0)
    assert interval_cell(None, None, None, 1) == Cell()
    assert score_cell(Interval(0.5, 0.25, 0.75, 9), None, 0, 100) == Cell("50", 50.0, "25", "75")
    assert score_cell(Interval(0.5, None, None, 4), None, 1) == Cell("0.5", 0.5, few=4)
    assert score_cell(None, (0.0, 7.5), 1) == Cell("0.0 … 7.5", least="0.0", most="7.5")
    assert score_cell(None, None, 1) == Cell()


def test_escape() -> None:
    assert escape("plain ✓ line\n") == "plain ✓ line\n"
    assert escape("[b]\x00\x07\x9b") == r"\[b]\u0000\u0007\u009b"


@pytest.mark.parametrize(
    ("columns", "width"),
    [(None, PLAIN_WIDTH), ("", PLAIN_WIDTH), ("wide", PLAIN_WIDTH), ("80", 80), ("300", 300), ("7", NARROWEST)],
)
def test_piped_output_width_follows_columns_variable(
    monkeypatch: pytest.MonkeyPatch, columns: str | None, width: int
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    assert console().width == width


def cells(table: Table) -> list[list[str]]:
    (sheet,) = table.sheets
    return [[row.label, *(cell.text for cell in row.cells)] for row in sheet.rows()]


def test_analyses_of_every_shape_become_tables() -> None:
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
    assert found["gaps"].notes == ("nothing to show: its parts are not known",)
    assert cells(found["count"]) == [["a", "7"]]
