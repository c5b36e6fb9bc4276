"""How much it matters which counter counts. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

MOVED = 0.1
"""Readability that differs by more than this is another readability."""


@dataclass(frozen=True)
class Pair:
    """Two counters on the images that both counted.

    Attributes:
        difference: The second one's count less the first one's, on average; None without images.
        moved: The share of images whose readability differs by more than `MOVED`.
    """

    first: str
    second: str
    images: int
    difference: float | None
    moved: float | None

    def to_json(self) -> dict[str, Any]:
        """A plain mapping."""
        return {
            "first": self.first,
            "second": self.second,
            "images": self.images,
            "mean_difference": self.difference,
            "moved": self.moved,
        }


def compare(
    counts: Sequence[Mapping[str, int]], counters: Sequence[str], readability: Callable[[int], float]
) -> list[Pair]:
    """Every two counters beside each other.

    Args:
        counts: For each image, the count by counter; a counter that failed on it is missing.
        counters: Their names.
        readability: From a count to 0-1.
    """
    found = []
    for first, second in combinations(counters, 2):
        both = [(row[first], row[second]) for row in counts if first in row and second in row]
        difference = fmean(b - a for a, b in both) if both else None
        # Differences of thresholds' size must not be decided by how 0.1 is rounded.
        moved = fmean(abs(readability(b) - readability(a)) > MOVED + 1e-9 for a, b in both) if both else None
        found.append(Pair(first, second, len(both), difference, moved))
    return found
