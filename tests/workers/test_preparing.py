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
def test_worker_prepares_same_bytes(side: int | None, form: ImageForm) -> None:
    data = picture(7, size=(40, 20))
    assert asyncio.run(prepare_by_worker(data, side, form)) == prepare(data, side, form)
    assert pool_of(RECIPE).started >= 1


def test_bad_image_raises_same_error_in_worker() -> None:
    with pytest.raises(BadImage) as here:
        prepare(b"none", None)
    with pytest.raises(BadImage) as there:
        asyncio.run(prepare_by_worker(b"none", None, "jpeg"))
    assert str(there.value) == str(here.value)


def test_image_is_prepared_locally_if_workers_are_unusable(monkeypatch: pytest.MonkeyPatch) -> None:
    unfit = Pool(RECIPE)
    unfit._give_up(WorkerUnfit("no node"), ())
    monkeypatch.setattr("limner.workers.ray.pool_of", lambda _: unfit)
    assert asyncio.run(prepare_by_worker(picture(3), None, "jpeg")) == prepare(picture(3), None)
