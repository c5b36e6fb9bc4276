"""From real references to an exam that is run: every request has its step's inputs, whatever is replied."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image

from limner.cli import limner as command_line
from tests.build.llm import routes
from tests.build.scripted import scripted, write_provider
from tests.needs import released

pytestmark = pytest.mark.slow


def limner(*words: str) -> str:
    """The command line, in this process: starting one for each command takes longer than what they do."""
    done = CliRunner().invoke(command_line, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_real_references_become_an_exam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    references = sorted((released("genexam") / "images").rglob("*.png"))[3::24]
    folder = tmp_path / "pics"
    folder.mkdir()
    for file in references:
        with Image.open(file) as image:
            small = image.convert("RGB")
            small.thumbnail((640, 640))
            small.save(folder / file.name)
        (folder / f"{file.stem}.txt").write_text(f"Source text of {file.stem}", "utf-8")
    with Image.open(folder / references[0].name) as image:
        image.resize((image.width * 2 // 3, image.height * 2 // 3)).save(folder / "near.jpg", quality=60)
        image.resize((60, 50)).rotate(90).save(folder / "tiny.png")
    shutil.copy(folder / references[1].name, folder / "same.png")
    with scripted(*routes()) as llm:
        write_provider(tmp_path, llm)
        words = ["build", "new", "school", "--recipe", "exam", "--set", 'images.folders=["pics"]']
        words += [
            "--set",
            "keywords.per_topic=1",
            "--set",
            'taxonomy.subjects=["Music"]',
            "--set",
            "review.reviewers=1",
        ]
        words += ["--set", "images.licence=CC-BY-4.0", "--set", "read-text.faint=false", "--set", "thresholds.least={}"]
        limner(*words, "-S", "annotator=fake/llm", "-S", "checker=fake/llm")
        estimate = json.loads(limner("build", "run", "school", "--dry-run", "--json"))
        assert estimate["estimates"]
        assert llm.total == 0
        told = json.loads(limner("build", "run", "school", "--json", "--budget", "5"))
        steps = {step["place"]: step for step in told["steps"]}
        assert (steps["images"]["dropped"], steps["duplicates"]["dropped"]) == (
            {"exact duplicate": 1},
            {"near-duplicate": 1},
        )
        assert steps["resolution"]["dropped"]["low resolution"] >= 1
        assert steps["review"]["waiting"] == steps["lint"]["kept"] >= 2
        assert steps["images"]["paper"] == 40000
        assert told["spent"] > 0
        assert llm.refused == []
        assert {mark for mark, _ in llm.heard} == {route.mark for route in routes()}
        assert any(heard.turn for _, heard in llm.heard), "some replies were objected to"
        asked = llm.total
        limner("build", "review", "school", "--reviewer", "anna", "--write", "review.jsonl")
        rows = [json.loads(line) for line in (tmp_path / "review.jsonl").read_text("utf-8").splitlines()]
        assert len(rows) == steps["review"]["waiting"]
        for n, row in enumerate(rows):
            row["action"] = "edit" if n == 0 else "accept"
            row["change"] = {"prompt": "Draw the staff that Anna wants, with its labels."} if n == 0 else {}
        (tmp_path / "review.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        limner("build", "review", "school", "--reviewer", "anna", "--read", "review.jsonl")
        limner("build", "run", "school")
        assert llm.total == asked
    text = limner("build", "status", "school", "-o", "funnel.png")
    assert "40,000 pictures with their text → 6,500 after filters and ratings → 1,000 after review" in text
    assert Image.open(tmp_path / "funnel.png").width > 500
    limner("build", "export", "school", "out")
    assert "all well-formed" in limner("exam", "check", "out/exam.toml")
    run = ["run", "out/exam.toml", "--painter", "control/reference", "--judge", "ocr", "--limit", "1", "--json"]
    assert json.loads(limner(*run).splitlines()[-1])["failed"] == 0
    prompts = (tmp_path / "out" / "questions.jsonl").read_text("utf-8")
    assert "the staff that Anna wants" in prompts
