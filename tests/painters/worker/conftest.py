from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.needs import need
from tests.painters.worker import tiny


@pytest.fixture(autouse=True)
def _own_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test remembers hashes in, or reads models from, a real home; nothing is fetched."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny model, made once per test process."""
    missing = [name for name in ("torch", "transformers", "accelerate") if find_spec(name) is None]
    need("torch", not missing, f"not installed: {', '.join(missing)}; pip install 'limner[gpu]'")
    import torch

    torch.set_num_threads(1)
    made: dict[str, Path] = {}

    def folder(sort: str) -> Path:
        if sort not in made:
            make = {"janus": tiny.janus, "emu3": tiny.emu3}[sort]
            made[sort] = make(tmp_path_factory.mktemp("models") / f"tiny-{sort}")
        return made[sort]

    return folder
