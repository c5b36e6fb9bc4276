"""Runs of version 0.1 are taken up again: what was paid for is not paid for again, what was missing is made once."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from limner.calls.claims import this_host
from tests.cli.invoke import limner
from tests.compat import goldens, intended, runs
from tests.compat.compare import differences
from tests.compat.runs import RUNS, STORE
from tests.fakes.images_client import ImageServer
from tests.fakes.studio import StudioServer

NOTHING = {"studio": 0, "easel": 0}
KILLED = next(run for run in RUNS if run.kill_at is not None)
FINISHED = [run for run in RUNS if run is not KILLED]


@pytest.mark.slow
def test_finished_runs_make_no_request_and_all_say_what_they_said(
    to_run: Path, studio: StudioServer, easel: ImageServer
) -> None:
    entries = [entry for entry in intended.load(runs.V1 / "intended.toml") if entry.folder == "resume"]
    seen = []
    for run in RUNS:
        before = runs.count_rows(to_run / STORE)
        found = runs.take_up(run, studio, easel)
        found["new_rows"] = {name: n - before[name] for name, n in runs.count_rows(to_run / STORE).items()}
        if run is not KILLED:
            assert found["requests"] == NOTHING, run.name
            # Nothing was drawn, read or measured here either: the journal has no new line.
            assert found["new_rows"] == {"calls": 0, "attempts": 0}, run.name
        file = f"resume/{run.name}.json"
        seen += [(file, one) for one in differences(goldens.read(runs.V1 / "goldens", file), found)]
    intended.check(seen, entries)


def test_a_run_with_newer_prompts_says_what_there_is_under_the_older(
    to_run: Path, studio: StudioServer, easel: ImageServer
) -> None:
    before = studio.counts()["total"], easel.counts()["total"]
    (run,) = (run for run in RUNS if run.name == "effort-low")
    said = limner(*run.words, "--store", STORE, "--dry-run")
    assert f"{runs.JUDGE}: markings in the store under wording {runs.WORDING}: 8; to make them again" in said.err
    assert f"--wording {runs.WORDING} goes on with the older one" in said.err
    assert (studio.counts()["total"], easel.counts()["total"]) == before


def journal(store: Path, target: str) -> tuple[dict[str, Any], dict[tuple[str, int], Any]]:
    """The calls to a target and their attempts, by key."""
    with closing(sqlite3.connect(store / "limner.db")) as database:
        database.row_factory = sqlite3.Row
        calls = {row["key"]: dict(row) for row in database.execute("SELECT * FROM calls WHERE target = ?", (target,))}
        attempts = {(row["call"], row["n"]): dict(row) for row in database.execute("SELECT * FROM attempts")}
    return calls, {key: row for key, row in attempts.items() if key[0] in calls}


def claim_as_dead_here(store: Path) -> None:
    """Make the claims those of a process of this machine that has ended, their leases with time to go."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    how = (this_host(), ended.pid, time.time() + 600)
    with closing(sqlite3.connect(store / "limner.db")) as database, database:
        database.execute("UPDATE calls SET host = ?, pid = ?, lease_until = ? WHERE status = 'claimed'", how)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["elsewhere", "here"])
def test_a_killed_run_makes_exactly_what_is_missing(
    where: str, to_run: Path, studio: StudioServer, easel: ImageServer
) -> None:
    store = to_run / STORE
    if where == "here":
        claim_as_dead_here(store)
    calls, attempts = journal(store, "studio/late")
    questions = len(os.listdir(to_run / "drawings"))
    done = {key for key, call in calls.items() if call["status"] == "done"}
    claimed = {key for key, call in calls.items() if call["status"] == "claimed"}
    assert (len(done), len(claimed), len(calls), questions) == (3, 3, 6, 12)

    found = runs.take_up(KILLED, studio, easel)
    assert (found["code"], found["requests"]) == (0, {"studio": questions - len(done), "easel": 0})
    now, tried = journal(store, "studio/late")
    assert (len(now), {call["status"] for call in now.values()}) == (questions, {"done"})
    # Newer stores also tell which batch a call went with: none did.
    assert {key: now[key] for key in done} == {key: calls[key] | {"batch": None} for key in done}
    # What an older store has is as it was, and nobody has doubted it.
    older = {key: {**row, "doubt": None} for key, row in attempts.items()}
    assert {key: row for key, row in tried.items() if key[0] in done} == older
    # What was in flight is counted as lost, at a cost nobody knows, and made once more; the rest is made once.
    lost = [(key, row["fault"], row["cost"]) for (key, n), row in tried.items() if key in claimed and n == 1]
    assert sorted(lost) == sorted((key, "interrupted", None) for key in claimed)
    assert len(tried) == questions + len(claimed)
    again = runs.take_up(KILLED, studio, easel)
    assert (again["code"], again["requests"]) == (0, NOTHING)
    rows = limner("scores", "genexam", "--judge", "studio/late", "--store", STORE, "--format", "json").json()
    # The painter whose drawings all failed has its row under this judge too.
    told = [(row["painter"], row["coverage"], row["n"]) for row in rows]
    assert told == [("late", 1.0, questions), ("easel/stubborn", 0.0, 0)]


@pytest.mark.slow
def test_stored_faults_are_asked_anew_only_when_told_to(to_run: Path, studio: StudioServer, easel: ImageServer) -> None:
    kept = {name: goldens.read(runs.V1 / "goldens", f"resume/{name}.json") for name in ("faulted", "refused")}
    by_name = {run.name: run for run in RUNS}
    failures = kept["faulted"]["said"]["failures"]
    found = runs.take_up(by_name["faulted"], studio, easel, STORE, "--retry-failed")
    assert found["requests"] == {"studio": failures["refusal"] + failures["unreadable"], "easel": 0}
    assert found["said"]["failures"] == {"missing": 1, "image": 1}
    found = runs.take_up(by_name["refused"], studio, easel, STORE, "--retry-failed")
    drawn = kept["refused"]["said"]["failures"]["refusal"]
    # Its drawings come out like another painter's that the judge has marked: these marks are taken.
    assert (found["code"], found["requests"]) == (0, {"studio": 0, "easel": drawn})
