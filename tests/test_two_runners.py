"""Two runners at once on one store: no call is made twice, and both end with the same scores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sqlalchemy as sa

from limner import api
from limner.store import Store
from limner.store.schema import attempts, calls
from tests.fakes import ChatServer
from tests.support import JUDGE, Gated, expected_scores, write_exam, write_settings

QUESTIONS, SEED = 40, 4


@pytest.mark.slow
def test_two_runners_share_the_work(tmp_path: Path, chat: ChatServer) -> None:
    exam = write_exam(tmp_path, QUESTIONS)
    write_settings(tmp_path, chat.base_url)
    chat.configure(seed=SEED, latency_s=[0.02, 0.1])
    words = ["run", "genexam", "--data", str(exam.data), "--painter", f"mine=folder/{exam.drawings}"]
    words += ["--judge", JUDGE, "--store", "store", "--concurrency", "8", "--format=json"]
    runners = [Gated(*words, cwd=tmp_path) for _ in range(2)]
    try:
        for runner in runners:
            runner.go()
        ended = [runner.end() for runner in runners]
    finally:
        for runner in runners:
            runner.stop()
    assert [(one.returncode, "Traceback" in one.stderr) for one in ended] == [(0, False)] * 2, ended
    results = [json.loads(one.stdout) for one in ended]
    assert [(one["failed"], one["done"] + one["stored"]) for one in results] == [(0, 2 * QUESTIONS)] * 2

    counts = chat.counts()
    assert set(counts["by_key"].values()) == {1}
    assert counts["total"] == counts["answered"] == len(counts["by_key"]) == QUESTIONS
    with Store(tmp_path / "store") as store:
        with store.reading() as connection:
            owners = connection.execute(sa.select(calls.c.pid, sa.func.count()).group_by(calls.c.pid)).all()
            tried = connection.execute(sa.select(attempts.c.n, attempts.c.fault)).all()
        assert {pid for pid, _ in owners} <= {runner.pid for runner in runners}
        assert [tuple(row) for row in tried] == [(1, None)] * QUESTIONS
        _, (group,) = api.groups("genexam", store=store)
    expected = expected_scores(exam, chat, SEED)
    assert {
        e.question.id: {name: e.scores[name] for name in expected[e.question.id]} for e in group.entries
    } == expected
    # Each paid for its own calls only, and together they paid for each call once.
    assert sum(one["spent"] for one in results) == pytest.approx(_spent(tmp_path), abs=2e-6)


def _spent(folder: Path) -> float:
    with Store(folder / "store") as store, store.reading() as connection:
        return float(connection.scalar(sa.select(sa.func.sum(attempts.c.cost))) or 0)
