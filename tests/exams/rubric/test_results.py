"""Files of the releases' scorers become replies; the whole scorers run in tests/conformance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from limner.core.errors import DataError
from limner.exams import kind, read, resolve
from tests.cli.invoke import limner


def found(name: str, folder: Path) -> dict[str, Any]:
    reader = kind(name).read_results
    assert reader is not None
    return {result.question: result for result in reader(folder)}


def test_lists_and_means_beside_results_are_read(tmp_path: Path) -> None:
    checklist: list[dict[str, object]] = [{"question": "x", "tags": [], "score": score} for score in (1, 0, "", 1, 1)]
    body = {"C-MI-001-0": {"Prompt": "x", "Checklist": checklist, "image_score": 0.75}, "mean_score": 0.75}
    (tmp_path / "C-MI-Qwen3_5_9B.json").write_text(json.dumps(body), "utf-8")
    results = found("corebench", tmp_path)
    assert results.keys() == {"C-MI-001"}
    asked = [name for name, _ in results["C-MI-001"].replies]
    assert asked == ["point/1", "point/2", "point/4", "point/5"], "the third reply could not be read"


def test_result_of_another_checklist_is_refused(tmp_path: Path) -> None:
    body = {"C-MI-001-0": {"Checklist": [{"score": 1}]}}
    (tmp_path / "C-MI.json").write_text(json.dumps(body), "utf-8")
    (question,) = (each for each in read(resolve("sample/corebench")).questions if each.id == "C-MI-001")
    problem = found("corebench", tmp_path)["C-MI-001"].misfit(question)
    assert problem == "the result has 1 entries in Checklist; the question has 5 criteria (points)"


def test_result_without_ratings_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "physics").mkdir()
    (tmp_path / "physics" / "metrics.json").write_text('{"1": {"instruction": "x", "quality_score": null}}', "utf-8")
    result = found("krisbench", tmp_path)["physics/1"]
    assert (result.replies, result.fault) == ((), "it has no rating")


def test_broken_files_are_reported(tmp_path: Path) -> None:
    (tmp_path / "full_result_x.json").write_text("[1, {}]", "utf-8")
    with pytest.raises(DataError, match=r"full_result_x\.json"):
        found("grade", tmp_path)


def test_imported_results_have_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"prompt_id": id, "evaluation": f"Score: {int(id < 700)}"} for id in (1, 401, 521, 641, 761, 881)]
    (tmp_path / "x_full_results.json").write_text(json.dumps(rows), "utf-8")
    limner("import", "sample/wise", "--results", tmp_path, "--painter", "brush", "--judge", "qwen")
    (standing,) = limner("scores", "sample/wise", "--format", "json").json()
    assert standing["scores"]["correct"]["value"] == pytest.approx(4 / 6)
    assert standing["scores"]["overall"]["value"] == pytest.approx(0.4 + 3 * 0.12)
