"""The command from end to end, with a chat model over the wire that sees: priced before, asked once, resumed."""

from __future__ import annotations

import base64
import io
import json
import os
import random
import re
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from limner.certify.proof import CORRUPTIONS
from tests.certify.asking import DOLLARS, USAGE, Asked, know_lines, known, read, store_lines, write_labelled_exam
from tests.cli.invoke import Said, limner
from tests.fakes.misbehaving import Answer, Misbehaving, Seen, chat_reply, says
from tests.fakes.truth import RATINGS
from tests.needs import released
from tests.painters.controls.pictures import labelled
from tests.support import Gated

COUNT = 3
REAL = "Engineering_34"
"""A question of the release that names a label which OCR reads in its reference."""
ALWAYS, NEVER, BROAD = "Does the frame stand on solid ground?", "Is the frame three days old?", "Is all of it correct?"


def alike(sent: str, reference: Image.Image) -> bool:
    """Whether a picture that was sent is the reference."""
    image = Image.open(io.BytesIO(base64.b64decode(sent.partition(",")[2]))).convert("RGB")
    if image.size != reference.size:
        return False
    gap = np.abs(np.asarray(image).astype(int) - np.asarray(reference.convert("RGB")).astype(int))
    return bool((gap.max(axis=2) > 60).mean() < 0.001)


def answers(asked: Asked) -> list[int]:
    """What a judge that sees says to each point: planted ones have their own answer."""
    number = int(re.search(r"figure (\d+) of", asked.text)[1])  # type: ignore[index]
    right = bool(asked.pictures) and alike(asked.pictures[0], labelled(number)[0])
    points = re.findall(r"^\s*\d+\. (.+)$", asked.text[asked.text.index("## Scoring points") :], re.MULTILINE)
    return [int(ALWAYS in point or (right and NEVER not in point)) for point in points]


def seeing(seen: Seen) -> Answer:
    asked = read(seen)
    if asked.pair:
        return says(chat_reply(json.dumps({"reason": "because", "better": "first"}), USAGE))
    given = answers(asked)
    body: dict[str, Any] = {"description": "a drawing"}
    body["answers"] = [{"reasoning": "so it is", "answer": value} for value in given]
    body["global_evaluation"] = {name: {"reasoning": "so", "score": 2 * given[0]} for name in RATINGS}
    return says(chat_reply(json.dumps(body), USAGE))


def plant(data: Path) -> None:
    """Three bad criteria in the rubric of the first question."""
    path = data / "annotations" / "All_Subjects.jsonl"
    first, *rest = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    texts = [*(point["question"] for point in first["scoring_points"]), ALWAYS, NEVER, BROAD]
    first["scoring_points"] = [{"question": text, "score": 0.125} for text in texts]
    path.write_text("".join(json.dumps(row) + "\n" for row in (first, *rest)), "utf-8")


class ProofScene:
    def __init__(self, folder: Path, server: Misbehaving, data: Path) -> None:
        self.folder, self.server, self.data = folder, server, data

    def prove(self, *words: str, code: int = 0) -> Said:
        asked = ("exam", "prove", "genexam", "--data", "data", "--judge", "fake/judge", "--store", "store")
        return limner(*asked, *words, code=code)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProofScene]:
    monkeypatch.chdir(tmp_path)
    data, lines = write_labelled_exam(tmp_path, COUNT)
    plant(data)
    know_lines(monkeypatch, lines)
    with Misbehaving(seeing) as server:
        known(tmp_path, server)
        yield ProofScene(tmp_path, server, data)


@pytest.mark.slow
def test_rubric_is_proved_and_bad_criteria_are_listed(scene: ProofScene) -> None:
    estimate = scene.prove("--dry-run", "--format=json").json()
    assert not scene.server.seen
    assert estimate["dollars"] > 0

    body = scene.prove("--format=json", "-o", "page.html").json()
    asked = len(scene.server.seen)
    assert body["asked"] == asked <= estimate["steps"], "the price told before is the most it can be"
    assert body["cost"] == pytest.approx(asked * DOLLARS)
    bad = {one["text"]: {reason["kind"] for reason in one["reasons"]} for one in body["mend"]}
    assert bad[ALWAYS] == {"unkilled", "blank", "guessed"}
    assert bad[NEVER] == {"reference"}
    assert bad[BROAD] == {"general"}, "by its words: this judge takes it for good"
    assert len(bad) == 3
    assert body["criteria"] == {"proved": 5 * COUNT + 3 * COUNT, "mend": 3, "undecided": 0, "untested": 0}
    assert {kind: (one["passes"], one["fails"]) for kind, one in body["pictures"].items()} == {
        "clean": (COUNT - 1, 1), "blank": (0, COUNT), "text": (0, COUNT), "other": (0, COUNT),
    }  # fmt: skip
    assert len(body["pictures"]["clean"]["wrong"]) == 1
    assert body["repeats"]["rate"]["value"] == 0.0
    assert 0 < body["guessed"]["value"] < 0.1
    # Two corruptions took everything away in two questions; only the planted one needed the others.
    assert body["corruptions"]["erase"]["criteria"] > body["corruptions"]["cut"]["criteria"] == 11
    page = Path("page.html").read_text("utf-8")
    assert page.count("<img") >= 5
    assert "<script" not in page
    assert str(scene.folder) not in page
    assert "no corruption changes it" in page

    text = scene.prove().out
    assert "criteria to fix" in text
    assert len(scene.server.seen) == asked, "nothing is paid twice"
    every = scene.prove("--every-fault", "--format=json").json()
    assert every["asked"] == len(scene.server.seen) == estimate["steps"] > asked
    assert [one["text"] for one in every["mend"]] == list(bad)

    # A certificate asks about the same pictures: they are paid for.
    before = len(scene.server.seen)
    words = ("--exam", "genexam", "--store", "store", "--format=json")
    steps = limner("examine-judge", "fake/judge", *words).json()["asked"]
    assert len(scene.server.seen) - before < steps
    assert max(Counter(seen.body for seen in scene.server.seen).values()) == 2, "what is asked twice on purpose"
    assert "the judge was not examined" not in scene.prove().out


