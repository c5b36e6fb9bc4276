"""Stored work is looked up a few slots at a time, with the same outcome as all at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from limner import api
from limner.core.exam import Selection
from limner.running import backlog
from limner.running.backlog import Backlog
from limner.store import Store
from limner.store.records import load_drawings
from tests.report.tables import synthetic


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Store(tmp_path_factory.mktemp("store")) as made:
        synthetic.fill(made, "genexam", painters=3, questions=12, images=False)
        yield made


def found(store: Store) -> list[tuple[str, int, str]]:
    plan = api.plan("genexam", store, draw=False)
    slots = Backlog(plan, store)
    listed = [(slot.question.hash, slot.seed, slot.stored.id) for slot in slots.slots() if slot.stored]
    assert len(listed) == slots.count
    return listed


def test_stored_drawings_are_ordered_by_question_for_any_batch_size(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = found(store)
    place = {question.hash: at for at, question in enumerate(api.plan("genexam", store, draw=False).exam.questions)}
    drawings = sorted(load_drawings(store, "genexam"), key=lambda drawing: place[drawing.question_hash])
    assert [id for _, _, id in whole] == [drawing.id for drawing in drawings]
    monkeypatch.setattr(backlog, "SOME", 5)
    assert found(store) == whole


def test_backlog_counts_missing_drawings_for_any_batch_size(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def counts() -> tuple[int, int, int]:
        plan = api.plan("genexam", store, painters=["control/blank"], seeds=2)
        slots = Backlog(plan, store)
        return *slots.counts(), slots.count

    assert counts() == (24, 0, 24)
    monkeypatch.setattr(backlog, "SOME", 5)
    assert counts() == (24, 0, 24)


@pytest.mark.parametrize("draw", [True, False])
def test_shuffled_backlog_keeps_slots_of_question_together(
    draw: bool, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "SOME", 2)
    plan = api.plan("genexam", store, **({"painters": ["control/blank"], "seeds": 2} if draw else {"draw": False}))
    in_order = [slot.question.id for slot in Backlog(plan, store).slots()]

    orders = set()
    for _ in range(3):
        shuffled = Backlog(plan, store)
        shuffled.shuffle()
        count = shuffled.count
        ids = [slot.question.id for slot in shuffled.slots()]
        assert sorted(ids) == sorted(in_order)
        assert len(ids) == count
        assert len([at for at in range(1, count) if ids[at] != ids[at - 1]]) == 11, "a question's stay together"
        orders.add(tuple(ids))
    assert len(orders) > 1


@pytest.mark.slow
def test_results_of_concurrent_run_are_seen_on_second_look(tmp_path: Path) -> None:
    words: dict[str, Any] = {"painters": ["control/blank"], "asking": api.Asking(["ocr"]), "repeats": 2}
    words["selection"] = Selection(limit=2)
    with Store(tmp_path / "store") as place:
        slots = Backlog(api.plan("sample/genexam", place, **words), place)
        slots.load()
        before = list(slots.slots())
        assert not any(slot.stored for slot in before)
        api.run("sample/genexam", store=place, **words)
        after = slots.look_again(before)
        assert all(slot.drawn for slot in after)
        made = [stored for slot in after if slot.drawn for _, _, stored in slots.markings(slot.drawn)]
        assert len(made) == 2 * len(after)
        assert not any(slots.must_make(stored) for stored in made)
