"""The recipe of questions by the command line: killed and carried on, exported, checked, run and marked."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.build.annotator import routes
from tests.build.papers import TIDE, write_papers
from tests.build.scripted import Scripted, scripted, write_provider

pytestmark = pytest.mark.slow
KILLS = 6
THEMES = (TIDE,)


@pytest.fixture(scope="module")
def llm() -> Iterator[Scripted]:
    with scripted(*routes()) as service:
        yield service


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, llm: Scripted) -> Path:
    place = tmp_path_factory.mktemp("cli")
    write_papers(place / "papers", THEMES)
    write_provider(place, llm)
    return place


def limner(place: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from limner.cli import main; main()", *words]
    return subprocess.Popen(command, cwd=place, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def done(place: Path, *words: str) -> str:
    process = limner(place, *words)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, f"{words}: {out}{err}"
    return out


def test_killed_six_times_and_nothing_is_paid_twice(place: Path, llm: Scripted) -> None:
    roles = [word for role in ("annotator", "checker", "expert") for word in ("-S", f"{role}=fake/llm")]
    done(place, "build", "new", "mine", "--recipe", "questions", "--set", "sources.folder=papers", "--set",
         "review.reviewers=0", *roles)  # fmt: skip
    chance = random.Random(7)
    for _ in range(KILLS):
        process = limner(place, "build", "run", "mine", "--concurrency", "1")
        with llm.lock:
            llm.kill = (process.pid, llm.total + chance.randint(1, 4))
        process.communicate(timeout=120)
        assert process.returncode == -9, "the build was over before it was killed"
    told = json.loads(done(place, "build", "run", "mine", "--json"))
    assert told["failed"] == 0
    assert {row["place"]: row["kept"] for row in told["steps"]}["review"] == len(THEMES)
    assert len(llm.killed_in_flight) == KILLS
    assert llm.refused == []
    # A request that was under way when the process died may be made once more; no other is.
    assert {key for key, times in llm.answered.items() if times > 1} <= set(llm.killed_in_flight)
    assert llm.total <= len(llm.answered) + KILLS


def test_what_was_built_runs(place: Path) -> None:
    said = done(place, "build", "export", "mine", "out")
    assert "1 questions and 2 pictures" in said
    assert "all well-formed" in done(place, "exam", "check", "out/exam.toml")
    exam = ("out/exam.toml", "--painter", "control/reference", "--painter", "control/blank", "--judge", "ocr")
    assert json.loads(done(place, "run", *exam, "--json"))["failed"] == 0
    found = json.loads(done(place, "scores", "out/exam.toml", "--format", "json"))
    bounds = {row["painter"]: row["bounds"]["component"] for row in found}
    assert bounds["control/reference"]["low"] > bounds["control/blank"]["high"], "the figure beats an empty page"
    assert bounds["control/reference"]["high"] == 100.0
    assert bounds["control/blank"]["high"] <= 50.0, "of seven questions, three are on parts that are not there"


def test_graphs_and_constant_answers_lie_beside(place: Path) -> None:
    data = place / "out" / "data"
    for theme in THEMES:
        assert (data / "graphs" / f"{theme.id}.png").read_bytes().startswith(b"\x89PNG")
        assert (data / "graphs" / f"{theme.id}.svg").read_text("utf-8").startswith("<svg")
        assert json.loads((data / "graphs" / f"{theme.id}.json").read_text("utf-8")) == theme.graph
    table = (data / "constant_answers.csv").read_text("utf-8").splitlines()
    assert table[0] == "always,right,of,percent,by chance"
    assert [line.partition(",")[0] for line in table[1:]] == [
        "A of 2", "A of 4", "B of 2", "B of 4", "C of 4", "D of 4", "longest", "no", "yes"
    ]  # fmt: skip
