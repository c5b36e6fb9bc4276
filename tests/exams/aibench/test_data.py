"""AIBench's reader: right data is read whole, wrong data is named by file, line and id, and nothing else happens."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from limner.core.errors import DataError
from limner.exams.aibench.data import read
from tests.exams.aibench.rows import CHECKLIST, ROW, item, write
from tests.support import picture

FILE = "AIBench.jsonl"


def changed(**fields: Any) -> dict[str, Any]:
    """The row with other fields; ``...`` takes one away."""
    row = copy.deepcopy(ROW) | fields
    return {key: value for key, value in row.items() if value is not ...}


def with_item(**fields: Any) -> dict[str, Any]:
    """The row with another first question."""
    first = {key: value for key, value in {**CHECKLIST[0], **fields}.items() if value is not ...}
    return changed(id="V/2", checklist=[first, *CHECKLIST[1:]])


@pytest.mark.parametrize("place", [".", FILE], ids=["folder", "file"])
def test_full_row_is_read_from_folder_or_file(tmp_path: Path, place: str) -> None:
    write(tmp_path / FILE, {**ROW, "image": "figures/a.png"}, "", changed(id="plain"))
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "a.png").write_bytes(picture(1))
    exam = read(tmp_path / place, "mine")
    assert (exam.name, exam.kind, exam.subsets) == ("mine", "aibench", {})
    first, second = exam.questions
    assert (first.id, first.prompt, dict(first.tags)) == (ROW["id"], ROW["method_text"], {"venue": "CVPR_2025"})
    assert [one.key for one in first.rubric.checklist] == [
        "component/1", "component/2", "topology/3", "phase/4", "semantics/5",
    ]  # fmt: skip
    assert [one.correct_option for one in first.rubric.checklist] == ["B", "A", "C", "D", "A"]
    assert first.reference is not None
    assert first.reference.path == tmp_path / "figures" / "a.png"
    assert (dict(second.tags), second.reference) == ({}, None)
    assert exam.notes == (
        "1 of 2 original figures are absent: those questions can be drawn and marked, controls made from the "
        "reference skip them",
    )


def test_options_may_be_list_of_one_mapping(tmp_path: Path) -> None:
    listed = [{**one, "options": [one["options"]]} for one in CHECKLIST]
    write(tmp_path / FILE, ROW, changed(id="V/listed", checklist=listed))
    plain, other = read(tmp_path).questions
    assert plain.rubric == other.rubric


def test_item_ids_may_be_numbers_or_words_and_restart_per_level(tmp_path: Path) -> None:
    checklist = [item("component", 1), item("topology", 1), item("topology", "1b"), item("phase", "p-2")]
    write(tmp_path / FILE, changed(checklist=checklist))
    (question,) = read(tmp_path).questions
    assert [one.key for one in question.rubric.checklist] == ["component/1", "topology/1", "topology/1b", "phase/p-2"]


def test_stray_control_characters_become_spaces(tmp_path: Path) -> None:
    # A model that writes "\\beta" into JSON with one backslash makes a backspace of it.
    first = {**CHECKLIST[0], "question": "Is \x08eta there?", "options": {"A": "\x0crac", "B": "Yes\x9d"}}
    write(tmp_path / FILE, changed(method_text="one\x0ctwo\tthree\nfour", checklist=[first]))
    (question,) = read(tmp_path).questions
    assert question.prompt == "one two\tthree\nfour"
    assert question.rubric.checklist[0].question == "Is  eta there?"
    assert question.rubric.checklist[0].options == {"A": " rac", "B": "Yes "}


@pytest.mark.parametrize(
    ("fields", "file"),
    [
        ({"image": "a.png"}, "a.png"),
        ({"image": "V/a.png"}, "images/V/a.png"),
        ({"image_url": "fig/a.jpg"}, "fig/a.jpg"),
        ({"image_url": "https://example.org/a.png"}, "images/CVPR_2025/2506.07857v1.png"),
        ({}, "images/CVPR_2025/2506.07857v1.jpeg"),
        ({"image": None, "image_url": None}, "images/CVPR_2025/2506.07857v1.webp"),
    ],
)
def test_figures_are_found_in_known_places(tmp_path: Path, fields: dict[str, Any], file: str) -> None:
    write(tmp_path / FILE, changed(**fields))
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_bytes(picture(2))
    exam = read(tmp_path)
    assert exam.questions[0].reference is not None
    assert (exam.questions[0].reference.path, exam.notes) == (tmp_path / file, ())


def test_figure_given_as_url_is_absent(tmp_path: Path) -> None:
    write(tmp_path / FILE, changed(image_url="https://example.org/a.png"))
    reference = read(tmp_path).questions[0].reference
    assert reference is not None
    assert (reference.name, reference.sha256) == ("https://example.org/a.png", None)


WRONG: dict[str, tuple[dict[str, Any] | str | bytes, str]] = {
    "no id": (changed(id=...), "id: Field required"),
    "no method": (changed(id="V/2", method_text=...), "id V/2: method_text: Field required"),
    "control character in a path": (changed(id="V/2", image="a\x0cb.png"), "the control character U\\+000C"),
    "empty checklist": (changed(id="V/2", checklist=[]), "checklist: .*at least 1 item"),
    "unknown level": (with_item(level="Level 5: Colour"), r"checklist\.0\.level: .*'Level 1: Component Existence'"),
    "one option": (with_item(options={"B": "Yes"}), r"checklist\.0\.options: .*at least 2 items"),
    "option beyond D": (with_item(options={"B": "Yes", "E": "No"}), r"checklist\.0\.options.E.*'C' or 'D'"),
    "two mappings": (with_item(options=[{"A": "No", "B": "Yes"}] * 2), r"checklist\.0\.options: "),
    "answer that is no option": (with_item(correct_option="C"), r"correct_option C is not one of the options A, B"),
    "no answer": (with_item(correct_option=...), r"checklist\.0\.correct_option: Field required"),
    "truth for an id": (with_item(id=True), r"checklist\.0\.id: "),
    "two alike": (with_item(id=2), "two questions of 'Level 1: Component Existence' have the id 2"),
    "figure that climbs": (changed(id="V/2", image="../a.png"), "image path '../a.png' leaves the folder"),
    "figure that is none": (changed(id="V/2", image="text.png"), "text.png: not an image"),
}  # fmt: skip


@pytest.mark.parametrize(("line", "message"), WRONG.values(), ids=WRONG)
def test_invalid_row_is_reported_with_line(tmp_path: Path, line: dict[str, Any] | str | bytes, message: str) -> None:
    file = write(tmp_path / FILE, ROW, line)
    (tmp_path / "text.png").write_text("no image")
    with pytest.raises(DataError) as caught:
        read(tmp_path)
    assert re.search(message, str(caught.value)), str(caught.value)
    assert f"{file}:2: " in str(caught.value)
    assert len(str(caught.value)) < 2000
