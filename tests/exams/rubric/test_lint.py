"""`limner exam check` of a declared exam, and the exam that `limner exam new --like rubric` writes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from limner.exams import STARTER
from tests.cli.invoke import limner


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The exam to start from, in a folder of its own."""
    return Path(shutil.copytree(STARTER, tmp_path / "mine")) / "exam.toml"


def change(file: Path, before: str, after: str) -> None:
    text = file.read_text("utf-8")
    assert before in text
    file.write_text(text.replace(before, after, 1), "utf-8")


def line_with(file: Path, words: str) -> int:
    return next(n for n, line in enumerate(file.read_text("utf-8").splitlines(), 1) if words in line)


def test_exam_to_start_from_is_sound_and_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    out = limner("exam", "new", "my exam", "--like", "rubric").out
    assert "limner exam check" in out
    assert 'name = "my-exam" ' in Path("my exam", "exam.toml").read_text("utf-8")
    checked = limner("exam", "check", "my exam/exam.toml").out.splitlines()
    assert checked == ["my-exam: 3 questions, all well-formed", "    subject: geography 1, mathematics 1, biology 1"]
    words = "--painter", "control/reference", "--painter", "control/blank", "--judge", "ocr"
    run = limner("run", "my exam/exam.toml", *words, "--format", "json").json()
    assert (run["done"], run["failed"]) == (12, 0)


@pytest.mark.parametrize(
    ("before", "after", "messages"),
    [
        ('of = "sum"\n', 'of = "summ"\n', ["scores.1.of: 'summ' is no family, group or earlier score"]),
        ('criteria = ["kept"]', 'criteria = ["readable"]', ["criteria.1.name: no ask has this family"]),
        ('prompt = "compare"', 'prompt = "compares"', ["asks.1.prompt: there is no .*compares.md"]),
        ('weight = "score" ', 'wait = "score"\nline = 3 ', ["criteria.0.wait: Extra inputs", "criteria.0.line: Input"]),
    ],
)
def test_contradictions_are_reported_with_lines(mine: Path, before: str, after: str, messages: list[str]) -> None:
    change(mine, before, after)
    told = limner("exam", "check", str(mine), code=1).err
    for message in messages:
        words = {"wait": 'wait = "score"', "line": "line = 3"}.get(message.split(":")[0].rpartition(".")[2])
        line = line_with(mine, words or after.strip()) if "no ask has" not in message else line_with(mine, '"kept"')
        assert re.search(rf"exam\.toml:{line}: {message}", told), told


def test_columns_that_the_data_lacks_are_reported_with_lines(mine: Path) -> None:
    change(mine, 'tags = ["subject"]', 'tags = ["subject", "grade"]')
    template = mine.parent / "prompts" / "mark.md"
    change(template, "As a whole:", "It shows {{Explanation}}.\n\nAs a whole:")
    out = limner("exam", "check", str(mine)).out
    assert f"mark.md:{line_with(template, 'Explanation')}: no row has a column 'Explanation'" in out
    assert f"exam.toml:{line_with(mine, 'grade')}: no question has a tag 'grade'" in out


def test_missing_column_of_criteria_is_named_before_the_questions_without_criteria(mine: Path) -> None:
    change(mine, 'from = "points" ', 'from = "rubric" ')
    for name in ("kept", "readable"):
        change(mine, f'name = "{name}"', f'name = "{name}"\nwhen = {{ field = "marked", required = true }}')
    change(mine, 'when = { field = "photo?", required = true }  #', "#")
    told = limner("exam", "check", str(mine), code=1).err.splitlines()
    assert re.search(
        rf"exam\.toml:{line_with(mine, 'rubric')}: no row has a column 'rubric'; there are: id, photo", told[1]
    )
    assert re.search(r"questions\.json:2: it has no criterion", "\n".join(told))


def test_columns_without_use_are_noted(mine: Path) -> None:
    change(mine.parent / "data" / "questions.json", '"id": "rain",', '"id": "rain", "author": "me",')
    assert "note: columns without use: author" in limner("exam", "check", str(mine)).out


def test_optional_columns_may_be_absent(mine: Path) -> None:
    data = mine.parent / "data" / "questions.json"
    change(data, '"photo": "tomato.png",', "")
    assert "exam.toml" not in limner("exam", "check", str(mine)).out
