"""What a build wrote is read back as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from limner.exams.mmmg.data import read, write
from tests.support import picture


def item(number: int, **more: Any) -> dict[str, Any]:
    return {
        "item": f"i{number}", "image": f"{number:064}", "prompt": f"Draw {number} as a diagram.", "level": "PhD",
        "discipline": "Biology", "concept": f"concept {number}", "origin": "real", "definitions": "What it is.",
        "elements": [{"name": "a", "why": "one"}, {"name": "b", "why": "two"}],
        "dependencies": [{"says": "Causes(a, b)", "why": "so"}], **more,
    }  # fmt: skip


def test_written_exam_is_read_back(tmp_path: Path) -> None:
    def save(sha256: str, name: str) -> None:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(picture(int(sha256)))

    items = [item(1), item(2, level="preschool", origin="synthetic"), item(3)]
    made = write(tmp_path, items, save)
    assert made == {"i1": ["PhD_Biology_1"], "i2": ["preschool_Biology_1"], "i3": ["PhD_Biology_2"]}
    exam = read(tmp_path)
    assert exam.notes == ()
    first, second, _ = exam.questions
    assert (first.rubric.elements, first.rubric.dependencies) == (("a", "b"), ("Causes(a, b)",))
    assert '"Element Explanation": ["one", "two"]' in first.rubric.annotation
    assert (first.tags["concept"], second.tags["origin"]) == ("concept 1", "synthetic")
