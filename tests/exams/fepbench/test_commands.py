"""The exam through the real commands: check, run, scores, show, export, import; both variants; regimes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from limner.exams.fepbench import FEPBENCH
from tests.cli.invoke import limner
from tests.exams.fepbench.atom_sets import Flags, changed, question, unexpected, verification
from tests.fakes import ChatServer
from tests.support import JUDGE, picture, write_settings

ATOMS = question().rubric
Verdict = tuple[dict[str, Flags], list[tuple[str, str, str]]]
VERDICTS: dict[str, Verdict] = {
    "S1/free": ({}, []),
    "S1/structured": ({"t1": (1, 0, 1), "r2": (0, 0, 0)}, [("text", "Sun", "top")]),
    "S2/free": ({"t1": (0, 0, 0), "t2": (0, 1, 1)}, [("visual", "tree", "left"), ("visual", "Tree.", "left")]),
    "S2/structured": ({"v1": (1, 0, 0)}, [("relation", "Sun to cell", "top"), ("text", "Sun", "top")]),
    "S3/free": ({"v2": (1, 1, 0)}, [("text", "Moon", "top")]),
    "S3/structured": ({"r1": (1, 1, 0)}, []),
}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three samples of two domains with tiny references; the working folder is the test's own."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data"
    (folder / "images").mkdir(parents=True)
    rows = [
        changed(id="S1", image_path="S1.png"),
        changed(id="S2", image_path="S2.png", domain="Physics & Materials", aspect="portrait"),
        changed("atoms.layout.panel_count", 2, id="S3", image_path="S3.png", panel_type="multi"),
    ]
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    for number, row in enumerate(rows):
        (folder / "images" / row["image_path"]).write_bytes(picture(number))
    return folder


def body(id: str) -> dict[str, Any]:
    flags, items = VERDICTS[id]
    return {"verify": verification(ATOMS, flags), "unexpected": unexpected(*items)}


@pytest.fixture
def replay(tmp_path: Path) -> str:
    lines = [{"id": id, "ask": ask, "reply": reply} for id in VERDICTS for ask, reply in body(id).items()]
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return f"replay/{path}"


def scored(*words: str) -> dict[str, Any]:
    (standing,) = limner("scores", "fepbench", *words, "--format", "json").json()
    found: dict[str, Any] = standing
    return found


@pytest.mark.slow
def test_regimes_are_drawn_separately_and_add_up(data: Path, replay: str) -> None:
    run = ("run", "fepbench", "--data", data, "--painter", "control/reference", "--judge", replay, "--format=json")
    assert limner(*run, "-O", "regime=free").json()["done"] == 6
    assert {row["tags"]["regime"] for row in limner("export", "fepbench").lines()} == {"free"}
    table = limner("scores", "fepbench").out
    assert "prompts behind these means: 3 free, 0 structured" in " ".join(table.split())
    again = limner(*run).json()
    assert (again["done"], again["stored"]) == (6, 6)
    assert limner(*run, "-O", "regime=structured").json()["stored"] == 6
    result = limner(*run, "-O", "regime=neither", code=2)
    assert "regime=neither: fepbench takes both, free, structured" in result.err


def test_scores_break_down_by_tags_of_paper(data: Path, replay: str) -> None:
    limner("run", "fepbench", "--data", data, "--painter", "control/reference", "--judge", replay, "--format=json")
    tags = ("regime", "domain", "panel_type", "regime_domain", "dimension")
    standing = scored(*(word for tag in tags for word in ("--by", tag)))
    assert (standing["n"], standing["coverage"]) == (6, 1.0)
    expected = {"if_text": (1 + 0.5 + 0 + 1 + 1 + 1) / 6, "sp_visual": (5 + 2 / 3) / 6, "sp_relation": (5 + 2 / 3) / 6}
    expected["sp_text"] = (1 + 2 / 3 + 2 / 3 + 2 / 3 + 1) / 5
    expected["re_relation"] = 5 / 6
    for name, value in expected.items():
        assert standing["scores"][name]["value"] == pytest.approx(value), name
    # Every criterion is decided; unexpected items are findings beyond them.
    assert standing["decided"]["share"] == 1.0
    # Two drawings of one sample are one case.
    assert standing["scores"]["if"]["n"] == 3
    by = standing["by"]
    assert {value: part["n"] for value, part in by["regime_domain"].items()} == {
        "free / Biology & Medicine": 2, "free / Physics & Materials": 1,
        "structured / Biology & Medicine": 2, "structured / Physics & Materials": 1,
    }  # fmt: skip
    assert by["regime"]["free"]["scores"]["if_text"]["value"] == pytest.approx(2 / 3)
    assert by["panel_type"]["multi"]["scores"]["re_visual"]["value"] == pytest.approx(0.75)
    assert set(by["dimension"]) == {score.name for score in FEPBENCH.protocol.scored}
    assert standing["analyses"]["undefined_sp"] == {"visual": 0, "text": 1, "relation": 0}
    assert standing["analyses"]["gaps"]["structured - free"]["if_text"] == pytest.approx(2.5 / 3 - 2 / 3)
    assert "drawings have no such content (text 1)" in standing["remarks"][0]


def test_importing_gives_same_scores(data: Path, replay: str, tmp_path: Path) -> None:
    limner("run", "fepbench", "--data", data, "--painter", "control/reference", "--judge", replay, "--format=json")
    results = tmp_path / "results.jsonl"
    results.write_text("".join(json.dumps({"id": id, **body(id)}) + "\n" for id in VERDICTS), "utf-8")
    words = ("--painter", "theirs", "--judge", "gpt-5.4", "--store", "elsewhere", "--format=json")
    counts = limner("import", "fepbench", "--data", data, "--results", results, *words).json()
    assert (counts["results"], counts["failures"]) == (6, {})
    assert scored("--store", "elsewhere")["scores"] == scored()["scores"]


def test_broken_import_is_not_scored_as_zero(data: Path, tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    lines = [
        {"id": "S1/free", **body("S1/free")},
        {"id": "S2/free", "verify": "sorry"},
        {"id": "S3/free", "verify": body("S3/free")["verify"]},
    ]
    results.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    words = ("--painter", "theirs", "--judge", "gpt-5.4")
    limner("import", "fepbench", "--data", data, "--results", results, *words, code=3)
    standing = scored()
    assert (standing["n"], standing["expected"], standing["failures"]) == (2, 6, {"unreadable": 1})
    assert standing["undrawn"] == 3
    assert (standing["scores"]["if"]["value"], standing["scores"]["if"]["n"]) == (1.0, 2)
    assert (standing["scores"]["sp"]["value"], standing["scores"]["sp"]["n"]) == (1.0, 1)


def whole_reply() -> str:
    """One object that answers both asks."""
    return json.dumps(verification(ATOMS) | unexpected(("text", "Sun", "top")))


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["paper", "ocr"])
def test_model_is_asked_twice_with_text_lines_in_ocr_variant(
    variant: str, data: Path, chat: ChatServer, tmp_path: Path
) -> None:
    from tools.samples.fepbench.draw import IMAGES

    write_settings(tmp_path, chat.base_url)
    chat.configure(reply=whole_reply())
    drawings = tmp_path / "drawings" / "S1"
    drawings.mkdir(parents=True)
    (drawings / "free.png").write_bytes((IMAGES / "Sample_Biology_2.png").read_bytes())
    words = ("--painter", f"mine=folder/{drawings.parent}", "--judge", JUDGE, "--variant", variant, "--ids", "S1/free")
    assert limner("run", "fepbench", "--data", data, *words, "--format=json").json()["failed"] == 0
    sent = [record["body"]["messages"][0]["content"] for record in chat.records()]
    assert len(sent) == 2
    for parts in sent:
        assert [part["type"] for part in parts] == ["text", "image_url"]
        assert ("- Red blood cell" in parts[0]["text"]) == (variant == "ocr")
    standing = scored()
    assert standing["scores"]["sp_text"]["value"] == pytest.approx(2 / 3)
    assert ("engine" in standing["setup"]) == (variant == "ocr")
    assert standing["setup"]["variant"] == variant
