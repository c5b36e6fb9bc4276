"""Results of the released scorer come in whole or not at all, and change nothing that was there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from limner import api
from limner.core.errors import DataError, LimnerError, UsageError
from limner.running.import_results import ImportReport, import_results
from limner.running.repair import verify
from limner.store import Store
from limner.store.schema import metadata
from tests.support import SmallExam, picture

NAMES = ("Spelling", "Clarity and Readability", "Logical Consistency")


def result(row: dict[str, Any], answer: Any = 1, rating: Any = 2) -> dict[str, Any]:
    kept = {key: value for key, value in row.items() if key != "image_path"}
    return {
        "description": "ein Bild · 图",
        "answers": [{"reasoning": "seen", "answer": answer} for _ in row["scoring_points"]],
        "global_evaluation": {name: {"reasoning": "seen", "score": rating} for name in NAMES},
        **kept,
        "gen_img_path": f"gen/{row['id']}.png",
        "gt_img_path": f"images/{row['image_path']}",
    }


def write(folder: Path, *results: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    for body in results:
        (folder / f"{body['id']}.json").write_text(json.dumps(body), "utf-8")
    return folder


Bring = Callable[..., ImportReport]


@pytest.fixture
def results(small_exam: SmallExam, tmp_path: Path) -> Path:
    return write(tmp_path / "results", *(result(row) for row in small_exam.rows))


@pytest.fixture
def bring(small_exam: SmallExam, results: Path, store: Store) -> Bring:
    def found(**how: Any) -> ImportReport:
        usual = {"painter": "model-a", "judge": "gpt-5", "data": small_exam.data, "store": store, "results": results}
        return import_results("genexam", **{**usual, **how})

    return found


def count(store: Store) -> dict[str, int]:
    """How many rows each table has."""
    with store.reading() as connection:
        return {
            table.name: connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
            for table in metadata.sorted_tables
        }


def test_importing_again_leaves_store_unchanged(bring: Bring, store: Store) -> None:
    bring()
    before = count(store)
    bring()
    assert count(store) == before


def test_store_with_imported_results_is_whole(bring: Bring, store: Store) -> None:
    bring()
    assert [defect for report in verify(store) for defect in report.defects] == []


def test_changed_result_replaces_old_one(bring: Bring, store: Store, results: Path, small_exam: SmallExam) -> None:
    bring()
    write(results, result(small_exam.rows[0], answer=0))
    bring()
    (standing,) = api.scores("genexam", store=store)
    assert standing.scores["strict"].value == 75.0


def test_the_data_is_not_needed_once_the_store_has_the_exam(bring: Bring, store: Store) -> None:
    bring()
    assert bring(painter="model-b", data=None).results == 4
    assert [standing.painter for standing in api.scores("genexam", store=store)] == ["model-a", "model-b"]


def test_drawings_are_imported_with_results(bring: Bring, store: Store, small_exam: SmallExam) -> None:
    small_exam.drawing(small_exam.ids[0]).unlink()
    small_exam.drawing(small_exam.ids[1]).write_bytes(b"no image")
    imported = bring(images=small_exam.drawings)
    assert (imported.results, imported.images, imported.failures) == (4, 2, {})
    assert [detail.split(":")[0] for detail in imported.details] == small_exam.ids[:2]
    _, (group,) = api.groups("genexam", store=store)
    images = {entry.question.id: entry.drawing.image for entry in group.entries}
    assert [images[id] is None for id in small_exam.ids] == [True, True, False, False]
    assert store.blobs.get(images[small_exam.ids[2]] or "") == picture(2)


@pytest.mark.parametrize(
    "body",
    [b"{", b"\xff", json.dumps({"id": "Biology_0"}).encode(), b"[" * 100_000],
    ids=["cut", "bytes", "no reply", "deep"],
)
def test_unreadable_result_is_failure_not_zero(bring: Bring, store: Store, results: Path, body: bytes) -> None:
    (results / "Biology_0.json").write_bytes(body)
    imported = bring()
    assert (imported.results, imported.failures) == (4, {"unreadable": 1})
    assert "Biology_0.json" in imported.details[0]
    (standing,) = api.scores("genexam", store=store)
    assert (standing.n, standing.coverage, standing.failures) == (3, 0.75, {"unreadable": 1})
    assert standing.scores["strict"].value == 100.0
    assert standing.pessimistic.value("strict") == 75.0


def test_result_is_kept_if_only_some_readings_accept_it(bring: Bring, store: Store, results: Path) -> None:
    """It is kept; each reading decides for itself."""
    path = results / "Biology_0.json"
    path.write_text(path.read_text("utf-8").replace("Clarity and Readability", "Readability"), "utf-8")
    assert bring().failures == {}
    for reading, n in (("careful", 4), ("paper", 4), ("release", 3)):
        (standing,) = api.scores("genexam", store=store, reading=reading)
        assert (standing.n, dict(standing.failures)) == (n, {"unreadable": 1} if n == 3 else {})


def other_weights(row: dict[str, Any]) -> dict[str, Any]:
    points = [{**point, "score": round(1 / 3, 4) if n else 0.3334} for n, point in enumerate(row["scoring_points"])]
    return {**result(row), "scoring_points": points}


REFUSED: dict[str, tuple[Callable[[SmallExam, Path], dict[str, Any]], type[LimnerError], str]] = {
    "unknown question": (
        lambda exam, results: {"results": write(results, {**result(exam.rows[0]), "id": "Art_1"})},
        DataError,
        r"Art_1\.json: id Art_1: no question with this id in the exam",
    ),
    "other weights": (
        lambda exam, results: {"results": write(results, other_weights(exam.rows[0]))},
        DataError,
        r"Biology_0\.json: id Biology_0: made with a different rubric than this exam's",
    ),
    "other points": (
        lambda exam, results: {"results": write(results, {**result(exam.rows[0]), "scoring_points": "none"})},
        DataError,
        "made with a different rubric",
    ),
    "two results for one question": (
        lambda exam, results: {"results": write(results / "again", result(exam.rows[0])).parent},
        DataError,
        r"Biology_0\.json: id Biology_0: there is another result for this question: .*Biology_0\.json",
    ),
    "no result": (
        lambda exam, results: {"results": write(results / "empty")},
        DataError,
        "no .* result in this folder",
    ),
    "no folder": (
        lambda exam, results: {"results": results / "nowhere"},
        UsageError,
        "--results .*nowhere: no such file or folder",
    ),
    "no folder of images": (
        lambda exam, results: {"images": results / "nowhere"},
        UsageError,
        "folder/.*nowhere: no such folder",
    ),
    "no image in the folder": (lambda exam, results: {"images": results}, UsageError, "no image"),
    "no data": (lambda exam, results: {"data": results / "nowhere"}, UsageError, "no such data folder"),
    "wrong data": (lambda exam, results: {"data": results}, DataError, "All_Subjects.jsonl: cannot be read"),
}


@pytest.mark.parametrize(("prepare", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_import_leaves_store_unchanged(
    bring: Bring,
    small_exam: SmallExam,
    results: Path,
    tmp_path: Path,
    store: Store,
    prepare: Callable[[SmallExam, Path], dict[str, Any]],
    error: type[LimnerError],
    message: str,
) -> None:
    how = prepare(small_exam, results)
    before = count(store)
    with pytest.raises(error, match=message):
        bring(**how)
    assert count(store) == before
    with pytest.raises(error, match=message):
        bring(**how, store=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_import_does_not_replace_own_drawings(bring: Bring, store: Store, small_exam: SmallExam) -> None:
    api.run("genexam", painters=[f"model-a=folder/{small_exam.drawings}"], data=small_exam.data, store=store)
    before = count(store)
    with pytest.raises(
        UsageError, match=r"model-a has drawings that were made in .*; import under another --painter name"
    ):
        bring()
    assert count(store) == before
    assert bring(painter="model-b").results == 4
