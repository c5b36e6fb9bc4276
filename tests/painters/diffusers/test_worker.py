"""The real worker process with tiny pipelines: from the painter to the pixels and back."""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from PIL import Image

from limner.calls import Calls
from limner.core.errors import UsageError
from limner.painters import Painting, PaintRequest
from limner.painters.batched import DrawItem, RawDrawing, open_workers, read_drawing, submit
from limner.painters.diffusers import FACTORY, DiffusersPainter, DrawSettings, PipelineSetup
from limner.painters.diffusers.options import Options
from limner.store import Store
from limner.workers import Pool, WorkerDeath
from limner.workers.process import Process
from tests.painters.inputs import inputs
from tests.support import picture

pytestmark = pytest.mark.slow
OPTIONS = {"size": "32x32", "steps": 2, "dtype": "float32", "devices": "cpu"}
COMMIT = "0123456789abcdef0123456789abcdef01234567"
Pipeline = Callable[[str], Path]


@pytest.fixture
def pool(pipeline: Pipeline) -> Iterator[Pool]:
    made = open_workers(
        "diffusers", FACTORY, PipelineSetup(str(pipeline("sd3")), dtype="float32"), Options({}, 4, ("cpu",))
    )
    yield made
    made.close()


def draw(pool: Pool, how: DrawSettings, item: DrawItem) -> RawDrawing:
    return read_drawing(submit(pool, how, item, 120.0).result(120))


def paint(painter: DiffusersPainter, store: Store, *requests: PaintRequest) -> list[Painting]:
    async def run() -> list[Painting]:
        async with Calls(store) as calls:
            return await asyncio.gather(*(painter.paint(request, calls) for request in requests))

    return asyncio.run(run())


def test_worker_matches_pipeline_and_restarts_when_killed(pool: Pool, pipeline: Pipeline) -> None:
    from limner.painters.diffusers.pipeline import Pipeline

    how, items = DrawSettings(32, 32, steps=2), [DrawItem("A cell.", 3), DrawItem("A leaf with labels", 4)]
    drawn = draw(pool, how, items[0])
    here: Any = next(
        Pipeline.open(PipelineSetup(str(pipeline("sd3")), dtype="float32", device="cpu")).draw(how, items[:1])
    )
    assert drawn.pixels == here.pixels
    (process,) = pool._workers
    assert isinstance(process, Process)
    worker = psutil.Process(process._process.pid)
    os.kill(worker.pid, signal.SIGKILL)
    with suppress(WorkerDeath):  # It may have been seen to be gone before it was asked.
        draw(pool, how, items[1])
    assert draw(pool, how, items[0]).pixels == drawn.pixels
    assert not worker.is_running()


def test_edit_by_worker_uses_image_to_image_pipeline(pipeline: Pipeline, store: Store) -> None:
    painter = DiffusersPainter(
        inputs("tiny", f"diffusers/{pipeline('sdxl')}", store.blobs, OPTIONS | {"strength": 0.5})
    )
    sha256, _ = store.blobs.put(picture(77, size=(64, 48)))
    drawn, edited = paint(
        painter, store, PaintRequest("q", "A cell.", 1), PaintRequest("q", "A cell.", 1, images=(sha256,))
    )
    assert drawn.image != edited.image
    assert edited.notes["about"]["pipeline"] == "StableDiffusionXLImg2ImgPipeline"
    with Image.open(io.BytesIO(edited.image)) as image:
        assert (image.size, np.asarray(image).std() > 5) == ((32, 32), True)


def test_cached_repository_is_used_offline(
    pipeline: Pipeline, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = tmp_path / "hub" / "hub"
    place = hub / "models--lab--tiny"
    shutil.copytree(pipeline("sdxl"), place / "snapshots" / COMMIT)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(COMMIT, "utf-8")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(hub))
    painter = DiffusersPainter(inputs("tiny", "diffusers/lab/tiny", store.blobs, OPTIONS))
    (painting,) = paint(painter, store, PaintRequest("q", "A cell."))
    assert painting.notes["body"]["weights"] == {"repository": "lab/tiny", "commit": COMMIT}


def test_unloadable_pipeline_stops_run_with_message(pipeline: Pipeline, store: Store, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(pipeline("sdxl"), broken)
    for file in (broken / "unet").glob("*.safetensors"):
        file.unlink()
    painter = DiffusersPainter(inputs("tiny", f"diffusers/{broken}", store.blobs, OPTIONS))
    with pytest.raises(UsageError, match=r"diffusers/.*/broken: cannot be loaded: OSError: .*unet"):
        paint(painter, store, PaintRequest("q", "A cell."))
