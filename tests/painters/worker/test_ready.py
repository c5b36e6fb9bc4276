"""The painter of Janus and Emu3: options, identity, and drawings through a real worker."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from limner.calls import Calls
from limner.core.errors import UsageError
from limner.painters import Painting, PaintRequest, add_devices
from limner.painters.worker import TransformersPainter
from limner.store import Store
from tests.painters.inputs import inputs


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[str], Path]:
    """A folder that looks like a model."""

    def make(sort: str) -> Path:
        place = tmp_path / sort
        place.mkdir(exist_ok=True)
        (place / "config.json").write_text(json.dumps({"model_type": sort}), "utf-8")
        return place

    return make


def made(place: Path, store: Store, **options: Any) -> TransformersPainter:
    return TransformersPainter(inputs("mine", f"transformers/{place}", store.blobs, options))


def body(painter: TransformersPainter, request: PaintRequest) -> dict[str, Any]:
    found = asyncio.run(painter._weights())
    return painter._body(request, painter._draw_settings(request), found)


def ask(prompt: str = "A cell.", seed: int = 0, **more: Any) -> PaintRequest:
    return PaintRequest("q1", prompt, seed, **more)


def test_key_depends_on_drawing_options_and_weights(folder: Callable[[str], Path], store: Store) -> None:
    place = folder("janus")
    plain = body(made(place, store), ask())
    assert (plain["adapter"], plain["options"]) == ("janus-1", {"dtype": "bfloat16"})
    assert "width" not in plain
    assert body(made(place, store, batch_size=8, devices="0,1", timeout_s=9), ask()) == plain
    for option in ({"guidance": 3}, {"temperature": 0.7}, {"top_k": 5}, {"dtype": "fp32"}):
        assert body(made(place, store, **option), ask()) != plain
    (place / "model.safetensors").write_bytes(b"other weights")
    assert body(made(place, store), ask())["weights"] != plain["weights"]


def test_size_follows_aspect_and_option(folder: Callable[[str], Path], store: Store) -> None:
    place = folder("emu3")
    found = body(made(place, store), ask(aspect="landscape"))
    assert (found["width"], found["height"]) == (864, 600)
    found = body(made(place, store, size="512x256"), ask())
    assert (found["width"], found["height"]) == (512, 256)
    with pytest.raises(UsageError, match="janus models have no option size"):
        body(made(folder("janus"), store, size="512x512"), ask())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 3}, "has no option 'steps'; it has: batch_size, devices, dtype"),
        ({"temperature": 0}, "a number above 0"),
        ({"top_k": 0}, "a whole number from 1"),
    ],
)
def test_invalid_options_are_reported(
    folder: Callable[[str], Path], store: Store, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        made(folder("janus"), store, **options)


def test_unsupported_models_are_reported(folder: Callable[[str], Path], store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is a llama model; supported are emu3, janus\. .*worker/MODULE:FACTORY"):
        body(made(folder("llama"), store), ask())
    with pytest.raises(UsageError, match=r"config\.json has no model_type"):
        body(made(tmp_path, store), ask())
    with pytest.raises(UsageError, match="no such folder or file"):
        made(Path("./nowhere"), store)


def test_devices_option_is_passed_to_worker_painters() -> None:
    assert add_devices("transformers/lab/model", {}, "0,1") == {"devices": "0,1"}
    assert add_devices("worker/own:model", {}, "0,1") == {"devices": "0,1"}


@pytest.mark.slow
@pytest.mark.parametrize(("sort", "options"), [("janus", {}), ("emu3", {"size": "32x16"})])
def test_worker_draws_batch(
    model: Callable[[str], Path], store: Store, sort: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limner.workers.pool.LINGER_S", 30.0)
    given = {"devices": "cpu", "dtype": "float32", "batch_size": 2, **options}
    painter = made(model(sort), store, **given)

    async def run() -> list[Painting]:
        async with Calls(store, tries=1) as calls:
            return await asyncio.gather(*(painter.paint(ask(seed=seed), calls) for seed in (1, 2)))

    one, two = asyncio.run(run())
    assert one.image != two.image
    with Image.open(io.BytesIO(one.image)) as image:
        assert image.size == ((8, 8) if sort == "janus" else (32, 16))
    assert one.notes["about"] == {"device": "cpu", "batch": 2}
