"""Records of exams whose data exam.toml describes."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from limner.core import images
from limner.core.data_rows import TABLES, Problems
from limner.core.errors import DataError, LimnerError
from limner.exams.rubric.layout import DataLayout, Record, Records, read_list, read_records
from tests.support import picture


def write(path: Path, body: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(body, bytes):
        path.write_bytes(body)
    else:
        path.write_text(body if isinstance(body, str) else json.dumps(body, indent=1), "utf-8")
    return path


def read(folder: Path, **layout: Any) -> Records:
    problems = Problems()
    records = read_records(folder, DataLayout.model_validate(layout), problems)
    problems.settle()
    return records


def told(folder: Path, **layout: Any) -> list[str]:
    with pytest.raises(DataError) as caught:
        read(folder, **layout)
    return [line.strip().replace(f"{folder}/", "") for line in str(caught.value).splitlines()]


def ids(records: Records) -> list[str]:
    return [record.id for record in records.records]


def test_list_with_declared_columns(tmp_path: Path) -> None:
    rows = [
        {"prompt_id": 7, "Prompt": "Draw a bee.", "Explanation": "An insect.", "Category": "Nature", "extra": [1]},
        {"prompt_id": 8, "PROMPT": "Draw a hat.", "Explanation": "Worn.", "Category": ""},
    ]
    write(tmp_path / "merge.json", rows)
    write(tmp_path / "other.json", rows)
    records = read(tmp_path, data={"files": "merge.json"}, tags={"category": "category"}, columns={"id": "prompt_id"})
    assert records.records[0] == Record(
        id="7",
        prompt="Draw a bee.",
        tags={"category": "Nature"},
        fields={"Explanation": "An insect.", "Category": "Nature", "extra": [1]},
        file=tmp_path / "merge.json",
        line=2,
    )
    assert (records.records[1].prompt, records.records[1].tags, records.records[1].line) == ("Draw a hat.", {}, 11)
    assert records.records[0].field("explanation") == "An insect."
    assert records.unused(["explanation"]) == ["extra"]
    assert records.notes == []


def test_object_by_id_in_a_file_per_category(tmp_path: Path) -> None:
    write(tmp_path / "data" / "C-MI.json", {"C-MI-001": {"Prompt": "a", "Main Class": "x"}})
    write(tmp_path / "data" / "R-LR.json", {"R-LR-001": {"Prompt": "b"}})
    records = read(
        tmp_path, data={"files": ["data/{dimension}.json"]}, tags={"dimension": "dimension", "main": "Main Class"}
    )
    assert [(each.id, each.tags) for each in records.records] == [
        ("C-MI-001", {"dimension": "C-MI", "main": "x"}),
        ("R-LR-001", {"dimension": "R-LR"}),
    ]


def test_folder_per_category_with_pictures_beside_the_file(tmp_path: Path) -> None:
    for category in ("biology", "physics"):
        body = {
            "1": {"ori_img": "1.png", "gt_img": "", "ins_en": f"Edit {category}."},
            "2": {"ori_img": ["1.png", "2.png"], "gt_img": "1.png", "ins_en": "Mix."},
        }
        write(tmp_path / category / "annotation.json", body)
        write(tmp_path / category / "1.png", picture(len(category)))
    records = read(
        tmp_path,
        data={"files": "{category}/annotation.json"},
        columns={"id": ["category", "id"], "prompt": "ins_en", "inputs": "ori_img", "reference": "gt_img"},
        tags={"kind": {"column": "category", "names": {"bio*": "Life"}}},
    )
    assert ids(records) == ["biology/1", "biology/2", "physics/1", "physics/2"]
    first, second, third, _ = records.records
    assert [picture.path for picture in first.inputs] == [tmp_path / "biology" / "1.png"]
    assert (first.reference, [picture.name for picture in second.inputs]) == (None, ["1.png", "2.png"])
    assert second.reference is not None
    assert second.reference.path == tmp_path / "biology" / "1.png"
    assert second.field("gt_img") == "1.png"
    assert (first.tags, third.tags) == ({"kind": "Life"}, {"kind": "physics"})
    assert records.notes == ["2 of 6 input pictures are absent: those questions cannot be drawn (first: 2.png)"]


def test_ids_used_twice_are_reported_with_their_places(tmp_path: Path) -> None:
    for category in ("biology", "physics"):
        write(tmp_path / category / "annotation.json", {"1": {"prompt": "a"}})
    assert told(tmp_path, data={"files": "{category}/annotation.json"}) == [
        "physics/annotation.json:2: id 1: this id is already used in biology/annotation.json:2; "
        "it may be made of several columns"
    ]


def test_rows_without_id_are_numbered_and_files_of_one_record_named(tmp_path: Path) -> None:
    write(tmp_path / "nature" / "Physics.json", [{"prompt": "a"}, {"prompt": "b"}])
    assert ids(read(tmp_path)) == ["nature/Physics_1", "nature/Physics_2"]
    write(tmp_path / "one.json", {"prompt": "c", "points": {}})
    assert ids(read(tmp_path)) == ["nature/Physics_1", "nature/Physics_2", "one"]
    assert ids(read(tmp_path / "nature" / "Physics.json")) == ["Physics_1", "Physics_2"]


def test_parquet_with_images(tmp_path: Path) -> None:
    pictures = [{"bytes": picture(n), "path": f"{n}.png"} for n in range(3)]
    polars.DataFrame(
        {"Index": ["a", "b"], "instruction": ["x", "y"], "source": [pictures[:2], pictures[2:]], "target": pictures[:2]}
    ).write_parquet(tmp_path / "a.parquet")
    records = read(tmp_path, columns={"inputs": "source", "reference": "target"})
    first, second = records.records
    assert [image.read() for image in first.inputs] == [picture(0), picture(1)]
    assert [image.name for image in first.inputs] == ["a/source/1", "a/source/2"]
    assert second.inputs[0].sha256 == records.records[1].inputs[0].sha256
    assert first.reference is not None
    assert first.reference.read() == picture(0)
    assert first.fields == {"source": ["picture"] * 2, "target": "picture"}
    assert records.unused([]) == []
    assert read(tmp_path).unused([]) == ["source", "target"]


def test_columns_of_the_command_line_count_first(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "id,T2I_Prompt,Questions\n1,Draw.,one\n")
    layout = DataLayout.model_validate({"columns": {"prompt": "prompt"}})
    problems = Problems()
    renamed = layout.with_columns({"prompt": "t2i_prompt", "checklist": "questions"})
    (record,) = read_records(tmp_path, renamed, problems).records
    assert (record.prompt, record.fields, problems.found) == ("Draw.", {"checklist": "one"}, [])
    read_records(tmp_path, layout, problems)
    assert str(problems.found[0]).endswith(
        "a.csv:2: id 1: no text in column 'prompt'; the columns are id, T2I_Prompt, Questions"
    )


def test_declared_columns_that_no_row_has_are_listed(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "id,prompt\n1,Draw.\n")
    columns = {"inputs": ["photo"], "points": "Points", "ignore": "x"}
    absent = read(tmp_path, columns=columns, tags={"level": "meta.level"}).absent
    assert dict(absent).keys() == {("tags", "level"), ("columns", "inputs"), ("columns", "points")}
    message = "no row has a column 'photo'; there are: id, prompt. If data may lack it, write 'photo?'"
    assert dict(absent)["columns", "inputs"] == message


def test_columns_with_question_mark_may_be_absent(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "id,prompt,photo\n1,Draw.,x.png\n")
    records = read(tmp_path, columns={"inputs": "PHOTO?", "reference": "target?"}, tags={"level": "level?"})
    assert records.notes == ["1 of 1 input pictures are absent: those questions cannot be drawn (first: x.png)"]
    assert records.absent == []
    assert (records.records[0].inputs[0].name, records.unused([])) == ("x.png", [])


def test_pictures_beyond_the_limits_count_as_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MAX_PIXELS", 10)
    write(tmp_path / "x.png", picture(1))
    polars.DataFrame({"id": ["a"], "prompt": ["b"], "image": [picture(2)], "path": ["x.png"]}).write_parquet(
        tmp_path / "a.parquet"
    )
    records = read(tmp_path, columns={"inputs": ["image", "path"]})
    assert [picture.read() for picture in records.records[0].inputs] == [None, None]
    assert records.notes[0].startswith("image a/image: ")
    assert records.notes[0].endswith("; it counts as absent")
    assert records.notes[2] == "2 of 2 input pictures are absent: those questions cannot be drawn (first: a/image)"


def test_values_inside_objects(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [{"id": 1, "prompt": "a", "meta": {"Level": 3}, "info": '{"x": "y"}'}])
    (record,) = read(tmp_path, tags={"level": "META.level", "x": "info.x"}).records
    assert record.tags == {"level": "3", "x": "y"}


def test_every_bad_record_is_reported_and_the_others_read(tmp_path: Path) -> None:
    (tmp_path / "words.png").write_text("words")
    deep: Any = "x"
    for _ in range(60):
        deep = [deep]
    rows: list[Any] = [
        {"id": 1, "prompt": "good"},
        {"id": 2, "prompt": ""},
        {"id": "a//b", "prompt": "x"},
        {"id": ["x"], "prompt": "x"},
        {"id": 5, "prompt": "x", "image": "../out.png"},
        {"id": 6, "prompt": "x", "image": "words.png"},
        {"id": 7, "prompt": "x", "image": 3},
        {"id": 8, "prompt": "\ud800"},
        {"id": 9, "prompt": "x", "more": deep},
        {"id": 10, "prompt": "x", "more": float("inf")},
        {"id": 11, "prompt": "x", "image": ["a.png", "b.png"]},
        7,
    ]
    write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))
    problems = Problems()
    records = read_records(tmp_path, DataLayout(columns={"reference": ("image",)}), problems)
    assert ids(records) == ["1"]
    lines = {problem.line: problem.message for problem in problems.found}
    assert len(problems.found) == len(lines) == len(rows) - 1
    assert lines[2] == "no text in column 'prompt'; the columns are id, prompt"
    assert "no empty part" in lines[3]
    assert lines[4] == "expected a text or a number, not list"
    assert lines[5].startswith("image path '../out.png' leaves the folder")
    assert "words.png: not an image" in lines[6]
    assert lines[7] == "7/image: expected the path of a picture, not int"
    assert lines[8] == "a text contains half of a surrogate pair"
    assert lines[9] == "nested more than 50 deep"
    assert lines[10] == "expected texts and numbers, not inf"
    assert lines[11] == "it has 2 reference pictures; there may be one"
    assert lines[12] == "expected a JSON object, not int"


def test_no_path_leaves_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    write(tmp_path / "secret.json", [{"id": 1, "prompt": "secret"}])
    write(tmp_path / "pictures" / "x.png", picture(1))
    write(folder / "a.json", [{"id": 1, "prompt": "x", "image": "x.png", "part": ".."}])
    (folder / "linked").symlink_to(tmp_path / "pictures")
    for name in ("linked", "../pictures", "{part}/pictures", str(tmp_path)):
        with pytest.raises((DataError, ValidationError), match="leaves the"):
            read(folder, data={"images": name}, columns={"reference": "image"})
    for pattern in ("../*.json", "/etc/*.json", ""):
        with pytest.raises(ValidationError, match="leaves the data folder"):
            DataLayout.model_validate({"data": {"files": pattern}})
    (folder / "b.json").symlink_to(tmp_path / "secret.json")
    assert told(folder) == [f"b.json: leads out of the folder {folder} through a link"]


def test_invalid_layouts_are_refused() -> None:
    for layout, words in {
        '{"columns": {"prompt": ["a", "b"]}}': "prompt: expected the name of one column",
        '{"data": {"files": "{1}.json"}}': "bad character in group name",
        '{"data": {"files": "{a}/{a}.json"}}': "redefinition of group name",
        '{"data": {"pattern": "x"}}': "Extra inputs",
    }.items():
        with pytest.raises(ValidationError, match=words):
            DataLayout.model_validate_json(layout)


def test_empty_folder_is_reported(tmp_path: Path) -> None:
    assert told(tmp_path) == [f"{tmp_path}: no file fits a name that ends in {', '.join(TABLES)}"]


def test_result_files_need_no_prompt(tmp_path: Path) -> None:
    write(tmp_path / "a.json", {"x": {"score": 3}})
    (record,) = read_records(tmp_path, DataLayout(), Problems(), prompts=False).records
    assert (record.id, record.prompt, record.fields) == ("x", "", {"score": 3})


LINES = st.lists(st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=9), min_size=1)


@given(LINES)
def test_checklists_are_the_same_in_every_form(entries: list[str]) -> None:
    keyed = {str(n): entry for n, entry in enumerate(entries)}
    forms = [entries, json.dumps(entries), keyed, json.dumps(keyed), "\n".join(f"- {each}" for each in entries)]
    assert all(read_list(form) == entries for form in forms)


@pytest.mark.parametrize("value", [None, 3, "[1, 2", "{'a': 1}"])
def test_what_is_no_checklist_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"expected a list|not JSON"):
        read_list(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "prompt", "image", "x", ""]), inner)
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=4) | JSON, st.sampled_from([None, (), ("id",), ("x", "id")]))
def test_hostile_data_gives_records_or_problems(body: Any, levels: tuple[str, ...] | None) -> None:
    with tempfile.TemporaryDirectory() as name:
        write(Path(name) / "a.json", json.dumps(body))
        layout = DataLayout.model_validate(
            {"data": {"levels": levels}, "columns": {"inputs": "image"}, "tags": {"x": "x"}}
        )
        problems = Problems()
        try:
            records = read_records(Path(name), layout, problems)
        except LimnerError:
            return
    assert records.records or problems.found
    assert len(set(ids(records))) == len(records.records)
    for record in records.records:
        json.dumps([record.prompt, record.tags, record.fields], allow_nan=False).encode()
