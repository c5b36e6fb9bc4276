"""`limner exams`, `exam check` and `exam new`, and an exam of one's own through all commands."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from limner.build.embedding import is_installed
from limner.build.lint import lint_exam
from limner.core.exam import Exam, Question
from limner.core.marks import Criterion
from limner.exams import SHIPPED
from limner.exams.genexam import GENEXAM
from limner.exams.key import PAINTERS
from tests.build.scripted import Heard, Route, scripted, write_provider
from tests.cli.invoke import limner
from tests.conformance.verdicts import released_rows, verdicts, write_replay, write_results
from tests.needs import need
from tests.support import picture

SOUND = [f"Is the part '{name}' labelled?" for name in tuple("ABCDEFGHIJ")]


def test_exams_are_listed_with_the_state_of_their_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMNER_DATA", str(tmp_path))
    (tmp_path / "mmmg").mkdir()
    rows = {row["exam"]: row for row in limner("exams", "--format", "json").json()}
    assert rows.keys() >= set(SHIPPED)
    assert {name: rows[name]["data"] for name in ("genexam", "mmmg", "fepbench")} == {
        "genexam": "sample; not fetched",
        "mmmg": "here",
        "fepbench": "sample; not released",
    }
    assert (rows["genexam"]["licence"], rows["aibench"]["licence"]) == ("MIT", "none stated")
    assert (rows["genexam"]["questions"], rows["genexam"]["score"]) == (1000, "strict")
    out = limner("exams").out
    assert re.search(r"│ genexam +│ +1,?000 │ sample; not fetched +│ +MIT │ GenExam: ", out), out


def test_details_of_one_exam_are_listed() -> None:
    out = limner("exams", "genexam").out
    assert f"genexam: {GENEXAM.title}" in out
    for fact in ("strict (0-100): ", "relaxed (0-100): ", "variants: release, paper", "bundled sample: sample/genexam"):
        assert fact in out
    assert "-O reference=image|none|caption|both" in out
    assert "no exam 'genexom'" in limner("exams", "genexom", code=2).err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["genexom"], 2, "no exam 'genexom'; installed: "),
        (["genexam"], 2, "name the data folder with --data"),
        (["genexam", "--data", "nowhere"], 2, "no such data folder: nowhere"),
        (["sample/genexom"], 2, "no exam 'genexom'"),
        (["nowhere.toml"], 1, "nowhere.toml: cannot be read"),
    ],
)
def test_check_of_missing_exam_is_reported(words: list[str], code: int, message: str) -> None:
    assert message in limner("exam", "check", *words, code=code).err


@pytest.mark.slow
def test_custom_exam_is_checked_and_run(tmp_path: Path) -> None:
    """Started, edited, checked, run, shown, exported, imported; at the end without its data."""
    output = limner("exam", "new", "mine").out
    assert "limner exam check mine/exam.toml" in output
    assert "limner run mine/exam.toml --painter control/reference --judge ocr" in output
    annotations = Path("mine/data/annotations/All_Subjects.jsonl")
    rows = released_rows(Path("mine/data"))[:3]
    rows[0]["prompt"] = "Draw something of my own."
    annotations.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    Path("mine/data/mini_sample_ids.txt").unlink()
    assert "mine: 3 questions, all well-formed" in limner("exam", "check", "mine/exam.toml").out

    Path("drawings").mkdir()
    for number, row in enumerate(rows):
        Path("drawings", f"{row['id']}.png").write_bytes(picture(number))
    judge = f"replay/{write_replay(tmp_path / 'replies.jsonl', {'me': verdicts(rows, 5)})}"
    output = limner("run", "mine/exam.toml", "--painter", "me=folder/drawings", "--judge", judge).out
    assert f"mine · judge {judge}" in output
    results = write_results(tmp_path / "results", verdicts(rows, 6))
    named = ("--painter", "other", "--judge", "gpt-5")
    assert "3 results imported" in limner("import", "mine/exam.toml", "--results", results, *named).out

    shutil.rmtree("mine/data")
    for word in ("mine/exam.toml", "mine"):
        standings = limner("scores", word, "--format", "json").json()
        assert [(found["exam"], found["painter"], found["n"]) for found in standings] == [
            ("mine", "other", 3),
            ("mine", "me", 3),
        ]
        assert {row["exam"] for row in limner("export", word).lines()} == {"mine"}
        shown = limner("show", word, rows[0]["id"], "--format=json").json()
        assert (shown["exam"], shown["prompt"]) == ("mine", "Draw something of my own.")
        assert limner("mark", word, "--painter", "me", "--judge", judge, "--format=json").json()["stored"] == 6


def test_doctor_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from limner import doctor
    from limner.doctor import Check

    monkeypatch.setattr(doctor, "_ocr", lambda: Check("OCR", "ok", "reads"))
    out = limner("doctor").out
    assert "  ok  python, store, file system, disk, OCR" in out
    assert "worldgenbench" not in out
    assert {check["name"] for check in limner("doctor", "--format=json").json()} > {"store", "OCR"}
    out = limner("doctor", "--all").out
    assert "  ok  store: limner-store does not exist yet; the first run creates it" in out
    monkeypatch.setattr(doctor, "_ocr", lambda: Check("OCR", "bad", "blind"))
    assert " bad  OCR: blind" in limner("doctor", code=1).out
    assert not Path("limner-store").exists()


@pytest.mark.slow
def test_demo_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limner.cli.demo.which", lambda name: None)
    output = limner("demo").out
    assert f"First:   source {sys.prefix}/bin/activate" in output
    for painter in PAINTERS:
        assert re.search(rf"^│ {painter} +│( +\d+\.\d+ │){{{len(SHIPPED) + 1}}}$", output, re.MULTILINE), output
    assert "Every exam ranks the painters as anyone would: the right drawings first, a blank sheet last" in output
    assert "genexam strict gives the same score to: one part missing, one label wrong, two labels swapped" in output
    assert re.search(r"The OCR examiner, .* decides \d+% of the criteria .* agrees with the key on \d+\.\d%", output)
    assert Path("demo-store", "limner.db").is_file()
    assert f"Site:    {Path('demo-site', 'index.html').absolute()}" in output
    assert Path("demo-site", "index.html").is_file()
    commands = re.findall(r"^(?:Next:)? +limner (.+--store demo-store)$", output, re.MULTILINE)
    answers = [limner(*shlex.split(command)).out for command in commands]
    assert len(answers) == 3
    assert "1     │ reference" in answers[0]
    assert "reference beats" in answers[1]
    assert "'Antenna' is written in place of 'Filament'" in answers[2]


def test_lint_names_repeated_reworded_and_negated_criteria() -> None:
    ask = "Is the nucleus drawn in the cell's centre?"
    said = {
        "repeated": ask,
        "reworded": "In the centre of the cell, is a nucleus drawn?",
        "not-yes-no": "How many vacuoles are drawn?",
        "negated": "Is there no chloroplast in the cell?",
        "contradict": "Is the nucleus not drawn in the cell's centre?",
    }
    criteria = [Criterion(f"point/{n}", text, "point") for n, text in enumerate([ask, *said.values(), *SOUND], 1)]
    exam: Exam[Any] = Exam("cells", "genexam", (Question("q", "Draw a cell.", cast(Any, None), {}),))
    protocol: Any = SimpleNamespace(criteria=lambda _: criteria)
    found = {place[1]: kinds[-1][0] for place, kinds in lint_exam(exam, protocol).items()}
    assert found == {f"point/{n}": kind for n, kind in enumerate(said, 2)}


def test_lint_finds_criteria_of_near_meaning_where_embeddings_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        "Is the binary tree balanced?", "Is the tree a balanced binary tree?",
        "Is the AND gate drawn with two inputs?", "Is the OR gate drawn with two inputs?",
        "Does the first plot show a positive correlation?", "Does the second plot show a negative correlation?",
        "Do males appear as squares?", "Are males represented by squares?",
        "Is the Moon between the Sun and the Earth?", "Does the Moon lie between Earth and Sun?",
    ]  # fmt: skip
    criteria = [Criterion(f"point/{n}", text, "point") for n, text in enumerate(texts, 1)]
    exam: Exam[Any] = Exam("e", "genexam", (Question("q", "Draw it.", cast(Any, None), {}),))
    protocol: Any = SimpleNamespace(criteria=lambda _: criteria)
    need("minilm", is_installed(), "the small sentence model is not installed")
    assert {place[1] for place in lint_exam(exam, protocol)} == {"point/2", "point/8", "point/10"}
    monkeypatch.setattr("limner.build.lint.is_installed", lambda: False)
    assert {place[1] for place in lint_exam(exam, protocol)} == {"point/2"}, "by words alone"


def test_model_names_contradictory_criteria(tmp_path: Path) -> None:
    def say(heard: Heard) -> Any:
        if heard.turn == 0:
            return {"pairs": [{"first": 1, "second": 99, "kind": "same", "why": "x"}]}
        pair = {"first": 2, "second": 1, "kind": "contradict", "why": "three and four"}
        return {"pairs": [pair] if "Sample_1" not in heard.text else []}

    with scripted(Route("compare criteria", say, ("<criteria>\n1. ",))) as llm:
        write_provider(tmp_path, llm)
        output = limner("exam", "check", "sample/genexam", "--model", "fake/llm", "--budget", "1").out
        asked = llm.total
        assert limner("exam", "check", "sample/genexam", "--model", "fake/llm").out == output
        assert llm.total == asked, "stored replies are not paid for again"
    assert re.search(r"\w+, point/2: contradict: point/1: three and four", output), output
    assert not any("different numbers" in line for line in output.splitlines())
