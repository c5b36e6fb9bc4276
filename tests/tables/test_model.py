"""The model: finished cells become a table, numbers become cells."""

from __future__ import annotations

import pytest

from limner.scoring.stats import Interval
from limner.tables.model import Cell, interval_cell, number, score_cell, simple_table
from limner.tables.render import rendered, show

TABLE = simple_table("a [bold]title[/bold]", ["painter", "n"], [["[red]x[/red] a|b", "3"]], ["a note"])
EMPTY = simple_table("empty", ["x"], [], ["nothing here"])


def test_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show("text", lambda: [TABLE, EMPTY])
    out = capsys.readouterr().out
    for words in ("a [bold]title[/bold]", "[red]x[/red] a|b", "a note", "empty\nnothing here\n"):
        assert words in out


def test_narrow_screens_leave_nothing_out(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    name = "gpt-5 · reasoning_effort=high"
    heads = ["first", "second", *(f"number {n}" for n in range(9))]
    table = simple_table("t", heads, [[name, name, *(f"{n}2.3" for n in range(1, 10))]], names=2)
    for width in (40, 90, 160):
        monkeypatch.setenv("COLUMNS", str(width))
        show("text", lambda: [table])
        out = capsys.readouterr().out
        assert max(map(len, out.splitlines())) <= width
        assert [word for n in range(1, 10) if (word := f"{n}2.3") in out.split()] == [f"{n}2.3" for n in range(1, 10)]
    assert out.count("reasoning_effort=high") == 2


def test_what_must_be_known_first_stands_above(capsys: pytest.CaptureFixture[str]) -> None:
    table = simple_table("t", ["x"], [["cell"]], ["below"], above=["above"])
    show("text", lambda: [table])
    for text in (capsys.readouterr().out, rendered(table, "md")):
        assert text.index("above") < text.index("cell") < text.index("below")


def test_every_format_of_a_plain_table() -> None:
    for form in ("text", "md", "csv", "latex", "html"):
        assert "3" in rendered(TABLE, form)


def test_cells_of_numbers() -> None:
    assert interval_cell(2.0, 1.0, 3.0, 1) == Cell("2.0", 2.0, "1.0", "3.0")
    assert interval_cell(2.0, None, None, 1) == Cell("2.0", 2.0)
    assert interval_cell(None, None, None, 1) == Cell()
    assert score_cell(Interval(0.5, 0.25, 0.75, 9), None, 0, 100) == Cell("50", 50.0, "25", "75")
    assert score_cell(Interval(0.5, None, None, 4), None, 1) == Cell("0.5", 0.5, few=4)
    assert score_cell(None, (0.0, 7.5), 1) == Cell("0.0 … 7.5", least="0.0", most="7.5")
    assert score_cell(None, None, 1) == Cell()
