"""Processes that share a purse never exceed it by the service's own bill, also when they are killed."""

from __future__ import annotations

import json
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from limner.calls.budget import PurseState, read_purses
from limner.store import Store
from tests.chaos.bill import FREE, KINDS, Billing
from tests.fakes.misbehaving import Misbehaving
from tests.postgres.server import PostgresServer
from tests.support import JUDGE, Gated, run_limner, write_exam, write_settings

pytestmark = pytest.mark.slow

LIMIT, MOST, QUESTIONS = 0.5, 2000, 45
BOUND = 0.06
"""More than any one call can cost here."""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty store of either sort."""
    if request.param == "sqlite":
        yield str(tmp_path / "store")
        return
    import sqlalchemy as sa

    url = request.getfixturevalue("server").url
    name = f"purse{abs(hash(str(tmp_path)))}"
    engine = sa.create_engine(url.partition("&blobs")[0].replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    yield url.replace("/postgres?", f"/{name}?")


def words(folder: Path, store: str, service: Misbehaving, *more: str) -> list[str]:
    if not (folder / "data").exists():
        write_exam(folder, QUESTIONS)
        write_settings(folder, service.url + "/v1", timeout_s=1)
    command = ["run", "genexam", "--data", str(folder / "data"), "--painter", f"mine=folder/{folder / 'drawings'}"]
    command += ["--judge", JUDGE, "--judge-arg", f"max_completion_tokens={MOST}", "--store", store, "--format=json"]
    return [*command, "--concurrency", "6", "--retry-failed", "--budget", str(LIMIT), "--purse", "week", *more]


def both(make: Callable[[], Gated], told: Callable[[list[Gated]], None] = lambda _: None) -> list[Any]:
    runners = [make() for _ in range(2)]
    try:
        told(runners)
        for runner in runners:
            runner.go()
        return [runner.end(120) for runner in runners]
    finally:
        for runner in runners:
            runner.stop()


def state(store: str) -> PurseState:
    with Store(store, create=False) as opened:
        (purse,) = read_purses(opened, "week")
    return purse


def kept(billing: Billing, store: str) -> PurseState:
    """The purse, which holds what the service billed."""
    purse = state(store)
    assert max(billing.billed, default=0.0) < BOUND
    assert billing.bill <= purse.spent + purse.reserved + 1e-9 <= LIMIT + 2e-9
    assert purse.spent == pytest.approx(sum(by.spent for by in purse.by), abs=1e-9)
    return purse


FAULTS = {
    "usage": ("no_usage", "half_usage", "no_choices", "error_in_200", "answer"),
    "connection": ("reset", "hang", "cut", "not_json", "answer"),
    "reply": ("refusal", "length", "unreadable", "answer"),
    "status": (*FREE, "answer"),
}


@pytest.mark.parametrize(
    ("place", "faults"), [("postgres", "usage"), *(("sqlite", faults) for faults in FAULTS)], indirect=["place"]
)
def test_two_processes_never_exceed_shared_purse(tmp_path: Path, place: str, faults: str) -> None:
    billing = Billing(FAULTS[faults], seed=len(faults))
    with Misbehaving(billing) as service:
        command = words(tmp_path, place, service)
        ended = both(lambda: Gated(*command, cwd=tmp_path, pauses=False))
        assert not any("Traceback" in one.stderr for one in ended), ended
        assert {one.returncode for one in ended} <= {0, 3, 4}
        purse = kept(billing, place)
        assert (purse.reserved, purse.lost) == (0.0, 0.0)
        assert {by.running for by in purse.by} == {False}
        # It is not that nothing was done: they went on to the end, or until one more could have passed the limit.
        assert purse.spent > LIMIT - BOUND or (4 not in {one.returncode for one in ended} and faults == "status")
        assert len(service.seen) >= QUESTIONS or 4 in {one.returncode for one in ended}
        if 4 in {one.returncode for one in ended}:
            # A later run goes on where they ended: nothing more is paid.
            before = len(service.seen)
            again = run_limner(*command, cwd=tmp_path, timeout=120)
            assert (again.returncode, len(service.seen) - before) == (4, 0), again
            assert "purse 'week' reached" in again.stderr


@pytest.mark.parametrize(("place", "seed"), [("sqlite", 1), ("postgres", 2)], indirect=["place"])
def test_processes_killed_at_any_request_never_exceed_purse(tmp_path: Path, place: str, seed: int) -> None:
    chance, billing = random.Random(seed), Billing(KINDS, seed)
    with Misbehaving(billing) as service:
        command = words(tmp_path, place, service)
        ends = []
        for _ in range(2):

            def condemn(runners: list[Gated]) -> None:
                at, victims = len(service.seen), chance.sample(runners, chance.choice([1, 2]))
                billing.kill = {at + chance.randint(0, 8): victim.pid for victim in victims}

            ended = both(lambda: Gated(*command, cwd=tmp_path, pauses=False), condemn)
            ends += [one.returncode for one in ended]
            kept(billing, place)
        billing.kill = {}
        last = both(lambda: Gated(*command, cwd=tmp_path, pauses=False))
        purse = kept(billing, place)
    assert -signal.SIGKILL in ends
    assert set(ends) <= {-signal.SIGKILL, 0, 3, 4}
    assert {one.returncode for one in last} <= {0, 3, 4}
    # What the killed had in flight counts: as spent where it was asked again, and else as set aside.
    assert sum(by.at_bound + by.reserved for by in purse.by if by.running is False) > 0
    assert purse.spent + purse.reserved > LIMIT - BOUND


@pytest.mark.parametrize("honours", [True, False])
def test_service_with_idempotency_keys_bills_calls_in_flight_at_kill_once(tmp_path: Path, honours: bool) -> None:
    billing = Billing(("answer",), 3)
    billing.honours = honours
    with Misbehaving(billing) as service:
        command = words(tmp_path, str(tmp_path / "store"), service, "--budget", "50")
        settings = tmp_path / "limner.toml"
        header = 'timeout_s = 1\nidempotency_header = "Idempotency-Key"'
        settings.write_text(settings.read_text("utf-8").replace("timeout_s = 1", header), "utf-8")
        killed = Gated(*command, cwd=tmp_path, pauses=False)
        billing.kill = {10: killed.pid}
        killed.go()
        assert killed.end(120).returncode == -signal.SIGKILL
        billing.kill, asked = {}, len(service.seen)
        again = run_limner(*command, cwd=tmp_path, timeout=120)
        assert again.returncode in (0, 3), again
        assert len(service.seen) > asked
    repeated = len(billing.asked) - len(set(billing.asked))
    assert (repeated == 0) is honours
    assert {len(seen.headers["idempotency-key"]) for seen in service.seen} == {36}


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_raised_purse_lets_run_continue_and_is_reported(tmp_path: Path, place: str) -> None:
    billing = Billing(("answer",), 5)
    with Misbehaving(billing) as service:
        command = words(tmp_path, place, service)
        assert run_limner(*command, cwd=tmp_path, timeout=120).returncode == 4
        refused = run_limner(*command, "--budget", "0.6", cwd=tmp_path)
        assert (refused.returncode, "has a limit of $0.5, not $0.6" in refused.stderr) == (2, True), refused
        before = billing.bill
        raised = run_limner(*command, "--budget", "0.6", "--change-purse", cwd=tmp_path, timeout=120)
        assert raised.returncode == 4
        assert "purse 'week': limit raised from $0.5 to $0.6" in raised.stderr
    assert before < billing.bill <= 0.6
    result = run_limner("spend", "--purse", "--store", place, "--format=json", cwd=tmp_path)
    (one,) = json.loads(result.stdout)
    assert (one["purse"], one["limit"], one["reserved"]) == ("week", 0.6, 0.0)
    # A busy machine may miss a reply: then its bound counts, and is told.
    known = one["spent"] - sum(by["at_bound"] for by in one["by"])
    assert known - 1e-9 <= billing.bill <= one["spent"] + 1e-9
    assert [by["running"] for by in one["by"]] == [False, False]
    text: subprocess.CompletedProcess[str] = run_limner("spend", "--purse", "week", "--store", place, cwd=tmp_path)
    assert f"purse week: ${one['spent']:.4f} spent, $0.0000 set aside" in text.stdout
    without = run_limner("spend", "--purse", "moth", "--store", place, cwd=tmp_path)
    assert (without.returncode, "it has: week" in without.stderr) == (2, True)
