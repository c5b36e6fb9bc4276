"""`limner evidence`, and evidence on demand in `run` and `mark`: what is missing is measured, and by whom is told."""

from __future__ import annotations

import hashlib
import json
import os
import select
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
import sqlalchemy as sa

from limner.evidence.probe import LocalProbe
from limner.running import setup
from limner.store import Store
from limner.store.schema import evidence as table
from limner.workers import Recipe
from tests.cli.invoke import limner
from tests.exams.mmmg.cases import DEPENDENCIES, ELEMENTS, structured
from tests.support import SmallExam, picture, start_limner


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def drawn(small: SmallExam) -> None:
    limner("draw", "genexam", "--data", small.data, "--painter", f"mine=folder/{small.drawings}", "--format=json")


def stored() -> list[Any]:
    with Store("limner-store", create=False) as store, store.reading() as connection:
        return list(connection.execute(sa.select(table).order_by(table.c.name, table.c.subject)))


def faulty(name: str = "ocr", seconds: float = 30.0, **words: str) -> LocalProbe:
    """A probe that crashes on the second drawing and fails on the third, or does as it is told."""
    todo = words or {hashlib.sha256(picture(n)).hexdigest(): word for n, word in ((1, "exit"), (2, "raise"))}
    recipe = Recipe("faulty", "tests.workers.faulty:by_image", json.dumps({"words": todo}), workers=2)
    return LocalProbe(name, "faulty/1", recipe, seconds)


@pytest.mark.slow
def test_missing_evidence_is_measured_once(small_exam: SmallExam) -> None:
    drawn(small_exam)
    assert limner("evidence", "genexam", "--dry-run").out == "to measure: 4 ocr\n"
    result = limner("evidence", "genexam", "--format=json")
    assert result.err.startswith("ocr: rapidocr/")
    counts = result.json()
    assert (counts["done"], counts["stored"], counts["failed"]) == (4, 4, 0)
    rows = stored()
    assert [(row.name, row.value) for row in rows] == [("ocr", [])] * 4
    again = limner("evidence", "genexam", "--format=json").json()
    assert (again["done"], again["stored"]) == (0, 8)
    assert limner("evidence", "genexam", "--dry-run", "--format=json").json() == {"ocr": 0}
    small_exam.drawing(small_exam.ids[0]).write_bytes(picture(77))
    drawn(small_exam)
    assert limner("evidence", "genexam", "--dry-run").out == "to measure: 1 ocr\n"


def test_selected_drawings_are_measured(small_exam: SmallExam) -> None:
    drawn(small_exam)
    limner("evidence", "genexam", "--limit", "1", "--format=json")
    limner("evidence", "genexam", "--probe", "regions", "--ids", small_exam.ids[2], "--format=json")
    assert [row.name for row in stored()] == ["ocr", "regions"]
    assert "no drawing of genexam by 'you'" in limner("evidence", "genexam", "--painter", "you", code=2).err


