from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from limner.core.errors import UsageError
from limner.painters.diffusers import weights
from tests.needs import need

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_fingerprint_depends_on_contents_not_path(folder: Path, tmp_path: Path) -> None:
    found = weights.find_pipeline(str(folder), None)
    assert (found.name, found.source, found.revision) == ("model", str(folder), None)
    copy = tmp_path / "elsewhere" / "model"
    shutil.copytree(folder, copy)
    assert weights.find_pipeline(str(copy), None).identity == found.identity
    # What nobody draws with does not count.
    (copy / "README.md").write_text("A model.", "utf-8")
    (copy / ".gitattributes").write_text("*", "utf-8")
    (copy / ".cache").mkdir()
    (copy / ".cache" / "lock.json").write_text("{}", "utf-8")
    assert weights.find_pipeline(str(copy), None).identity == found.identity


@pytest.mark.parametrize("file", ["model_index.json", "unet/weights.safetensors"])
def test_changed_byte_changes_fingerprint(folder: Path, file: str) -> None:
    before = weights.fingerprint(folder)
    path = folder / file
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(1, 1))
    assert weights.fingerprint(folder) != before


def test_unchanged_files_are_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = weights.fingerprint(folder)
    read: list[str] = []
    hashed = weights._hash

    def noted(file: Path) -> str:
        read.append(file.name)
        return hashed(file)

    monkeypatch.setattr(weights, "_hash", noted)
    assert weights.fingerprint(folder) == first
    assert read == []
    os.utime(folder / "model_index.json", ns=(1, 1))
    assert weights.fingerprint(folder) == first
    assert read == ["model_index.json"]
    weights._hash_cache().write_text("[1, 2", "utf-8")  # A spoilt memory is no memory.
    assert weights.fingerprint(folder) == first
    assert sorted(read) == ["model_index.json", "model_index.json", "weights.safetensors"]


def test_unwritable_cache_is_harmless(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = weights.fingerprint(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "model_index.json"))
    assert weights.fingerprint(folder) == before


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("./none", "./none: no such folder or file; a repository of the hub is written OWNER/NAME"),
        ("a/b/c", "no such folder"),
    ],
)
def test_invalid_folder_or_repository_is_reported(place: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        weights.find_pipeline(place, None)
    assert message in str(raised.value)


def test_folder_without_pipeline_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no model_index\.json: it is not a saved diffusers pipeline"):
        weights.find_pipeline(str(tmp_path), None)


def test_weights_that_need_a_token_are_downloaded_by_the_painter(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Workers have none."""
    asked: list[Any] = []

    def download(source: str, **given: Any) -> Path:
        asked.append((source, given))
        if given["variant"] == "none":
            raise OSError("401 for hf_canary0123456789abcdef")
        return tmp_path

    fake = SimpleNamespace(DiffusionPipeline=SimpleNamespace(download=download))
    monkeypatch.setitem(sys.modules, "diffusers", fake)
    hub = weights.Weights("lab/model", "lab/model", "c0ffee", {"repository": "lab/model", "commit": "c0ffee"})
    here = weights.Weights("model", str(tmp_path), None, {"files": "f"})
    for name in weights.TOKENS:
        monkeypatch.delenv(name, raising=False)
    assert (weights.download_if_private(hub, None), weights.download_if_private(here, None), asked) == (hub, here, [])
    monkeypatch.setenv("HF_TOKEN", "hf_canary0123456789abcdef")
    assert weights.download_if_private(here, None) == here
    assert weights.download_if_private(hub, "fp16") == replace(hub, source=str(tmp_path), revision=None)
    assert asked == [("lab/model", {"revision": "c0ffee", "variant": "fp16"})]
    with pytest.raises(UsageError, match=r"lab/model at c0ffee: OSError: 401 for \*\*\*$"):
        weights.download_if_private(hub, "none")


def test_repository_is_identified_by_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("torch", find_spec("huggingface_hub") is not None, "huggingface_hub is not installed")
    from huggingface_hub import constants

    assert not weights.is_pipeline_here("lab/model")
    assert weights.find_pipeline("lab/model", COMMIT).identity == {"repository": "lab/model", "commit": COMMIT}
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    place = tmp_path / "hub" / "models--lab--model"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text(COMMIT, "utf-8")
    (place / "snapshots" / COMMIT).mkdir(parents=True)
    (place / "snapshots" / COMMIT / "model_index.json").write_text("{}", "utf-8")
    found = weights.find_pipeline("lab/model", None)
    assert (found.name, found.source, found.revision) == ("lab/model", "lab/model", COMMIT)
    assert found.identity == {"repository": "lab/model", "commit": COMMIT}
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(UsageError, match="lab/other at v2: "):
        weights.find_pipeline("lab/other", "v2")
