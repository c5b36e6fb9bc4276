"""Killed at seeded requests and resumed to the end: nothing paid twice that was answered, no wrong score."""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from limner import api
from limner.store import Store
from limner.store.schema import attempts, calls, markings
from tests.fakes import ChatServer
from tests.support import JUDGE, Gated, expected_scores, write_exam, write_settings

pytestmark = pytest.mark.slow

QUESTIONS, KILLS, CONCURRENCY, SEED = 90, 3, 16, 11
SCORES = ("strict", "relaxed", "semantic")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(keep=2000, seed=SEED) as server:
        yield server


def test_three_kills_cost_at_most_calls_in_flight(tmp_path: Path, server: ChatServer) -> None:
    exam = write_exam(tmp_path, QUESTIONS)
    write_settings(tmp_path, server.base_url)
    words = ["run", "genexam", "--data", str(exam.data), "--painter", f"mine=folder/{exam.drawings}"]
    words += ["--judge", JUDGE, "--store", "store", "--concurrency", str(CONCURRENCY), "--format=json"]
    plan = {"seed": SEED, "latency_s": [0.05, 0.15]}
    chance = random.Random(SEED)
    at = [chance.randint(5, 29) for _ in range(KILLS)]
    assert sum(at) < QUESTIONS

    following = Gated(*words, cwd=tmp_path)
    try:
        for request in at:
            process, following = following, Gated(*words, cwd=tmp_path)
            server.configure(**plan, kill={"pid": process.pid, "at_request": request})
            process.go()
            assert process.end().returncode == -signal.SIGKILL
        server.configure(**plan)
        following.go()
        last = following.end()
    finally:
        following.stop()
    assert (last.returncode, last.stderr.count("Traceback")) == (0, 0)

    counts = server.counts()
    kills = counts["killed_in_flight"]
    in_flight = sum(len(kill["keys"]) for kill in kills)
    assert [kill["at_request"] for kill in kills] == at
    assert not any("error" in kill for kill in kills)
    assert all(1 <= len(kill["keys"]) <= CONCURRENCY for kill in kills)
    assert (counts["rejected"], counts["faults"], counts["in_flight"]) == (0, {}, 0)
    assert len(counts["by_key"]) == QUESTIONS
    assert 0 <= counts["answered"] - QUESTIONS <= in_flight
    assert counts["abandoned"] >= in_flight

    with Store(tmp_path / "store") as store:
        with store.reading() as connection:
            made = connection.execute(sa.select(calls)).all()
            tried = connection.execute(sa.select(attempts)).all()
            marked = connection.execute(sa.select(markings)).all()
        # One accepted outcome for every call, and every other attempt is one of those that were interrupted.
        assert (len(made), {row.status for row in made}) == (QUESTIONS, {"done"})
        accepted = {(row.key, row.accepted) for row in made}
        good = [(row.call, row.n) for row in tried if row.fault is None]
        assert (len(good), set(good)) == (QUESTIONS, accepted)
        lost = Counter(row.call for row in tried if row.fault is not None)
        assert {row.fault for row in tried} == {None, "interrupted"}
        assert all(row.cost is None and row.result is None for row in tried if row.fault)
        assert (len(marked), {row.status for row in marked}) == (QUESTIONS, {"done"})
        # Whatever was asked more than once had been in flight at a kill; a claim may be lost before its request.
        assert counts["total"] - QUESTIONS <= lost.total() <= KILLS * CONCURRENCY
        assert lost.total() >= in_flight

        kind, (group,) = api.groups("genexam", store=store)
        scored = {entry.question.id: {name: entry.scores[name] for name in SCORES} for entry in group.entries}
        (standing,) = api.scores("genexam", store=store)
    expected = expected_scores(exam, server, SEED)
    assert (kind.name, len(group.entries)) == ("genexam", QUESTIONS)
    assert scored == expected
    assert 0 < sum(scores["strict"] == 100 for scores in expected.values()) < QUESTIONS
    assert (standing.n, standing.coverage, standing.failures) == (QUESTIONS, 1.0, {})
    for name in SCORES:
        mean = sum(scores[name] for scores in expected.values()) / QUESTIONS
        assert standing.scores[name].value == pytest.approx(mean, abs=1e-6)
