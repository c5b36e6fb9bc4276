"""Wrong answers sorted by mode: what is sorted, what is asked, how replies are read, and through the real command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.asks import Picture, Prompts, Text, Unreadable
from limner.core.marks import Mark
from limner.exams.aibench import analysis
from tests.cli.invoke import limner
from tests.exams.aibench.test_commands import EXAM, WRONG, run, write_replay
from tests.exams.aibench.test_commands import answers as letters
from tests.fakes import ChatServer
from tests.support import JUDGE, write_settings

MARKS = [Mark("component/1", 0, "answered B; right is A"), Mark("topology/5", 0, "answered A; right is B")]


def test_ask_shows_drawing_with_correct_and_given_answer() -> None:
    (question,) = [question for question in EXAM.questions if question.id == "Sample_2025/tidewatch"]
    first, *_ = question.rubric.checklist
    ask = analysis.ask(
        question, [Mark(first.key, 0, "answered B; right is A")], "ab" * 32, Prompts(analysis.MODES.prompts)
    )
    picture, text = ask.shown
    assert isinstance(picture, Picture)
    assert isinstance(text, Text)
    assert picture.sha256 == "ab" * 32
    for part in (first.question, *first.options.values(), f"Right answer: {first.correct_option}", "Answered: B"):
        assert part in text.text
    assert all(f"`{name}`" in text.text for name in analysis.NAMES)
    assert "{{" not in text.text
    assert ask.contract.parse('{"1": "text"}') == {first.key: "text"}
    with pytest.raises(Unreadable, match="question 1 needs one of missing, layout, logic, text"):
        ask.contract.parse('{"1": "bad luck"}')


@given(st.dictionaries(st.sampled_from(["0", "1", "2", "3", "x"]), st.sampled_from([*analysis.NAMES, "none", 7, None])))
def test_reply_assigns_known_modes_to_known_questions_only(reply: dict[str, Any]) -> None:
    found = analysis.read(json.dumps(reply), MARKS)
    wanted = {mark.criterion: reply.get(str(n)) for n, mark in enumerate(MARKS, 1)}
    assert found == {criterion: word for criterion, word in wanted.items() if word in analysis.NAMES}


@given(st.text())
def test_any_text_gives_only_known_modes(text: str) -> None:
    assert set(analysis.read(text, MARKS).values()) <= set(analysis.NAMES)


@pytest.fixture
def marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store of the sample in which three answers are wrong."""
    monkeypatch.chdir(tmp_path)
    run(tmp_path, "--judge", f"replay/{write_replay(tmp_path / 'said.jsonl', letters(WRONG))}")
    return tmp_path


def sort(folder: Path, *words: str | Path, code: int = 0) -> Any:
    return limner("modes", "sample/aibench", "--store", folder / "store", *words, code=code)


@pytest.mark.slow
def test_each_wrong_answer_is_asked_and_paid_once(marked: Path, chat: ChatServer) -> None:
    write_settings(marked, chat.base_url)
    chat.configure(reply='{"1": "layout"}')
    model = ("--model", JUDGE)
    before = sort(marked, *model, "--dry-run", "--format=json").json()
    assert (before["calls"], before["role"], chat.counts()["answered"]) == (3, "sorter", 0)
    assert 0 < before["dollars"] < 1
    body = sort(marked, *model, "--format=json").json()
    (painter,) = body["painters"]
    assert painter["wrong"] == 3
    assert painter["modes"] == {"missing": 0, "layout": 3, "logic": 0, "text": 0, "unread": 0, "failed": 0}
    assert chat.counts()["answered"] == 3
    assert body["spent"] > 0
    again = sort(marked, *model, "--format=json").json()
    assert again == {**body, "spent": 0.0}
    assert chat.counts()["answered"] == 3
    assert sort(marked, *model, "--dry-run", "--format=json").json()["calls"] == 0
    spent = limner("spend", "--store", marked / "store", "--by", "target", "--format=json").json()
    assert {row["group"]["target"]: row["calls"] for row in spent}[JUDGE] == 3


@pytest.mark.slow
def test_reply_without_mode_is_unread_after_three_tries(marked: Path, chat: ChatServer) -> None:
    write_settings(marked, chat.base_url)
    chat.configure(reply='{"1": "bad luck"}')
    result = sort(marked, "--model", JUDGE)
    assert chat.counts()["answered"] == 9
    assert "unread: the model named no mode for them in three tries" in result.out
    assert "that a model assigns them, and the counts, are Limner's own" in result.out
    body = sort(marked, "--model", JUDGE, "--format=json").json()
    assert body["painters"][0]["modes"]["unread"] == 3
    assert chat.counts()["answered"] == 9


def test_failed_call_is_counted_as_failed_and_not_as_mode(marked: Path) -> None:
    replies = marked / "modes.jsonl"
    replies.write_text(json.dumps({"id": "Sample_2025/tidewatch", "reply": {"1": "text"}}) + "\n", "utf-8")
    body = sort(marked, "--model", f"replay/{replies}", "--format=json", code=3).json()
    counts = body["painters"][0]["modes"]
    assert (counts["text"], counts["failed"], sum(counts.values())) == (1, 2, 3)


@pytest.mark.slow
def test_budget_and_prompts_are_checked_before_any_call(marked: Path, chat: ChatServer) -> None:
    write_settings(marked, chat.base_url, priced=False)
    assert "--budget cannot be enforced" in sort(marked, "--model", JUDGE, "--budget", "1", code=2).err
    assert "no such folder" in sort(marked, "--model", JUDGE, "--prompts", "nowhere", code=2).err
    assert chat.counts()["answered"] == 0


def test_exam_without_modes_is_rejected(tmp_path: Path) -> None:
    store = ("--store", tmp_path / "s")
    limner("run", "sample/genexam", "--painter", "control/blank", "--judge", "ocr", "--limit", "1", *store)
    output = limner("modes", "sample/genexam", "--model", "openai/gpt-5", *store, code=2).err
    assert "sample/genexam has no failure modes; exams that have some: aibench" in output


@pytest.mark.slow
def test_mode_shares_are_plotted(marked: Path) -> None:
    pytest.importorskip("matplotlib")
    replies = marked / "modes.jsonl"
    lines = [{"id": id.partition(" ")[0], "reply": {"1": "missing"}} for id in sorted(WRONG)]
    replies.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    sort(marked, "--model", f"replay/{replies}", "-o", marked / "modes.svg")
    assert (marked / "modes.svg").read_text("utf-8").startswith("<?xml")
