"""Plans as rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from limner.core.errors import UsageError
from limner.store import Store, now
from limner.store.plans import (
    DONE,
    OPEN,
    WITHDRAWN,
    PlanWorker,
    StoredPlan,
    end_plan,
    is_wanted,
    load_plan,
    load_plans,
    load_workers,
    remove_workers,
    save_plan,
    save_worker,
)
from limner.store.schema import exams


@pytest.fixture
def plan(store: Store) -> StoredPlan:
    store.write(lambda connection: connection.execute(exams.insert().values(name="e", kind="genexam", created=1.0)))
    made: dict[str, Any] = {"questions": {"q": "0" * 16}}
    found = StoredPlan("ab" * 32, "e", OPEN, {"painters": ["x"]}, made, queued=1000.25)
    save_plan(store, found)
    return found


def test_a_plan_is_found_by_how_its_id_begins(store: Store, plan: StoredPlan) -> None:
    save_plan(store, replace(plan, id="ab" + "c" * 62))
    assert load_plan(store, "aba") == plan
    assert load_plan(store, plan.id) == plan
    for word, why in (("ab", "several plans"), ("b", "no plan"), ("", "no plan"), ("a_", "no plan"), ("%", "no plan")):
        with pytest.raises(UsageError, match=why):
            load_plan(store, word)
    assert [one.made for one in load_plans(store)] == [{}, {}]


def test_what_became_of_a_plan_is_said_once_and_not_of_a_newer_one(store: Store, plan: StoredPlan) -> None:
    assert end_plan(store, plan, OPEN, None, "no key")
    assert (load_plan(store, plan.id).detail, is_wanted(store, plan)) == ("no key", True)
    newer = replace(plan, queued=2000.5)
    save_plan(store, newer)
    assert not end_plan(store, plan, DONE, {"failed": 0}, None)
    assert (load_plan(store, plan.id), is_wanted(store, plan)) == (newer, True)
    assert end_plan(store, newer, DONE, {"failed": 0}, None)
    assert not end_plan(store, newer, WITHDRAWN, None, None)
    assert (load_plan(store, plan.id).status, is_wanted(store, plan)) == (DONE, False)


def test_workers_come_and_go(store: Store, plan: StoredPlan) -> None:
    one = PlanWorker("a" * 32, plan.id, "host", 1, 2.0, lease_until=now())
    other = replace(one, token="b" * 32)
    for worker in (one, other, moved := replace(one, settled=3, total=9)):
        save_worker(store, worker)
    assert sorted(load_workers(store), key=lambda worker: worker.token) == [moved, other]
    remove_workers(store, one.token)
    assert load_workers(store) == [other]
