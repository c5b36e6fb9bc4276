"""Counters beside each other, and pictures of what was counted."""

from __future__ import annotations

import pytest
from PIL import Image

from limner.evidence.regions.base import Regions
from limner.evidence.regions.compare import LINE, MASK, CounterPair, compare, overlay
from limner.exams.mmmg.scores import readability


def readable(count: int) -> float:
    found = readability(count, 70, 160)
    assert found is not None
    return found


def test_difference_and_share_of_images_that_move() -> None:
    counts = [{"a": 10, "b": 60}, {"a": 70, "b": 80}, {"a": 71, "b": 80}, {"a": 100, "b": 79}]
    (pair,) = compare(counts, ["a", "b"], readable)
    # 70 to 80 is a ninth, 71 to 80 exactly a tenth.
    assert pair == CounterPair("a", "b", 4, (50 + 10 + 9 - 21) / 4, 0.5)
    assert pair.to_json()["mean_difference"] == 12


def test_a_failure_is_left_out_and_never_a_zero() -> None:
    (pair,) = compare([{"a": 10}, {"a": 20, "b": 22}], ["a", "b"], readable)
    assert (pair.images, pair.difference, pair.moved) == (1, 2, 0)
    (pair,) = compare([{"a": 10}], ["a", "b"], readable)
    assert (pair.images, pair.difference, pair.moved) == (0, None, None)


def test_every_two_counters_are_compared() -> None:
    assert len(compare([{"a": 1, "b": 2, "c": 3}], ["a", "b", "c"], readable)) == 3


def colours(image: Image.Image, box: tuple[int, int, int, int]) -> set[object]:
    return {color for _, color in image.crop(box).getcolors(1 << 20) or []}


def test_masks_and_lines_are_boxed_in_their_colours() -> None:
    ground = Image.new("RGB", (300, 200), (200, 200, 200))
    drawn = overlay(ground, Regions.of([(20, 20, 100, 100)], [(150, 50, 280, 80)]))
    assert drawn.size == ground.size
    assert MASK in colours(drawn, (15, 15, 105, 105))
    assert LINE not in colours(drawn, (15, 15, 105, 105))
    assert LINE in colours(drawn, (145, 45, 285, 85))
    assert MASK not in colours(drawn, (145, 45, 285, 85))
    assert colours(drawn, (30, 30, 90, 90)) == {(200, 200, 200)}
    assert colours(ground, (0, 0, 300, 200)) == {(200, 200, 200)}


def test_without_colour_dashes_still_tell_lines_from_masks() -> None:
    ground = Image.new("RGB", (300, 300), "white")
    whole, dashed = Regions.of([(20, 20, 280, 280)], []), Regions.of([], [(20, 20, 280, 280)])
    dark = [
        sum(overlay(ground, found).getpixel((x, 20)) != (255, 255, 255) for x in range(20, 281))
        for found in (whole, dashed)
    ]
    assert dark[0] == 261
    assert 100 < dark[1] < 180


@pytest.mark.parametrize("mode", ["RGBA", "L", "P", "1"])
def test_any_mode_and_boxes_without_area(mode: str) -> None:
    drawn = overlay(Image.new(mode, (50, 40)), Regions.of([(0, 0, 0, 0)], [(10, 10, 10, 10)]))
    assert (drawn.mode, drawn.size) == ("RGB", (50, 40))
