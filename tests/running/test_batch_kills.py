"""Killed at every request of a run with batches, and at seeded pairs of them: nothing is handed in or paid twice."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from limner.calls.purse import read_purses
from limner.store import Store
from limner.store.schema import calls
from tests.fakes.batches import BatchServer
from tests.running.batch_child import Child, forks
from tests.running.batch_support import GEMINI, JUDGE, Place, make_place, paid_once

pytestmark = pytest.mark.slow

QUESTIONS, SEED = 3, 5
WAVES = 2
"""Every first reply cannot be read."""


@pytest.fixture(scope="module")
def service() -> Iterator[BatchServer]:
    with BatchServer() as server:
        yield server


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, service: BatchServer) -> Place:
    return make_place(tmp_path_factory.mktemp("kills"), service, QUESTIONS, inline_bytes=0)


def killed_and_resumed(place: Place, words: list[str], at: tuple[int, ...], **plan: Any) -> str:
    """Kill one process after the other at the requests, let the last one end, and look at the service's bill."""
    server, context = place.server, forks()
    server.reset()
    usual = {"seed": SEED, "malformed_until_turn": WAVES - 1, "looks": 2, **plan}
    for request in at:
        process = Child(context, place.root, words)
        server.configure(**usual, kill={"pid": process.pid, "at_request": request})
        assert process.go() == -signal.SIGKILL, process.said
        with Store(place.root / "store") as store, store.reading() as connection:
            states = set(connection.scalars(sa.select(calls.c.status)))
        assert states <= {"done", "open", "submitted"}  # Never a process's own.
    server.configure(**usual)
    last = Child(context, place.root, words)
    assert last.go() == 0, last.said
    paid_once(server, WAVES * QUESTIONS)
    assert set(server.bill()["handed"].values()) == {1}
    return last.said


def command(place: Place, salt: int, *more: str, judge: str = JUDGE) -> list[str]:
    """Every salt makes calls of its own."""
    return place.words("--judge-arg", f"seed={salt}", *more, judge=judge)


@pytest.mark.parametrize("takes", ["first", "last"])
def test_a_kill_at_every_request(place: Place, takes: str) -> None:
    # In each of two waves: file, batch, two looks, results, file away.
    for at in (1, 2, 3, 5, 6, 8, 11) if takes == "first" else (1, 2):
        killed_and_resumed(place, command(place, at + 100 * (takes == "last")), (at,), takes=takes)


def test_kills_that_follow_each_other(place: Place) -> None:
    chance = random.Random(SEED)
    for n, takes in enumerate(["first", "last"]):
        at = tuple(chance.randint(1, 5) for _ in range(3))
        killed_and_resumed(place, command(place, 200 + n), at, takes=takes, page=1)
    # At the request that hands the batch in, and then where it is looked up.
    for n, (at, takes) in enumerate([((2, 1), "first"), ((2, 3, 1), "last")]):
        killed_and_resumed(place, command(place, 300 + n), at, takes=takes)


@pytest.mark.parametrize("inline", [0, 10**7])
def test_kills_with_gemini(place: Place, inline: int) -> None:
    place.configure(inline_bytes=inline)
    # With files: begin, bytes, batch, looks, results; without: batch, looks.
    points = [(3, "first"), (3, "last"), (6, "first")] if inline == 0 else [(1, "first"), (1, "last")]
    try:
        for n, (at, takes) in enumerate(points):
            words = command(place, 400 + n + (inline > 0) * 50, judge=GEMINI)
            killed_and_resumed(place, words, (at,), takes=takes)
    finally:
        place.configure(inline_bytes=0)


def test_a_kill_leaves_the_money_set_aside(place: Place) -> None:
    words = command(place, 500, "--budget", "9", "--purse", "kept")
    server = place.server
    server.reset()
    process = Child(forks(), place.root, words)
    server.configure(seed=SEED, looks=2, kill={"pid": process.pid, "at_request": 3})
    assert process.go() == -signal.SIGKILL
    with Store(place.root / "store") as store:
        (purse,) = read_purses(store)
    assert purse.reserved > 0
    assert (purse.spent, purse.lost) == (0.0, 0.0)
    server.configure(seed=SEED, looks=2)
    last = Child(forks(), place.root, words)
    assert last.go() == 0, last.said
    with Store(place.root / "store") as store:
        (after,) = read_purses(store)
    assert after.reserved == 0.0
    assert 0 < after.spent < purse.reserved
    paid_once(server, QUESTIONS)


def test_ctrl_c_leaves_the_batch_and_says_how_to_come_back(place: Place) -> None:
    words = [word for word in command(place, 600) if word != "--json"]
    server = place.server
    server.reset()
    process = Child(forks(), place.root, words)
    server.configure(seed=SEED, looks=10**6, kill={"pid": process.pid, "at_request": 4, "signal": "SIGINT"})
    assert process.go() == 130
    assert f"{QUESTIONS} calls stand in batches: the same command fetches what comes" in process.said
    assert "run the same command again to go on" in process.said
    server.configure(seed=SEED)
    last = Child(forks(), place.root, words)
    assert last.go() == 0, last.said
    paid_once(server, QUESTIONS)


def test_two_runs_at_once_hand_nothing_in_twice(place: Place) -> None:
    words, server, context = command(place, 700), place.server, forks()
    server.reset()
    server.configure(seed=SEED, malformed_until_turn=WAVES - 1)
    both = [Child(context, place.root, words) for _ in range(2)]
    for process in both:
        process.begin()
    assert [process.end() for process in both] == [0, 0], both[0].said
    paid_once(server, WAVES * QUESTIONS)
    assert set(server.bill()["handed"].values()) == {1}
