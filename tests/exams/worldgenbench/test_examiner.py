"""The OCR examiner on the sample: what it says is met is met, by marks that were given by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.invoke import limner

CONTROLS = ("reference", "erased", "swapped")
HAND = [json.loads(line) for line in Path(__file__).with_name("hand.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.slow
def test_what_it_decides_is_right(tmp_path: Path) -> None:
    """Items nobody can decide in an altered picture stand as null in the marks by hand."""
    painters = [word for control in CONTROLS for word in ("--painter", f"control/{control}")]
    limner("run", "sample/worldgenbench", *painters, "--judge", "ocr", "--store", tmp_path)
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
