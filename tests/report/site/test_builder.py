"""The site's files, without a browser."""

from __future__ import annotations

import gc
import re
from pathlib import Path
from typing import Any

import pytest

from limner import api
from limner.core.errors import StoreError, UsageError
from limner.core.exam import Exam, Question
from limner.core.marks import Mark
from limner.exams.genexam.data import ScoringPointsRubric
from limner.report.site import build
from limner.report.site.judge_data import JudgeData
from limner.running.plan import marking_id, slot_id
from limner.scoring import Entry
from limner.store import Store
from limner.store.markings import Marking, save_marking
from limner.store.records import Drawing, add_exam, save_drawing, save_setup
from tests.cli.invoke import limner
from tests.report.site import hostile
from tests.report.site.conftest import Site
from tests.report.site.reading import keys, parts, question
from tests.report.tables import synthetic

PAGES = ("index", "questions", "gallery", "differences", "failures", "painter", "question")
RUBRIC = ScoringPointsRubric.model_validate({"scoring_points": [{"question": "Is it there?", "score": 1.0}]})


def tiny(
    store: Store, *, questions: int = 2, name: str = "mine", prompt: str = "Draw."
) -> list[Question[ScoringPointsRubric]]:
    """An exam with one drawing of its first question by one painter, unmarked."""
    found = [Question(f"q{n}", f"{prompt} {n}", RUBRIC, {"subject": "Art"}) for n in range(questions)]
    add_exam(store, Exam(name, "genexam", tuple(found)))
    return found


def draw(
    store: Store, exam: str, one: Question[ScoringPointsRubric], number: int = 0, painter: str = "me", **more: Any
) -> Drawing:
    sha256, info = store.blobs.put(hostile.picture(number))
    id = slot_id(exam, one.hash, painter, "direct", {}, 0)
    drawing = Drawing(
        id, exam, one.id, one.hash, painter, f"folder/home/{painter}", "direct", 0, "done", image=sha256,
        width=info.width, height=info.height, **more,
    )  # fmt: skip
    save_drawing(store, drawing).result()
    return drawing


def mark(store: Store, drawing: Drawing, value: int, judge: str = "j", repeat: int = 0) -> None:
    save_setup(store, f"setup of {judge}", {"judge": judge, "variant": "release"})
    id = marking_id(drawing.id, drawing.question_hash, drawing.image, f"setup of {judge}", repeat)
    marks = [Mark("point/1", value, "because"), *(Mark(name, 2) for name in ("spelling", "readability", "logic"))]
    head = (id, drawing.id, drawing.question_hash, drawing.image, f"setup of {judge}", repeat, "done")
    save_marking(store, Marking(*head, marks=[one.to_json() for one in marks])).result()


@pytest.mark.slow
def test_numbers_match_scores_command(site: Site) -> None:
    (exam,) = parts(site.data(), "exam")
    with Store(site.store, create=False) as store:
        wanted = api.scores("genexam", store=store)
    for standing in wanted:
        way = next(way for way in exam["ways"] if way["name"] == standing.evaluator.name)
        place = [(p["name"], p["strategy"]) for p in exam["painters"]].index((standing.painter, standing.strategy))
        row = next(row for row in way["rows"] if row["p"] == place)
        assert (row["n"], row["coverage"], row["failures"]) == (standing.n, standing.coverage, dict(standing.failures))
        assert row["place"] == standing.place
        for name, interval in standing.all.scores.items():
            shown = row["views"]["all"]["scores"].get(name)
            assert (shown[0] if shown else None) == (None if interval.value is None else round(interval.value, 6))
        assert standing.common is not None
        assert row["views"]["common"]["n"] == standing.common.n
        least = standing.pessimistic.value("relaxed")
        assert least is not None
        assert row["views"]["pessimistic"]["scores"]["relaxed"][0] == round(least, 6)
    assert exam["ways"][0]["lead"] == "strict"
    places = [row["ranks"]["relaxed"] for row in exam["ways"][0]["rows"] if row["ranks"]]
    assert all(1 <= low <= high <= 8 for low, high in places)