@pytest.mark.slow
def test_crash_is_stored_and_remaining_drawings_are_measured(
    small_exam: SmallExam, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn(small_exam)
    monkeypatch.setattr(setup, "open_probes", lambda *_: [faulty()])
    result = limner("evidence", "genexam", code=3)
    assert 1 <= result.err.count(" (probe): ") <= 2
    assert f"{small_exam.ids[1]}: ocr: image " in result.err
    assert "faulty: the worker died (exit code 3)" in result.err
    assert "faulty: ZeroDivisionError('by nothing')" in result.err
    assert [row.value for row in stored()] == [{"word": "fine"}] * 2
    counts = limner("evidence", "genexam", "--format=json", code=3).json()
    assert (counts["failures"], counts["stored"], counts["done"]) == ({"probe": 2}, 6, 0)


def test_drawing_that_cannot_be_measured_is_still_marked(
    small_exam: SmallExam, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "open_probes", lambda *_: [faulty("regions")])
    how = ("--data", small_exam.data, "--painter", f"mine=folder/{small_exam.drawings}", "--judge", "ocr")
    counts = limner("run", "genexam", *how, "--format=json", code=3).json()
    assert (counts["done"], counts["failures"]) == (4 + 2 + 4, {"probe": 2})
    (standing,) = limner("scores", "genexam", "--format", "json").json()
    assert (standing["coverage"], standing["evidence"]) == (1.0, {"regions": {"faulty/1": 2}})


# On demand.


@pytest.fixture
def mmmg(tmp_path: Path) -> tuple[str, ...]:
    """Two questions, two painters' drawings, and a judge with stored replies."""
    keys = ["highschool_Engineering_1", "PhD_Engineering_2"]
    graph = json.dumps({"elements": ELEMENTS, "dependencies": DEPENDENCIES})
    rows = [{"key": key, "Education": key.split("_")[0], "prompt": "Draw.", "Knowledge_Graph": graph} for key in keys]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    reply = json.loads(structured([1, 1, 1], [1, 1]))
    (tmp_path / "r.jsonl").write_text("".join(json.dumps({"id": key, "reply": reply}) + "\n" for key in keys))
    for number, painter in enumerate(("one", "two")):
        (tmp_path / painter).mkdir()
        for place, key in enumerate(keys):
            (tmp_path / painter / f"{key}.png").write_bytes(picture(10 * number + place, size=(64, 64)))
    return ("mmmg", "--data", str(tmp_path / "data.jsonl"), "--judge", f"replay/{tmp_path}/r.jsonl")


def standings(*words: str) -> dict[str, Any]:
    return {one["painter"]: one for one in limner("scores", "mmmg", *words, "--format", "json").json()}


def test_run_counts_regions_when_exam_needs_them(mmmg: tuple[str, ...]) -> None:
    counts = limner("run", *mmmg, "--painter", "one=folder/one", "--format=json").json()
    assert (counts["done"], counts["failed"]) == (2 + 2 + 2, 0)
    found = standings()["one"]
    assert found["scores"]["mmmg_exact"]["value"] == 1.0
    assert "regions counted by classical: not the paper's readability, which uses SAM 2.1 large" in found["remarks"]
    ((backend, drawings),) = found["evidence"]["regions"].items()
    assert (backend.startswith("classical/"), drawings) == (True, 2)
    again = limner("run", *mmmg, "--painter", "one=folder/one", "--format=json").json()
    assert (again["done"], again["stored"]) == (0, 6)


@pytest.mark.slow
def test_backend_is_chosen_by_name(mmmg: tuple[str, ...], tmp_path: Path) -> None:
    for painter in ("one", "two"):
        limner("run", *mmmg, "--painter", f"{painter}=folder/{painter}", "--format=json")
    counts = tmp_path / "counts.csv"
    counts.write_text("id,painter,count\nhighschool_Engineering_1,one,115\n")
    assert limner("evidence", "mmmg", "--regions", f"sam={counts}", "--dry-run", "--format=json").json() == {
        "values": 1
    }
    assert {row.backend.partition("/")[0] for row in stored()} == {"classical"}
    result = limner("evidence", "mmmg", "--regions", f"sam={counts}")
    assert result.err == f"regions: 1 values from {counts}, as csv:sam\n"
    assert standings()["one"]["scores"]["readability"]["value"] == 1.0, "classical has more of them"
    other = standings("-O", "regions=csv:sam")
    assert other["one"]["scores"]["readability"]["value"] == 0.5
    assert "regions counted by csv:sam on 1 of 2 drawings: not the paper's readability" in str(other["one"]["remarks"])
    assert "MMMG-Score is missing for 1 of 2 drawings" in other["one"]["remarks"][0]
    assert other["two"]["scores"]["readability"]["value"] is None
    shown = limner(
        "show", "mmmg", "highschool_Engineering_1", "--painter", "one", "-O", "regions=csv:sam", "--format=json"
    ).json()
    assert shown["markings"][0]["evidence"] == {"regions": {"value": 115, "backend": "csv:sam"}}
    rows = limner("export", "mmmg", "-O", "regions=csv:sam", "--painter", "one").lines()
    assert rows[1]["evidence"] == {"regions": 115, "regions_backend": "csv:sam"}
    result = limner("scores", "mmmg", "-O", "regions=sam9", code=2)
    assert "regions=sam9: these drawings have no such value; measured by: classical, csv:sam" in result.err


def test_imported_counts_are_not_measured_again(mmmg: tuple[str, ...], tmp_path: Path) -> None:
    key = "highschool_Engineering_1"
    (tmp_path / "results").mkdir()
    reply = {"key": key, "o3": "boiler: yes\nsteam: yes\nturbine: no"}
    (tmp_path / "results" / f"highschool__{key}__eval_by__o3.json").write_text(json.dumps(reply))
    (tmp_path / "counts.json").write_text(json.dumps({key: {"region_count": 115}}))
    how = ("--results", "results", "--regions", "counts.json", "--images", "one", "--painter", "gpt", "--judge", "o3")
    limner("import", *mmmg[:3], *how)
    assert limner("evidence", "mmmg", "--dry-run").out == "to measure: 0 regions\n"
    limner("mark", "mmmg", *mmmg[3:], "--format=json")
    assert [(row.name, row.backend) for row in stored()] == [("regions", "imported")]
    assert limner("evidence", "mmmg", "--regions", "classical", "--dry-run").out == "to measure: 1 regions\n"
    limner("evidence", "mmmg", "--regions", "classical", "--format=json")
    found = {one["judge"]: one for one in limner("scores", "mmmg", "--format", "json").json()}
    assert found["o3"]["scores"]["readability"]["value"] == 0.5, "of equals the paper's"
    found = {
        one["judge"]: one for one in limner("scores", "mmmg", "-O", "regions=classical", "--format", "json").json()
    }
    assert found["o3"]["scores"]["readability"]["value"] == 1.0


def test_imported_ratings_complete_overall_score(tmp_path: Path) -> None:
    limner("run", "sample/aibench", "--painter", "control/blank", "--judge", "ocr", "--limit", "2", "--format=json")
    rows = limner("export", "sample/aibench").lines()
    assert len({row["image"] for row in rows}) == 1, "one white sheet for all"
    Path("ratings.csv").write_text(f"id,score\n{rows[0]['id']},40\n")
    limner("evidence", "sample/aibench", "--aesthetics", "ratings.csv")
    (found,) = limner("scores", "sample/aibench", "--format", "json").json()
    assert found["scores"]["aesthetics"]["value"] == 40.0
    assert any(remark.startswith("aesthetics rated by csv:ratings.csv#") for remark in found["remarks"])
    assert "no aesthetics rating" not in str(found["remarks"])
    limner("evidence", "sample/aibench", "--aesthetics", "unipercept=ratings.csv")
    (found,) = limner("scores", "sample/aibench", "--format", "json").json()
    assert "aesthetics rated by csv:unipercept, as in the paper" in found["remarks"]
    Path("ratings.csv").write_text("id,score\nnone,40\n")
    assert (
        "ratings.csv:2: id none: no drawing"
        in limner("evidence", "sample/aibench", "--aesthetics", "ratings.csv", code=1).err
    )


# Interruption.


@pytest.mark.slow
def test_interrupted_run_leaves_no_process_and_resumes(tmp_path: Path, small_exam: SmallExam) -> None:
    """A backend that waits stands in for the default one. The second Ctrl-C does not wait for it."""
    drawn(small_exam)
    os.mkfifo(tmp_path / "begun")
    (tmp_path / "waiting.py").write_text(
        "import threading\n"
        "def reader():\n"
        "    def read(data):\n"
        f"        open({str(tmp_path / 'begun')!r}, 'w').write('x')\n"
        "        threading.Event().wait()\n"
        "    return read\n"
    )
    (tmp_path / "sitecustomize.py").write_text(
        "import limner.workers as workers, limner.evidence.probe as probe\n"
        "usual = workers.Recipe\n"
        "workers.Recipe = probe.Recipe = lambda name, factory, *rest, **more: usual(name, 'waiting:reader')\n"
    )
    begun = os.open(tmp_path / "begun", os.O_RDONLY | os.O_NONBLOCK)
    run = start_limner("evidence", "genexam", "--format=json", cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)})
    try:
        assert select.select([begun], [], [], 60)[0]
        family = psutil.Process(run.pid).children(recursive=True)
        assert family
        # Two signals of one sort, sent at once, would arrive as one.
        for number in (signal.SIGINT, signal.SIGTERM):
            run.send_signal(number)
        out, err = run.communicate(timeout=60)
    finally:
        run.kill()
        os.close(begun)
    assert run.returncode == 130, (out, err)
    _, alive = psutil.wait_procs(family, timeout=30)
    assert not [one for one in alive if one.status() != psutil.STATUS_ZOMBIE]
    limner("evidence", "genexam", "--format=json")
    assert len(stored()) == 4
