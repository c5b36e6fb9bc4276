"""Where judges, or one judge's repeats, gave different marks for the same drawing. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .judge_data import UNDECIDED

Vectors = Sequence[tuple[int, int, bytes]]
"""A drawing's markings: way, repeat, and one byte for each criterion."""


def differing(vectors: Vectors) -> tuple[int, list[int], bool, bool]:
    """How many criteria two markings or more decided, which of them they decided differently, and between whom.

    Returns:
        The number decided twice, the places of those that differ, whether two judges differ, and whether two repeats of
        one judge do.

    >>> differing([(0, 0, bytes([1, 0, 255])), (1, 0, bytes([1, 1, 0])), (1, 1, bytes([0, 1, 0]))])
    (3, [0, 1], True, True)
    """
    both, places, judges, repeats = 0, [], False, False
    for place in range(min((len(marks) for _, _, marks in vectors), default=0)):
        values = [(way, marks[place]) for way, _, marks in vectors if marks[place] != UNDECIDED]
        both += len(values) > 1
        if len({value for _, value in values}) > 1:
            places.append(place)
            by_way: dict[int, set[int]] = {}
            for way, value in values:
                by_way.setdefault(way, set()).add(value)
            repeats = repeats or any(len(found) > 1 for found in by_way.values())
            judges = judges or len({frozenset(found) for found in by_way.values()}) > 1
    return both, places, judges, repeats


def agreement(many: Mapping[int, Vectors]) -> list[dict[str, Any]]:
    """For each two judges, and for each judge's repeats: criteria that both decided, and how many of them alike.

    >>> agreement({0: [(0, 0, bytes([1, 0, 255])), (1, 0, bytes([1, 1, 0]))]})
    [{'ways': [0, 1], 'both': 2, 'alike': 1}]
    """
    both: Counter[tuple[int, int]] = Counter()
    alike: Counter[tuple[int, int]] = Counter()
    for vectors in many.values():
        for at, (way, repeat, marks) in enumerate(vectors):
            for other_way, other_repeat, other in vectors[:at]:
                if way != other_way and repeat != other_repeat:
                    continue  # Two judges are held against each other repeat by repeat.
                pair = (min(way, other_way), max(way, other_way))
                for one, two in zip(marks, other, strict=False):
                    if one != UNDECIDED != two:
                        both[pair] += 1
                        alike[pair] += one == two
    return [{"ways": list(pair), "both": both[pair], "alike": alike[pair]} for pair in sorted(both)]
