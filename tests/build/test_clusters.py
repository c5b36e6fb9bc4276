"""DBSCAN is what scikit-learn computes, noise apart; names of concepts and topics never cross."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.build.clusters import dbscan, medoids
from limner.build.steps.concepts import ConceptsSettings, _grouped, _joined


def unit(vectors: list[list[float]]) -> Any:
    found = np.array(vectors, np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_dense_places_are_clusters_and_what_stands_alone_is_its_own() -> None:
    vectors = unit([[1, 0.01], [1, 0.02], [0.01, 1], [0.02, 1], [-1, 0.3]])
    labels = dbscan(vectors, 0.01, 2)
    assert labels == [0, 0, 1, 1, 2]
    assert medoids(vectors, labels)[2] == 4
    assert dbscan(vectors[:0], 0.01, 2) == []


@pytest.mark.slow
@pytest.mark.parametrize(("eps", "least"), [(0.05, 2), (0.02, 3), (0.2, 4), (0.1, 1)])
def test_as_scikit_learn(eps: float, least: int) -> None:
    cluster = pytest.importorskip("sklearn.cluster")
    chance = np.random.default_rng(7)
    vectors = unit(chance.normal(size=(300, 3)).tolist())
    theirs = cluster.DBSCAN(eps=eps, min_samples=least, metric="cosine").fit(vectors)
    ours = np.array(dbscan(vectors, eps, least))
    core = np.zeros(len(vectors), bool)
    core[theirs.core_sample_indices_] = True
    for label in set(theirs.labels_) - {-1}:
        assert len(set(ours[core & (theirs.labels_ == label)])) == 1
    assert len(set(ours[core])) == len(set(theirs.labels_[core]))
    noise = theirs.labels_ == -1
    assert len(set(ours[noise])) == noise.sum(), "each is a cluster of its own"
    assert not set(ours[noise]) & set(ours[~noise])


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abc")), max_size=12))
def test_what_shares_a_key_is_joined(pairs: list[tuple[int, str]]) -> None:
    labels, keys = [label for label, _ in pairs], [key for _, key in pairs]
    found = _joined(labels, keys)
    for n, one in enumerate(pairs):
        for m, other in enumerate(pairs):
            if one[0] == other[0] or one[1] == other[1]:
                assert found[n] == found[m]


@given(st.lists(st.sampled_from(["water cycle", "Water-Cycle", "the water cycle", "atom", "atoms", "jazz"]), min_size=1,
                max_size=9))  # fmt: skip
def test_a_concept_has_one_name_and_one_topic(named: list[str]) -> None:
    bodies = [{"concept": name, "prompt": f"Draw {name}."} for name in named]
    found = _grouped(bodies, ConceptsSettings(model="letters"))
    topics: dict[str, set[str]] = {}
    for (concept, topic), name in zip(found, named, strict=True):
        topics.setdefault(concept, set()).add(topic)
        assert concept in named
        if name == "Water-Cycle":
            assert concept != "jazz"
    assert all(len(some) == 1 for some in topics.values())
