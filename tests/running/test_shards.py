"""Shards: disjoint, complete, about as large as each other, and not moved by what else is in the plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner import api
from limner.core.errors import UsageError
from limner.core.exam import Selection
from limner.running.backlog import Backlog
from limner.running.plan import MAX_SHARDS, Shard
from limner.running.setup import Asking
from limner.store import Store
from tests.support import write_exam

IDS = st.lists(st.text(max_size=70), unique=True, max_size=20)
COUNTS = st.one_of(st.integers(1, 12), st.integers(1, MAX_SHARDS))


@given(IDS, st.integers(1, 12))
def test_every_slot_is_in_exactly_one_shard(ids: list[str], n: int) -> None:
    shards = [Shard(i, n) for i in range(1, n + 1)]
    assert [sum(shard.has(id) for shard in shards) for id in ids] == [1] * len(ids)


@given(COUNTS, st.data())
def test_shard_round_trips_through_text(n: int, data: st.DataObject) -> None:
    shard = Shard(data.draw(st.integers(1, n)), n)
    assert Shard.parse(str(shard)) == shard


@pytest.mark.parametrize("word", ["", "1", "0/4", "5/4", "1/0", "-1/4", "1/4/2", "a/b", "1/100001", "²/4", "1.0/4"])
def test_invalid_shard_is_refused_with_usage(word: str) -> None:
    with pytest.raises(UsageError, match="--shard takes i/n, such as 1/4"):
        Shard.parse(word)


def slots(store: Store, data: Path, shard: Shard | None, **how: object) -> list[tuple[str, str, int]]:
    made = api.plan("genexam", store, data=data, painters=["control/reference", "control/blank"], shard=shard, **how)  # type: ignore[arg-type]
    listed = [(slot.question.id, slot.painter.name, slot.seed) for slot in Backlog(made, store).slots() if slot.painter]
    assert len(listed) == len(set(listed))
    return listed


def test_shards_partition_plan_for_any_selection_of_questions(store: Store, tmp_path: Path) -> None:
    exam = write_exam(tmp_path, 9)
    whole = slots(store, exam.data, None, seeds=2)
    parts = [slots(store, exam.data, Shard(i, 3), seeds=2) for i in (1, 2, 3)]
    assert sorted(slot for part in parts for slot in part) == sorted(whole)
    assert len(whole) == 36
    # By the slot, not by the question: painters and seeds of one question are in several shards.
    assert all(len({id for id, _, _ in part}) > 3 for part in parts)
    fewer = Selection(ids=tuple(exam.ids[2:6]))
    for i, part in enumerate(parts, 1):
        some = slots(store, exam.data, Shard(i, 3), seeds=2, selection=fewer)
        assert some == [slot for slot in part if slot[0] in exam.ids[2:6]]


def test_marking_uses_same_shards_as_drawing(store: Store, tmp_path: Path) -> None:
    exam = write_exam(tmp_path, 6)
    api.run("genexam", data=exam.data, painters=["control/reference"], store=store)
    drawn = api.plan("genexam", store, data=exam.data, painters=["control/reference"], shard=Shard(2, 2))
    marked = api.plan("genexam", store, asking=Asking(["ocr"]), draw=False, shard=Shard(2, 2))
    both = [{slot.question.id for slot in Backlog(plan, store).slots()} for plan in (drawn, marked)]
    assert both[0] == both[1]
    assert 0 < len(both[0]) < 6
