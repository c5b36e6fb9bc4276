"""Batches of runs that share a PostgreSQL store: handed in once, whoever does it, and settled once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from limner.calls.budget import read_purses
from limner.store import Store
from limner.store.schema import attempts, batches, calls
from tests.fakes.batches import BatchServer
from tests.running.batch_child import Child, forks
from tests.running.batch_support import make_place, paid_once
from tests.store.places import fresh_place

pytestmark = pytest.mark.slow

QUESTIONS, SEED = 12, 3


@pytest.fixture
def service() -> Iterator[BatchServer]:
    with BatchServer() as server:
        server.configure(seed=SEED, malformed_until_turn=1)
        yield server


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store."""
    return fresh_place(request, "postgres", tmp_path, "batches")


def test_two_runs_at_once_after_one_that_lost_a_reply_pay_once(
    place: str, tmp_path: Path, service: BatchServer
) -> None:
    desk = make_place(tmp_path, service, QUESTIONS, store=place, calls=5)
    words = desk.words("--budget", "5", "--purse", "shared")
    context = forks()
    # The first leaves a batch behind that only the service knows of.
    service.configure(seed=SEED, malformed_until_turn=1, fates=["drop_after"])
    first = Child(context, desk.root, [*words, "--batch-wait", "0"])
    assert first.go() == 3, first.said
    both = [Child(context, desk.root, words) for _ in range(2)]
    for process in both:
        process.begin()
    assert [process.end() for process in both] == [0, 0], both[0].said
    paid_once(service, 2 * QUESTIONS)
    assert set(service.bill()["handed"].values()) == {1}
    with Store(place) as store:
        with store.reading() as connection:
            assert set(connection.scalars(sa.select(calls.c.status))) == {"done"}
            assert connection.scalar(sa.select(sa.func.count()).select_from(attempts)) == 2 * QUESTIONS
            ends = connection.execute(sa.select(batches.c.status, batches.c.detail)).all()
            paid = connection.scalar(sa.select(sa.func.sum(attempts.c.cost)))
        (purse,) = read_purses(store)
    # What both have gathered at once is one's, and the other hands nothing in.
    assert {tuple(end) for end in ends} <= {("completed", None), ("released", "nothing was sent")}
    assert purse.reserved == pytest.approx(0, abs=1e-9)
    assert purse.spent == pytest.approx(paid)
