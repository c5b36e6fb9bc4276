"""Two runs on one PostgreSQL store, one of them killed: everything is made once, by the services' own counts."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from limner.calls.budget import read_purses
from limner.store import Store
from limner.store.markings import load_markings
from limner.store.records import load_drawings
from limner.store.schema import attempts, calls
from tests.end_to_end.shop import write_toml
from tests.fakes import ChatServer
from tests.fakes.images_client import ImageServer
from tests.support import Gated, write_exam

pytestmark = pytest.mark.slow

QUESTIONS, CONCURRENCY, SEED, PRICE = 36, 4, 5, 0.04
EXAM, PURSE = "shared-by-runs", "shared"


@pytest.fixture
def images() -> Iterator[ImageServer]:
    with ImageServer(keep=500) as server:
        yield server


def test_two_runs_share_the_work_and_one_is_killed(
    postgres: str, tmp_path: Path, chat: ChatServer, images: ImageServer
) -> None:
    exam = write_exam(tmp_path, QUESTIONS, drawings=False)
    own = tmp_path / "exam.toml"
    own.write_text(f'name = "{EXAM}"\nkind = "genexam"\ndata = "{exam.data.name}"\n', "utf-8")
    easel = {"base_url": images.base_url, "image_shape": "openai-images", "seeds": True, "timeout_s": 60}
    priced = {"input_price": 2.0, "output_price": 8.0, "max_output_tokens": 4000}
    services = {"providers.studio": {"base_url": chat.base_url, "timeout_s": 60}, "providers.easel": easel}
    write_toml(tmp_path, {**services, "models.studio/judge": priced, "painters.easel/brush": {"image_price": PRICE}})
    chat.configure(seed=SEED, latency_s=[0.02, 0.08])

    words = [
        "run",
        str(own),
        "--painter",
        "easel/brush",
        "--judge",
        "studio/judge",
        "--store",
        postgres,
        "--format=json",
    ]
    words += ["--concurrency", str(CONCURRENCY), "--budget", "40", "--purse", PURSE]
    killed, other = (Gated(*words, cwd=tmp_path) for _ in range(2))
    try:
        # More requests than one run makes at once: no picture is sent before both are at work.
        images.configure(seed=SEED, hold=CONCURRENCY + 1, free=2, latency_s=[0.02, 0.08])
        chat.configure(seed=SEED, latency_s=[0.02, 0.08], kill={"pid": killed.pid, "at_request": 9})
        for run in (killed, other):
            run.go()
        assert killed.end(120).returncode == -signal.SIGKILL
        ended = other.end(120)
    finally:
        for run in (killed, other):
            run.stop()
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False), ended.stderr
    told = json.loads(ended.stdout)
    assert (told["failed"], told["done"] + told["stored"]) == (0, 2 * QUESTIONS)

    with Store(postgres) as store:
        drawn, marked = list(load_drawings(store, EXAM)), list(load_markings(store, EXAM))
        with store.reading() as connection:
            made = connection.execute(sa.select(calls).where(calls.c.exam == EXAM)).all()
            keys = [row.key for row in made]
            tried = connection.execute(sa.select(attempts).where(attempts.c.call.in_(keys))).all()
        (purse,) = read_purses(store, PURSE)
    # Every drawing and every marking once.
    assert Counter(one.question_id for one in drawn) == Counter(exam.ids)
    assert Counter(one.drawing for one in marked) == Counter(one.id for one in drawn)
    assert {one.status for one in drawn} | {one.status for one in marked} == {"done"}
    assert (Counter(row.kind for row in made)["paint"], {row.status for row in made}) == (QUESTIONS, {"done"})

    # The services' own counts: only what the killed run had in flight was asked for again.
    lost = [row for row in tried if row.fault is not None]
    assert {row.fault for row in lost} <= {"interrupted"}
    assert len(lost) <= CONCURRENCY
    of = {row.key: row.kind for row in made}
    for server, kind in ((images, "paint"), (chat, "chat")):
        counts, gone = server.counts(), sum(of[row.call] == kind for row in lost)
        assert (counts["rejected"], counts["faults"], counts["in_flight"]) == (0, {}, 0)
        assert len(counts["by_key"]) == QUESTIONS
        assert QUESTIONS <= counts["total"] <= QUESTIONS + gone
    (kill,) = chat.counts()["killed_in_flight"]
    assert "error" not in kill
    # What the killed one had begun was taken over.
    assert {row.pid for row in made} <= {killed.pid, other.pid}

    # The budget was one: what both paid, and what nobody knows at its bound, stands in one purse.
    paid = sum(row.cost for row in tried if row.fault is None)
    assert purse.spent >= paid > QUESTIONS * PRICE
    assert (purse.reserved, {one.pid for one in purse.by}) == (0, {killed.pid, other.pid})
    assert purse.spent - paid == pytest.approx(sum(one.at_bound for one in purse.by), abs=1e-6)
