"""Clusters of sentence embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

BLOCK = 1024
"""The number of rows of distances in memory at a time."""


def dbscan(vectors: np.ndarray[Any, Any], eps: float, min_samples: int) -> list[int]:
    """Return the cluster of each vector, counted from 0 in the order of their first members.

    A vector is a core if `min_samples` vectors, itself included, lie within the cosine distance `eps`. Cores within
    `eps` of each other form one cluster; other vectors within `eps` of a core join the nearest one. Each remaining
    vector, which DBSCAN calls noise, gets its own cluster: a concept that occurs once is a concept too.

    Args:
        vectors: Unit vectors, one per row.
        eps: The cosine distance, 0 to 2.
        min_samples: The number of vectors that make a core.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count = len(vectors)
    rows, columns, near = [], [], []
    for start in range(0, count, BLOCK):
        distances = 1.0 - vectors[start : start + BLOCK] @ vectors.T
        row, column = np.nonzero(distances <= eps)
        rows.append(row + start)
        columns.append(column)
        near.append(distances[row, column])
    if not count:
        return []
    source, target, apart = (np.concatenate(parts) for parts in (rows, columns, near))
    core = np.bincount(source, minlength=count) >= min_samples
    dense = core[source] & core[target]
    links = csr_array((np.ones(dense.sum(), np.int8), (source[dense], target[dense])), shape=(count, count))
    labels = np.asarray(connected_components(links, directed=False)[1], np.int64)
    # Vectors that are not cores are single components until they join their nearest core.
    edge = ~core[source] & core[target]
    order = np.lexsort((target[edge], apart[edge]))
    for member, core_member in zip(source[edge][order][::-1], target[edge][order][::-1], strict=True):
        labels[member] = labels[core_member]
    names: dict[int, int] = {}
    return [names.setdefault(int(label), len(names)) for label in labels]


def medoids(vectors: np.ndarray[Any, Any], labels: list[int]) -> dict[int, int]:
    """Return for each cluster the member nearest to its mean."""
    nearest: dict[int, int] = {}
    members: dict[int, list[int]] = {}
    for place, label in enumerate(labels):
        members.setdefault(label, []).append(place)
    for label, places in members.items():
        middle = vectors[places].mean(axis=0)
        nearest[label] = places[int(np.argmax(vectors[places] @ middle))]
    return nearest
