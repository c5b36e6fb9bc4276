"""The worked example of docs/painters.md, around a tiny model with random weights."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from limner.calls import Calls, Fault
from limner.painters import Painting, PaintRequest
from limner.painters.worker import WorkerPainter
from limner.store import Store
from tests.docs.blocks import ROOT, blocks
from tests.painters.inputs import inputs

pytestmark = pytest.mark.slow

PUBLIC = """
import pathlib
import torch


class Model(torch.nn.Module):
    max_tokens = 12

    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(256, 4)
        self.mix = torch.nn.Conv2d(9, 4, 1)

    def latent_shape(self, height, width):
        return 4, height // 8, width // 8

    def forward(self, noise, time, tokens, lengths):
        inside = torch.arange(self.max_tokens)[None] < lengths[:, None]
        text = (self.words(tokens) * inside[..., None]).sum(1)
        plane = torch.cat([text, time[:, None]], 1)[..., None, None].expand(-1, -1, *noise.shape[2:])
        return self.mix(torch.cat([noise, plane], 1))


def load(folder):
    torch.manual_seed(0)
    decoder = torch.nn.Sequential(torch.nn.Conv2d(4, 3, 1), torch.nn.Upsample(scale_factor=8))
    model = Model()
    model.load_state_dict(torch.load(pathlib.Path(folder) / "model.pt"))
    return (lambda text: list(text.encode())), model, decoder
"""


@pytest.fixture
def painter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: Store) -> Any:
    (example,) = [block for block in blocks(ROOT / "docs" / "painters.md") if block.notes.get("file") == "wrapped.py"]
    assert 45 <= len(example.lines) <= 70
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "wrapped.py").write_text(example.text, "utf-8")
    (tmp_path / "public_model.py").write_text(PUBLIC, "utf-8")
    torch = pytest.importorskip("torch")
    scope: dict[str, Any] = {}
    exec(PUBLIC, scope)
    torch.manual_seed(1)
    (tmp_path / "weights").mkdir()
    torch.save(scope["Model"]().state_dict(), tmp_path / "weights" / "model.pt")

    def make(**options: Any) -> WorkerPainter:
        given = {"size": "32x16", "devices": "cpu", "weights": "./weights", "steps": 4, "batch_size": 3} | options
        return WorkerPainter(inputs("mine", "worker/wrapped:open_model", store.blobs, given))

    return make


def draw(painter: WorkerPainter, store: Store, prompts: list[str], seed: int = 5) -> list[Any]:
    async def run() -> list[Painting | BaseException]:
        async with Calls(store) as calls:
            asked = [PaintRequest(f"q{n}", prompt, seed) for n, prompt in enumerate(prompts)]
            return await asyncio.gather(*(painter.paint(each, calls) for each in asked), return_exceptions=True)

    results = asyncio.run(run())
    return [each if isinstance(each, BaseException) else pixels(each) for each in results]


def pixels(drawn: Painting) -> Any:
    image = Image.open(io.BytesIO(drawn.image))
    assert image.size == (32, 16)
    return np.asarray(image).astype(int)


def test_worked_example_draws_each_prompt_alike_in_every_batch(painter: Any, store: Store, tmp_path: Path) -> None:
    together = draw(painter(), store, ["a leaf", "a root", "a leaf"])
    assert np.array_equal(together[0], together[2])
    assert not np.array_equal(together[0], together[1])
    with Store(tmp_path / "other", create=True) as other:
        (alone,) = draw(painter(batch_size=1), other, ["a root"])
    assert np.abs(alone - together[1]).max() <= 1
    (elsewhere,) = draw(painter(), store, ["a leaf"], seed=6)
    assert not np.array_equal(elsewhere, together[0])
    (stronger,) = draw(painter(guidance=9.0), store, ["a leaf"])
    assert not np.array_equal(stronger, together[0])


def test_worked_example_refuses_a_prompt_that_it_would_cut(painter: Any, store: Store) -> None:
    fault, drawn = draw(painter(), store, ["a leaf with many roots", "a leaf"])
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.detail) == ("bad_request", "the prompt has 22 tokens, the model reads 12")
    assert drawn.shape == (16, 32, 3)
