"""DBSCAN over unit vectors: what is dense belongs together, and what stands alone is a cluster of its own. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np

BLOCK = 1024
"""So many rows of distances are held at a time."""


def dbscan(vectors: np.ndarray[Any, Any], eps: float, min_samples: int) -> list[int]:
    """The cluster of each vector, counted from 0 in the order of their first members.

    A vector is a core where `min_samples` vectors, itself among them, lie within the cosine distance `eps`. Cores
    within `eps` of each other are one cluster; what else lies within `eps` of a core joins the nearest one. All that is
    left, which DBSCAN calls noise, gets a cluster each: a concept that is asked for once is a concept too.

    Args:
        vectors: Unit vectors, one a row.
        eps: Cosine distance, 0 to 2.
        min_samples: How many make a core.
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
    # What is no core is alone in these components until it joins its nearest core.
    edge = ~core[source] & core[target]
    order = np.lexsort((target[edge], apart[edge]))
    for one, other in zip(source[edge][order][::-1], target[edge][order][::-1], strict=True):
        labels[one] = labels[other]
    names: dict[int, int] = {}
    return [names.setdefault(int(label), len(names)) for label in labels]


def medoids(vectors: np.ndarray[Any, Any], labels: list[int]) -> dict[int, int]:
    """Cluster -> the member that lies nearest to its mean."""
    found: dict[int, int] = {}
    members: dict[int, list[int]] = {}
    for place, label in enumerate(labels):
        members.setdefault(label, []).append(place)
    for label, places in members.items():
        middle = vectors[places].mean(axis=0)
        found[label] = places[int(np.argmax(vectors[places] @ middle))]
    return found
