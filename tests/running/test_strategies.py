"""Strategies in runs: what failed inside is tried again when asked for, and calls are counted as they are made."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from limner.core import settings
from limner.exams.genexam.data import read
from limner.running.estimate import estimate
from limner.running.plan import Arm, NoPainter, Plan
from limner.running.progress import Progress
from limner.running.runner import Runner
from limner.store import Store
from limner.store.records import Drawing, load_drawings
from tests.fakes.studio import chart
from tests.strategies.support import Brush, Mind, made, said_by_studio
from tests.support import write_exam

STARTS = {"Several": "chooser", "A drawing": "critic", "Draw what": "coder", "You plan": "planner"}


@dataclass
class Talk:
    """Says what the studio says, but nonsense as often as it is told to, by role; counts who was asked."""

    nonsense: dict[str, int] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)

    def __call__(self, words: str, seen: list[str], turn: int) -> str:
        role = next(role for start, role in STARTS.items() if words.startswith(start))
        self.asked[role] += 1
        if self.nonsense.get(role, 0) > 0:
            self.nonsense[role] -= 1
            return "I would rather not say."
        if role == "coder":
            return chart(["Cell"], 150 + self.asked[role])  # Every try looks different.
        if role == "critic":
            return '{"faults": [{"what": "no nucleus", "where": "middle", "mend": "draw it"}]}'
        return said_by_studio(words, seen, turn)


class Lab:
    """One exam, one store, one painter, one mind."""

    def __init__(self, folder: Path, count: int = 1) -> None:
        self.folder, self.exam = folder, read(write_exam(folder, count).data)
        self.talk, self.brush, self.editor = Talk(), Brush(), Brush("editor")

    def plan(self, word: str, options: dict[str, str] | None = None, **how: Any) -> Plan:
        strategy = made(word, Mind(self.talk), self.editor, **(options or {}))
        painter = self.brush if strategy.paints else NoPainter("svg/fake/mind")
        return Plan(self.exam, [painter], [], chosen_arms=[Arm(painter, strategy)], **how)

    def run(self, word: str, options: dict[str, str] | None = None, **how: Any) -> tuple[Progress, list[Drawing]]:
        self.talk.asked.clear()
        with Store(self.folder / "store") as store:
            progress = Runner(self.plan(word, options, **how), store).run()
            return progress, list(load_drawings(store, self.exam.name))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "role"),
    [("reason+best-of-2", "chooser"), ("reason+edit", "critic"), ("svg", "coder"), ("reason", "planner")],
)
def test_unreadable_replies_in_strategy_are_retried_on_request(word: str, role: str, tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.talk.nonsense = {role: 6}
    progress, (failed,) = lab.run(word)
    assert (progress.failures, failed.fault, failed.rounds) == ({"unreadable": 1}, "unreadable", 0)
    assert lab.talk.asked[role] == 3
    drawn = len(lab.brush.drawn)
    # Without being asked to, nothing is tried again.
    lab.run(word)
    assert not lab.talk.asked
    # Three more, in vain; then again, with better luck. What could be read is neither asked for nor drawn again.
    _, (failed,) = lab.run(word, retry_failed=True)
    assert (lab.talk.asked, failed.fault, failed.rounds) == ({role: 3}, "unreadable", 1)
    progress, (done,) = lab.run(word, retry_failed=True)
    assert (progress.failed, done.status, done.rounds) == (0, "done", 2)
    others = Counter(lab.talk.asked)
    assert others.pop(role) >= 1
    assert others.keys() <= {"chooser"}  # Who chooses after the critic had not been asked before.
    assert len({(sent.seed, sent.prompt) for sent in lab.brush.drawn}) == len(lab.brush.drawn) >= drawn
    # All that was paid for stands in the drawing: six replies in vain, and what came after them.
    assert done.cost is not None
    assert done.cost > 0.065
    lab.run(word, retry_failed=True)
    assert not lab.talk.asked


def test_later_run_resumes_in_round_that_succeeded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The retry succeeded, then the editor failed: the next run continues without --retry-failed."""
    monkeypatch.setattr("limner.calls.journal.back_off", lambda _tries: 0.0)
    lab = Lab(tmp_path)
    lab.talk.nonsense = {"critic": 3}
    lab.run("edit", {"rounds": "1"})
    lab.editor.faults = {0: "server"}
    _, (failed,) = lab.run("edit", {"rounds": "1"}, retry_failed=True)
    assert (failed.fault, failed.rounds) == ("server", 1)
    lab.editor.faults = {}
    _, (done,) = lab.run("edit", {"rounds": "1"})
    assert (done.status, done.rounds, lab.talk.asked["critic"]) == ("done", 1, 0)


class Slow(Brush):
    """Notes how many drawings it is asked for at the same time."""

    flying, peak, most = 0, 0, 1
    full: asyncio.Event

    async def drawn_number(self, body: dict[str, Any]) -> int:
        self.flying += 1
        self.peak = max(self.peak, self.flying)
        if self.peak == 1:
            self.full = asyncio.Event()
        if self.flying >= self.most:
            self.full.set()
        async with asyncio.timeout(60):
            await self.full.wait()  # As many as are allowed do get there.
        for _ in range(50):
            await asyncio.sleep(0)
        self.flying -= 1
        return await super().drawn_number(body)


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 3])
def test_concurrency_limits_calls_not_drawings(most: int, tmp_path: Path) -> None:
    lab = Lab(tmp_path, 4)
    lab.brush = brush = Slow()
    brush.most = most
    progress, _ = lab.run("best-of-8", concurrency=most)
    assert (progress.failed, len(brush.drawn)) == (0, 32)
    assert brush.peak == most


class Paid(Brush):
    """One whose drawings cost something, so that they are told."""

    def price(self) -> tuple[float | None, str]:
        return 0.02, "price list"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "options"),
    [
        ("svg", {}),
        ("svg-prior", {}),
        ("svg+best-of-3", {}),
        ("svg-prior+best-of-2", {"choose": "pairwise"}),
        ("best-of-3", {"choose": "pairwise"}),
        ("reason+edit", {"edit": "plain"}),
    ],
)
def test_estimate_matches_calls_made(word: str, options: dict[str, str], tmp_path: Path) -> None:
    lab = Lab(tmp_path, 5)
    lab.brush, lab.editor = Paid(), Paid("editor")
    with Store(tmp_path / "store") as store:
        estimated = {one.role: one.calls for one in estimate(lab.plan(word, options), store, settings.load())}
    lab.run(word, options)
    calls_made = lab.talk.asked + Counter({"painter": len(lab.brush.drawn), "editor": len(lab.editor.drawn)})
    assert estimated == calls_made
