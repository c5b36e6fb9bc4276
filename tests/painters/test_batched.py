"""Batches as large as memory allows, without torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.calls import Fault
from limner.core.images import BadImage
from limner.painters.batched import (
    BatchDrawer,
    DrawFailure,
    DrawItem,
    DrawResult,
    NumberedItems,
    RawDrawing,
    is_out_of_memory,
)
from limner.workers import WorkerUnfit


def items(count: int) -> list[DrawItem]:
    return [DrawItem(f"prompt {number}", number) for number in range(count)]


def room_for(most: int, seen: list[int]) -> Callable[[NumberedItems], Iterator[DrawResult]]:
    def batch(taken: NumberedItems) -> Iterator[DrawResult]:
        seen.append(len(taken))
        if len(taken) > most:
            raise RuntimeError("CUDA error: out of memory")
        for place, item in taken:
            yield RawDrawing(place, (1, 1), bytes([item.seed] * 3))

    return batch


# A collection walks over all that the other tests keep in memory.
@patch("limner.painters.batched.gc.collect", lambda: 0)
@given(count=st.integers(0, 40), most=st.integers(1, 40))
def test_every_item_is_drawn_once_at_any_batch_limit(count: int, most: int) -> None:
    seen: list[int] = []
    drawer = BatchDrawer("cpu")
    found = list(drawer.draw("small", items(count), room_for(most, seen), "…"))
    assert [(each.place, each.pixels[0]) for each in found if isinstance(each, RawDrawing)] == [
        (place, place) for place in range(count)
    ]
    tried = len(seen)
    list(drawer.draw("small", items(count), room_for(most, seen), "…"))
    assert all(size <= most for size in seen[tried:]), "what fitted is remembered"


@pytest.mark.slow
def test_batch_limit_is_learnt_per_shape() -> None:
    seen: list[int] = []
    drawer = BatchDrawer("cpu")
    list(drawer.draw("small", items(4), room_for(1, seen), "…"))
    seen.clear()
    list(drawer.draw("large", items(4), room_for(4, seen), "…"))
    assert seen == [4]


@pytest.mark.slow
def test_single_item_that_does_not_fit_gets_advice() -> None:
    (found,) = BatchDrawer("cpu").draw("small", items(1), room_for(0, []), "for one image; buy memory")
    assert found == DrawFailure(0, "local", "out of memory on cpu for one image; buy memory")


@pytest.mark.parametrize(
    ("error", "kind", "detail"),
    [
        (ValueError("not\nthis"), "local", "ValueError: not this"),
        (BadImage("no picture"), "image", "BadImage: no picture"),
        (Fault("refusal", "withheld"), "refusal", "withheld"),
    ],
)
def test_failed_item_does_not_affect_others(error: Exception, kind: str, detail: str) -> None:
    def batch(taken: NumberedItems) -> Iterator[DrawResult]:
        for place, item in taken:
            if item.seed == 1:
                raise error
            yield RawDrawing(place, (1, 1), b"rgb")

    good, bad, last = BatchDrawer("cpu").draw("small", items(3), batch, "…")
    assert isinstance(good, RawDrawing)
    assert isinstance(last, RawDrawing)
    assert isinstance(bad, DrawFailure)
    assert (bad.kind, detail in bad.detail) == (kind, True)


def test_unfit_worker_stops_drawing() -> None:
    def batch(_taken: NumberedItems) -> Iterator[DrawResult]:
        raise WorkerUnfit("no such option")

    with pytest.raises(WorkerUnfit, match="no such option"):
        list(BatchDrawer("cpu").draw("small", items(2), batch, "…"))


def test_out_of_memory_errors_are_recognised() -> None:
    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory"))
    assert not is_out_of_memory(RuntimeError("shapes do not agree"))
    assert not is_out_of_memory(ValueError("out of memory"))