@pytest.mark.slow
def test_proof_lists_what_the_lint_of_the_exam_finds(scene: ProofScene) -> None:
    path = scene.data / "annotations" / "All_Subjects.jsonl"
    first, *rest = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    own = [point["question"] for point in first["scoring_points"][:3]]
    planted: dict[str, set[str]] = {
        "Is the nucleus of the figure drawn in the cell's centre?": set(),
        own[0]: {"repeated"},
        "In the centre of the cell, is a nucleus of the figure drawn?": {"reworded"},
        "How many vacuoles are drawn?": {"not-yes-no"},
        "Is there no chloroplast in the cell?": {"negated"},
    }
    first["scoring_points"] = [{"question": text, "score": 0.125} for text in (*own, *planted)]
    path.write_text("".join(json.dumps(row) + "\n" for row in (first, *rest)), "utf-8")
    said = {
        one["text"]: {reason["kind"] for reason in one["reasons"]}
        for one in scene.prove("--format=json").json()["mend"]
    }
    assert {
        text: said.get(text, set()) & {"repeated", "reworded", "not-yes-no", "negated"} for text in planted
    } == planted
    checked = limner("exam", "check", "genexam", "--data", "data").out
    assert re.findall(r"point/\d: ([\w-]+):", checked) == ["repeated", "reworded", "not-yes-no", "negated"]


@pytest.mark.slow
def test_budget_stops_proof_and_next_run_resumes(scene: ProofScene) -> None:
    args = ("--judge-arg", "max_completion_tokens=50", "--format=json")
    result = scene.prove(*args, "--budget", "0.01", code=4)
    done = len(scene.server.seen)
    assert done > 0
    assert "budget" in result.err
    found = scene.prove(*args).json()
    assert len(scene.server.seen) == found["asked"] > done
    assert len(found["mend"]) == 3


@pytest.mark.slow
def test_missing_references_are_reported_and_rest_is_proved(scene: ProofScene) -> None:
    for path in (scene.data / "images").rglob("*.png"):
        path.unlink()
    body = scene.prove("--format=json", "-O", "reference=none").json()
    assert {one["picture"] for one in body["impossible"]} == {"clean", "other", *CORRUPTIONS}
    assert {one["why"] for one in body["impossible"]} == {"the question has no reference image here"}
    assert body["pictures"]["blank"]["fails"] == COUNT
    assert body["pictures"]["clean"] == {"passes": 0, "fails": 0, "undecided": 0, "wrong": []}
    assert {one["text"] for one in body["mend"]} == {ALWAYS, BROAD}
    assert body["criteria"]["proved"] == 0
    assert body["criteria"]["untested"] > 0
    assert body["repeats"]["n"] > 0
    assert "no reference was corrupted" in scene.prove("-O", "reference=none").out


@pytest.mark.slow
def test_killed_proof_pays_for_no_request_twice(tmp_path: Path) -> None:
    at = random.Random(18).randint(2, 14)
    data, lines = write_labelled_exam(tmp_path, 2)
    store_lines(tmp_path / "store", lines)
    with Misbehaving(seeing) as server:
        known(tmp_path, server)
        words = (
            "exam",
            "prove",
            "genexam",
            "--data",
            data,
            "--judge",
            "fake/judge",
            "--store",
            "store",
            "--format=json",
        )
        first = Gated(*words, "--concurrency", "1", cwd=tmp_path)

        def fatal(seen: Seen) -> Answer:
            if seen.number == at:
                os.kill(first.pid, signal.SIGKILL)
            return seeing(seen)

        server.behave = fatal
        first.go()
        assert first.end().returncode == -signal.SIGKILL
        assert len(server.seen) == at + 1
        server.behave = seeing
        again = Gated(*words, cwd=tmp_path)
        again.go()
        ended = again.end()
        assert ended.returncode == 0, ended.stderr
        body = json.loads(ended.stdout)
    # What was in flight at the kill was not answered, and is asked once more; nothing else is.
    assert len(server.seen) == body["asked"] + 1
    counted = Counter(seen.body for seen in server.seen)
    wanted = Counter(seen.body for seen in server.seen[:at] + server.seen[at + 1 :])
    assert counted - wanted == Counter([server.seen[at].body])
    assert (body["failed"], body["mend"]) == (0, [])


@pytest.mark.slow
def test_ocr_examiner_proves_real_references_without_false_failures(tmp_path: Path) -> None:
    folder = released("genexam")
    words = ("--data", folder, "--ids", REAL, "--judge", "ocr", "--store", tmp_path / "store")
    body = limner("exam", "prove", "genexam", *words, "--format=json").json()
    assert body["questions"] == 1
    assert body["criteria"]["proved"] > 0
    assert body["criteria"]["undecided"] > 0
    assert not any(reason["by"] == "marks" for one in body["mend"] for reason in one["reasons"])
    assert body["pictures"]["clean"]["wrong"] == []
    assert body["cost"] == 0
