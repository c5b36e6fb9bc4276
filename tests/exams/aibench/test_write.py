"""What a build has made is written so that it can be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from limner.exams.aibench.data import read, write


def item(id: str, **more: Any) -> dict[str, Any]:
    row = {"id": 7, "level": "Level 1: Component Existence", "question": "Is it there?",
           "options": {"A": "No", "B": "Yes"}, "correct_option": "B", "rationale": "a node", "track": "A",
           "nodes": ["n1"]}  # fmt: skip
    return {"item": id, "method": "\\section{Method} text", "image": "0" * 64, "graph_image": "1" * 64,
            "graph_svg": "<svg/>", "graph": {"title": "x"}, "checklist": [row, {**row, "id": 9}], **more}  # fmt: skip


def test_written_rows_can_be_read_again(tmp_path: Path) -> None:
    saved: dict[str, str] = {}

    def save(sha256: str, name: str) -> None:
        saved[name] = sha256

    made = write(tmp_path, [item("CVPR_2025/1v1"), item("2v1", venue="ICLR 2025")], save)
    assert made == {"CVPR_2025/1v1": ["CVPR_2025/1v1"], "2v1": ["ICLR_2025/2v1"]}
    assert saved["images/CVPR_2025/1v1.png"] == "0" * 64
    assert saved["graphs/ICLR_2025/2v1.png"] == "1" * 64
    exam = read(tmp_path)
    assert [question.tags["venue"] for question in exam.questions] == ["CVPR_2025", "ICLR_2025"]
    assert [one.id for one in exam.questions[0].rubric.checklist] == ["1", "2"]
    letters = [one.correct_option for one in exam.questions[0].rubric.checklist]
    assert sorted(letters) == ["A", "B"], "letters are dealt out again where review has made them uneven"
    row = json.loads((tmp_path / "AIBench.jsonl").read_text("utf-8").splitlines()[0])
    assert row["checklist"][0]["rationale"] == "a node"
    assert "nodes" not in row["checklist"][0]
