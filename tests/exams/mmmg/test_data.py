"""MMMG's reader: Parquet and JSON lines, whole or named by file, line and key."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import polars
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from limner.core.errors import DataError, UsageError
from limner.core.exam import Exam
from limner.exams.mmmg.data import LEVELS, GraphRubric, read
from limner.store import Store
from limner.store.records import add_exam, load_exam
from tests.support import picture

GRAPH = {"elements": ["boiler", "steam"], "dependencies": ["Causes(boiler, steam)"]}
ROW: dict[str, Any] = {
    "key": "highschool_Engineering_1",
    "Education": "highschool",
    "prompt": "Draw a power plant.",
    "Knowledge_Graph": json.dumps(GRAPH),
    "Annotation": "A boiler makes steam.",
}


def changed(**fields: Any) -> dict[str, Any]:
    row = copy.deepcopy(ROW) | fields
    return {key: value for key, value in row.items() if value is not ...}


def knowledge(**fields: Any) -> dict[str, Any]:
    return changed(key="highschool_Engineering_2", Knowledge_Graph=json.dumps(GRAPH | fields))


def write(folder: Path, *rows: dict[str, Any] | str | bytes, name: str = "data.jsonl") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        row if isinstance(row, bytes) else (row if isinstance(row, str) else json.dumps(row)).encode() for row in rows
    ]
    (folder / name).write_bytes(b"".join(line + b"\n" for line in lines))
    return folder / name


def test_full_row_is_read(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(picture(1))
    file = write(
        tmp_path, changed(image="images/a.png"), "", changed(key="PhD_Math_7", Education="PhD", Knowledge_Graph=GRAPH)
    )
    for place in (file, tmp_path):
        exam = read(place, "mine")
        assert (exam.name, exam.kind, exam.subsets) == ("mine", "mmmg", {})
        assert exam.notes == ("1 of 2 reference images are absent: controls skip those",)
        first, second = exam.questions
        assert (first.id, first.prompt) == ("highschool_Engineering_1", "Draw a power plant.")
        assert first.rubric == GraphRubric(
            elements=("boiler", "steam"), dependencies=("Causes(boiler, steam)",), annotation="A boiler makes steam."
        )
        assert first.tags == {
            "level": "highschool",
            "discipline": "Engineering",
            "level_discipline": "highschool_Engineering",
        }
        assert first.reference is not None
        assert first.reference.path == tmp_path / "images" / "a.png"
        assert (second.rubric.elements, second.reference) == (("boiler", "steam"), None)
        assert (second.tags["level"], second.tags["discipline"]) == ("PhD", "Math")


@pytest.mark.parametrize("level", LEVELS)
def test_levels_are_accepted_in_any_case_and_numbered(tmp_path: Path, level: str) -> None:
    numbered = f"{LEVELS.index(level)}_{level}"
    rows = [changed(key=f"x_Y_{n}", Education=name) for n, name in enumerate((level, level.upper(), numbered))]
    assert {question.tags["level"] for question in read(write(tmp_path, *rows)).questions} == {level}


def test_columns_are_accepted_in_any_case_and_under_other_names(tmp_path: Path) -> None:
    row = {
        "KEY": "a_B_1",
        "education": "PhD",
        "Question": "Draw.",
        "knowledge_graph": GRAPH,
        "annotation": {"x": ["y"]},
    }
    (question,) = read(write(tmp_path, row)).questions
    assert (question.prompt, question.rubric.annotation) == ("Draw.", '{"x": ["y"]}')
    row = changed(key="alone", Discipline="Physics", Annotation=...)
    (question,) = read(write(tmp_path, row)).questions
    assert (question.tags["discipline"], question.rubric.annotation) == ("Physics", "")


def test_duplicate_items_count_once(tmp_path: Path) -> None:
    row = knowledge(elements=["a", "b", "a", "A"], dependencies=["Causes(a, b)"] * 2)
    (question,) = read(write(tmp_path, row)).questions
    assert question.rubric.elements == ("a", "b", "A")
    assert question.rubric.dependencies == ("Causes(a, b)",)


def test_notes_list_unscored_dependencies(tmp_path: Path) -> None:
    rows = [
        knowledge(dependencies=["Causes(boiler,steam)"]),
        changed(key="a_B_1", Knowledge_Graph=json.dumps(GRAPH | {"dependencies": ["Causes(boiler, moon)"]})),
    ]
    _, lost, stops = read(write(tmp_path, *rows)).notes
    assert lost.startswith("1 dependencies name no entity of their graph")
    assert stops.startswith("the released scorer stops at 1 questions")
    assert stops.endswith("highschool_Engineering_2")


WRONG: dict[str, tuple[dict[str, Any] | str | bytes, str]] = {
    "key without a discipline": (changed(key="alone"), "id alone: the key has no discipline"),
    "no level": (changed(key="a_B_1", Education=...), "id a_B_1: education: Field required"),
    "unknown level": (
        changed(key="a_B_1", Education="kindergarten"),
        "no level 'kindergarten'; choose from: preschool",
    ),
    "graph that is no JSON": (changed(key="a_B_1", Knowledge_Graph="{'elements'"), "knowledge_graph: not JSON"),
    "graph too deep": (changed(key="a_B_1", Knowledge_Graph="[" * 100_000), "knowledge_graph: not JSON"),
    "no elements": (changed(key="a_B_1", Knowledge_Graph="{}"), "knowledge_graph.elements: Field required"),
    "empty element": (knowledge(elements=["a", ""]), "knowledge_graph.elements.1: "),
    "huge element": (knowledge(elements=["a", "x" * 5000]), "at most 1000"),
    "control character": (knowledge(elements=["b", "a\x1b[31m"]), r"U\+001B"),
    "dependencies of another type": (knowledge(dependencies="Causes(a, b)"), "knowledge_graph.dependencies: "),
    "image of another type": (changed(key="a_B_1", image=3), "image: expected a path"),
    "no image": (changed(key="a_B_1", image="data.jsonl"), "not an image"),
}


@pytest.mark.parametrize(("line", "message"), WRONG.values(), ids=WRONG)
def test_invalid_row_is_reported_with_line(tmp_path: Path, line: dict[str, Any] | str | bytes, message: str) -> None:
    file = write(tmp_path, ROW, line)
    with pytest.raises(DataError) as caught:
        read(tmp_path)
    assert re.search(message, str(caught.value))
    assert str(caught.value).startswith(f"{file}:2: ")
    assert len(str(caught.value)) < 1000


def test_missing_or_empty_data_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no question here"):
        read(tmp_path)
    with pytest.raises(DataError, match="no question here"):
        read(write(tmp_path, ""))
    with pytest.raises(DataError, match="cannot be read"):
        read(tmp_path / "nowhere.jsonl")


def parquet(file: Path, rows: list[dict[str, Any]], images: list[bytes | None] | None = None) -> Path:
    frame = polars.DataFrame(rows)
    if images is not None:
        kind = polars.Struct({"bytes": polars.Binary, "path": polars.String})
        cells = [None if data is None else {"bytes": data, "path": "a.png"} for data in images]
        frame = frame.with_columns(polars.Series("image", cells, dtype=kind))
    frame.write_parquet(file)
    return file


def test_parquet_with_embedded_images_is_read(tmp_path: Path) -> None:
    rows = [changed(key=f"highschool_Engineering_{n}") for n in range(3)]
    file = parquet(tmp_path / "test-00000-of-00001.parquet", rows, [picture(1), None, picture(2)])
    exam = read(tmp_path)
    assert exam.notes == ("1 of 3 reference images are absent: controls skip those",)
    assert [q.reference and q.reference.read() for q in exam.questions] == [picture(1), None, picture(2)]
    same = [q.rubric for q in read(write(tmp_path / "other", *rows)).questions]
    assert [q.rubric for q in read(file).questions] == same
    with Store(tmp_path / "store") as store:
        add_exam(store, exam)
        again = load_exam(store, "mmmg", GraphRubric)
        assert [q.hash for q in again.questions] == [q.hash for q in exam.questions]
        sha256 = again.questions[0].reference.sha256 if again.questions[0].reference else None
        assert sha256 is not None
        assert store.blobs.get(sha256) == picture(1)


def test_parquet_without_polars_names_extra_to_install(tmp_path: Path, no_polars: None) -> None:
    """Also where other files come first."""
    (tmp_path / "a.jsonl").write_text("no JSON", "utf-8")
    (tmp_path / "b.parquet").write_bytes(b"")
    for place in (tmp_path, tmp_path / "b.parquet"):
        with pytest.raises(UsageError, match=r"b\.parquet: a Parquet file needs polars; .* 'limner\[parquet\]'"):
            read(place)


def test_parquet_problems_name_row_and_key(tmp_path: Path) -> None:
    rows = [ROW, changed(key="a_B_1", Education="school"), changed(key="a_B_2")]
    file = parquet(tmp_path / "x.parquet", rows, [None, None, b"no image"])
    with pytest.raises(DataError) as caught:
        read(file)
    message = str(caught.value)
    assert f"{file}:2: id a_B_1: education: no level 'school'" in message
    assert f"{file}:3: id a_B_2: image a_B_2: not an image" in message


def test_parquet_with_image_paths_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture(1))
    (question,) = read(parquet(tmp_path / "x.parquet", [changed(image_path="a.png")])).questions
    assert question.reference is not None
    assert question.reference.path == tmp_path / "a.png"


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_corrupted_parquet_is_named(tmp_path: Path, data: st.DataObject) -> None:
    file = tmp_path / "x.parquet"
    whole = parquet(file, [ROW], [picture(1)]).read_bytes()
    at = data.draw(st.integers(0, len(whole)))
    file.write_bytes(
        data.draw(st.sampled_from([whole[:at], whole[:at] + b"\xff\0" + whole[at + 2 :], b"PAR1" + whole[at:]]))
    )
    found = attempt(file)
    assert isinstance(found, Exam) or (str(file) in str(found) and len(str(found)) < 1000)


def attempt(path: Path) -> Exam[GraphRubric] | DataError:
    try:
        return read(path)
    except DataError as error:
        return error
