"""The exam through the real commands: replayed replies and a chat model, scores and breakdowns, one question."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from limner.exams import read, resolve
from tests.cli.invoke import limner

QUESTIONS = read(resolve("sample/worldgenbench")).questions
EXAM = "sample/worldgenbench"


def marks(number: int) -> list[int]:
    """So many ones as the question's number says, then zeros."""
    count = len(QUESTIONS[number].rubric.checklist)
    return [int(n <= number) for n in range(count)]


@pytest.fixture
def replies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    rows: list[dict[str, Any]] = [
        {"id": question.id, "reply": f"The marks: {marks(n)}"} for n, question in enumerate(QUESTIONS)
    ]
    rows[3] = {"id": QUESTIONS[3].id, "replies": ["[1, 1]", "all met", "[2]"]}
    Path("replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return "replay/replies.jsonl"


def test_replayed_replies_work_through_all_commands(replies: str) -> None:
    counts = limner("run", EXAM, "--painter", "control/reference", "--judge", replies, "--format=json", code=3).json()
    assert counts["failed"] == 1
    words = ("--by", "domain", "--by", "continent", "--by", "discipline", "--format", "json")
    (standing,) = limner("scores", EXAM, *words).json()
    assert (standing["n"], standing["coverage"], standing["failures"]) == (11, 0.9167, {"unreadable": 1})
    known = [n for n in range(12) if n != 3]
    shares = {n: 100 * sum(marks(n)) / len(marks(n)) for n in known}
    assert standing["scores"]["checklist"]["value"] == pytest.approx(mean(shares.values()))
    micro = 100 * sum(sum(marks(n)) for n in known) / sum(len(marks(n)) for n in known)
    assert standing["scores"]["checklist_items"]["value"] == pytest.approx(micro)
    # Two questions each are about Europe and about physics.
    categories = [[shares[1], shares[4]], [shares[9], shares[11]], *([shares[n]] for n in (0, 2, 5, 6, 7, 8, 10))]
    assert standing["scores"]["checklist_macro"]["value"] == pytest.approx(mean(map(mean, categories)))
    by = standing["by"]
    assert {name: body["n"] for name, body in by["domain"].items()} == {"humanities": 5, "nature": 6}
    assert by["domain"]["nature"]["scores"]["checklist"]["value"] == pytest.approx(
        mean(shares[n] for n in range(6, 12))
    )
    assert set(by["continent"]) == {"AS", "EU", "AF", "OC", "(none)"}
    assert by["discipline"]["PHYS"]["scores"]["checklist"]["value"] == pytest.approx(mean([shares[9], shares[11]]))
    for reading in ("paper", "release"):
        (other,) = limner("scores", EXAM, "--reading", reading, "--format", "json").json()
        assert other["scores"] == standing["scores"]

    shown = limner("show", EXAM, QUESTIONS[7].id, "--format=json").json()
    (marking,) = shown["markings"]
    assert [mark["value"] for mark in marking["marks"]] == marks(7)
    assert [criterion["text"] for criterion in shown["criteria"]] == [e.item for e in QUESTIONS[7].rubric.checklist]
    rows = {row["id"]: row for row in limner("export", EXAM).lines()}
    assert rows[QUESTIONS[3].id]["status"] == "unreadable"
    assert rows[QUESTIONS[3].id]["scores"] == {}
    assert rows[QUESTIONS[1].id]["scores"] == {"checklist": pytest.approx(shares[1])}


def test_import_of_released_results_is_unsupported(tmp_path: Path) -> None:
    words = ("--results", tmp_path, "--painter", "p", "--judge", "j", "--store", tmp_path / "store")
    assert "has no reader for its release's results" in limner("import", EXAM, *words, code=2).err


CONTROLS = ("reference", "erased", "swapped")
HAND = [json.loads(line) for line in Path(__file__).with_name("hand.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.slow
def test_examiner_decisions_are_correct(tmp_path: Path) -> None:
    """Items nobody can decide in an altered picture stand as null in the marks by hand."""
    painters = [word for control in CONTROLS for word in ("--painter", f"control/{control}")]
    ids = ",".join({entry["id"] for entry in HAND})
    limner("run", "sample/worldgenbench", *painters, "--ids", ids, "--judge", "ocr", "--store", tmp_path)
    rows = limner("export", "sample/worldgenbench", "--store", tmp_path).lines()
    given = {(row["painter"], row["id"]): list(row["marks"].values()) for row in rows if row["status"] == "done"}
    assert set(given) == {(entry["painter"], entry["id"]) for entry in HAND}
    pairs = [
        (entry["painter"], said, truth)
        for entry in HAND
        for said, truth in zip(given[entry["painter"], entry["id"]], entry["marks"], strict=True)
        if truth is not None
    ]
    decided = [(said, truth) for _, said, truth in pairs if said is not None]
    yes, no = ([truth for said, truth in decided if said == value] for value in (1, 0))
    assert len(yes) >= 25
    assert sum(yes) / len(yes) >= 0.95
    assert len(no) >= 20
    assert 1 - sum(no) / len(no) >= 0.95
    for control, least in (("reference", 0.15), ("erased", 0.28), ("swapped", 0.15)):
        ours = [said for painter, said, _ in pairs if painter == f"control/{control}"]
        assert sum(said is not None for said in ours) / len(ours) >= least, control
