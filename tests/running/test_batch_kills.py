"""Killed at every kind of request of a run with batches, at pairs of them, and at seeded writes to the store.

Nothing is handed in or paid twice by the services' own bill, whether the store is a file or on a PostgreSQL server.
"""

from __future__ import annotations

import random
import signal
from base64 import urlsafe_b64decode
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa

from limner.calls.batches import read_batches
from limner.calls.budget import read_purses
from limner.store.schema import attempts, calls, reservations
from tests.fakes.batches import BatchServer
from tests.running.batch_child import Child, forks
from tests.running.batch_support import CLAUDE, GEMINI, JUDGE, Place, make_place, paid_once
from tests.store.places import fresh_place

pytestmark = pytest.mark.slow

T = TypeVar("T")

QUESTIONS, SEED = 3, 5
WAVES = 2
"""Every first reply cannot be read."""
COMMITS = 15
"""So many transactions such a run has at least, from the purse that is made to the last marking."""


@pytest.fixture(scope="module")
def service() -> Iterator[BatchServer]:
    with BatchServer() as server:
        yield server


@pytest.fixture(scope="module", params=["folder", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, service: BatchServer) -> Place:
    folder = tmp_path_factory.mktemp("kills")
    store = fresh_place(request, request.param, folder, "batch_kills")
    return make_place(folder, service, QUESTIONS, store=store, inline_bytes=0)


ON_FILE = pytest.mark.parametrize("place", ["folder"], indirect=True)
"""For what the service alone decides, whatever the store is."""


def some(place: Place, points: Sequence[T], few: int) -> list[T]:
    """All of these points, or a few of them by the seed where the store is on a server: each takes seconds."""
    return random.Random(SEED).sample(points, few) if "://" in place.store else list(points)


def killed_and_resumed(
    place: Place, words: list[str], at: tuple[int, ...] = (), *, commit: int | None = None, **plan: Any
) -> None:
    """Kill one process after the other at the requests, or one at a commit; let the last end, and look at the bill."""
    server, context = place.server, forks()
    server.reset()
    usual = {"seed": SEED, "malformed_until_turn": WAVES - 1, "looks": 2, **plan}
    for request in at or (None,):
        process = Child(context, place.root, words, commit)
        killed = {} if request is None else {"kill": {"pid": process.pid, "at_request": request}}
        server.configure(**usual, **killed)
        assert process.go() == -signal.SIGKILL, process.said
        with place.open_store() as store, store.reading() as connection:
            states = set(connection.scalars(sa.select(calls.c.status)))
        assert states <= {"done", "open", "submitted"}  # Never a process's own.
    server.configure(**usual)
    last = Child(context, place.root, words)
    assert last.go() == 0, last.said
    paid_once(server, WAVES * QUESTIONS)
    handed = Counter[str]()
    for id, times in server.bill()["handed"].items():
        # At Anthropic, a call's id is its batch's tag and its key, both shortened.
        handed[id if len(id) == 64 else urlsafe_b64decode(id[20:] + "=").hex()] += times
    with place.open_store() as store, store.reading() as connection:
        tries = sa.select(calls.c.key, calls.c.tries).where(calls.c.key.in_(list(handed)))
        # Once, and once more for each time that the service has failed at it.
        assert {row.key: row.tries for row in connection.execute(tries)} == handed
    assert set(handed.values()) == {1} or plan.get("rows")


def command(place: Place, salt: int, *more: str, judge: str = JUDGE) -> list[str]:
    """Every salt makes calls of its own."""
    salted = "top_k" if judge == CLAUDE else "seed"
    return place.words("--judge-arg", f"{salted}={salt}", *more, judge=judge)


def test_run_killed_at_any_request_resumes(place: Place) -> None:
    # In each of two waves: file, batch, two looks, results, file away.
    points = [(1, "first"), (2, "first"), (2, "last"), (3, "first"), (5, "first"), (6, "first"), (8, "last")]
    for at, takes in some(place, points, 2):
        killed_and_resumed(place, command(place, at + 100 * (takes == "last")), (at,), takes=takes)


@ON_FILE
@pytest.mark.parametrize("takes", ["first", "last"])
def test_run_resumes_after_kill_during_batch_cancellation(place: Place, takes: str) -> None:
    server, words = place.server, command(place, 1100 + (takes == "last"))
    server.reset()
    server.configure(seed=SEED, looks=10**6)
    assert Child(forks(), place.root, [*words, "--batch-wait", "0"]).go() == 3
    with place.open_store() as store:
        (batch,) = read_batches(store, only_open=True)
    process = Child(forks(), place.root, ["batches", "--cancel", batch.id, "--store", place.store])
    server.configure(seed=SEED, takes=takes, kill={"pid": process.pid, "at_request": 1})
    assert process.go() == -signal.SIGKILL
    server.configure(seed=SEED)
    # What the service had cancelled is asked for by the next run but one.
    ends = [Child(forks(), place.root, words).go() for _ in range(2)]
    assert ends == [3 if takes == "first" else 0, 0]
    paid_once(server, QUESTIONS)


@ON_FILE
@pytest.mark.parametrize("inline", [0, 10**7])
def test_gemini_run_killed_at_any_request_resumes(place: Place, inline: int) -> None:
    place.configure(inline_bytes=inline)
    # With files: begin, bytes, batch, looks, results; without: batch, looks.
    points = [(3, "last"), (6, "first")] if inline == 0 else [(1, "last")]
    try:
        for n, (at, takes) in enumerate(points):
            words = command(place, 400 + n + (inline > 0) * 50, judge=GEMINI)
            killed_and_resumed(place, words, (at,), takes=takes)
    finally:
        place.configure(inline_bytes=0)


def test_claude_run_killed_at_any_request_resumes(place: Place) -> None:
    # In each of two waves: batch, two looks, results.
    points = [(1, "first"), (1, "last"), (2, "first"), (4, "first"), (5, "first"), (5, "last"), (8, "first")]
    for at, takes in some(place, points, 2):
        killed_and_resumed(place, command(place, 1200 + at + 100 * (takes == "last"), judge=CLAUDE), (at,), takes=takes)


def test_killed_run_keeps_money_reserved(place: Place) -> None:
    words = command(place, 500, "--budget", "9", "--purse", "kept")
    server = place.server
    server.reset()
    process = Child(forks(), place.root, words)
    server.configure(seed=SEED, looks=2, kill={"pid": process.pid, "at_request": 3})
    assert process.go() == -signal.SIGKILL
    with place.open_store() as store:
        (purse,) = read_purses(store, "kept")
    assert purse.reserved > 0
    assert (purse.spent, purse.lost) == (0.0, 0.0)
    server.configure(seed=SEED, looks=2)
    last = Child(forks(), place.root, words)
    assert last.go() == 0, last.said
    with place.open_store() as store:
        (after,) = read_purses(store, "kept")
    assert after.reserved == 0.0
    assert 0 < after.spent < purse.reserved
    paid_once(server, QUESTIONS)


def test_run_killed_before_commit_resumes_and_purse_balances(place: Place) -> None:
    for commit in some(place, random.Random(SEED).sample(range(1, COMMITS + 1), 4), 2):
        purse = f"commit {commit}"
        killed_and_resumed(place, command(place, 800 + commit, "--budget", "9", "--purse", purse), commit=commit)
        mine = sa.select(reservations.c.call).where(reservations.c.purse == purse)
        with place.open_store() as store, store.reading() as connection:
            (balance,) = read_purses(store, purse)
            paid = list(connection.scalars(sa.select(attempts.c.cost).where(attempts.c.call.in_(mine))))
        # Everything was paid from it once, and nothing is set aside for what was never sent.
        assert len(paid) == WAVES * QUESTIONS
        assert balance.spent == pytest.approx(sum(paid))
        assert balance.reserved == pytest.approx(0, abs=1e-9)


@ON_FILE
def test_interrupted_run_leaves_batch_and_tells_how_to_resume(place: Place) -> None:
    words = [word for word in command(place, 600) if word != "--format=json"]
    server = place.server
    server.reset()
    process = Child(forks(), place.root, words)
    server.configure(seed=SEED, looks=10**6, kill={"pid": process.pid, "at_request": 4, "signal": "SIGINT"})
    assert process.go() == 130
    assert f"{QUESTIONS} calls are in batches: run the same command again to fetch them" in process.said
    assert "run the same command again to resume" in process.said
    server.configure(seed=SEED)
    last = Child(forks(), place.root, words)
    assert last.go() == 0, last.said
    paid_once(server, QUESTIONS)


def test_concurrent_runs_submit_each_call_once(place: Place) -> None:
    words, server, context = command(place, 700), place.server, forks()
    server.reset()
    server.configure(seed=SEED, malformed_until_turn=WAVES - 1)
    both = [Child(context, place.root, words) for _ in range(2)]
    for process in both:
        process.begin()
    assert [process.end() for process in both] == [0, 0], both[0].said
    paid_once(server, WAVES * QUESTIONS)
    assert set(server.bill()["handed"].values()) == {1}


def test_run_completes_work_of_killed_concurrent_run(place: Place) -> None:
    server, context = place.server, forks()
    for at in some(place, (2, 3, 6), 1):
        words = command(place, 900 + at)
        server.reset()
        killed, other = (Child(context, place.root, words) for _ in range(2))
        usual = {"seed": SEED, "malformed_until_turn": WAVES - 1, "looks": 2}
        server.configure(**usual, kill={"pid": killed.pid, "at_request": at})
        for process in (killed, other):
            process.begin()
        assert (killed.end(), other.end()) == (-signal.SIGKILL, 0), other.said
        paid_once(server, WAVES * QUESTIONS)
        assert set(server.bill()["handed"].values()) == {1}
