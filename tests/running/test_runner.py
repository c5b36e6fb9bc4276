"""The runner: missing work is done, failures are not zeros, and every stopped run can be resumed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from limner import api
from limner.calls import Calls, Fault
from limner.cli import main
from limner.core.errors import StopRun, StoreError, UsageError
from limner.core.marks import Mark
from limner.exams.genexam.data import read
from limner.judges import JudgeResult, Subject
from limner.painters import Painting, PaintRequest
from limner.painters.base import FreePainter
from limner.running.plan import Plan
from limner.running.progress import Progress
from limner.running.runner import Runner
from limner.scoring import Entry, Standing
from limner.store import Store
from limner.store.markings import Marking, load_markings
from limner.store.records import Drawing, load_drawings
from tests.fakes import ChatServer
from tests.support import JUDGE, KEY_VARIABLE, Gated, SmallExam, expected_scores, picture, write_settings


@dataclass
class World:
    """A small exam, a folder of drawings, a fake judge, and the command line in this process."""

    folder: Path
    exam: SmallExam
    chat: ChatServer
    capture: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch
    words: list[str]
    before: int = 0

    def run(self, *more: str) -> tuple[int, dict[str, Any], str]:
        """Exit code, closing words and messages of a run."""
        self.capture.readouterr()
        self.patch.setattr(sys, "argv", ["limner", *self.words, *more])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = self.capture.readouterr()
        assert "Traceback" not in err
        assert isinstance(ended.value.code, int)
        return ended.value.code, json.loads(out) if out else {}, err

    def asked(self) -> int:
        """How many requests came since this was last asked for."""
        total = int(self.chat.counts()["total"])
        before, self.before = self.before, total
        return total - before

    def entries(self) -> dict[str, Entry]:
        _, (group,) = api.groups("genexam", store="store")
        return {entry.question.id: entry for entry in group.entries}

    def scores(self) -> dict[str, dict[str, float | None]]:
        names = ("strict", "relaxed", "semantic")
        return {id: {name: e.scores[name] for name in names} for id, e in self.entries().items() if e.scored}

    def standing(self) -> Standing:
        (standing,) = api.scores("genexam", store="store")
        return standing

    def drawings(self) -> list[Drawing]:
        with Store("store") as store:
            return list(load_drawings(store, "genexam"))

    def markings(self) -> list[Marking]:
        with Store("store") as store:
            return list(load_markings(store, "genexam"))

    def expected(self, seed: int = 1) -> dict[str, dict[str, float]]:
        return expected_scores(self.exam, self.chat, seed)


@pytest.fixture
def make_world(
    tmp_path: Path,
    make_exam: Callable[[int], SmallExam],
    chat: ChatServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[int], World]:
    def make(count: int) -> World:
        write_settings(tmp_path, chat.base_url)
        monkeypatch.chdir(tmp_path)
        # Waiting between tries is tested with the journal.
        monkeypatch.setattr("limner.calls.journal.back_off", lambda _tries: 0.0)
        exam = make_exam(count)
        words = ["run", "genexam", "--data", str(exam.data), "--painter", f"mine=folder/{exam.drawings}"]
        words += ["--judge", JUDGE, "--store", "store", "--concurrency", "4", "--format=json"]
        return World(tmp_path, exam, chat, capsys, monkeypatch, words)

    return make


@pytest.fixture
def world(make_world: Callable[[int], World]) -> World:
    return make_world(4)


def test_run_draws_and_marks_and_second_run_does_no_work(world: World) -> None:
    code, closing, _ = world.run()
    assert (code, closing["done"], closing["failed"], world.asked()) == (0, 8, 0, 4)
    assert closing["spent"] > 0
    assert world.scores() == world.expected()
    code, closing, _ = world.run()
    assert (code, closing["done"], closing["stored"], closing["spent"], world.asked()) == (0, 0, 8, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--require-all",)])
def test_question_without_image_counts_against_coverage(world: World, words: tuple[str, ...]) -> None:
    gone = world.exam.drawing(world.exam.ids[1])
    data = gone.read_bytes()
    gone.unlink()
    code, closing, err = world.run(*words)
    failures = {"missing": 1} if words else {}
    assert (code, closing["failures"], world.asked()) == (3 if words else 0, failures, 3)
    assert "3 of 4 questions have an image; 1 has none" in err
    standing = world.standing()
    assert (standing.n, standing.expected, standing.coverage, standing.failures) == (3, 4, 0.75, failures)
    gone.write_bytes(data)
    rest = replace(world.exam, rows=tuple(row for row in world.exam.rows if row["id"] != world.exam.ids[1]))
    expected = [scores["relaxed"] for scores in expected_scores(rest, world.chat, 1).values()]
    assert standing.scores["relaxed"].value == pytest.approx(sum(expected) / 3, abs=1e-6)
    assert standing.pessimistic.value("relaxed") == pytest.approx(sum(expected) / 4, abs=1e-6)
    # The file is there now: the next run finds it without being told to.
    code, closing, _ = world.run()
    assert (code, closing["done"], closing["stored"], world.asked()) == (0, 2, 6, 1)
    assert world.standing().coverage == 1.0


@pytest.mark.slow
def test_reply_unreadable_three_times_is_fault_until_retried(world: World) -> None:
    world.chat.configure(malformed_until_turn=3)
    code, closing, _ = world.run("--limit", "1")
    assert (code, closing["failures"], world.asked()) == (3, {"unreadable": 1}, 3)
    (marking,) = world.markings()
    assert (marking.status, marking.fault, marking.rounds, len(marking.replies)) == ("failed", "unreadable", 0, 3)
    assert marking.cost is not None
    assert marking.cost > 0
    assert world.standing().failures == {"unreadable": 1}
    assert world.standing().scores["relaxed"].value is None

    world.chat.configure()
    assert world.run("--limit", "1")[0] == 3
    assert world.asked() == 0

    code, closing, _ = world.run("--limit", "1", "--retry-failed")
    assert (code, closing["failed"], world.asked()) == (0, 0, 1)
    (marking,) = world.markings()
    assert (marking.status, marking.rounds) == ("done", 1)
    assert world.scores().keys() == {world.exam.ids[0]}
    assert world.run("--limit", "1", "--retry-failed")[0] == 0
    assert world.asked() == 0


def test_malformed_reply_is_asked_for_again_naming_its_fault(world: World) -> None:
    world.chat.configure(seed=3, malformed_until_turn=1, malformed_kinds=["wrong_count"])
    code, _, _ = world.run()
    assert (code, world.asked()) == (0, 8)
    assert world.scores() == world.expected(seed=3)
    for body in world.chat.requests():
        messages = body["messages"]
        if len(messages) > 1:
            roles = [message["role"] for message in messages]
            assert roles == ["user", "assistant", "user"]
            points = sum(f"\n{n}. Does part {n} of" in messages[0]["content"][0]["text"] for n in range(1, 9))
            wanted = f'"answers" has {points - 1} entries; there are {points} scoring points'
            assert wanted in messages[2]["content"][0]["text"]
    assert {len(body["messages"]) for body in world.chat.requests()} == {1, 3}


def test_missing_key_is_reported_before_work_starts(world: World) -> None:
    write_settings(world.folder, world.chat.base_url, key=True)
    code, _, err = world.run()
    assert (code, world.asked()) == (2, 0)
    assert f"set the environment variable {KEY_VARIABLE}" in err


@pytest.mark.slow
def test_failures_of_unavailable_service_are_retried_by_next_run(world: World) -> None:
    world.chat.configure(faults={"http_503": 1.0})
    code, closing, _ = world.run("--limit", "2")
    assert (code, closing["failures"], world.asked()) == (3, {"server": 2}, 10)
    world.chat.configure()
    assert (world.run("--limit", "2")[0], world.asked()) == (0, 2)


@pytest.mark.slow
def test_replaced_image_is_marked_again(world: World) -> None:
    world.run()
    before, id = world.scores(), world.exam.ids[2]
    world.asked()
    world.exam.drawing(id).write_bytes(picture(4000))
    code, closing, _ = world.run()
    assert (code, closing["done"], closing["stored"], world.asked()) == (0, 2, 6, 1)
    after = world.scores()
    assert after == world.expected()
    assert {other for other in after if after[other] != before[other]} <= {id}
    # The old image comes back: its marking is still there.
    world.exam.drawing(id).write_bytes(picture(2))
    assert world.run()[0] == 0
    assert (world.scores(), world.asked()) == (before, 0)


@pytest.mark.slow
def test_each_repeat_is_separate_call(world: World) -> None:
    code, closing, _ = world.run("--repeats", "3")
    assert (code, closing["done"], world.asked()) == (0, 4 + 12, 12)
    assert set(world.chat.counts()["by_key"].values()) == {3}
    assert sorted(marking.repeat for marking in world.markings()) == [0] * 4 + [1] * 4 + [2] * 4
    assert (world.run("--repeats", "2")[0], world.asked()) == (0, 0)


@pytest.mark.slow
def test_same_image_of_two_painters_is_marked_once(world: World) -> None:
    again = f"yours=folder/{world.exam.drawings}"
    code, closing, _ = world.run("--painter", again, "--concurrency", "8")
    assert (code, closing["done"], world.asked()) == (0, 16, 4)


@pytest.mark.slow
def test_marking_needs_only_store(world: World) -> None:
    stored = ["genexam", "--store", "store", "--format=json"]
    painter = f"mine=folder/{world.exam.drawings}"
    world.words = ["draw", *stored, "--data", str(world.exam.data), "--painter", painter]
    code, closing, _ = world.run()
    assert (code, closing["done"], world.asked()) == (0, 4, 0)
    hidden = world.folder / "hidden"
    hidden.mkdir()
    for folder in (world.exam.data, world.exam.drawings):
        folder.rename(hidden / folder.name)
    world.words = ["mark", *stored, "--judge", JUDGE]
    code, closing, _ = world.run()
    assert (code, closing["done"], closing["stored"], world.asked()) == (0, 4, 4, 4)
    (hidden / world.exam.drawings.name).rename(world.exam.drawings)
    assert world.scores() == world.expected()


@pytest.mark.slow
def test_not_applicable_drawing_is_neither_failure_nor_zero(world: World) -> None:
    (world.exam.data / "images" / world.exam.rows[0]["image_path"]).unlink()
    world.words = ["run", "genexam", "--data", str(world.exam.data), "--painter", "control/reference"]
    world.words += ["--judge", JUDGE, "--store", "store", "--format=json"]
    for run in range(2):
        code, closing, _ = world.run()
        assert (code, closing["not_applicable"], closing["failed"]) == (0, 1, 0)
        assert world.asked() == (0 if run else 3)
    standing = world.standing()
    assert (standing.n, standing.expected, standing.coverage, standing.failures) == (3, 3, 1.0, {})


def test_missing_reference_fails_only_its_question(world: World) -> None:
    (world.exam.data / "images" / world.exam.rows[0]["image_path"]).unlink()
    code, closing, err = world.run()
    assert (code, closing["failures"], world.asked()) == (3, {"no_reference": 1}, 3)
    assert "1 of 4 reference images are absent" in err


def test_dry_run_reports_missing_work_without_doing_it(world: World) -> None:
    assert world.run("--dry-run")[:2] == (0, {"drawings": 4, "markings": 4, "questions": 4})
    assert not (world.folder / "store").exists()
    world.run("--limit", "3")
    world.asked()
    assert world.run("--dry-run")[:2] == (0, {"drawings": 1, "markings": 1, "questions": 4})
    assert world.asked() == 0


def test_no_more_requests_are_in_flight_than_allowed(world: World) -> None:
    world.chat.configure(hold=3, free=1)
    assert world.run("--concurrency", "3", "--limit", "4")[0] == 0
    assert world.chat.counts()["max_in_flight"] == 3


@pytest.mark.slow
def test_interrupted_run_finishes_calls_in_flight_and_resumes(tmp_path: Path, world: World) -> None:
    process = Gated(*world.words, "--concurrency", "2", cwd=tmp_path)
    try:
        world.chat.configure(
            latency_s=1.0, hold=2, free=1, kill={"pid": process.pid, "at_request": 3, "signal": "SIGINT"}
        )
        process.go()
        ended = process.end()
    finally:
        process.stop()
    assert (ended.returncode, json.loads(ended.stdout)["interrupted"]) == (130, True)
    counts = world.chat.counts()
    assert (counts["total"], counts["answered"]) == (3, 3)
    assert [marking.status for marking in world.markings()] == ["done"] * 3
    world.chat.configure()
    assert world.run()[0] == 0
    assert set(world.chat.counts()["by_key"].values()) == {1}
    assert world.scores() == world.expected()


class Ink(FreePainter):
    """Draws a small image of its own for every question and seed."""

    name, spec, changeable = "ink", "ink", False

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        self.asked.append((request.question, request.seed))
        return Painting(picture(len(self.asked)), request.prompt)


class Eye:
    """Marks everything with yes, unless something is up with a question.

    With a `crowd`, trouble comes only when so many drawings are being marked, and those are finished after it.
    """

    name = "eye"

    def __init__(self, troubles: Mapping[str, Exception] | None = None, crowd: int = 0) -> None:
        self.setup: dict[str, Any] = {"judge": "eye"}
        self.troubles, self.crowd, self.seen = troubles or {}, crowd, list[tuple[str, str, int]]()
        self.finished, self.trouble = 0, False

    async def mark(self, subject: Subject, calls: Calls) -> JudgeResult:
        self.seen.append((subject.question.id, subject.image, subject.repeat))
        if subject.question.id in self.troubles:
            while len(self.seen) < self.crowd:
                await asyncio.sleep(0)
            self.trouble = True
            raise self.troubles[subject.question.id]
        while self.crowd and not self.trouble:
            await asyncio.sleep(0)
        await calls.store.awrite(lambda _: None)
        self.finished += 1
        return JudgeResult(marks=(Mark("point/1", 1),), cost=0.5)

    def check(self) -> None:
        pass

    def unpriced(self) -> str | None:
        return None


def carry_out(store: Store, exam: SmallExam, painter: Ink, *judges: Eye, **how: Any) -> Progress:
    return Runner(Plan(read(exam.data), [painter], judges, **how), store).run()


@pytest.mark.parametrize("error", [StoreError("no room"), UsageError("so not"), Fault("auth", "no entry")])
def test_calls_in_flight_finish_before_run_stops_on_error(
    store: Store, small_exam: SmallExam, error: Exception
) -> None:
    eye = Eye({small_exam.ids[0]: error}, crowd=3)
    expected = StopRun if isinstance(error, Fault) else type(error)
    with pytest.raises(expected):
        carry_out(store, small_exam, Ink(), eye, concurrency=3)
    assert (len(eye.seen), eye.finished) == (3, 2)
    assert len(list(load_markings(store, "genexam"))) == 2
    healed = Eye()
    assert carry_out(store, small_exam, Ink(), healed).failed == 0
    assert len(healed.seen) == 2


def test_full_disk_is_reported_in_one_message(
    store: Store, small_exam: SmallExam, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync, room = os.fsync, len(small_exam.rows)

    def fill(handle: int) -> None:
        nonlocal room
        room -= 1
        if room < 0:
            raise OSError(28, "No space left on device")
        fsync(handle)

    monkeypatch.setattr("limner.store.blobs.os.fsync", fill)
    with pytest.raises(StoreError, match=r"cannot be written to .*blobs.*No space left"):
        carry_out(store, small_exam, Ink(), Eye())


def test_faults_of_one_cause_are_reported_in_one_line(store: Store, make_exam: Callable[[int], SmallExam]) -> None:
    exam = make_exam(9)
    eye = Eye({id: Fault("refusal", "no") for id in exam.ids[:7]})
    seen: list[int] = []
    plan = Plan(read(exam.data), [Ink()], [eye], concurrency=1)
    progress = Runner(plan, store, lambda p: seen.append(p.settled)).run()
    assert (progress.failed, progress.failures, progress.settled) == (7, {"refusal": 7}, progress.total)
    (line,) = progress.failure_lines()
    assert line.startswith(f"failed 7 times, first (refusal): {exam.ids[0]}: no. The service refuses")
    assert line.endswith("--retry-failed tries again.")
    assert seen[-1] == progress.total == 18