@pytest.mark.slow
def test_question_data_has_every_drawing_mark_step_and_box(site: Site) -> None:
    data = site.data()
    found = keys(data)
    assert len(found) == 12
    first = question(data, next(iter(found.values())))
    assert len(first["question"]) == 1
    assert len(first["drawing"]) == 8
    done = [one for one in first["drawing"] if one["status"] == "done"]
    marked = {(one["d"], one["way"], one["repeat"]) for one in first["marking"]}
    assert marked == {(one["d"], way, repeat) for one in done for way in (0, 1) for repeat in (0, 1)}
    criteria = first["question"][0]["criteria"]
    for marking in first["marking"]:
        if marking["status"] == "done":
            assert [row[0] for row in marking["marks"]] == list(range(len(criteria)))
            assert all(row[3] == "abstain" for row in marking["marks"] if row[1] is None)
    (stepped,) = [one for one in first["drawing"] if one["steps"]]
    draft, critique = stepped["steps"]
    assert (draft["step"], draft["images"][0]["large"]) == ("draft", "png")
    assert (critique["text"], critique["images"]) == ("The stem is bent.", [])
    assert {box["sort"] for box in first["boxes"]} == {"ocr", "regions"}
    boxes = parts(data, f"boxes/{next(iter(found.values()))}")
    assert [line[1] for line in boxes[0]["boxes"]] == ["Petal", "Sepal"]


@pytest.mark.slow
def test_lists_painters_and_pictures_are_consistent(site: Site) -> None:
    data = site.data()
    (exam,), (drawings,) = parts(data, "exam"), parts(data, "drawings/0")
    assert exam["counts"]["drawings"] == len(drawings["d"]) == 96
    shown = {image for image in drawings["image"] if image}
    assert all((site.folder / "thumbs" / image[:2] / f"{image}.jpg").exists() for image in shown)
    assert {path.stem for path in (site.folder / "images").glob("*/*")} >= shown
    failures = [row for part in parts(data, "failures") for row in part["rows"]]
    assert len(failures) == exam["counts"]["failures"] > 0
    assert {row[0] for row in failures} == {"drawing", "marking"}
    (differences,) = parts(data, "differences")
    assert exam["counts"]["differences"] == len(differences["rows"]) > 0
    found = api.agree(exam["name"], store=site.store)
    first, second = (way["name"] for way in exam["ways"])
    numbers = [found.number(first, second, measure, "all") for measure in ("accuracy", "kappa")]
    flips = {rater.name: rater.flips for rater in found.raters}
    assert {tuple(pair["ways"]): (pair["both"], pair["same"], pair["kappa"]) for pair in differences["agreement"]} == {
        (0, 0): (flips[first].n, pytest.approx(1 - (flips[first].rate.value or 0)), None),
        (0, 1): (numbers[0].n, numbers[0].value, numbers[1].value) if numbers[0] and numbers[1] else None,
        (1, 1): (flips[second].n, pytest.approx(1 - (flips[second].rate.value or 0)), None),
    }
    for painter in exam["painters"]:
        head, *ways = parts(data, f"painters/{painter['key']}")
        assert exam["painters"][head["painter"]] == painter
        assert [way["way"] for way in ways] == [0, 1]
        assert ways[0]["by"].keys() == {"subject", "difficulty", "img_type", "taxonomy2"}
        assert all(sort["examples"] for sort in ways[0]["faults"] if sort["failed"])
    assert exam["published"] > 0
    (by,) = parts(data, "by")
    assert set(by) == set(exam["by"])


def test_store_with_unmarked_drawings_only(tmp_path: Path, store: Store) -> None:
    one, _ = tiny(store)
    draw(store, "mine", one)
    built = build(tmp_path / "out", store=store)
    assert (built.exams, built.drawings, built.pictures) == (1, 1, 1)
    data = tmp_path / "out" / "exams" / "mine" / "data"
    (exam,) = parts(data, "exam")
    assert exam["ways"] == []
    assert exam["painters"][0]["spec"] == "folder", "no path of the machine it was drawn on"
    assert parts(data, "drawings/0")[0]["met"] == []
    for page in PAGES:
        assert (tmp_path / "out" / "exams" / "mine" / f"{page}.html").is_file()


def test_marks_of_an_older_version_keep_their_own_criteria(tmp_path: Path, store: Store) -> None:
    (old,) = tiny(store, questions=1, prompt="Draw the old way.")
    mark(store, draw(store, "mine", old), 1)
    tiny(store, questions=1, prompt="Draw the new way.")
    build(tmp_path / "out", store=store)
    data = tmp_path / "out" / "exams" / "mine" / "data"
    found = question(data, keys(data)["q0"])
    assert found["question"][0]["prompt"] == "Draw the new way. 0"
    assert found["version"][0]["prompt"] == "Draw the old way. 0"
    assert found["marking"][0]["version"] == found["version"][0]["hash"] == old.hash[:12]


