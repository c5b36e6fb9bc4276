"""Counters beside each other."""

from __future__ import annotations

from limner.evidence.regions.compare import Pair, compare
from limner.exams.mmmg.scores import readability


def readable(count: int) -> float:
    found = readability(count, 70, 160)
    assert found is not None
    return found


def test_difference_and_share_of_images_that_move() -> None:
    counts = [{"a": 10, "b": 60}, {"a": 70, "b": 80}, {"a": 71, "b": 80}, {"a": 100, "b": 79}]
    (pair,) = compare(counts, ["a", "b"], readable)
    # 70 to 80 is a ninth, 71 to 80 exactly a tenth.
    assert pair == Pair("a", "b", 4, (50 + 10 + 9 - 21) / 4, 0.5)
    assert pair.to_json()["mean_difference"] == 12


def test_a_failure_is_left_out_and_never_a_zero() -> None:
    (pair,) = compare([{"a": 10}, {"a": 20, "b": 22}], ["a", "b"], readable)
    assert (pair.images, pair.difference, pair.moved) == (1, 2, 0)
    (pair,) = compare([{"a": 10}], ["a", "b"], readable)
    assert (pair.images, pair.difference, pair.moved) == (0, None, None)


def test_every_two_counters_are_compared() -> None:
    assert len(compare([{"a": 1, "b": 2, "c": 3}], ["a", "b", "c"], readable)) == 3
