"""Counting without a model, on drawings whose regions are known."""

from __future__ import annotations

import io
import math
import random
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from limner.core.errors import UsageError
from limner.core.evidence import is_paper_backend
from limner.core.images import font
from limner.evidence.ocr import RapidOcr
from limner.evidence.regions import COUNTERS, open_counter
from limner.evidence.regions.base import find_areas

COLOURS = ["navy", "orange", "green", "crimson", "purple", "teal", "gold", "grey"]


def flat(count: int, seed: int, size: tuple[int, int] = (900, 700), ground: str = "white") -> Image.Image:
    """So many coloured shapes, side by side, with outlines, joined by thin lines."""
    dice = random.Random(seed)
    image = Image.new("RGB", size, ground)
    draw = ImageDraw.Draw(image)
    columns = math.ceil(math.sqrt(count))
    cell = size[0] // columns, size[1] // math.ceil(count / columns)
    for n in range(count):
        left, top = n % columns * cell[0], n // columns * cell[1]
        box = (left + 20, top + 20, left + cell[0] - 20, top + cell[1] - 20)
        shape = draw.ellipse if dice.random() < 0.5 else draw.rectangle
        shape(box, fill=dice.choice(COLOURS), outline="black", width=3)
        draw.line((box[2], (box[1] + box[3]) // 2, left + cell[0] + 19, (box[1] + box[3]) // 2), "black", 2)
    return image


@pytest.mark.parametrize("count", [1, 2, 7, 12, 30])
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("ground", ["white", "ivory", "black"])
def test_shapes_of_flat_diagram_are_counted(count: int, seed: int, ground: str) -> None:
    assert len(find_areas(flat(count, seed, ground=ground))) == count


def test_jpeg_artifacts_are_not_regions() -> None:
    packed = io.BytesIO()
    flat(12, 4).save(packed, "JPEG", quality=75)
    with Image.open(packed) as image:
        assert len(find_areas(image)) == 12


def test_outlined_areas_are_counted_without_colour() -> None:
    image = Image.new("RGB", (600, 400), "white")
    draw = ImageDraw.Draw(image)
    for x in range(100, 501, 100):
        draw.line((x, 50, x, 350), "grey", 2)
    for y in (50, 200, 350):
        draw.line((100, y, 500, y), "grey", 2)
    assert len(find_areas(image)) == 8


def test_boxes_match_shape_positions() -> None:
    image = Image.new("RGB", (400, 300), "white")
    ImageDraw.Draw(image).rectangle((100, 60, 299, 199), fill="teal", outline="black", width=3)
    ((left, top, right, bottom),) = find_areas(image)
    assert (left, top, right, bottom) == pytest.approx((100, 60, 299, 199), abs=6)


def test_count_is_stable_across_resolutions() -> None:
    small = flat(12, 3)
    large = small.resize((small.width * 3, small.height * 3), Image.Resampling.LANCZOS)
    assert len(find_areas(large)) == len(find_areas(small)) == 12
    assert max(box[2] for box in find_areas(large)) > 2 * small.width


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "1"])
@pytest.mark.parametrize("size", [(1, 1), (3, 200), (64, 64)])
def test_blank_images_have_no_regions(mode: str, size: tuple[int, int]) -> None:
    assert find_areas(Image.new(mode, size)) == []


@pytest.mark.slow
def test_labels_are_counted_as_lines_and_not_masks() -> None:
    image = flat(4, 1)
    draw = ImageDraw.Draw(image)
    for n, word in enumerate(["Nucleus", "Ribosome"]):
        draw.text((60, 20 + 350 * n), word, "black", font(40), stroke_width=2, stroke_fill="black")
    white = Image.new("RGB", (900, 900), "white")
    white.paste(image, (0, 200))
    draw = ImageDraw.Draw(white)
    draw.text((60, 60), "Parts of a cell", "black", font(60), stroke_width=3, stroke_fill="black")
    counter = open_counter("classical")
    counter.check()
    lines = [line for line in RapidOcr().read(white) if "Parts" in line.text]
    found = counter.count(white, lines)
    assert found.lines == 1
    assert not [box for box in found.boxes[: found.masks] if box[3] < 150]


def test_name_describes_counting_method() -> None:
    counter = open_counter("classical")
    assert counter.name.startswith("classical/edge=32 close=7 ")
    assert not is_paper_backend("regions", counter.name)


def test_unknown_counter_or_option_is_usage_error(tmp_path: Path) -> None:
    for word in ("classic", "sam2.1", "sam2.1:", "classical:x", ""):
        with pytest.raises(UsageError, match="no region counter") as error:
            open_counter(word)
        assert all(known in str(error.value) for known in COUNTERS)
    with pytest.raises(UsageError, match="classical: no option points"):
        open_counter("classical", points=3)