def test_failed_drawing_is_listed_as_failure_without_mark(tmp_path: Path, store: Store) -> None:
    one, other = tiny(store)
    mark(store, draw(store, "mine", one), 1)
    id = slot_id("mine", other.hash, "me", "direct", {}, 0)
    failed = Drawing(id, "mine", "q1", other.hash, "me", "x", "direct", 0, "failed", fault="refusal", detail="No.")
    save_drawing(store, failed).result()
    absent = slot_id("mine", other.hash, "control", "direct", {}, 0)
    none = Drawing(
        absent, "mine", "q1", other.hash, "c", "control/x", "direct", 0, "not_applicable", fault="not_applicable"
    )
    save_drawing(store, none).result()
    build(tmp_path / "out", store=store)
    data = tmp_path / "out" / "exams" / "mine" / "data"
    (failures,) = parts(data, "failures")
    assert [(row[0], row[6], row[7]) for row in failures["rows"]] == [("drawing", "refusal", "No.")]
    (row,) = parts(data, "exam")[0]["ways"][0]["rows"]
    assert (row["coverage"], row["failures"]) == (0.5, {"refusal": 1})


def test_rebuild_reuses_pictures_and_removes_stale_files(tmp_path: Path, store: Store) -> None:
    one, other = tiny(store)
    drawing = draw(store, "mine", one)
    out = tmp_path / "out"
    assert build(out, store=store).pictures == 1
    mark(store, drawing, 1)
    draw(store, "mine", other, 5)
    assert build(out, store=store).pictures == 1
    assert parts(out / "exams" / "mine" / "data", "exam")[0]["counts"]["drawings"] == 2
    tiny(store, name="later")
    build(out, ["later"], store=store, images=False)
    assert [path.name for path in (out / "exams").iterdir()] == ["later"]
    assert not list(out.glob("images/*/*"))
    assert not list(out.rglob(".data")) + list(out.rglob(".part-*"))


def test_folder_with_other_contents_is_not_overwritten(tmp_path: Path, store: Store) -> None:
    tiny(store)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("all of it")
    with pytest.raises(UsageError, match="precious: contains files that are not a Limner site"):
        build(tmp_path / "precious", store=store)
    with pytest.raises(UsageError, match="not a Limner site"):
        build(tmp_path / "precious" / "thesis.txt", store=store)
    assert [path.name for path in (tmp_path / "precious").iterdir()] == ["thesis.txt"]


def test_unreadable_image_is_reported_on_its_page(tmp_path: Path, store: Store) -> None:
    one, _ = tiny(store)
    drawing = draw(store, "mine", one)
    (blob,) = (tmp_path / "store" / "blobs").glob("*/*")
    blob.write_bytes(b"\x89PNG\r\n\x1a\n broken")
    built = build(tmp_path / "out", store=store)
    assert list(built.unshown) == [drawing.image]
    data = tmp_path / "out" / "exams" / "mine" / "data"
    assert "wrong" in question(data, keys(data)["q0"])["drawing"][0]["image"]
    assert parts(data, "drawings/0")[0]["image"] == [0]


def test_an_empty_store_is_reported(tmp_path: Path, store: Store) -> None:
    with pytest.raises(StoreError, match="no exam yet"):
        build(tmp_path / "out", store=store)


def test_report_command_builds_site(tmp_path: Path, store: Store) -> None:
    one, _ = tiny(store)
    mark(store, draw(store, "mine", one), 1)
    result = limner("report", "-o", tmp_path / "out", "mine", "--store", tmp_path / "store", "--no-images")
    assert re.search(r"index\.html: 1 exam, 1 drawing, 1 new picture, [\d.]+ s", result.out)
    assert not (tmp_path / "out" / "images").exists()
    limner("report", "--store", tmp_path / "store", code=2)
    assert "no store" in limner("report", "-o", tmp_path / "x", "--store", tmp_path / "nowhere", code=1).err


PAINTERS, QUESTIONS = 3, 40


def filled(folder: Path) -> Path:
    """A store in which every mark has a reason."""
    with Store(folder) as store:
        synthetic.fill(store, "genexam", painters=PAINTERS, questions=QUESTIONS, images=False, faults=False)
    return folder


def alive() -> list[Entry]:
    gc.collect()
    return [each for each in gc.get_objects() if type(each) is Entry]


def with_reasons() -> int:
    return sum(any(mark.reason for mark in entry.marks) for entry in alive())


def test_reasons_of_few_questions_are_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limner.report.site.judge_data.BATCH_DRAWINGS", 10)
    most, add, store = list[int](), JudgeData._entry, filled(tmp_path / "store")
    before = with_reasons()  # Of other tests in the same process.

    def watched(self: JudgeData, *given: Any) -> None:
        add(self, *given)
        if given[1].number % 40 == 0:
            most.append(with_reasons() - before)

    monkeypatch.setattr(JudgeData, "_entry", watched)
    build(tmp_path / "site", store=store)
    assert len(most) > 2
    assert 0 < max(most) <= 10 + 2 * PAINTERS
