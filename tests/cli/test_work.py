"""run --queue, run --shard and work on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from limner.store import Store
from limner.store.plans import load_plans
from tests.cli.invoke import limner

RUN = ["run", "sample/genexam", "--painter", "control/reference", "--judge", "ocr", "--limit", "2", "--store", "store"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_a_run_is_queued_shown_carried_out_and_shown() -> None:
    said = limner(*RUN, "--queue")
    with Store("store") as store:
        (plan,) = load_plans(store)
    assert said.out == (
        f"plan {plan.id[:12]} is queued: sample/genexam, 2 questions, 2 drawings and 2 markings to do\n"
        "carry it out, on as many machines as you like: limner work --store store\n"
    )
    listed = limner("work", "--list", "--store", "store").out
    assert plan.id[:12] in listed
    assert "waiting" in listed
    worked = limner("work", "--store", "store", "--concurrency", "2", "--json")
    (one,) = worked.json()["plans"]
    assert (one["plan"], one["state"], one["done"], one["failed"], one["why"]) == (plan.id, "done", 4, 0, None)
    assert f"plan {plan.id[:12]}: done\n" in worked.err
    assert limner("work", "--store", "store").out == "nothing is left to do in store\n"
    (state,) = limner("work", "--list", "--json", "--store", "store").json()
    assert (state["state"], state["workers"], state["result"]["done"], state["purse"]) == ("done", [], 4, None)


@pytest.mark.slow
def test_a_plan_is_withdrawn_once() -> None:
    plan = limner(*RUN, "--queue", "--json").json()
    assert (plan["exam"], plan["questions"], plan["drawings"], plan["markings"]) == ("sample/genexam", 2, 2, 2)
    name = plan["plan"][:12]
    said = limner("work", "--withdraw", name[:5], "--store", "store")
    assert said.out == f"plan {name} is withdrawn; workers finish the calls that they have begun\n"
    assert f"plan {name} is withdrawn already" in limner("work", "--withdraw", name, "--store", "store", code=2).err
    assert limner("work", "--store", "store").out == "nothing is left to do in store\n"
    assert "has no plan" in limner("work", "nothing", "--store", "store", code=2).err


def test_mistakes_leave_no_store_behind() -> None:
    assert "--shard goes without --queue" in limner(*RUN, "--queue", "--shard", "1/2", code=2).err
    assert "--dry-run goes without --queue" in limner(*RUN, "--queue", "--dry-run", code=2).err
    assert "takes i/n" in limner(*RUN, "--shard", "3/2", code=2).err
    assert "no such folder" in limner(*RUN, "--painter", "folder/nowhere", "--queue", code=2).err
    assert not Path("store").exists()
    assert "no store at store" in limner("work", "--store", "store", code=None).err


def test_the_budget_of_a_shard_is_its_own_and_it_is_said() -> None:
    said = limner(*RUN, "--shard", "1/4", "--budget", "5", "--dry-run")
    assert "note: --budget 5 is for this shard alone: 4 shards may spend $20 together\n" in said.err
    counts = [limner(*RUN, "--shard", f"{i}/2", "--dry-run", "--json").json()["drawings"] for i in (1, 2)]
    assert sum(counts) == 2


def test_a_store_without_plans_says_how_to_queue_one() -> None:
    Store("store").close()
    assert (
        "no run is queued in store; `limner run … --queue` queues one"
        in limner("work", "--list", "--store", "store").out
    )
    assert limner("work", "--list", "--json", "--store", "store").json() == []
