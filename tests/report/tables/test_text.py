"""Text: columns stand in line at any width, names are shown as they are, styles say what is what."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from limner.report.paper import TableChoice, build, find
from limner.report.tables import text
from limner.report.tables.model import Cell, Cells, Column, RowBlock, Sheet, Table, TableRow, interval, simple_table
from limner.report.tables.text import wrap
from limner.store import Store
from tests.report.tables import synthetic
from tests.report.tables.samples import NASTY, nasty


def table(*lines: TableRow, columns: tuple[Column, ...] = (Column("x"),)) -> Table:
    sheet = Sheet("", "Model", columns, (RowBlock("", lines),))
    return Table("x:y", "T", (sheet,), (sheet,))


def printed(table: Table, width: int) -> list[str]:
    return [line.plain for line in text.lines(table, width)]


def in_line(lines: list[str]) -> int:
    """How many rows stand in line with the heads of their block; fails where one does not."""
    checked = 0
    for number, line in enumerate(lines):
        if not (line and set(line) == {"─"}) or number == 0 or not lines[number - 1].strip():
            continue
        edges = {found.end() for found in re.finditer(r"\S+", lines[number - 1])}
        for row in lines[number + 1 :]:
            if set(row) == {"─"}:
                break
            # Names have no numbers with two decimals.
            ends = {found.end(1) for found in re.finditer(r"\s(–|\d+\.\d\d)(?=\s|$)", row)}
            assert ends <= edges, row
            checked += bool(ends)
    return checked


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Twenty-five painters, some with long names, beside the published ones."""
    with Store(tmp_path_factory.mktemp("store")) as store:
        synthetic.fill(store, "worldgenbench", painters=25, images=False, faults=False)
        return build(find("worldgenbench:table1"), store, TableChoice(intervals=False))


@pytest.mark.parametrize("width", [60, 160])
def test_columns_stay_aligned_with_long_painter_names(crowded: Table, width: int) -> None:
    lines = printed(crowded, width)
    assert max(map(cell_len, lines)) <= width
    assert in_line(lines) >= 22 + 25
    names = re.sub(r"\s(–|\d+\.\d\d)(?=\s)|\s", "", "\n".join(lines))
    for painter in synthetic.cast(25):
        assert painter.name.replace(" ", "") in names


def test_names_are_shown_verbatim() -> None:
    body = "\n".join(printed(nasty(), 400))
    assert "\x1b" not in body
    assert "\x07" not in body
    for name in (NASTY[0], NASTY[1], NASTY[2], NASTY[4]):
        assert name in body
    assert "\\u001b[31mred\\u0007\\u000anext" in body


@given(st.text("ab -/学", max_size=60), st.integers(2, 20))
def test_wrapping_keeps_all_letters(words: str, width: int) -> None:
    found = wrap(words, width)
    assert all(cell_len(line) <= width for line in found)
    assert "".join(found).replace(" ", "") == words.replace(" ", "")


NUMBERS = st.one_of(
    st.decimals(-999, 9999, places=1).map(lambda value: Cell(f"{value}")),
    st.tuples(st.decimals(0, 100, places=1), st.decimals(0, 100, places=2)).map(
        lambda ends: Cell(f"{ends[0]}", low=f"{ends[1]}", high=f"{ends[0]}")
    ),
    st.integers(1, 4).map(lambda few: Cell("50.0", few=few)),
    st.just(Cell("10.0 … 90.0", least="10.0", most="90.0")),
    st.just(Cell()),
)
WORDS = st.text("ab -/学", max_size=60)


@st.composite
def framed(draw: st.DrawFn) -> Table:
    """Any table of names and numbers, and perhaps a sentence at the end."""
    names, numbers, sentence = draw(st.integers(1, 3)), draw(st.integers(0, 9)), draw(st.booleans())
    heads = [f"{place} {draw(WORDS)}" for place in range(names + numbers)] + ["why"] * sentence
    rows: list[Cells] = [
        [*(draw(WORDS) for _ in range(names)), *(draw(NUMBERS) for _ in range(numbers)), *([draw(WORDS)] * sentence)]
        for _ in range(draw(st.integers(1, 4)))
    ]
    rules = draw(st.sets(st.integers(1, 3)))
    return simple_table(draw(WORDS), heads, rows, [draw(WORDS)], names=names, prose=["why"], rules=rules)


@given(framed(), st.integers(40, 200))
def test_numbers_are_not_split_and_lines_fit_any_width(table: Table, width: int) -> None:
    found = printed(table, width)
    assert all(cell_len(line) <= width for line in found)
    body = "\n".join(found)
    for row in table.sheets[0].rows():
        for cell, column in zip(row.cells, table.sheets[0].columns, strict=True):
            if not column.words:
                shown = f"{cell.text} {interval(cell)}".strip()
                assert re.search(rf"(?<![^\s│]){re.escape(shown)}(?![^\s│])", body), shown
