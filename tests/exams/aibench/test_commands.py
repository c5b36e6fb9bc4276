"""The exam through the real commands: check, run, scores, show, export, import, estimate, both ways of asking."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tools.samples.aibench.draw import IMAGES

from limner.exams import read, resolve
from tests.cli.invoke import limner
from tests.exams.aibench.rows import CHECKLIST, ROW, write
from tests.fakes import ChatServer
from tests.fakes.jobs_client import JobServer
from tests.support import JUDGE, write_settings

EXAM = read(resolve("sample/aibench"))
TOTAL = sum(len(question.rubric.checklist) for question in EXAM.questions)


def answers(wrong: frozenset[str] = frozenset()) -> dict[str, dict[str, str]]:
    """The right letters of the sample, by question and key; those in `wrong` (``id key``) are off by one."""
    found: dict[str, dict[str, str]] = {}
    for question in EXAM.questions:
        for item in question.rubric.checklist:
            letters = sorted(item.options)
            at = letters.index(item.correct_option) + (f"{question.id} {item.key}" in wrong)
            found.setdefault(question.id, {})[item.key] = letters[at % len(letters)]
    return found


def write_replay(path: Path, said: Mapping[str, Mapping[str, Any]], batched: bool = False) -> Path:
    lines = []
    for id, replies in said.items():
        if batched:
            lines.append({"id": id, "reply": {str(n): letter for n, letter in enumerate(replies.values(), 1)}})
        else:
            for key, reply in replies.items():
                how = {"replies": reply} if isinstance(reply, list) else {"reply": reply}
                lines.append({"id": id, "ask": key, **how})
    return write(path, *lines)


WRONG = frozenset(
    {"Sample_2025/tidewatch component/1", "Sample_2025/songlark topology/5", "Sample_2026/claymesh phase/7"}
)


def run(tmp_path: Path, *words: str | Path, code: int = 0) -> Any:
    fixed = ("--painter", "control/reference", "--store", tmp_path / "store", "--format=json")
    return limner("run", "sample/aibench", *fixed, *words, code=code).json()


def standing(tmp_path: Path, *words: str | Path) -> dict[str, Any]:
    said = limner("scores", "sample/aibench", "--store", tmp_path / "store", "--format", "json", *words).json()
    (found,) = said
    assert isinstance(found, dict)
    return found


@pytest.mark.slow
def test_single_and_batched_variants_are_scored(tmp_path: Path) -> None:
    single = write_replay(tmp_path / "single.jsonl", answers(WRONG))
    assert run(tmp_path, "--judge", f"replay/{single}")["failed"] == 0
    found = standing(tmp_path, "--by", "venue", "--by", "dimension")
    expected = {"component": 100 * 39 / 40, "topology": 100 * 23 / 24, "phase": 100 * 11 / 12, "semantics": 100.0}
    for name, value in expected.items():
        assert found["scores"][name]["value"] == pytest.approx(value)
        assert found["by"]["dimension"][name]["scores"][name]["value"] == pytest.approx(value)
    assert found["scores"]["overall"]["value"] == pytest.approx(sum(expected.values()) / 4)
    assert found["scores"]["aesthetics"]["value"] is None
    assert found["by"]["venue"]["Sample_2026"]["scores"]["component"]["value"] == 100
    assert (found["setup"]["variant"], found["coverage"]) == ("single", 1.0)
    assert found["remarks"][0] == "no aesthetics rating: overall is the mean of the four levels, not of five numbers"

    both = write_replay(tmp_path / "batched.jsonl", answers(), batched=True)
    run(tmp_path, "--judge", f"replay/{both}", "--variant", "batched")
    output = limner("scores", "sample/aibench", "--store", tmp_path / "store", "--variant", "batched", "--notes").out
    assert "asked: variant batched" in output
    assert "no aesthetics rating" in output

    agreed = limner("agree", "sample/aibench", "--store", tmp_path / "store", "--format", "json").json()
    accuracy = {pair["score"]: pair for pair in agreed["pairs"] if pair["measure"] == "accuracy" and not pair["tag"]}
    assert accuracy["all"]["n"] == TOTAL
    assert accuracy["all"]["value"] == pytest.approx((TOTAL - 3) / TOTAL)
    assert accuracy["semantics"]["value"] == 1


def test_unread_answer_does_not_fail_marking(tmp_path: Path) -> None:
    replies_by_id: dict[str, dict[str, Any]] = {id: dict(replies) for id, replies in answers().items()}
    replies_by_id["Sample_2025/tidewatch"]["topology/4"] = ["Hmm.", "I see.", "Based on the picture, no idea"]
    replies_by_id["Sample_2025/songlark"]["topology/5"] = "Hmm."
    replies_by_id["Sample_2025/tidewatch"]["phase/6"] = ["Hmm.", answers()["Sample_2025/tidewatch"]["phase/6"]]
    replay = write_replay(tmp_path / "r.jsonl", replies_by_id)
    assert run(tmp_path, "--judge", f"replay/{replay}")["failed"] == 0
    careful, release = (standing(tmp_path, "--reading", reading) for reading in ("careful", "release"))
    right = answers()["Sample_2025/tidewatch"]["topology/4"] == "B"
    assert careful["scores"]["topology"]["value"] == pytest.approx(100 * 22 / 24)
    assert release["scores"]["topology"]["value"] == pytest.approx(100 * (22 + right) / 24)
    assert careful["scores"]["phase"]["value"] == 100
    assert (careful["n"], careful["failures"]) == (12, {})
    assert careful["remarks"][0] == f"2 of {TOTAL} questions have no readable answer; they count as not right"
    # The release takes the B of "Based on".
    assert release["remarks"][0] == f"1 of {TOTAL} questions have no readable answer; they count as not right"


def test_marking_without_any_readable_answer_fails(tmp_path: Path) -> None:
    replies_by_id: dict[str, dict[str, Any]] = {id: dict(replies) for id, replies in answers().items()}
    replies_by_id["Sample_2025/tidewatch"] = {key: ["?", "??", "???"] for key in replies_by_id["Sample_2025/tidewatch"]}
    replay = write_replay(tmp_path / "r.jsonl", replies_by_id)
    assert run(tmp_path, "--judge", f"replay/{replay}", code=3)["failures"] == {"unreadable": 1}
    assert (standing(tmp_path)["n"], standing(tmp_path)["expected"]) == (11, 12)


def test_solver_receives_figure_and_question(tmp_path: Path, chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_settings(tmp_path, chat.base_url)
    chat.configure(reply="B")
    run(tmp_path, "--judge", JUDGE, "--limit", "1")
    question = EXAM.questions[0]
    assert chat.counts()["answered"] == len(question.rubric.checklist)
    figure = hashlib.sha256((IMAGES / f"{question.id}.png").read_bytes()).hexdigest()
    for record, item in zip(chat.records(100), question.rubric.checklist, strict=True):
        system, user = record["body"]["messages"]
        assert system == {
            "role": "system",
            "content": [{"type": "text", "text": "You are a plain, helpful assistant."}],
        }
        image, text = user["content"]
        assert (image["type"], image["image_url"]["url"]["sha256"]) == ("image_url", figure)
        assert item.question in text["text"]


def details(wrong: str | None = None) -> list[dict[str, Any]]:
    return [
        {
            "qid": one["id"],
            "level": one["level"],
            "gt": one["correct_option"],
            "pred": "" if wrong == one["level"] else one["correct_option"],
            "is_correct": wrong != one["level"],
        }
        for one in CHECKLIST
    ]


def test_default_output_of_released_script_is_imported(tmp_path: Path) -> None:
    data = write(tmp_path / "AIBench.jsonl", ROW, {**ROW, "id": "ICLR_2025/2"})
    lines: list[dict[str, Any] | str] = []
    for id, score in ((ROW["id"], 60.0), ("ICLR_2025/2", {"score": 0.0})):
        steps: list[dict[str, Any]] = []
        for step in ({"task": "visual_qa", "score": 1.0, "details": details()}, {"task": "aesthetic", "score": score}):
            steps = [*steps, step]
            lines.append({"prompt_id": id, "steps": steps, "ts": 1.5, "stage": "success", "latency_sec": 2.0})
    results = write(tmp_path / "eval_records.jsonl", *lines, '{"prompt_id": "CVPR_20')
    to = ("--painter", "wan", "--judge", "qwen", "--store", tmp_path / "store")
    result = limner("import", "aibench", "--data", data, "--results", results, *to, code=3)
    assert ", 0 with their drawing, 1 with a failed measurement" in result.out
    assert f"note: {results}:5: not JSON" in result.err
    assert f"note: {results}: ICLR_2025/2: aesthetics: " in result.err
    (found,) = limner("scores", "aibench", "--store", tmp_path / "store", "--format", "json").json()
    assert (found["scores"]["aesthetics"]["value"], found["scores"]["aesthetics"]["n"]) == (60.0, 1)
    assert found["scores"]["component"]["value"] == 100
    assert found["remarks"] == ["aesthetics is known of 1 of 2 drawings: overall counts the mean of those"]
    again = limner("import", "aibench", "--data", data, "--results", results, *to, "--format=json", code=3).json()
    assert again == {"results": 2, "images": 0, "failures": {"probe": 1}}


def test_results_of_other_checklist_are_rejected(tmp_path: Path) -> None:
    data = write(tmp_path / "AIBench.jsonl", ROW)
    other = [{**one, "gt": "A", "pred": "A"} for one in details()]
    results = write(
        tmp_path / "out.jsonl", {"prompt_id": ROW["id"], "steps": [{"task": "visual_qa", "details": other}]}
    )
    to = ("--painter", "wan", "--judge", "qwen", "--store", tmp_path / "store")
    result = limner("import", "aibench", "--data", data, "--results", results, *to, code=1)
    assert "made with another checklist: its right answer to component/1 is A, not B" in result.err
    assert not (tmp_path / "store").exists()


@pytest.fixture(scope="module")
def dashscope() -> Iterator[JobServer]:
    with JobServer() as server:
        yield server


@pytest.mark.slow
@pytest.mark.parametrize(("model", "limit"), [("qwen-image", "800")])
def test_long_method_text_is_sent_whole_and_truncation_is_noted(
    tmp_path: Path, dashscope: JobServer, monkeypatch: pytest.MonkeyPatch, model: str, limit: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DASHSCOPE_API_KEY", "sk-any")
    dashscope.reset()
    lines = f'[providers.dashscope]\nimage_url = "{dashscope.root}"\nlink_hosts = ["*"]\n'
    (tmp_path / "limner.toml").write_text(lines, "utf-8")
    long = "We encode. " * 1640
    data = write(tmp_path / "AIBench.jsonl", {**ROW, "method_text": long}, {**ROW, "id": "ICLR_2025/2"})
    replay = write(tmp_path / "r.jsonl", *({"id": id, "reply": "B"} for id in (ROW["id"], "ICLR_2025/2")))
    words = ("--data", data, "--painter", f"dashscope/{model}", "--judge", f"replay/{replay}")
    limner("run", "aibench", *words, "--painter-arg", "poll_pause_s=0.001", "--store", tmp_path / "store")
    sent = [json.dumps(body) for body in dashscope.requests() if "poll" not in body]
    assert len(sent) == 2
    assert sum(long.strip() in body for body in sent) == 1
    (found,) = limner("scores", "aibench", "--store", tmp_path / "store", "--format", "json").json()
    (note,) = [remark for remark in found["remarks"] if "prompt" in remark]
    assert note.startswith("1 of 2 drawings were made from only the beginning of their prompt: the painter reads ")
    assert f"reads {limit} characters and cuts off the rest; up to 18," in note
    shown = limner("scores", "aibench", "--store", tmp_path / "store").out
    assert "1 of 2 drawings were made from only the beginning of their prompt" in " ".join(shown.split())
    page = limner("show", "aibench", ROW["id"], "--store", tmp_path / "store", "--format=json").json()
    assert f"{page['drawings'][0]['notes']['prompt_cut']['read']:,}" == limit
