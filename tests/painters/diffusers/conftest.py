from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.needs import need
from tests.painters.diffusers import tiny


@pytest.fixture(autouse=True)
def _own_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test remembers hashes in, or reads pipelines from, a real home; nothing is fetched."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny pipeline, made once per test process."""
    missing = [name for name in ("torch", "diffusers", "transformers", "accelerate") if find_spec(name) is None]
    need("torch", not missing, f"not installed: {', '.join(missing)}; pip install 'limner[gpu]'")
    import torch

    torch.set_num_threads(1)  # Threads take longer to meet than such small pipelines to draw.
    made: dict[str, Path] = {}

    def folder(family: str) -> Path:
        if family not in made:
            made[family] = tiny.save(family, tmp_path_factory.mktemp("pipelines") / f"tiny-{family}")
        return made[family]

    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that looks like a pipeline; only a fake worker can open it."""
    place = tmp_path / "model"
    (place / "unet").mkdir(parents=True)
    (place / "model_index.json").write_text('{"_class_name": "OddPipeline"}', "utf-8")
    (place / "unet" / "weights.safetensors").write_bytes(bytes(range(256)) * 64)
    return place
