"""How well the graph is recovered on each level: on references this is the paper's test of self-consistency. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.protocol import Row
from .data import LEVELS

METRICS = ("fidelity_release", "u_acc")


def recovered(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Level -> drawings, and the mean of each metric over those that have it; levels without a drawing are left out."""
    found = {}
    for level in LEVELS:
        inside = [row.scores for row in rows if row.question.tags.get("level") == level]
        if inside:
            columns = {
                name: [value for scores in inside if (value := scores.get(name)) is not None] for name in METRICS
            }
            means = {name: sum(values) / len(values) if values else None for name, values in columns.items()}
            found[level] = {"n": len(inside), **means}
    return found
