"""An exam of one's own as data: the same score as a short script's, everywhere, and without its folder."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from limner import api
from limner.core.errors import DataError
from limner.core.exam import know_exam
from limner.exams import kind, resolve
from limner.store import Store
from tests.cli.invoke import limner
from tests.exams.rubric.made import ANSWERS, ROWS, TOML, by_hand, write_exam, write_replies
from tests.study.made import answer
from tests.support import picture

PAINTER = "control/unchanged"
DESIGN = """
title = "People mark edits"
unit = "drawing"
raters = 1
instructions = "Answer by what you see."
[sample]
of = "drawings"
size = 6
[show]
prompt = true
reference = false
[[form]]
kind = "criteria"
criteria = ["*"]
"""


@pytest.fixture(autouse=True)
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything drawn and marked; then the exam's folder is gone."""
    monkeypatch.chdir(tmp_path)
    write_exam(tmp_path / "my_exam")
    write_replies(tmp_path / "replies.jsonl")
    limner("run", "./my_exam/exam.toml", "--painter", PAINTER, "--judge", "replay/replies.jsonl")
    shutil.rmtree(tmp_path / "my_exam")


def numbers(scores: dict[str, Any]) -> dict[str, float]:
    return {name: value["value"] for name, value in scores.items()}


def test_table_and_json_equal_script() -> None:
    expected = by_hand(ANSWERS)
    (row,) = limner("scores", "mine", "--format", "json").json()
    assert numbers(row["scores"]) == {name: pytest.approx(value, abs=1e-9) for name, value in expected.items()}
    met = sum(sum(points) + (scale - 1) / 4 for points, scale in ANSWERS.values())
    assert row["decided"]["met"] == pytest.approx(met / (len(ANSWERS) + 15), abs=1e-3)
    assert "relaxed (0-100): weighted: points, consistency" in limner("exams", "mine").out
    table = limner("scores", "mine").out
    assert all(f"{value:.1f}" in table for value in expected.values())


def test_site_equals_script() -> None:
    limner("report", "mine", "-o", "site")
    data = next(Path("site").rglob("exam.js")).read_text("utf-8")
    for name, value in by_hand(ANSWERS).items():
        assert re.search(rf'"{name}":\[?{{?("value":)?{re.escape(f"{round(value, 6)}")}\b', data), name


def test_study_equals_script() -> None:
    Path("design.toml").write_text(DESIGN, "utf-8")
    limner("study", "new", "pilot", "--exam", "mine", "--design", "design.toml", "--people", "1", "--painter", PAINTER)
    people = {id: ([1 - point for point in points], 6 - scale) for id, (points, scale) in ANSWERS.items()}
    with Store(Path("limner-store")) as store:
        answer(store, rule=lambda _, place, field: _said(people, study_question(store, place), field.name))
    kind, marked = api.groups("mine", store="limner-store", kinds=("person",))
    (group,) = marked
    expected = by_hand(people)
    found = kind.protocol.summary([entry.row for entry in group.scored])
    assert found == {name: pytest.approx(value, abs=1e-9) for name, value in expected.items()}
    shown = limner("scores", "mine", "--study", "pilot", "--notes").out
    assert f"{expected['relaxed']:.1f}" in shown, shown


def study_question(store: Store, place: Any) -> str:
    from limner.study.open import open_study

    study = open_study(store, "pilot")
    return study.drawings[study.items[place.item].drawings[0]].question_id


def test_pictures_before_are_shown_to_raters_unless_design_hides_them() -> None:
    pytest.importorskip("starlette", reason="servers come with limner[web]")
    from limner.study.exchange import make_config, write_tasks
    from limner.study.new import new_link
    from limner.study.open import open_study
    from limner.study.records import load_raters
    from tests.study.page.visiting import agree, visitor

    for name, design in (("pilot", DESIGN), ("blind", DESIGN.replace("[show]", "[show]\ninputs = false"))):
        Path("design.toml").write_text(design, "utf-8")
        new = ("study", "new", name, "--exam", "mine", "--design", "design.toml", "--people", "1")
        limner(*new, "--painter", PAINTER)
        with Store(Path("limner-store")) as store:
            study = open_study(store, name)
            (rater,) = load_raters(store, name)
            link = new_link(store, name, rater.rater)
            with visitor(store, name) as client:
                agree(client, link)
                page, before = client.get(f"/r/{link}/1").text, client.get(f"/r/{link}/1/input-1.jpg")
                assert client.get(f"/r/{link}/1/input-2.jpg").status_code == 404
            Path("tasks").mkdir(exist_ok=True)
            tasks, config = write_tasks(study, Path("tasks", name)), make_config(study)
        seen = name == "pilot"
        assert ("The picture that was given" in page, before.status_code == 200) == (seen, seen)
        assert ("before1" in tasks, '<Image name="before1" value="$before1"' in config) == (seen, seen)
        assert len(list(Path("tasks", name).glob("*-before1.jpg"))) == (6 if seen else 0)


