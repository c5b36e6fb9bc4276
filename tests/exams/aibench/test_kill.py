"""Nineteen calls a drawing, killed again and again: nothing answered is paid twice, no score is wrong."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from limner import api
from limner.store import Store
from limner.store.schema import attempts, calls, markings
from tests.exams.aibench.rows import item, write
from tests.fakes import ChatServer
from tests.support import JUDGE, Gated, picture, write_settings

pytestmark = pytest.mark.slow

DRAWINGS, KILLS, CONCURRENCY, SEED = 16, 4, 8, 23
COUNTS = {"component": 6, "topology": 6, "phase": 4, "semantics": 3}
CALLS = DRAWINGS * sum(COUNTS.values())
ANSWER = "B"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(keep=2000, seed=SEED) as server:
        yield server


def write_exam(root: Path) -> tuple[Path, list[dict[str, Any]]]:
    """An exam of so many drawings with 19 questions each, the right letters drawn by lot."""
    chance, rows = random.Random(SEED), []
    for number in range(DRAWINGS):
        checklist: list[dict[str, Any]] = []
        for level, count in COUNTS.items():
            for n in range(count):
                right = chance.choice("AB" if level == "component" else "ABCD")
                asked = f"Which one is {level} {n} of drawing {number}?"
                checklist.append(item(level, len(checklist) + 1, right, question=asked))
        rows.append({"id": f"Venue/{number}", "method_text": f"Method {number}.", "checklist": checklist})
        drawing = root / "drawings" / "Venue" / f"{number}.png"
        drawing.parent.mkdir(parents=True, exist_ok=True)
        drawing.write_bytes(picture(number))
    return write(root / "AIBench.jsonl", *rows), rows


def test_kills_cost_no_more_than_what_was_in_flight(tmp_path: Path, server: ChatServer) -> None:
    data, rows = write_exam(tmp_path)
    write_settings(tmp_path, server.base_url)
    words = ["run", "aibench", "--data", str(data), "--painter", f"mine=folder/{tmp_path / 'drawings'}"]
    words += ["--judge", JUDGE, "--store", "store", "--concurrency", str(CONCURRENCY), "--json"]
    plan = {"seed": SEED, "latency_s": [0.01, 0.05], "reply": ANSWER}
    chance = random.Random(SEED)
    at = [chance.randint(20, 60) for _ in range(KILLS)]

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
    assert (last.returncode, last.stderr.count("Traceback")) == (0, 0), last.stderr

    counts = server.counts()
    kills = counts["killed_in_flight"]
    in_flight = sum(len(kill["keys"]) for kill in kills)
    assert [kill["at_request"] for kill in kills] == at
    assert all(1 <= len(kill["keys"]) <= CONCURRENCY for kill in kills)
    assert (counts["rejected"], counts["faults"], counts["in_flight"]) == (0, {}, 0)
    assert len(counts["by_key"]) == CALLS
    assert 0 <= counts["answered"] - CALLS <= in_flight

    with Store(tmp_path / "store") as store:
        with store.reading() as connection:
            made = connection.execute(sa.select(calls)).all()
            tried = connection.execute(sa.select(attempts)).all()
            marked = connection.execute(sa.select(markings)).all()
        # One accepted outcome for every key; whatever else was tried had been in flight at a kill.
        assert (len(made), {row.status for row in made}) == (CALLS, {"done"})
        good = [(row.call, row.n) for row in tried if row.fault is None]
        assert (len(good), set(good)) == (CALLS, {(row.key, row.accepted) for row in made})
        assert {row.fault for row in tried} <= {None, "interrupted"}
        lost = sum(row.fault is not None for row in tried)
        assert counts["total"] - CALLS <= lost <= KILLS * CONCURRENCY
        assert (len(marked), {row.status for row in marked}) == (DRAWINGS, {"done"})
        (standing,) = api.scores("aibench", store=store)
    levels = []
    for level, count in COUNTS.items():
        right = sum(one["correct_option"] == ANSWER for row in rows for one in row["checklist"] if _is(one, level))
        levels.append(Fraction(100 * right, count * DRAWINGS))
        assert standing.scores[level].value == pytest.approx(float(levels[-1]), abs=1e-9)
    assert standing.scores["overall"].value == pytest.approx(float(sum(levels) / 4), abs=1e-9)
    assert (standing.n, standing.coverage, standing.failures) == (DRAWINGS, 1.0, {})


def _is(one: dict[str, Any], level: str) -> bool:
    return bool(level in one["level"].lower())
