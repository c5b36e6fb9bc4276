"""What the released scorer wrote is read back: answers, the rating, and what does not fit."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from limner.core.errors import DataError
from limner.exams.aibench.data import read_results
from tests.exams.aibench.rows import CHECKLIST, question, write


def detail(one: dict[str, Any], pred: str | None) -> dict[str, Any]:
    right = one["correct_option"]
    return {"qid": one["id"], "level": one["level"], "gt": right, "pred": pred, "is_correct": pred == right}


DETAILS = [detail(one, pred) for one, pred in zip(CHECKLIST, ("B", "B", "C", "", "A"), strict=True)]
RECORD: dict[str, Any] = {
    "prompt_id": "V/q",
    "steps": [{"task": "visual_qa", "details": DETAILS}, {"task": "aesthetic", "score": 51.25}],
}


def test_full_record_is_read(tmp_path: Path) -> None:
    file = write(tmp_path / "out.jsonl", RECORD)
    for place in (file, tmp_path):
        (found,) = read_results(place)
        assert (found.question, found.file, found.fault, found.rubric) == ("V/q", file, None, None)
        assert found.replies == (
            ("component/1", "B"), ("component/2", "B"), ("topology/3", "C"), ("phase/4", ""), ("semantics/5", "A"),
        )  # fmt: skip
        assert found.evidence == {"aesthetics": 51.25}
        assert found.misfit is not None
        assert found.misfit(question()) is None


def test_record_without_rating_or_answers_is_read(tmp_path: Path) -> None:
    blank = {"prompt_id": "V/2", "steps": [{"task": "aesthetic", "score": None}]}
    write(tmp_path / "out.jsonl", {"prompt_id": "V/q", "steps": RECORD["steps"][:1]}, blank)
    first, second = read_results(tmp_path / "out.jsonl")
    assert (first.evidence, first.fault) == ({}, None)
    assert (second.evidence, second.fault) == ({}, "the record has no answers")


def test_last_snapshot_of_drawing_counts(tmp_path: Path) -> None:
    early = {"prompt_id": "V/q", "steps": [{"task": "visual_qa", "details": [{**DETAILS[0], "pred": "A"}]}]}
    answered = {"prompt_id": "V/q", "steps": RECORD["steps"][:1]}
    file = write(tmp_path / "out.jsonl", early, {**RECORD, "prompt_id": "V/2"}, answered, RECORD)
    found = {one.question: one for one in read_results(file)}
    assert list(found) == ["V/q", "V/2"]
    assert found["V/q"].replies[0] == ("component/1", "B")
    assert found["V/q"].evidence == {"aesthetics": 51.25}
    write(file, RECORD, answered)
    (last,) = read_results(file)
    # So the release counts it, too: an earlier rating is not in the last record.
    assert last.evidence == {}


def test_results_in_several_files_stay_separate(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / f"{name}.jsonl", RECORD)
    assert [one.file.name for one in read_results(tmp_path)] == ["a.jsonl", "b.jsonl"]


def test_zero_for_missing_image_is_fault(tmp_path: Path) -> None:
    nested = {"prompt_id": "V/q", "steps": [*RECORD["steps"][:1], {"task": "aesthetic", "score": {"score": 0.0}}]}
    real = {"prompt_id": "V/2", "steps": [*RECORD["steps"][:1], {"task": "aesthetic", "score": 0.0}]}
    wrapped = {"prompt_id": "V/3", "steps": [*RECORD["steps"][:1], {"task": "aesthetic", "score": {"score": 41.5}}]}
    write(tmp_path / "out.jsonl", nested, real, wrapped)
    failed, zero, rated = read_results(tmp_path)
    assert (failed.evidence, failed.fault) == ({}, None)
    assert "not a rating" in failed.unmeasured["aesthetics"]
    assert (zero.evidence, zero.unmeasured) == ({"aesthetics": 0.0}, {})
    assert (rated.evidence, rated.unmeasured) == ({"aesthetics": 41.5}, {})


def test_lines_that_are_not_json_are_skipped_with_note(tmp_path: Path) -> None:
    half = json.dumps(RECORD)[:60]
    file = write(tmp_path / "out.jsonl", half, RECORD, "{", {**RECORD, "prompt_id": "V/2"})
    first, second = read_results(file)
    assert [one.question for one in (first, second)] == ["V/q", "V/2"]
    assert [note.partition(": not JSON")[0] for note in first.notes] == [f"{file}:1", f"{file}:3"]
    assert second.notes == ()


def test_file_of_only_broken_lines_is_rejected(tmp_path: Path) -> None:
    file = write(tmp_path / "out.jsonl", "{", "no")
    with pytest.raises(DataError, match="2 problems") as caught:
        list(read_results(file))
    assert f"{file}:1: not JSON" in str(caught.value)


def test_other_answer_key_or_checklist_is_misfit(tmp_path: Path) -> None:
    other, unknown = copy.deepcopy(RECORD), copy.deepcopy(RECORD)
    other["steps"][0]["details"][0] |= {"gt": "A", "is_correct": False}
    unknown["steps"][0]["details"][2]["qid"] = 9
    write(tmp_path / "a.jsonl", other)
    write(tmp_path / "b.jsonl", unknown)
    first, second = read_results(tmp_path)
    assert first.misfit is not None
    assert second.misfit is not None
    assert first.misfit(question()) == "made with another checklist: its right answer to component/1 is A, not B"
    assert second.misfit(question()) == "made with another checklist: this one has no question topology/9"


def changed(**fields: Any) -> dict[str, Any]:
    return {**copy.deepcopy(RECORD), **fields}


def with_detail(**fields: Any) -> dict[str, Any]:
    return changed(steps=[{"task": "visual_qa", "details": [{**DETAILS[0], **fields}, DETAILS[1]]}])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (changed(prompt_id=3), "prompt_id: "),
        (changed(steps="x"), "steps: "),
        (changed(steps=[{"details": []}]), r"steps\.0\.task: Field required"),
        (changed(steps=[{"task": "aesthetic", "score": 101}]), r"steps\.0\.score: .*less than or equal to 100"),
        (with_detail(level="Level 9"), "question 1 has the level 'Level 9', which is not one of the four"),
        (with_detail(qid=2), "question 2 is listed twice"),
        (with_detail(is_correct=False), "question component/1: is_correct disagrees with pred and gt"),
        (with_detail(gt=None), r"gt: Input should be a valid string"),
        ("[]", "expected a JSON object"),
    ],
)
def test_invalid_record_is_reported_with_line(tmp_path: Path, line: dict[str, Any] | str, message: str) -> None:
    file = write(tmp_path / "out.jsonl", {**RECORD, "prompt_id": "V/other"}, line)
    with pytest.raises(DataError, match=message) as caught:
        list(read_results(file))
    assert f"{file}:2:" in str(caught.value)


def test_empty_results_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no \*\.jsonl result in this folder"):
        list(read_results(tmp_path))
    with pytest.raises(DataError, match="no result in this file"):
        list(read_results(write(tmp_path / "out.jsonl")))