def test_pictures_before_are_on_site_and_in_show() -> None:
    shown = limner("show", "mine", "q0", "--format", "json").json()
    (sha256,) = shown["inputs"]
    assert [drawing["image"] for drawing in shown["drawings"]] == [sha256]
    assert Path(shown["input_paths"][0]).read_bytes() == picture(0)
    assert f"input picture: {shown['input_paths'][0]}" in " ".join(limner("show", "mine", "q0").out.split())
    limner("report", "mine", "-o", "site")
    question = next(file for file in Path("site").rglob("q/*.js") if sha256 in file.read_text("utf-8"))
    assert f'"inputs":[{{"sha":"{sha256}","large":"png"}}]' in question.read_text("utf-8")


def _said(people: dict[str, tuple[list[int], int]], question: str, field: str) -> int:
    points, scale = people[question]
    return scale if field == "consistency" else points[int(field.partition("/")[2]) - 1]


def test_pictures_are_shown_in_order(tmp_path: Path) -> None:
    from limner.core.asks import Picture, Text
    from limner.exams import kind, read
    from limner.judges import make_variant

    exam = read(resolve(str(write_exam(tmp_path / "again"))))
    mine = kind("mine")
    (ask,) = mine.protocol.asks(exam.questions[0], "d" * 64, {}, make_variant(mine, None, {}))
    first, before, words, after = ask.shown
    assert isinstance(first, Text)
    assert "Paint thing 0 red." in first.text
    assert "1. Is part 1 red?\n2. Is part 2 red?" in first.text
    assert before == Picture(str(exam.questions[0].inputs[0].sha256))
    assert (words, after) == (Text("After:"), Picture("d" * 64))


def test_changed_scores_apply_to_stored_marks_and_changed_criteria_do_not(tmp_path: Path) -> None:
    """Another weight is free; another scale is another way of asking, so its marks never mix with the old ones."""
    run = ("run", "./my_exam/exam.toml", "--painter", PAINTER, "--judge", "replay/replies.jsonl")
    write_exam(tmp_path / "my_exam", TOML.replace("points = 0.7", "points = 0.2"))
    limner(*run)
    (row,) = limner("scores", "mine", "--format", "json").json()
    assert row["scores"]["relaxed"]["value"] < by_hand(ANSWERS)["relaxed"]
    write_exam(tmp_path / "my_exam", TOML.replace("rest of the picture", "background"))
    limner(*run)
    assert f"criteria {row['setup']['asked'][:4]} " in limner("scores", "mine").out
    rows = limner("scores", "mine", "--format", "json").json()
    assert len({each["setup"]["asked"] for each in rows}) == len(rows) == 2


def test_name_of_installed_exam_is_refused(tmp_path: Path) -> None:
    path = write_exam(tmp_path / "my_exam", TOML.replace('"mine"', '"genexam"'))
    with pytest.raises(DataError, match="an installed exam is called genexam"):
        resolve(str(path))


def test_files_in_a_store_never_replace_an_installed_exam(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limner.core.exam._OWN_EXAMS", {})
    know_exam("genexam", {"exam.toml": TOML})
    assert kind("genexam").files is None


def test_stored_file_names_cannot_leave_folder() -> None:
    from limner.core.errors import StoreError
    from limner.exams.rubric import open_stored

    with pytest.raises(StoreError, match="has a file with the name"):
        open_stored({"../evil.md": "x"})


def test_data_that_does_not_fit_is_named(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "scoring_points": [{"question": "?", "score": "heavy"}]}, {**ROWS[1], "scoring_points": []}]
    path = write_exam(tmp_path / "my_exam", rows=rows)
    said = limner("exam", "check", path, code=1)
    assert "edits.jsonl:1: id q0: scoring_points 1: 'score' must be a number from 0" in said.err
    assert json.dumps("q1") not in said.err
