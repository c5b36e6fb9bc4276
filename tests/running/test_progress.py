"""Progress of a run: its parts add up to the whole, in steps and in money."""

from __future__ import annotations

from pathlib import Path

import pytest

import limner
from limner.running.progress import Progress, duration
from tests.fakes import ChatServer
from tests.support import JUDGE, SmallExam, write_settings


@pytest.fixture
def ended(small_exam: SmallExam, chat: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Progress:
    """A run of two painters, one of which lacks a drawing, under a judge that costs money."""
    monkeypatch.chdir(tmp_path)
    write_settings(tmp_path, chat.base_url)
    first = limner.run("genexam", painters=[f"one=folder/{small_exam.drawings}"], data=small_exam.data, store="s")
    assert first.parts["draw", "one"].done == 4
    small_exam.drawing(small_exam.ids[0]).unlink()
    painters = [f"one=folder/{small_exam.drawings}", f"two=folder/{small_exam.drawings}"]
    return limner.run("genexam", painters=painters, judges=[JUDGE], data=small_exam.data, store="s")


def test_progress_parts_add_up_to_whole(ended: Progress) -> None:
    parts = ended.parts
    assert set(parts) >= {("draw", "one"), ("draw", "two"), ("mark", JUDGE)}
    for name in ("total", "done", "stored", "failed", "not_applicable", "settled", "unpriced", "doubted"):
        assert sum(getattr(part, name) for part in parts.values()) == getattr(ended, name), name
    assert all(part.settled == part.total for part in parts.values())
    assert sum(part.spent for part in parts.values()) == pytest.approx(ended.spent)
    assert parts["mark", JUDGE].spent == pytest.approx(ended.spent)
    assert ended.spent > 0
    assert parts["draw", "two"].failures == {"missing": 1}
    assert ended.waiting == {}


def test_advice_depends_on_kinds_of_failures() -> None:
    progress = Progress()
    assert progress.advice() == []
    for kind in ("setup", "local", "local", "refusal", "damaged"):
        progress.count("q1", "failed", kind, "what was seen")
    assert progress.asked_again == 3
    assert progress.advice() == [
        "3 failures are not kept (2 local, 1 setup). Fix this, then run the same command again: it asks again",
        "2 failures are kept (1 refusal, 1 damaged): add --retry-failed to try again",
    ]


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0s"), (59.6, "1m00s"), (3599.7, "1h00m"), (90000, "25h00m")])
def test_durations_are_formatted(seconds: float, words: str) -> None:
    assert duration(seconds) == words
