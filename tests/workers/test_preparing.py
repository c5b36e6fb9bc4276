"""Images prepared by workers are those prepared here, byte for byte."""

from __future__ import annotations

import asyncio

import pytest

from limner.core.images import BadImage, ImageForm, prepare
from limner.workers import WorkerUnfit, pool_of
from limner.workers.pool import Pool
from limner.workers.ray import RECIPE, prepare_by_worker
from tests.support import picture


@pytest.mark.parametrize("side", [None, 16])
@pytest.mark.parametrize("form", ["jpeg", "native"])
def test_a_worker_prepares_the_same(side: int | None, form: ImageForm) -> None:
    data = picture(7, size=(40, 20))
    assert asyncio.run(prepare_by_worker(data, side, form)) == prepare(data, side, form)
    assert pool_of(RECIPE).started >= 1


def test_a_bad_image_is_told_as_here() -> None:
    with pytest.raises(BadImage) as here:
        prepare(b"none", None)
    with pytest.raises(BadImage) as there:
        asyncio.run(prepare_by_worker(b"none", None, "jpeg"))
    assert str(there.value) == str(here.value)


def test_where_workers_are_of_no_use_it_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    unfit = Pool(RECIPE)
    unfit._give_up(WorkerUnfit("no node"), ())
    monkeypatch.setattr("limner.workers.ray.pool_of", lambda _: unfit)
    assert asyncio.run(prepare_by_worker(picture(3), None, "jpeg")) == prepare(picture(3), None)
