"""`limner table`."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from limner.exams import SHIPPED
from limner.store import Store
from tests.cli.invoke import limner
from tests.report.tables import synthetic


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a store of a small exam in it, under the usual name."""
    monkeypatch.chdir(tmp_path)
    with Store("limner-store") as store:
        synthetic.fill(store, "genexam", painters=3, images=False)
    return tmp_path


def test_tables_are_listed() -> None:
    lines = limner("table").out.splitlines()
    assert len([line for line in lines if line.startswith(SHIPPED)]) == 32
    assert any(line.startswith("genexam:table2 ") and "Strict (Str) and relaxed (Rel)" in line for line in lines)
    assert all(len(line.split("  ", 1)[1].strip()) > 10 for line in lines)


def test_published_and_store_rows_are_shown(here: Path) -> None:
    out = limner("table", "genexam:table2", "--no-intervals").out
    assert "Nano Banana Pro" in out
    assert "• openai/gpt-image-1.5¹" in out
    assert "judge fake/judge (not examined), reading careful" in out
    alone = limner("table", "genexam:2", "--no-published", "--painter", "openai/gpt-image-1").out
    assert "Nano" not in alone
    assert "openai/gpt-image-1.5" not in alone
    assert "openai/gpt-image-1¹" in alone


def test_without_a_store_only_published_figures_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = limner("table", "genexam:table2")
    assert "Nano Banana Pro" in result.out
    assert "published figures only" in result.err
    assert not (tmp_path / "limner-store").exists()
    assert "no store at" in limner("table", "genexam:table2", "--store", "elsewhere", code=1).err
    assert "no store at" in limner("table", "genexam:table2", "--no-published", code=1).err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("t.html", "<!DOCTYPE html>"),
        ("t.tex", "% Needs"),
        ("t.md", "### GenExam, Table 2"),
        ("t.csv", "table,group,row,source"),
        ("t.txt", "GenExam, Table 2"),
        ("deep/t.HTML", "<!DOCTYPE html>"),
    ],
)
def test_table_is_written_in_format_of_file_suffix(here: Path, name: str, start: str) -> None:
    assert limner("table", "genexam:table2", "-o", name).out == ""
    assert (here / name).read_text("utf-8").startswith(start)


def test_unknown_names_are_usage_errors(here: Path) -> None:
    assert "no table 'genexam:table3'; choose from" in limner("table", "genexam:table3", code=2).err
    assert "nobody" in limner("table", "genexam:table2", "--painter", "nobody", code=2).err
    assert "no judge 'nobody'" in limner("table", "genexam:table2", "--judge", "nobody", code=2).err
    assert "no section" in limner("table", "genexam:table2", "--section", "Art", code=2).err
    assert "no exam 'mine' of kind genexam" in limner("table", "genexam:table2", "--exam", "mine", code=2).err


@pytest.fixture
def uneven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same with one judge asked in two ways, and one painter that has ten of the forty questions."""
    monkeypatch.chdir(tmp_path)
    ways = [
        {"judge": "openai/gpt-5", "model": "gpt-5", "args": {"reasoning_effort": effort}, "templates": wording}
        for effort, wording in (("low", "aaaa"), ("high", "bbbb"))
    ]
    theirs = "SELECT id FROM drawings WHERE painter = 'openai/gpt-image-1' AND question_id NOT LIKE '%-1_'"
    with Store("limner-store") as store:
        synthetic.fill(store, "genexam", painters=3, questions=40, judges=ways, images=False, faults=False)
        store.write(lambda connection: connection.exec_driver_sql(f"DELETE FROM markings WHERE drawing IN ({theirs})"))
    return tmp_path


def stored(*words: str) -> list[dict[str, str]]:
    out = limner("table", "genexam:table2", "--format", "csv", *words).out
    return [row for row in csv.DictReader(io.StringIO(out)) if row["source"] == "store"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "n"),
    [
        ((), {"10"}),
        (("--on", "common"), {"10"}),
        (("--on", "all"), {"10", "40"}),
        (("--without", "openai/gpt-image-1"), {"40"}),
    ],
)
def test_on_option_selects_common_or_all_questions(uneven: Path, words: tuple[str, ...], n: set[str]) -> None:
    assert {row["n"] for row in stored(*words)} == n


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("--judge", "openai/gpt-5?reasoning_effort=low"),
        ("--judge", "gpt-5 · reasoning_effort=low"),
        ("--wording", "aaaa"),
    ],
)
def test_judge_option_selects_one_setup(uneven: Path, words: tuple[str, ...]) -> None:
    assert {row["evaluator"] for row in stored()} == {"gpt-5 · reasoning_effort=high", "gpt-5 · reasoning_effort=low"}
    assert {row["evaluator"] for row in stored(*words)} == {"gpt-5 · reasoning_effort=low"}
