"""An exam's paper folder: what is read from it, and what is said of a wrong file."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner import exams
from limner.core.errors import DataError
from limner.exams import paper
from limner.exams.paper import COLUMNS, rows, rules

HEAD = ",".join(COLUMNS)
ROW = "b,Table 1,Brush,sold,overall,All,whole,{value},{unit},Human,"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A paper folder of its own for the exam."""
    monkeypatch.setattr(paper, "kind", lambda name: replace(exams.kind("genexam"), paper=tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", exams.SHIPPED)
def test_every_shipped_exam_has_paper(name: str) -> None:
    assert {row["benchmark"] for row in rows(name)} != set()
    assert tuple(rows(name)[0]) == COLUMNS
    groups = {row["model_group"] for row in (*rows(name), *rows(name, paper.BOARD)) if row["model"]}
    assert rules(name).groups.keys() <= groups
    assert rules(name).scores


cells = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=9)


@given(st.lists(st.tuples(*[cells] * len(COLUMNS)), max_size=5))
def test_rows_round_trip_through_csv(tmp_path_factory: pytest.TempPathFactory, table: list[tuple[str, ...]]) -> None:
    table = [(*row[:8], "text", *row[9:]) for row in table]
    text = io.StringIO()
    csv.writer(text).writerows([COLUMNS, *table])
    path = tmp_path_factory.mktemp("paper") / "published.csv"
    path.write_text(text.getvalue(), "utf-8", newline="")
    assert [tuple(row.values()) for row in paper._read_rows(path, COLUMNS)] == table


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model,value\nBrush,3\n", "lacks the column 'benchmark'"),
        (f"{HEAD}\n{ROW.format(value='many', unit='percent')}\n", r"published.csv:2: 'many' is not a number"),
        (f"{HEAD}\nb,Table 1\n", "published.csv:2: has more or fewer cells"),
        (f'{HEAD}\n"b\n', "cannot be read"),
    ],
)
def test_invalid_figures_are_reported_with_place(folder: Path, text: str, message: str) -> None:
    (folder / "published.csv").write_text(text, "utf-8")
    with pytest.raises(DataError, match=message) as error:
        rows("mine")
    assert "the exam 'mine' is broken: " in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "rules.toml: cannot be read"),
        ("[groups]\nsold = { access = 'half' }", "rules.toml:2: groups.sold.access"),
        ("[[scores]]\ntable = 'Table 1'", "rules.toml:1: scores.breakdown: is missing"),
        ("[score]\nx = 1", "rules.toml:1: score: no such key"),
    ],
)
def test_invalid_rules_are_reported_with_place(folder: Path, text: str, message: str) -> None:
    (folder / "rules.toml").write_text(text, "utf-8")
    with pytest.raises(DataError, match=message) as error:
        rules("mine")
    assert "the exam 'mine' is broken: " in str(error.value)


def test_board_figures_need_date(folder: Path) -> None:
    score = '[[scores]]\nfile = "release_board"\ntable = "board"\nbreakdown = "overall"\nmetrics = {}\n'
    (folder / "rules.toml").write_text(score)
    with pytest.raises(DataError, match=r"no entry of boards has the table 'board'"):
        rules("mine")
    paper._read_once.cache_clear()
    (folder / "rules.toml").write_text('[[boards]]\ntable = "board"\nday = 2026-01-02\nnote = "Early."\n' + score)
    assert rules("mine").board("board").about == "Release board of 2026-01-02: Early."
