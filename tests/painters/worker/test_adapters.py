"""Janus and Emu3 on tiny random weights: the seed alone decides, in any batch."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from limner.core.images import BadImage
from limner.painters.worker import BatchItem

pytestmark = pytest.mark.slow
ADAPTERS = ["janus", "emu3"]
SIDES = {"janus": (None, None), "emu3": (48, 32)}
Draw = Callable[..., list[Any]]


@pytest.fixture
def opened(model: Callable[[str], Path]) -> Callable[..., Draw]:
    def open_model(sort: str, **options: Any) -> Draw:
        make = getattr(import_module("limner.painters.worker.models"), f"open_{sort}")
        draw = make(device="cpu", weights=[str(model(sort))], **{"dtype": "float32", **options})

        def drawn(*words: tuple[str, int]) -> list[Any]:
            found: list[Any] = draw([BatchItem(prompt, seed, *SIDES[sort]) for prompt, seed in words])
            return [each.astype(int) for each in found]

        return drawn

    return open_model


@pytest.mark.parametrize("sort", ADAPTERS)
def test_seed_determines_drawing_in_any_batch(opened: Callable[..., Draw], sort: str) -> None:
    draw = opened(sort)
    (alone,) = draw(("A cell.", 7))
    (again,) = draw(("A cell.", 7))
    assert (alone == again).all()
    batch = draw(("A leaf with many long veins.", 3), ("A cell.", 7), ("A cell.", 8))
    assert np.abs(batch[1] - alone).max() <= 1
    assert (batch[2] != alone).any()
    assert np.abs(batch[0] - draw(("A leaf with many long veins.", 3))[0]).max() <= 1
    assert alone.shape == ((8, 8, 3) if sort == "janus" else (32, 48, 3))
    assert alone.std() > 0


@pytest.mark.parametrize("sort", ADAPTERS)
@pytest.mark.parametrize("options", [{"guidance": 30.0}, {"temperature": 0.05}, {"top_k": 1}], ids=str)
def test_options_change_drawing(opened: Callable[..., Draw], sort: str, options: dict[str, Any]) -> None:
    (plain,), (other,) = opened(sort)(("A cell.", 7)), opened(sort, **options)(("A cell.", 7))
    assert (plain != other).any()


@pytest.mark.parametrize("sort", ADAPTERS)
def test_seed_has_no_effect_with_greedy_sampling(opened: Callable[..., Draw], sort: str) -> None:
    one, other = opened(sort, top_k=1)(("A cell.", 7), ("A cell.", 8))
    assert np.abs(one - other).max() <= 1


def test_negative_prompt_of_emu3_changes_drawing(opened: Callable[..., Draw]) -> None:
    (plain,) = opened("emu3", guidance=8.0)(("A cell.", 7))
    (other,) = opened("emu3", guidance=8.0, negative_prompt="blur and noise")(("A cell.", 7))
    assert (plain != other).any()


def test_tokens_are_sampled_by_softmax() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed; pip install 'limner[gpu]'")
    from limner.painters.worker.models import SeededNoise

    scores = torch.tensor([0.0, 1.0, 2.0, -1.0])
    count = 4000
    chosen = SeededNoise(range(count), 1.0, None)(scores.repeat(count, 1)).argmax(-1)
    shares = torch.bincount(chosen, minlength=4) / count
    assert (shares - scores.softmax(-1)).abs().max() < 0.03
    few = SeededNoise(range(count), 1.0, 2)(scores.repeat(count, 1)).argmax(-1)
    assert set(few.tolist()) == {1, 2}


def test_nan_values_are_bad_image_not_black_drawing() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed; pip install 'limner[gpu]'")
    from limner.painters.worker.models import pixels

    shades = SimpleNamespace(image_mean=[0.5] * 3, image_std=[0.5] * 3)
    (found,) = pixels(torch.tensor([-1.0, 0.0, 3.0]).reshape(1, 1, 1, 3), shades)
    assert found.tolist() == [[[0, 128, 255]]]
    with pytest.raises(BadImage, match="try dtype=float32"):
        pixels(torch.full((1, 2, 2, 3), torch.nan), shades)
