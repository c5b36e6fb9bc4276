"""Answers go out and come in again the same, in every format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.errors import DataError, UsageError
from limner.store import Store
from limner.store.markings import load_comparisons, load_markings, load_ratings
from limner.store.records import load_drawings, load_setups
from limner.study.exchange import (
    COLUMNS,
    PAIRS,
    answer_rows,
    make_config,
    read_thing,
    write_annotations,
    write_answers,
    write_tasks,
)
from limner.study.import_answers import import_answers
from limner.study.open import open_study
from limner.study.records import load_answers, load_study
from tests.study.made import DESIGNS, PAINTER, answer, fill, make

FEW = {"repeats": 0.0, "attention": 0}
EACH = ["genexam", "mmmg", pytest.param("fepbench", marks=pytest.mark.slow), "aibench-pairs", "aibench-aesthetics"]


def results(store: Store, exam: str) -> dict[str, Any]:
    """Everything that a study left, without its times and ids."""
    who = {id: body["judge"] for id, body in load_setups(store).items()}
    marks = {
        (who[one.setup], one.drawing, one.repeat): {(m["criterion"], m["value"], m["reason"]) for m in one.marks or []}
        for one in load_markings(store, exam)
        if one.origin in ("study", "import")
    }
    rated = {(who[one.setup], one.drawing, one.scale, one.repeat, one.value) for one in load_ratings(store, exam)}
    chosen = {}
    for one in load_comparisons(store, exam):
        sides = {"first": one.first, "second": one.second}
        said = (sides.get(one.choice or "", one.choice), sides.get(one.shown_first or ""))
        chosen[who[one.setup], frozenset(sides.values()), one.repeat] = said
    return {"marks": marks, "rated": rated, "chosen": chosen}


@pytest.fixture
def two(tmp_path: Path) -> Any:
    with Store(tmp_path / "one") as one, Store(tmp_path / "two") as two:
        yield one, two


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("design", EACH)
def test_export_and_import_round_trip(two: Any, tmp_path: Path, design: str, form: str) -> None:
    exam = DESIGNS[design]
    for store in two:
        fill(store, exam, questions=4, judges=())
    make(two[0], design, people=2, changes={"raters": 2, "attention": 3, "repeats": 0.2})
    study = answer(two[0])
    file = tmp_path / f"answers.{form}"
    file.write_text(write_answers(answer_rows(study), study.design.unit == "pair", form), "utf-8")
    report = import_answers(two[1], "elsewhere", file)
    assert report.partial == 0
    assert report.raters == 2
    assert load_study(two[1], "elsewhere").status == "imported"
    assert results(two[1], exam) == results(two[0], exam)
    # And again from there: nothing is lost on the way, and coming in twice changes nothing.
    again = write_answers(answer_rows(open_study(two[1], "elsewhere")), study.design.unit == "pair", form)
    assert sorted(again.splitlines()) == sorted(file.read_text("utf-8").splitlines())
    before = len(load_answers(two[1], "elsewhere"))
    import_answers(two[1], "elsewhere", file)
    assert len(load_answers(two[1], "elsewhere")) == before


@pytest.mark.slow
@pytest.mark.parametrize("design", EACH)
def test_label_studio_export_and_import_round_trip(two: Any, tmp_path: Path, design: str) -> None:
    exam = DESIGNS[design]
    for store in two:
        fill(store, exam, questions=3, judges=())
        make(store, design, raters=["anna", "ben"], changes={"raters": 2} | FEW)
    study = answer(two[0])
    file = tmp_path / "annotations.json"
    file.write_text(write_annotations(study), "utf-8")
    report = import_answers(two[1], "pilot", file)
    assert report.partial == 0
    found, wanted = results(two[1], exam), results(two[0], exam)
    assert found["marks"] == wanted["marks"]
    assert found["rated"] == wanted["rated"]
    assert {key: said for key, (said, _) in found["chosen"].items()} == {
        k: said for k, (said, _) in wanted["chosen"].items()
    }
    assert bool(found["chosen"]) == (design == "aibench-pairs")


def test_exported_columns_match_specification(store: Store) -> None:
    fill(store, "genexam", judges=())
    make(store, changes=FEW | {"size": 2})
    study = answer(store)
    rows = list(csv.DictReader(io.StringIO(write_answers(answer_rows(study), False, "csv"))))
    assert (
        ",".join(rows[0]) == ",".join(COLUMNS) == "rater,exam,id,painter,strategy,seed,criterion,value,reason,seconds"
    )
    assert {row["criterion"] for row in rows} >= {"overall", "point/1", "spelling"}
    assert {row["painter"] for row in rows} == {PAINTER}
    assert ",".join(PAIRS) == "rater,exam,id,first,second,choice,shown_first"


def write(tmp_path: Path, text: str, name: str = "file.csv") -> Path:
    (tmp_path / name).write_text(text, "utf-8")
    return tmp_path / name


def test_strategy_and_seed_are_optional_if_one_drawing_matches(store: Store, tmp_path: Path) -> None:
    fill(store, "genexam", judges=())
    id = next(one.question_id for one in load_drawings(store, "genexam", PAINTER) if one.status == "done")
    text = f"rater,exam,id,painter,criterion,value\nanna,genexam,{id},{PAINTER},overall,7.5\n"
    report = import_answers(store, "elsewhere", write(tmp_path, text))
    assert (report.answers, report.done) == (1, 1)
    (found,) = load_ratings(store, "genexam", "elsewhere")
    assert (found.value, found.scale) == (7.5, "overall")


def test_row_must_name_strategy_if_there_are_two(store: Store, tmp_path: Path) -> None:
    fill(store, "genexam", judges=(), strategies=("direct", "edit"))
    id = next(one.question_id for one in load_drawings(store, "genexam", PAINTER) if one.status == "done")
    head = "rater,exam,id,painter,strategy,criterion,value\n"
    with pytest.raises(DataError, match="specify strategy and seed"):
        import_answers(store, "elsewhere", write(tmp_path, f"{head}anna,genexam,{id},{PAINTER},,overall,7\n"))
    import_answers(store, "elsewhere", write(tmp_path, f"{head}anna,genexam,{id},{PAINTER},edit,overall,7\n"))


def test_incomplete_form_is_kept_and_counts_once_complete(store: Store, tmp_path: Path) -> None:
    fill(store, "genexam", judges=())
    make(store, changes=FEW)
    study = open_study(store, "pilot")
    item = study.items[1]
    names = [one.name for one in study.item_form(1)]
    head = "rater,exam,id,painter,criterion,value\n"
    row = f"anna,genexam,{item.question_id},{PAINTER}"
    lines = [f"{row},{name},1" for name in names]
    report = import_answers(store, "elsewhere", write(tmp_path, head + "\n".join(lines[:-1])))
    assert (report.done, report.partial) == (0, 1)
    assert "readability" in report.details[0]
    assert [one for one in load_markings(store, "genexam") if one.origin == "import"] == []
    report = import_answers(store, "elsewhere", write(tmp_path, head + lines[-1]))
    assert (report.done, report.partial) == (1, 0)
    (found,) = [one for one in load_markings(store, "genexam") if one.origin == "import"]
    assert len(found.marks or []) == len(names) - 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("anna,genexam,nowhere,x,overall,1", "id nowhere: no drawing by 'x'"),
        ("anna,genexam,{id},nobody,overall,1", "no drawing by 'nobody'; this question was drawn by: "),
        ("anna,genexam,{id},{painter},point/1,7", "point/1: 7 is not one of 1, 0"),
        ("anna,genexam,{id},{painter},overall,good", "not a number"),
        (",genexam,{id},{painter},overall,1", "no rater"),
        ("anna,genexam,{id},{painter},overall,1,2", "more cells than columns"),
    ],
)
def test_mismatched_rows_are_reported_with_line_number(store: Store, tmp_path: Path, rows: str, message: str) -> None:
    fill(store, "genexam", judges=())
    id = next(one.question_id for one in load_drawings(store, "genexam", PAINTER) if one.status == "done")
    text = "rater,exam,id,painter,criterion,value\n" + rows.format(id=id, painter=PAINTER)
    with pytest.raises(DataError, match=r"file\.csv:2") as caught:
        import_answers(store, "elsewhere", write(tmp_path, text))
    assert message in str(caught.value)
    assert load_answers(store, "elsewhere") == []


def test_file_of_another_exam_or_format_is_refused(store: Store, tmp_path: Path) -> None:
    fill(store, "genexam", judges=())
    fill(store, "mmmg", judges=())
    make(store, changes=FEW)
    id = next(one.question_id for one in load_drawings(store, "mmmg") if one.status == "done")
    text = f"rater,exam,id,painter,criterion,value\nanna,mmmg,{id},{PAINTER},overall,1\n"
    with pytest.raises(UsageError, match="is of genexam, but the file is of mmmg"):
        import_answers(store, "pilot", write(tmp_path, text))
    with pytest.raises(DataError, match="column rater is missing"):
        import_answers(store, "x", write(tmp_path, "who,exam\nanna,genexam\n"))
    with pytest.raises(DataError, match="no row"):
        import_answers(store, "x", write(tmp_path, "rater,exam,id,painter,criterion,value\n"))


@pytest.mark.slow
def test_tasks_do_not_reveal_painters(store: Store, tmp_path: Path) -> None:
    fill(store, "aibench", judges=())
    make(store, "aibench-pairs", changes=FEW)
    study = open_study(store, "pilot")
    folder = tmp_path / "pictures"
    text = write_tasks(study, folder)
    tasks = json.loads(text)
    assert len(tasks) == len(study.items)
    assert len(list(folder.glob("*.jpg"))) == 2 * len(tasks)
    everything = text + (folder / "config.xml").read_text("utf-8")
    for drawing in study.drawings.values():
        for word in (drawing.painter, drawing.id, drawing.image, drawing.spec):
            assert str(word) not in everything
    assert {tuple(task["data"]["order"]) for task in tasks} == {(0, 1), (1, 0)}
    assert "<Choices" in make_config(study)


@given(st.text(min_size=1), st.text(alphabet=st.characters(exclude_characters="()")))
def test_listed_item_is_parsed_back(item: str, place: str) -> None:
    item, place = item.strip(), place.strip()
    if item and place:
        assert read_thing(f"{item} ({place})") == (item, place)


def test_pairs_of_painter_with_several_strategies_are_imported(two: Any, tmp_path: Path) -> None:
    for store in two:
        fill(store, "aibench", questions=3, painters=2, judges=(), strategies=("direct", "rewrite"), faults=False)
    make(two[0], "aibench-pairs", people=1, changes={"raters": 1, **FEW})
    study = answer(two[0])
    file = tmp_path / "pairs.csv"
    file.write_text(write_answers(answer_rows(study), True, "csv"), "utf-8")
    assert "openai/gpt-image-1 + rewrite" in file.read_text("utf-8")
    report = import_answers(two[1], "elsewhere", file)
    assert (report.partial, report.items) == (0, len(study.items))
    assert results(two[1], "aibench") == results(two[0], "aibench")
