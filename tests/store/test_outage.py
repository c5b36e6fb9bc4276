"""What passes is waited for; what lasts is told at once."""

from __future__ import annotations

import sqlite3
from types import SimpleNamespace

import pytest
from sqlalchemy.exc import OperationalError

from limner.store import writer
from limner.store.writer import is_passing, waited

psycopg = pytest.importorskip("psycopg", reason="the driver comes with limner[postgres]")


def wrapped(error: Exception, lost: bool = False) -> OperationalError:
    return OperationalError("SELECT 1", {}, error, connection_invalidated=lost)


PASSING = ("AdminShutdown", "CrashShutdown", "CannotConnectNow", "DeadlockDetected", "ConnectionFailure")
LASTING = ("DiskFull", "UndefinedTable", "InsufficientPrivilege", "UniqueViolation")


@pytest.mark.parametrize("name", PASSING)
def test_restarts_and_collisions_pass(name: str) -> None:
    assert is_passing(wrapped(getattr(psycopg.errors, name)("!")))


@pytest.mark.parametrize("name", LASTING)
def test_what_the_server_will_say_again_lasts(name: str) -> None:
    assert not is_passing(wrapped(getattr(psycopg.errors, name)("!")))


def test_a_server_out_of_reach_passes_and_sqlite_has_no_server() -> None:
    assert is_passing(wrapped(psycopg.OperationalError("connection refused")))
    assert is_passing(wrapped(psycopg.errors.DiskFull("!"), lost=True))
    assert not is_passing(wrapped(sqlite3.OperationalError("disk I/O error")))
    assert not is_passing(ValueError())


def test_it_is_done_again_until_the_server_is_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    shim = SimpleNamespace(monotonic=lambda: clock[0], sleep=lambda _: clock.__setitem__(0, clock[0] + 1.0))
    monkeypatch.setattr("limner.store.writer.time", shim)

    def action() -> str:
        if clock[0] < back:
            raise wrapped(psycopg.OperationalError("connection refused\nmore"))
        return "back"

    back = 9.0
    assert waited(action) == "back"
    assert capsys.readouterr().err == "the database does not answer (connection refused); waiting for it\n"
    back = 10_000.0
    with pytest.raises(OperationalError):
        waited(action)
    assert clock[0] == pytest.approx(9 + writer.WAIT_S, abs=2)
