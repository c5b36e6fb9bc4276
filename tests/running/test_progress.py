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
    data = small_exam.data
    return limner.run("genexam", painters=painters, judges=[JUDGE], data=data, store="s", require_all=True)


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


def test_failures_are_grouped_by_cause_in_five_lines() -> None:
    progress = Progress()
    assert progress.failure_lines() == []
    for n in range(3):
        progress.count(f"q{n}", "failed", "server", f"q{n}: 500: request {n} failed")
    progress.count("q9", "failed", "refusal", "no")
    assert progress.asked_again == 3
    assert progress.failure_lines() == [
        "failed 3 times, first (server): q0: 500: request 0 failed. The service failed: try again later. "
        "Run the same command again to retry.",
        "failed (refusal): q9: no. The service refuses this content; it counts against the coverage. "
        "--retry-failed tries again.",
    ]
    for kind in ("damaged", "setup", "image", "local"):
        progress.count("q1", "failed", kind, "what was seen")
    assert len(progress.failure_lines()) == 5
    # Steps end in any order, so causes of equal number are in the order of their kinds.
    assert progress.failure_lines()[-1] == "… and 2 failures of 2 other causes (refusal, setup)"


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0s"), (59.6, "1m00s"), (3599.7, "1h00m"), (90000, "25h00m")])
def test_durations_are_formatted(seconds: float, words: str) -> None:
    assert duration(seconds) == words
