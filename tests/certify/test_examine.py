"""The command from end to end, with a chat model over the wire: asked once, priced before, resumed, asked again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from limner.painters.controls.faults import FAULTS
from limner.store import Store
from limner.store.markings import load_certificates, newest_certificates
from tests.certify.asking import DOLLARS, Asked, Marks, know_lines, known, marking, read, write_labelled_exam
from tests.cli.invoke import Said, limner
from tests.fakes.misbehaving import Misbehaving

COUNT = 6


class Scene:
    """An exam of six questions and a judge that marks as it is told."""

    def __init__(self, folder: Path, server: Misbehaving) -> None:
        self.folder, self.server = folder, server
        self.marks: Marks = lambda _asked: True
        server.behave = marking(lambda asked: self.marks(asked))

    def examine(self, *words: str, code: int = 0) -> Said:
        asked = ("examine-judge", "fake/judge", "--exam", "genexam", "--data", "data", "--store", "store")
        return limner(*asked, *words, code=code)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.chdir(tmp_path)
    _, lines = write_labelled_exam(tmp_path, COUNT)
    know_lines(monkeypatch, lines)
    with Misbehaving(lambda _seen: pytest.fail("nobody is to be asked")) as server:
        known(tmp_path, server)
        yield Scene(tmp_path, server)


@pytest.mark.slow
def test_judge_is_examined_once_and_checked_again(scene: Scene) -> None:
    estimate = scene.examine("--dry-run", "--format=json").json()
    assert not scene.server.seen
    assert estimate["dollars"] > 0

    body = scene.examine("--format=json", "-o", "page.html").json()
    asked = len(scene.server.seen)
    assert body["asked"] == asked == estimate["steps"]
    assert body["failed"] == 0
    assert len([one for one in map(read, scene.server.seen) if not one.pictures]) == COUNT
    assert set(body["flagged"]) == {"sight", "comparing", "errors", "yes-lean", "position", "unseen"}
    assert body["verdict"] == "cannot see the drawing"
    assert {test["name"] for test in estimate["power"]} == {test["name"] for test in body["tests"]}
    measured = {test["name"]: test["value"] for test in body["tests"]}
    assert (measured["comparing"], measured["flips"]) == (0.5, 0.0)
    assert body["false_alarms"]["all"]["value"] == 0.0
    assert body["cost"] == pytest.approx(asked * DOLLARS)
    assert [(row["n"], row["scores"]["relaxed"]) for row in body["consistency"]["rows"]] == [(COUNT, 100.0)]
    kinds = {one["kind"] for one in body["pictures"]}
    assert kinds == {"clean", *FAULTS} - {"other"}, "all references have the same labels"
    page = Path("page.html").read_text("utf-8")
    assert page.count("<img") == len([one for one in body["pictures"] if one["kind"] != "unseen"])
    assert page.count('class="wrong"') > 10

    text = scene.examine().out
    assert len(scene.server.seen) == asked, "nothing is paid twice"
    assert "certificate of fake/judge" in text
    assert "fake/judge cannot see the drawing: do not use its marks." in text
    assert "must fall / stand" not in text
    assert "must fall / stand" in scene.examine("--detail").out

    moved = scene.examine("--again", "--format=json").json()
    assert (moved["moved"], moved["yes"]["value"], moved["session"]) == (False, 0.0, 0)
    assert len(scene.server.seen) == asked + 4 * COUNT

    scene.marks = lambda _asked: False
    moved = scene.examine("--again", "--format=json").json()
    assert (moved["moved"], moved["yes"]["value"], moved["session"]) == (True, -1.0, 1)
    assert moved["scores"]["relaxed"]["value"] == pytest.approx(-100.0)
    assert moved["asked"] < moved["of"] == 4 * COUNT, "a move that is certain ends the asking"
    with Store("store") as store:
        rows = load_certificates(store, "genexam")
        assert [row.body["kind"] for row in rows] == ["certificate", "drift", "drift"]
        assert list(newest_certificates(store, "genexam").values()) == rows[:1]

    # Its successor is held against the same answers.
    with Path("limner.toml").open("a", encoding="utf-8") as file:
        file.write('shutdown = 2026-01-01\nsuccessor = "fake/heir"\n[models."fake/heir"]\n')
        file.write("input_price = 1\noutput_price = 1\n")
    out = scene.examine("--again").out
    assert "fake/heir, successor of fake/judge, has moved since" in out
    assert scene.server.seen[-1].json["model"] == "heir"


@pytest.mark.slow
def test_quick_examination_asks_less_and_certifies_too(scene: Scene) -> None:
    whole = scene.examine("--dry-run", "--format=json").json()
    quick = scene.examine("--dry-run", "--quick", "--format=json").json()
    assert quick["steps"] < whole["steps"] / 2
    body = scene.examine("--quick", "--format=json").json()
    assert body["asked"] == quick["steps"] == len(scene.server.seen)
    assert body["verdict"] == "cannot see the drawing"


def test_judge_not_examined_before_cannot_be_checked_again(scene: Scene) -> None:
    result = scene.examine("--again", code=2)
    assert "fake/judge was not examined on genexam" in result.err
    assert not scene.server.seen


@pytest.mark.slow
def test_budget_stops_examination_and_next_run_resumes(scene: Scene) -> None:
    def careful(asked: Asked) -> bool:
        return bool(asked.pictures)

    scene.marks = careful
    args = ("--judge-arg", "max_completion_tokens=50", "--questions", "4", "--format=json")
    result = scene.examine(*args, "--budget", "0.02", code=4)
    done = len(scene.server.seen)
    assert done > 0
    assert "budget" in result.err
    found = scene.examine(*args).json()
    assert len(scene.server.seen) == found["asked"], "what was paid for is not asked again"
    assert found["asked"] > done
    unseen = next(test for test in found["tests"] if test["name"] == "unseen")
    assert (unseen["value"], unseen["flagged"]) == (0.0, False)
