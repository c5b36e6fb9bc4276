"""Recordings: what may change is dropped, what is renamed passes, another number is named."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tools.recordings.__main__ import main
from tools.recordings.compare import compare
from tools.recordings.files import DATA
from tools.recordings.normal import normalise

from limner.exams.rubric.protocol import RubricExam

QUICKEST = "worldgenbench"
ROWS = [
    {"painter": "quill", "judge": "fake/ada", "scores": {"strict": {"value": 62.5, "n": 8}}},
    {"painter": "brush", "judge": "fake/ada", "scores": {"strict": {"value": 37.5, "n": 8}}},
]


def renamed(content: Any) -> Any:
    """The rows with other fields: one is called otherwise, one is a level higher."""
    return [{"who": row["painter"], "by": "ada", "strict": row["scores"]["strict"]} for row in content]


def test_hashes_times_and_versions_are_dropped() -> None:
    content = {
        "image": "ab" * 32,
        "seconds": 0.4,
        "backend": "classical rev=1 lines=ocr/3.10.0#0b76ce0a1ce8",
        "corrected": {"ppi": {"value": 1 / 3}},
        "id": "Sample_2025/leafscan",
    }
    assert normalise(content) == {
        "backend": "classical rev=1 lines=ocr/###",
        "corrected": {"ppi": {"value": 0.333333333}},
        "id": "Sample_2025/leafscan",
    }


def test_tables_keep_numbers_and_lose_hash_columns() -> None:
    table = [["painter", "image", "score"], ["quill", "ab" * 32, "0.1234567891234"]]
    assert normalise(table) == [["painter", "score"], ["quill", 0.123456789]]


def test_tables_lose_rows_of_changing_measures() -> None:
    table = [["judge", "measure", "value"], ["ada", "seconds_per_image", "0.2"], ["ada", "accuracy", "0.75"]]
    assert normalise(table) == [["judge", "measure", "value"], ["ada", "accuracy", 0.75]]


def test_identical_and_renamed_fields_pass() -> None:
    assert compare("scores.json", ROWS, ROWS).verdict == "same"
    difference = compare("scores.json", ROWS, renamed(ROWS))
    assert (difference.verdict, difference.passed) == ("fields", True)
    assert "gone: /0/painter" in difference.lines


def test_changed_number_is_reported_with_its_path() -> None:
    other = [ROWS[0], {**ROWS[1], "scores": {"strict": {"value": 38.5, "n": 8}}}]
    difference = compare("scores.json", ROWS, other)
    assert (difference.verdict, difference.passed) == ("numbers", False)
    assert difference.lines == (
        "1 of 4 numbers are gone, 1 are new",
        "/1/scores/strict/value: 37.5 -> 38.5",
    )


def test_changed_number_in_renamed_fields_is_reported_with_its_painter() -> None:
    other = renamed(ROWS)
    other[1]["strict"] = {"value": 38.5, "n": 8}
    difference = compare("scores.json", ROWS, other)
    assert difference.verdict == "numbers"
    assert difference.lines[1:] == ("gone: 37.5 of ada, brush", "new: 38.5 of ada, brush")


def test_numbers_swapped_between_painters_do_not_pass() -> None:
    swapped = [{**one, "scores": other["scores"]} for one, other in zip(renamed(ROWS), reversed(ROWS), strict=True)]
    for row in swapped:
        del row["strict"]
    assert compare("scores.json", ROWS, swapped).verdict == "names"


def test_missing_output_does_not_pass() -> None:
    assert not compare("scores.json", ROWS, None).passed


def test_exam_without_recording_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no recording .*genexam\.json\.gz: run python -m tools.recordings record"):
        main(["check", str(tmp_path), "--exam", "genexam"])


@pytest.mark.slow
def test_numbers_equal_recording(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--exam", QUICKEST]) == 0, capsys.readouterr().out


@pytest.mark.slow
def test_changed_score_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(DATA, tmp_path / "data")
    right = RubricExam.scores

    def wrong(*about: Any) -> dict[str, float | None]:
        return {name: value and 0.99 * value for name, value in right(*about).items()}

    monkeypatch.setattr(RubricExam, "scores", wrong)
    assert main(["check", str(tmp_path / "data"), "--exam", QUICKEST]) == 1
    out = capsys.readouterr().out
    assert "scores.json: with other numbers" in out
    assert "outputs have other numbers than recorded" in out
