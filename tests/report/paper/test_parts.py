"""The small parts tables are made of: ranks, turning, facts, measures, layouts."""

from __future__ import annotations

from pathlib import Path

import pytest

from limner.core import settings
from limner.core.errors import DataError, UsageError
from limner.core.settings import PainterFacts
from limner.report.paper import find
from limner.report.paper.build import ranked, turned
from limner.report.paper.holdings import facts_of
from limner.report.paper.schema import read
from limner.report.tables.model import Cell, Column, RowBlock, Sheet, TableRow
from tests.report.tables.shipped import LAYOUTS


def group(*values: float | None, title: str = "", ranked: bool = True) -> RowBlock:
    lines = [TableRow(str(n), (Cell("–" if value is None else str(value), value),)) for n, value in enumerate(values)]
    return RowBlock(title, tuple(lines), ranked)


def ranks(
    groups: list[RowBlock], better: str = "high", *, within: bool = False, second: bool = True
) -> list[list[int]]:
    found = ranked(groups, [Column("x", better=better)], within=within, second=second)
    return [[line.cells[0].rank for line in group.rows] for group in found]


def test_best_and_second_are_ranked() -> None:
    assert ranks([group(1.0, 3.0, 2.0, None)]) == [[0, 1, 2, 0]]
    assert ranks([group(1.0, 3.0, 2.0)], "low") == [[1, 0, 2]]
    assert ranks([group(1.0, 3.0, 2.0)], "none") == [[0, 0, 0]]
    assert ranks([group(1.0, 3.0, 2.0)], second=False) == [[0, 1, 0]]


def test_ranks_are_per_table_or_per_group() -> None:
    both = [group(1.0, 2.0), group(3.0, 4.0)]
    assert ranks(both) == [[0, 0], [2, 1]]
    assert ranks(both, within=True) == [[2, 1], [2, 1]]
    assert ranks([group(9.0, ranked=False), group(1.0, 2.0)]) == [[0], [2, 1]]
    assert ranks([group(9.0, ranked=False), group(1.0, 2.0)], within=True) == [[0], [2, 1]]


def test_transposing_keeps_every_cell() -> None:
    columns = tuple(
        Column(f, v, f"{v} · {f}", block=n, figure=m, value_head=v, figure_head=f)
        for n, v in enumerate("ab")
        for m, f in enumerate("xyz")
    )
    cells = [tuple(Cell(f"{row}{c.path}", 1.0) for c in columns) for row in "12"]
    first = TableRow("one", cells[0], published=True)
    second = TableRow("two", cells[1], notes=(1,), coverage=0.5)
    sheet = Sheet("", "stub", columns, (RowBlock("g", (first, second)),))
    everything = sorted(cell.text for line in cells for cell in line)
    for how in ("rows", "columns", "scores", "values"):
        found = turned(sheet, how)
        assert sorted(cell.text for line in found.rows() for cell in line.cells) == everything, how
        assert all(len(line.cells) == len(found.columns) for line in found.rows())
    sides = turned(sheet, "columns")
    assert [(c.head, c.published, c.notes, c.coverage) for c in sides.columns] == [
        ("one", True, (), None), ("two", False, (1,), 0.5),
    ]  # fmt: skip
    assert [(g.title, [line.label for line in g.rows]) for g in sides.blocks] == [("a", [*"xyz"]), ("b", [*"xyz"])]
    scores = turned(sheet, "scores")
    assert [g.title for g in scores.blocks] == ["one", "two (50% covered)"]
    assert [c.head for c in scores.columns] == ["a", "b"]
    assert scores.blocks[1].rows[2].cells[0].text == "2a · z"
    values = turned(sheet, "values")
    assert [c.head for c in values.columns] == [*"xyz"]
    assert values.blocks[0].rows[1].cells[2].text == "1b · z"


@pytest.mark.parametrize(
    ("painter", "spec", "access", "kind", "parameters"),
    [
        ("openai/gpt-image-1", "openai/gpt-image-1", "closed", "unified", None),
        ("mine", "dashscope/qwen-image", "open", "diffusion", "27B"),
        ("BAGEL", "folder/./images", "open", "unified", "7B"),
        ("bagel?steps=50", "folder/./images", "open", "unified", "7B"),
        ("mine", "local/BAGEL", "open", "unified", "7B"),
        ("SDXL-1.0", "folder/x", None, "diffusion", None),
        ("FLUX.1-dev", "folder/x", "open", "diffusion", None),
        ("mine", "folder/BAGEL", None, None, None),
        ("control/blank", "control/blank", None, None, None),
    ],
)
def test_painter_facts_are_found(
    painter: str, spec: str, access: str | None, kind: str | None, parameters: str | None
) -> None:
    found = facts_of(painter, spec, settings.load())
    assert (found.access, found.kind, found.parameters) == (access, kind, parameters)


def test_user_settings_override_paper_facts() -> None:
    mine = settings.load().model_copy(update={"painters": {"BAGEL": PainterFacts(access="closed")}})
    found = facts_of("BAGEL", "folder/x", mine)
    assert (found.access, found.kind) == ("closed", "unified")


def test_layout_is_found_by_name() -> None:
    assert find("genexam:table2") is find("GenExam:2")
    assert find("aibench:A1").name == "tableA1"
    with pytest.raises(UsageError, match="no table 'table2'; choose from aibench:table2"):
        find("table2")
    for key in ("genexam:table10", "genexam"):
        with pytest.raises(UsageError, match=f"no table '{key}'; choose from genexam:table1, .*") as error:
            find(key)
        assert "mmmg" not in str(error.value)


def test_tables_of_five_papers_exist() -> None:
    assert set(LAYOUTS) == {
        *(f"genexam:table{n}" for n in (1, 2, "3a", "3b", 4, 5, 6, 7, 8, 9)),
        *(f"mmmg:{n}" for n in ("table2", "table3", "table4", "table5", "table16", "table17", "by-discipline")),
        *(f"worldgenbench:table{n}" for n in (1, 2)),
        *(f"fepbench:table{n}" for n in (2, 3, 4, 5, 6)),
        *(f"aibench:table{n}" for n in ("2", "3", "4", "A1")),
        *(f"{exam}:by-judge" for exam in ("genexam", "worldgenbench", "fepbench", "aibench")),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[paper]\ncite='P'\n[tables.x]\ntitle = 'T'\ncolumns = 1", "tables.x.columns"),
        ("nonsense", "cannot be read"),
        ("tables = 3", "tables is not a table"),
        ("[tables]\nx = 3", "x is not a table"),
        ("values = 3\n[tables.x]\ncolumns = [{values = 'v'}]", "values is not a table"),
        ("[tables.x]\ncolumns = [3]", "tables.x.paper"),
        (
            "[paper]\ncite='P'\n[tables.x]\ntitle='T'\n[[tables.x.columns]]\nvalues='none'\nfigures=[]",
            "no list of values",
        ),
        ("[paper]\ncite='P'\n[tables.x]\ntitle='T'\n[[tables.x.columns]]\nfigures=[{head='H'}]", "neither"),
        (
            "[paper]\ncite='P'\n[tables.x]\ntitle='T'\n[[tables.x.columns]]\n"
            "figures=[{head='H', score='a', fact='kind'}]",
            "score and fact do not go together",
        ),
        ("[paper]\ncite='P'\n[tables.x]\ntitle='T'\nwidth=3\ncolumns=[]", "width"),
    ],
)
def test_invalid_layout_error_names_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "exam.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=message) as error:
        read(path, "exam")
    assert "exam.toml" in str(error.value)
