"""PostgreSQL is stopped and started again during a run: the run continues, and pays for no call twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from limner.calls.budget import read_purses
from limner.store import Store
from limner.store.schema import attempts, calls
from tests.fakes import ChatServer
from tests.postgres.server import PostgresServer
from tests.support import JUDGE, Gated, write_exam, write_settings

pytestmark = pytest.mark.slow
QUESTIONS = 80


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as running:
        yield running


def test_run_waits_for_database_server_to_restart(tmp_path: Path, chat: ChatServer, server: PostgresServer) -> None:
    exam = write_exam(tmp_path, QUESTIONS)
    write_settings(tmp_path, chat.base_url)
    chat.configure(latency_s=[0.1, 0.3])
    words = ["run", "genexam", "--data", str(exam.data), "--painter", f"mine=folder/{exam.drawings}"]
    words += ["--judge", JUDGE, "--judge-arg", "max_completion_tokens=2000", "--store", server.url]
    words += ["--concurrency", "8", "--budget", "50", "--purse", "week", "--format=json"]
    process = Gated(*words, cwd=tmp_path)
    try:
        process.go()
        for asked, mode in ((15, "fast"), (40, "immediate")):
            while chat.counts()["total"] < asked:
                chat.wait_in_flight(1)
            server.stop(mode)
            # Whatever was in flight is answered while nobody can write it down.
            while chat.counts()["in_flight"]:
                pass
            server.start()
        ended = process.end(120)
    finally:
        process.stop()
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False), ended
    body = json.loads(ended.stdout)
    assert (body["failed"], body["done"]) == (0, 2 * QUESTIONS)
    counts = chat.counts()
    assert set(counts["by_key"].values()) == {1}
    assert counts["total"] == counts["answered"] == QUESTIONS
    with Store(server.url) as store:
        with store.reading() as connection:
            tried = connection.execute(sa.select(attempts.c.call, attempts.c.fault, attempts.c.cost)).all()
            states = Counter(connection.scalars(sa.select(calls.c.status)))
        (purse,) = read_purses(store)
    assert states == {"done": QUESTIONS}
    assert [row.fault for row in tried] == [None] * QUESTIONS
    assert (purse.reserved, purse.lost) == (0.0, 0.0)
    assert purse.spent == pytest.approx(sum(row.cost for row in tried), abs=1e-9)
    assert purse.spent == pytest.approx(body["spent"], abs=1e-5)
