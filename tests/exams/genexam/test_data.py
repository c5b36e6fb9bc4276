"""GenExam's reader: right data is read whole, wrong data is named by file, line and id, and nothing else happens."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from limner.core.errors import DataError
from limner.core.exam import Exam
from limner.exams.genexam.data import ScoringPointsRubric, read
from tests.needs import shared
from tests.support import picture

ROW: dict[str, Any] = {
    "id": "Q_1",
    "prompt": "Draw a thing.",
    "image_path": "Q/Q_1.png",
    "scoring_points": [{"question": "Is it there?", "score": 0.6}, {"question": "Is it red?", "score": 0.4}],
    "taxonomy": "Q/Things/Red",
    "img_type": "diagrams",
    "subject": "Q",
    "difficulty": "easy",
}


def write(folder: Path, *lines: dict[str, Any] | str | bytes) -> Path:
    """A data folder whose annotation file has these lines; returns the file."""
    file = folder / "annotations" / "All_Subjects.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    parts = [line if isinstance(line, bytes) else _text(line).encode() for line in lines]
    file.write_bytes(b"".join(part + b"\n" for part in parts))
    return file


def _text(line: dict[str, Any] | str) -> str:
    return line if isinstance(line, str) else json.dumps(line)


def changed(**fields: Any) -> dict[str, Any]:
    """The row with other fields; ``...`` takes one away."""
    row = copy.deepcopy(ROW) | fields
    return {key: value for key, value in row.items() if value is not ...}


def points(*scores: Any) -> list[dict[str, Any]]:
    return [{"question": f"Part {n}?", "score": score} for n, score in enumerate(scores)]


def test_full_row_is_read(tmp_path: Path) -> None:
    write(tmp_path, ROW, "", changed(id="sub/Q_2", taxonomy="Q"))
    image = tmp_path / "images" / "Q" / "Q_1.png"
    image.parent.mkdir(parents=True)
    image.write_bytes(picture(1))
    (tmp_path / "mini_sample_ids.txt").write_text("Q_1\r\n\n", "utf-8")
    exam = read(tmp_path, "mine")
    assert (exam.name, exam.kind, exam.subsets, exam.notes) == ("mine", "genexam", {"mini": frozenset({"Q_1"})}, ())
    first, second = exam.questions
    assert (first.id, first.prompt) == ("Q_1", "Draw a thing.")
    assert dict(first.tags) == {
        "subject": "Q", "difficulty": "easy", "img_type": "diagrams", "taxonomy": "Q/Things/Red",
        "taxonomy1": "Q", "taxonomy2": "Things", "taxonomy3": "Red",
    }  # fmt: skip
    assert [(point.question, point.score) for point in first.rubric.scoring_points] == [
        ("Is it there?", 0.6),
        ("Is it red?", 0.4),
    ]
    assert first.reference is not None
    assert first.reference.path == image
    assert second.id == "sub/Q_2"
    assert "taxonomy2" not in second.tags


def test_absent_references_are_noted(tmp_path: Path) -> None:
    write(tmp_path, ROW, changed(id="Q_2"))
    exam = read(tmp_path)
    assert exam.notes == (
        "2 of 2 reference images are absent: those questions can be drawn; marking them needs --reference none, "
        "controls skip them",
    )
    assert all(question.reference and question.reference.sha256 is None for question in exam.questions)


@pytest.mark.slow
def test_released_data_matches_paper() -> None:
    exam = read(shared("data", "genexam"))
    assert len(exam.questions) == 1000
    counts = [len(question.rubric.scoring_points) for question in exam.questions]
    assert (min(counts), max(counts), round(sum(counts) / 1000, 2)) == (3, 15, 7.02)
    words = [len(question.prompt.split()) for question in exam.questions]
    assert (min(words), max(words)) == (23, 172)
    levels = {len(question.tags["taxonomy"].split("/")) for question in exam.questions}
    assert levels <= set(range(2, 6))


WRONG: dict[str, tuple[dict[str, Any] | str | bytes, str]] = {
    "weights below one": (changed(scoring_points=points(0.5, 0.4)), "scoring_points: the weights sum to 0.9, not 1"),
    "no point": (changed(scoring_points=[]), "scoring_points: it has no scoring point"),
    "weight of nothing": (changed(scoring_points=points(1.0, 0.0)), "scoring_points.1.score: "),
    "weight that is no number": (changed(scoring_points=points(float("nan"), 1.0)), "scoring_points.0.score: "),
    "weight as truth": (changed(scoring_points=points(True)), "scoring_points.0.score: "),
    "point without a question": (changed(scoring_points=[{"score": 1.0}]), "scoring_points.0.question: "),
    "unknown difficulty": (changed(id="Q_2", difficulty="extreme"), "difficulty: .*'easy', 'medium' or 'hard'"),
    "no prompt": (changed(id="Q_2", prompt=...), "id Q_2: prompt: Field required"),
    "id with a backslash": (changed(id="a\\b"), "an id is used as a file name"),
    "id over two lines": (changed(id="a\nb"), "an id is used as a file name"),
    "id too long": (changed(id="x" * 201), "id: .*at most 200 characters"),
    "escape sequence in the prompt": (changed(id="Q_2", prompt="\x1b[31mred"), "the control character U\\+001B"),
    "path that climbs": (changed(id="Q_2", image_path="../secret.png"), "image path '../secret.png' leaves the folder"),
    "path from the root": (changed(id="Q_2", image_path="/etc/passwd"), "image path '/etc/passwd' leaves the folder"),
    "path with a backslash": (changed(id="Q_2", image_path="..\\b.png"), "leaves the folder"),
    "path too long": (changed(id="Q_2", image_path="x" * 5000 + ".png"), "cannot be read: File name too long"),
    "path through a link": (changed(id="Q_2", image_path="link.png"), "leaves the folder .* through a link"),
    "path through a linked folder": (changed(id="Q_2", image_path="away/out.png"), "the folder .* through a link"),
    "no image": (changed(id="Q_2", image_path="text.png"), "text.png: not an image"),
    "vector drawing": (changed(id="Q_2", image_path="drawing.svg"), "drawing.svg: this is SVG, not an image"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with everything a path should not lead to."""
    images, outside = tmp_path / "data" / "images", tmp_path / "outside"
    (images / "Q").mkdir(parents=True)
    outside.mkdir()
    (images / "Q" / "Q_1.png").write_bytes(picture(1))
    (outside / "out.png").write_bytes(picture(2))
    (tmp_path / "data" / "secret.png").write_bytes(picture(3))
    (images / "link.png").symlink_to(outside / "out.png")
    (images / "away").symlink_to(outside)
    (images / "text.png").write_text("no image")
    (images / "empty.png").touch()
    (images / "drawing.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    return tmp_path / "data"


@pytest.mark.parametrize(("line", "message"), WRONG.values(), ids=WRONG)
def test_invalid_row_is_reported_with_line(folder: Path, line: dict[str, Any] | str | bytes, message: str) -> None:
    file = write(folder, ROW, line)
    with pytest.raises(DataError) as caught:
        read(folder)
    assert re.search(message, str(caught.value))
    assert str(caught.value).startswith(f"{file}:2: ")
    assert (caught.value.file, caught.value.line) == (file, 2)
    assert len(str(caught.value)) < 1000


def test_link_inside_folder_is_accepted(folder: Path) -> None:
    (folder / "images" / "same.png").symlink_to(folder / "images" / "Q" / "Q_1.png")
    write(folder, changed(image_path="same.png"))
    assert read(folder).notes == ()


@pytest.mark.parametrize("content", [b"", b"\n\n", b"  \n", b"\xef\xbb\xbf"])
def test_empty_file_is_rejected(tmp_path: Path, content: bytes) -> None:
    write(tmp_path).write_bytes(content)
    with pytest.raises(DataError, match=r"All_Subjects\.jsonl: no question in this file"):
        read(tmp_path)


def test_all_problems_are_reported_together(tmp_path: Path) -> None:
    file = write(tmp_path, changed(difficulty="odd", prompt=...), ROW, ROW, "{", changed(id="Q_2", subject=3))
    with pytest.raises(DataError) as caught:
        read(tmp_path)
    message = str(caught.value)
    assert message.startswith("5 problems:\n")
    assert [int(n) for n in re.findall(rf"{re.escape(str(file))}:(\d+):", message)] == [1, 1, 3, 4, 5]


def test_long_list_of_problems_is_truncated(tmp_path: Path) -> None:
    write(tmp_path, *["{}"] * 100)
    with pytest.raises(DataError) as caught:
        read(tmp_path)
    assert re.search(r"… and \d+ more( like these)?$", str(caught.value))
    assert len(str(caught.value).splitlines()) == 2 + 3 * 5


def test_unknown_id_in_subset_is_reported(tmp_path: Path) -> None:
    write(tmp_path, ROW)
    (tmp_path / "mini_sample_ids.txt").write_text(f"Q_1\nQ_9\n{'x' * 9000}\n", "utf-8")
    with pytest.raises(DataError) as caught:
        read(tmp_path)
    assert re.search(
        r"mini_sample_ids\.txt:2: id Q_9: the subset has an id that is not in the annotations", str(caught.value)
    )
    assert len(str(caught.value)) < 1000


def attempt(folder: Path) -> Exam[ScoringPointsRubric] | DataError:
    """The exam, or the one error that may come instead."""
    try:
        return read(folder)
    except DataError as error:
        return error


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_corrupted_images_are_accepted_or_reported(tmp_path: Path, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["PNG", "JPEG", "WEBP", "GIF", "BMP"]))
    whole = picture(7, kind)
    at = data.draw(st.integers(0, len(whole)))
    wrecked = whole[:at] + data.draw(st.binary(max_size=8)) + whole[at + data.draw(st.integers(0, 8)) :]
    file = write(tmp_path, ROW)
    image = tmp_path / "images" / "Q" / "Q_1.png"
    image.parent.mkdir(parents=True, exist_ok=True)
    image.write_bytes(wrecked)
    found = attempt(tmp_path)
    if isinstance(found, DataError):
        assert str(found).startswith(f"{file}:1: id Q_1: image {image}: ")
    else:
        reference = found.questions[0].reference
        assert reference is not None
        assert reference.sha256
