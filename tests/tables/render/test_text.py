"""Text: columns stand in line at any width, names are shown as they are, styles say what is what."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from limner.store import Store
from limner.tables.paper import Cell, Choice, Column, Group, Line, Sheet, Table, build, find
from limner.tables.render import text
from limner.tables.render.wrapping import wrap
from tests.tables import synthetic
from tests.tables.render.samples import NASTY, nasty


def table(*lines: Line, columns: tuple[Column, ...] = (Column("x"),)) -> Table:
    sheet = Sheet("", "Model", columns, (Group("", lines),))
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
        return build(find("worldgenbench:table1"), store, Choice(intervals=False))


@pytest.mark.parametrize("width", [60, 80, 120, 160, 300])
def test_columns_stand_in_line_with_many_painters_of_long_names(crowded: Table, width: int) -> None:
    lines = printed(crowded, width)
    assert max(map(cell_len, lines)) <= width
    assert in_line(lines) >= 22 + 25
    names = re.sub(r"\s(–|\d+\.\d\d)(?=\s)|\s", "", "\n".join(lines))
    for painter in synthetic.cast(25):
        assert painter.name.replace(" ", "") in names


def test_intervals_stand_below_their_numbers() -> None:
    lines = printed(table(Line("a", (Cell("10.0", 10.0, "5.0", "15.0"),))), 80)
    (row,) = [number for number, line in enumerate(lines) if line.startswith("a")]
    assert lines[row].endswith("10.0")
    assert lines[row + 1].strip() == "[5.0, 15.0]"
    assert len(lines[row]) == len(lines[row + 1])


def test_styles() -> None:
    cells = (Cell("1.0", 1.0, rank=1), Cell("2.0", 2.0, rank=2), Cell("3.0", 3.0, published=True))
    columns = (Column("x"), Column("y"), Column("z"))
    (row,) = [line for line in text.lines(table(Line("a", cells), columns=columns), 80) if line.plain.startswith("a")]
    styles = {row.plain[span.start : span.end]: span.style for span in row.spans}
    assert {word: styles[word] for word in ("1.0", "2.0", "3.0")} == {"1.0": "bold", "2.0": "underline", "3.0": "dim"}


def test_a_stores_rows_are_told_apart_without_styles() -> None:
    both = table(Line("theirs", (Cell("1.0"),), published=True), Line("mine", (Cell("2.0"),)))
    assert any(line.startswith("• mine") for line in printed(both, 80))
    assert any(line.startswith("  theirs") for line in printed(both, 80))
    alone = table(Line("mine", (Cell("2.0"),)))
    assert any(line.startswith("mine") for line in printed(alone, 80))


def test_heads_over_several_columns_are_not_torn_apart() -> None:
    columns = tuple(Column(f"{half}", f"over {pair}", f"{pair}{half}") for pair in range(6) for half in "ab")
    cells = tuple(Cell("100.00", 100.0) for _ in columns)
    for width in range(40, 120, 7):
        lines = printed(table(Line("model", cells), columns=columns), width)
        heads = [line for line in lines if "over" in line]
        assert sum(line.count("over") for line in heads) == 6
        for line in lines:
            if line.startswith("Model"):
                assert line.split()[1:].count("a") == line.split()[1:].count("b")


def test_names_are_shown_as_they_are() -> None:
    body = "\n".join(printed(nasty(), 400))
    assert "\x1b" not in body
    assert "\x07" not in body
    for name in (NASTY[0], NASTY[1], NASTY[2], NASTY[4]):
        assert name in body
    assert "\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}next" in body


def test_plain_text_ends_its_lines() -> None:
    found = text.plain(nasty())
    assert found.endswith("\n")
    assert not any(line != line.rstrip() for line in found.split("\n"))


@given(st.text("ab -/学", max_size=60), st.integers(2, 20))
def test_wrapping_loses_no_letter(words: str, width: int) -> None:
    found = wrap(words, width)
    assert all(cell_len(line) <= width for line in found)
    assert "".join(found).replace(" ", "") == words.replace(" ", "")
