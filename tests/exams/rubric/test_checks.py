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


MISTAKES = [
    (
        'prompt = "prompt"  ',
        'prompt = "promt"  ',
        "columns.prompt: no row has a column 'promt'; there are: id, subject",
    ),
    ('id = "id"', 'id = "number"', "columns.id: no row has a column 'number'; there are: id, subject"),
    ('inputs = ["photo?"]', 'inputs = ["foto"]', "columns.inputs: no row has a column 'foto'; .*write 'foto\\?'"),
    ('id = "id"', 'id = "id"\npoints = ["a", "b"]', "columns: points: expected the name of one column", "[columns]"),
    ('subject = "subject"', 'subject = "topic"', "tags.subject: no row has a column 'topic'"),
    ('data = "data"', 'data = "../data"\n', "no such data folder", None),
    ('data = "data"', '[data]\nfiles = "*.tsv"', "data.files: no file fits '\\*.tsv' in "),
    ('data = "data"', 'data = { images = "/tmp" }', "data: '/tmp' leaves the data folder; make path"),
    ('from = "points"  ', 'from = "rubric"  ', "criteria.from: no row has a column 'rubric'; there are: id, subject"),
    ('weight = "score"', 'wait = "score"', "criteria.wait: no such key; choose from: name, kind, from"),
    ('kind = "scale"', 'kind = "scales"', "criteria.kind: Input should be 'yesno'"),
    ("low = 1", 'low = "one"', "criteria.low: Input should be a valid integer"),
    ('name = "points"', 'name = "My points"', "criteria.name: 'My points' is not allowed; use lower-case letters"),
    ('field = "photo?", required', 'field = "foto", required', "criteria.when: no row has a column 'foto'"),
    ('criteria = ["kept"]', 'criteria = ["keeps"]', "asks.criteria: 'keeps' is not a criterion or group; there are: k"),
    ('criteria = ["kept"]', 'criteria = ["readable"]', "criteria.name: no ask has the criterion 'kept'", '"kept"'),
    ('prompt = "compare"', 'prompt = "compares"', "asks.prompt: there is no file .*compares.md"),
    (
        '"inputs", "drawing"]',
        '"photo", "drawing"]',
        "asks.shows: there is no file .*photo.md; besides templates, an ask",
    ),
    ('"inputs", "drawing"]', '"inputs"]', 'asks.shows: "drawing" is missing, so the judge would not see it'),
    ('["prompt", "inputs", "drawing"]', '["inputs", "drawing"]', 'asks.shows: "prompt" is missing'),
    ('criteria = ["kept"]', 'criteria = ["kept"]\nreply = "list"', "asks.reply: a list of zeros and ones", "reply ="),
    (
        'criteria = ["kept"]',
        'criteria = ["kept"]\nonly = { how = "x" }',
        "asks.only.how: 'x' is not .* none is decl",
        "only =",
    ),
    ('criteria = ["kept"]', 'criteria = ["kept"]\nkeys = { keep = "x" }', "asks.keys: 'keep' is not a crit", "keys ="),
    ('of = "sum"\n', 'of = "summ"\n', "scores.of: 'summ' is not a criterion, group or earlier score; there are: k"),
    ("of = { points = 0.7,", "of = { point = 0.7,", "scores.of: 'point' is not a criterion"),
    ("otherwise = { points", "otherwise = { point", "scores.otherwise: 'point' is not a criterion"),
    (
        'when = { score = "kept", below',
        'when = { score = "keeps", below',
        "scores.when: no row has .*'keeps'.* readable",
    ),
    ("below = 3 }", "under = 3 }", "scores.when.under: no such key; choose from: required, equals"),
    ('score = "kept", below = 3 }', 'score = "kept" }', "scores.when: a test is missing: required"),
    ('kind = "weighted"  ', 'kind = "wheight"  ', "scores.kind: Input should be 'share'"),
    ("to = 0.5", "to = 50", "scores.to: Input should be less than or equal to 1"),
    ('over = "criteria"', 'over = "points"', "summaries.points.over: Input should be 'criteria'"),
    ('of = "points"\nover', 'of = "point"\nover', "summaries.points.of: 'point' is not", 'of = "point"'),
    ('tags = ["subject"]', 'tags = ["grade"]', "breakdowns.tags: 'grade' is not a tag; there are: subject"),
    ('tags = ["subject"]', 'orders = { grade = ["a"] }', "breakdowns.orders: 'grade' is not a tag"),
    ('judge = "openai', 'jugde = "openai', "presets.usual.jugde: 'jugde' is not a key of presets; there are: aest"),
    (
        'judge = "openai',
        'reading = "own"\njudge = "openai',
        "presets.usual.reading: 'own' is not",
        "reading =",
    ),
    ('title = "Mine', 'titel = "Mine', "title: is missing", "# An exam of your own"),
    ('kind = "gate"', "kind = gate", "cannot be read as TOML: Invalid value"),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake[1].strip())
def test_mistake_is_reported_with_its_line(mine: Path, mistake: tuple[str, ...]) -> None:
    before, after, message, *at = mistake
    change(mine, before, after)
    said = limner("exam", "check", str(mine), code=2 if at == [None] else 1).err
    line = f"exam\\.toml:{line_with(mine, at[0] if at else after.strip().splitlines()[-1])}: " if at != [None] else ""
    assert re.search(rf"{line}{message}", said), said


def test_template_shows_criteria_and_form_of_reply(mine: Path) -> None:
    template = mine.parent / "prompts" / "mark.md"
    change(template, "{{points}}", "{{Explanation}}")
    change(template, "{{reply}}", "")
    said = limner("exam", "check", str(mine), code=1).err
    assert "mark.md:1: {{points}} is missing, so the judge would not see these criteria" in said
    assert "mark.md:1: {{reply}} is missing, so the judge of ask 'mark' would not know how to answer" in said
    change(template, "{{Explanation}}", "{{points}} {{Explanation}} {{reply}}")
    said = limner("exam", "check", str(mine), code=1).err
    assert f"mark.md:{line_with(template, 'Explanation')}: no row has a column 'Explanation'; there are: id" in said


def test_entries_without_the_declared_key_are_reported_with_their_keys(mine: Path) -> None:
    change(mine, 'text = "item"', 'text = "itme"')
    said = limner("exam", "check", str(mine), code=1).err
    wanted = "id rain: points 1: 'itme' must be a text (text of criterion points; the entry has: item, score)"
    assert wanted in said, said


def test_columns_without_use_are_noted(mine: Path) -> None:
    change(mine.parent / "data" / "questions.json", '"id": "rain",', '"id": "rain", "author": "me",')
    assert "note: columns without use: author" in limner("exam", "check", str(mine)).out


def test_optional_columns_may_be_absent(mine: Path) -> None:
    data = mine.parent / "data" / "questions.json"
    change(data, '"photo": "tomato.png",', "")
    assert "exam.toml" not in limner("exam", "check", str(mine)).out
