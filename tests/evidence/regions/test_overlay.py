"""Pictures of what was counted."""

from __future__ import annotations

import pytest
from PIL import Image

from limner.evidence.regions.base import Regions
from limner.evidence.regions.overlay import LINE, MASK, overlay


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
