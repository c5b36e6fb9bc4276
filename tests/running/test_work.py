"""Queued plans: stored without secrets, made again from the store alone, carried out once, stopped and withdrawn."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import sqlalchemy as sa

from limner import exams
from limner.calls.claims import Owner
from limner.calls.purse import read_purses
from limner.core.errors import UsageError
from limner.running import attendance
from limner.running.progress import Progress
from limner.running.queued import queue_plan, reopen
from limner.running.setup import Asking
from limner.running.work import PlanState, SharedRunner, plan_states, withdraw, work
from limner.store import Store, now
from limner.store.plans import PlanWorker, StoredPlan, load_plan, load_workers, save_worker
from limner.store.schema import calls, drawings, markings, plans
from tests.fakes import ChatServer
from tests.support import JUDGE, KEY_VARIABLE, SmallExam, write_settings

CANARY = "sk-canary-5f0c9a7e31b24d68"


@dataclass
class Yard:
    """A small exam, a fake judge, and a store that runs are queued in."""

    folder: Path
    exam: SmallExam
    chat: ChatServer
    store: Store

    def queue(self, **how: Any) -> StoredPlan:
        usual: dict[str, Any] = {"painters": [f"mine=folder/{self.exam.drawings}"], "asking": Asking([JUDGE])}
        return queue_plan("genexam", self.store, data=self.exam.data, **{"concurrency": 4, **usual, **how}).plan

    def states(self) -> list[str]:
        return [one.state for one in plan_states(self.store)]

    def count(self, table: sa.Table) -> int:
        with self.store.reading() as connection:
            return int(connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0)

    def rewrite(self, number: int) -> None:
        """Change one question of the data."""
        file = self.exam.data / "annotations" / "All_Subjects.jsonl"
        rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        rows[number]["prompt"] += " In colour."
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture
def yard(
    tmp_path: Path, small_exam: SmallExam, chat: ChatServer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> Yard:
    write_settings(tmp_path, chat.base_url)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("limner.calls.journal.back_off", lambda _tries: 0.0)
    return Yard(tmp_path, small_exam, chat, store)


def test_a_queued_run_is_carried_out_once_and_needs_no_data_folder(yard: Yard) -> None:
    plan = yard.queue()
    assert (yard.chat.counts()["total"], yard.count(drawings), yard.states()) == (0, 0, ["waiting"])
    yard.exam.data.rename(yard.folder / "elsewhere")
    (one,) = work(yard.store)
    assert (one.state, one.code, one.progress.done, one.plan.id) == ("done", 0, 8, plan.id)
    assert (yard.chat.counts()["total"], yard.count(drawings), yard.count(markings)) == (4, 4, 4)
    assert work(yard.store) == []
    assert (yard.states(), yard.chat.counts()["total"], load_workers(yard.store)) == (["done"], 4, [])


@pytest.mark.slow
def test_plans_are_carried_out_in_turn_or_by_name(yard: Yard) -> None:
    first = yard.queue(asking=Asking())
    second = yard.queue()
    third = yard.queue(painters=["control/blank"], asking=Asking())
    assert [one.plan.id for one in work(yard.store, [second.id[:8]])] == [second.id]
    assert [one.plan.id for one in work(yard.store)] == [first.id, third.id]
    with pytest.raises(UsageError, match=r"has no plan that begin with 'zz'; `limner work --list` shows all"):
        work(yard.store, ["zz"])


@pytest.mark.slow
def test_the_same_run_queued_again_is_the_same_plan(yard: Yard) -> None:
    plan = yard.queue()
    work(yard.store)
    again = yard.queue(concurrency=2, retry_failed=True, devices="cpu")
    assert (again.id, yard.count(plans), yard.states()) == (plan.id, 1, ["waiting"])
    assert yard.queue(seeds=2).id != plan.id
    assert yard.queue(asking=Asking([JUDGE], {"temperature": 0})).id != plan.id


@pytest.mark.slow
def test_stored_drawings_are_marked_by_a_queued_plan(yard: Yard) -> None:
    yard.queue(asking=Asking())
    work(yard.store)
    queue_plan("genexam", yard.store, painters=["mine"], asking=Asking([JUDGE]), draw=False)
    (one,) = work(yard.store)
    assert (one.state, yard.count(markings), yard.chat.counts()["total"]) == ("done", 4, 4)


@pytest.mark.slow
def test_failures_are_shown_and_tried_again_once_by_all_workers_together(yard: Yard) -> None:
    yard.chat.configure(malformed_until_turn=3)
    yard.queue()
    (one,) = work(yard.store)
    assert (one.state, one.code, yard.states(), yard.chat.counts()["total"]) == ("failures", 3, ["failures"], 12)
    plan = yard.queue(retry_failed=True)
    # Two workers, one after the other, as if the first had not come to its end.
    for _ in range(2):
        runner = SharedRunner(reopen(plan, yard.store), yard.store)
        assert runner.run().failures == {"unreadable": 4}
        assert yard.chat.counts()["total"] == 24
    yard.queue(retry_failed=True)
    work(yard.store)
    assert yard.chat.counts()["total"] == 36


@pytest.mark.slow
def test_an_exam_that_changed_is_refused_with_the_fix(yard: Yard) -> None:
    plan = yard.queue()
    yard.rewrite(2)
    newer = yard.queue()
    assert newer.id != plan.id
    with pytest.raises(UsageError) as told:
        reopen(load_plan(yard.store, plan.id), yard.store)
    assert f"1 question has changed in the store since ({yard.exam.ids[2]})" in str(told.value)
    assert f"(`limner work --withdraw {plan.id[:12]}`) and queue the run again" in str(told.value)
    old, new = work(yard.store)
    assert (old.state, old.code, new.state, yard.states()) == ("stopped", 3, "done", ["stopped", "done"])
    assert "is another one now" in str(load_plan(yard.store, plan.id).detail)
    withdraw(yard.store, plan.id)
    assert (yard.states(), work(yard.store)) == (["withdrawn", "done"], [])


@pytest.mark.slow
def test_questions_that_came_to_the_exam_later_change_nothing(yard: Yard) -> None:
    plan = yard.queue()
    file = yard.exam.data / "annotations" / "All_Subjects.jsonl"
    more = json.loads(file.read_text("utf-8").splitlines()[0]) | {"id": "Biology_99", "prompt": "Draw a leaf."}
    file.write_text(file.read_text("utf-8") + json.dumps(more) + "\n", "utf-8")
    yard.queue(painters=["control/blank"], asking=Asking())
    assert len(reopen(plan, yard.store).exam.questions) == 4


def test_another_wording_on_the_worker_is_refused(yard: Yard) -> None:
    prompts = yard.folder / "prompts"
    shipped = exams.kind("genexam").prompts
    prompts.mkdir()
    for file in shipped.glob("*.md"):
        (prompts / file.name).write_bytes(file.read_bytes())
    queued = queue_plan(
        "genexam", yard.store, data=yard.exam.data, painters=["control/blank"], asking=Asking([JUDGE], prompts=prompts)
    )
    assert queued.notes == (
        f"the plan names a place on this machine, {prompts}: every worker must find the same there",
    )
    for file in prompts.glob("mark-*.md"):
        file.write_text("Look closely.\n" + file.read_text("utf-8"), "utf-8")
    (one,) = work(yard.store)
    assert (one.state, yard.chat.counts()["total"]) == ("stopped", 0)
    assert "its judges come to something else on this machine" in str(one.why)
    assert "use the same Limner, limner.toml and prompts on every machine" in str(one.why)


def test_no_key_goes_into_the_store(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    write_settings(yard.folder, yard.chat.base_url, key=True)
    monkeypatch.setenv(KEY_VARIABLE, CANARY)
    for args in ({"note": f"x {CANARY}"}, {"api_key": "0123456789"}, {"extra": {"url": "https://me:secret@host/v1"}}):
        with pytest.raises(UsageError, match="keys never go into the store"):
            yard.queue(asking=Asking([JUDGE], args))
    assert yard.count(plans) == 0
    # A key need not even be here to queue a run; the worker says that it lacks it, and others may have it.
    monkeypatch.delenv(KEY_VARIABLE)
    yard.queue()
    (one,) = work(yard.store)
    assert (one.state, yard.states()) == ("stopped", ["stopped"])
    assert KEY_VARIABLE in str(one.why)
    monkeypatch.setenv(KEY_VARIABLE, CANARY)
    assert [one.state for one in work(yard.store)] == ["done"]
    file = yard.store.file
    assert file is not None
    assert CANARY.encode() not in b"".join(path.read_bytes() for path in file.parent.glob("limner.db*"))


@pytest.mark.slow
def test_a_place_of_this_machine_is_told(yard: Yard) -> None:
    def notes(*painters: str) -> tuple[str, ...]:
        return queue_plan("genexam", yard.store, data=yard.exam.data, painters=painters, asking=Asking(["ocr"])).notes

    told = "the plan names a place on this machine, {}: every worker must find the same there{}"
    absolute, relative = f"folder/{yard.exam.drawings}", "folder/./drawings"
    assert notes(f"mine={absolute}") == (told.format(absolute, ""),)
    assert notes(relative) == (told.format(relative, ", seen from the folder it is started in"),)
    assert notes("control/blank") == ()
    # Where it is not there, the plan is left to others.
    yard.exam.drawings.rename(yard.folder / "moved")
    assert [one.state for one in work(yard.store)] == ["stopped", "stopped", "done"]
    with yard.store.reading() as connection:
        bodies = json.dumps([list(row) for row in connection.execute(sa.select(plans.c.body, plans.c.made))])
    assert str(yard.exam.data) not in bodies


@pytest.mark.slow
def test_a_budget_holds_over_all_workers_and_can_be_raised(yard: Yard) -> None:
    asking = Asking([JUDGE], {"max_completion_tokens": 1000})
    # Bounds are $0.0286 to $0.0288, whichever call comes first, and each costs about $0.006: one fits, and no second.
    plan = yard.queue(asking=asking, budget=0.032, concurrency=1)
    (purse,) = read_purses(yard.store)
    assert (purse.purse, purse.limit) == (f"plan {plan.id[:12]}", 0.032)
    (one,) = work(yard.store)
    assert (one.state, one.code, yard.states()) == ("stopped", 4, ["stopped"])
    assert "or queue the run again with a higher --budget" in str(one.why)
    asked = yard.chat.counts()["total"]
    assert asked == 1, one.why
    # Another worker has nothing left to spend.
    assert [one.code for one in work(yard.store)] == [4]
    assert yard.chat.counts()["total"] == asked
    (purse,) = read_purses(yard.store)
    assert 0 < purse.spent <= 0.032
    assert yard.queue(asking=asking, budget=5.0, concurrency=1).id == plan.id
    assert [one.state for one in work(yard.store)] == ["done"]
    assert (yard.chat.counts()["total"], yard.count(markings)) == (4, 4)


def test_a_budget_needs_prices_when_it_is_queued(yard: Yard) -> None:
    write_settings(yard.folder, yard.chat.base_url, priced=False)
    with pytest.raises(UsageError, match="--budget cannot be kept"):
        yard.queue(budget=5.0)
    assert yard.count(plans) == 0


@pytest.mark.slow
def test_a_plan_is_withdrawn_while_it_is_worked_on(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attendance, "LOOK_S", 0.01)
    yard.chat.configure(hold=1000)  # Nothing is answered before the next plan.
    plan, seen = yard.queue(concurrency=1), list[PlanState]()

    def begin(_plan: StoredPlan) -> Callable[[Progress], None]:
        Thread(target=take_back, daemon=True).start()
        return lambda _: None

    def take_back() -> None:
        yard.chat.wait_in_flight(1, timeout=60)
        with Store(yard.folder / "store") as other:
            seen.extend(plan_states(other))
            assert withdraw(other, plan.id) is not None
            assert withdraw(other, plan.id) is None
        until = time.monotonic() + 60
        while not stopped(runners[0]) and time.monotonic() < until:
            time.sleep(0.01)
        yard.chat.configure()

    runners: list[SharedRunner] = []
    start = SharedRunner.run

    def run(runner: SharedRunner) -> Progress:
        runners.append(runner)
        return start(runner)

    monkeypatch.setattr(SharedRunner, "run", run)
    (one,) = work(yard.store, begin=begin)
    assert (one.state, one.code, yard.states()) == ("withdrawn", 0, ["withdrawn"])
    # The call that was in flight is paid for: its marking is kept.
    assert (yard.chat.counts()["answered"], yard.count(markings)) == (1, 1)
    (state,) = seen
    assert (state.state, len(state.workers), state.workers[0].plan) == ("working", 1, plan.id)


def stopped(runner: SharedRunner) -> bool:
    return runner._over


def test_a_worker_that_is_gone_works_no_longer(yard: Yard) -> None:
    plan, far = yard.queue(), Owner("another host", 17, 5.0)
    late = PlanWorker("a" * 32, plan.id, far.host, far.pid, far.start, lease_until=now() - 1)
    alive = PlanWorker("b" * 32, plan.id, far.host, far.pid + 1, far.start, lease_until=now() + 60, settled=3, total=8)
    save_worker(yard.store, late)
    assert yard.states() == ["waiting"]
    save_worker(yard.store, alive)
    (state,) = plan_states(yard.store)
    assert (state.state, [one.pid for one in state.workers]) == ("working", [18])
    assert state.to_json()["workers"] == [{"host": "another host", "pid": 18, "settled": 3, "total": 8}]
    work(yard.store)
    assert (load_workers(yard.store), yard.states()) == ([alive], ["done"])


@pytest.mark.slow
def test_a_wrong_key_of_another_machine_stops_nobody_else(yard: Yard) -> None:
    plan = yard.queue(concurrency=1)
    yard.chat.configure(api_key="another")
    write_settings(yard.folder, yard.chat.base_url)
    (one,) = work(yard.store)
    assert one.state == "stopped"
    assert "auth" in str(one.why)
    with yard.store.reading() as connection:
        assert connection.scalars(sa.select(calls.c.fault).where(calls.c.fault.is_not(None))).all() == ["auth"]
    # The fault is of a live process elsewhere, and of later than this run's beginning.
    there = calls.update().values(host="another host", pid=17, updated=now() + 60, lease_until=now() + 60)
    yard.store.write(lambda connection: connection.execute(there))
    yard.chat.configure()
    runner = SharedRunner(reopen(plan, yard.store), yard.store)
    assert (runner.run().failed, yard.count(markings)) == (0, 4)


@pytest.mark.slow
def test_workers_do_not_go_the_same_way_and_see_what_others_did(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = yard.queue(painters=["control/blank"], asking=Asking(["ocr"]), seeds=2, repeats=2)
    one, other = (SharedRunner(reopen(plan, yard.store), yard.store) for _ in range(2))
    for runner in (one, other):
        runner.backlog.load()
        slots = [(slot.question.id, slot.seed) for slot in runner._slots()[1]]
        assert sorted(slots) == sorted((id, seed) for id in yard.exam.ids for seed in (0, 1))
        assert all(first[0] == second[0] for first, second in zip(slots[::2], slots[1::2], strict=True))
    before = list(other._slots()[1])
    work(yard.store)
    assert not any(slot.stored for slot in before)
    now_there = other.backlog.look_again(before)
    assert all(slot.drawn for slot in now_there)
    assert not any(other.backlog.must_make(stored) for slot in now_there for _, _, stored in marked(other, slot))


def marked(runner: SharedRunner, slot: Any) -> Any:
    return runner.backlog.markings(slot.stored)
