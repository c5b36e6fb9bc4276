"""Many valid files render to the same pixels, today and on other machines."""

from __future__ import annotations

import pytest
from PIL import Image, ImageChops

from limner.svg import render
from limner.svg.fonts import choose
from tests.needs import need
from tests.svg.corpus import CORPUS
from tests.svg.corpus.thumbnails import SHEET, SIDE, box, difference, thumbnail

TOLERANCE = 12.0


@pytest.fixture(scope="module")
def sheet() -> Image.Image:
    with Image.open(SHEET) as opened:
        return opened.convert("RGB")


def test_there_are_fifty_and_more() -> None:
    assert len(CORPUS) >= 50
    assert SHEET.stat().st_size < 150_000


@pytest.mark.parametrize("name", CORPUS)
def test_looks_as_ever(name: str, sheet: Image.Image) -> None:
    if name.startswith("far-eastern/"):
        found = any("NotoSansCJK-Regular" in path.name for path in choose("漢")[0])
        need("cjk", found, "Noto Sans CJK, which the thumbnails were written with, is not installed")
    kept = sheet.crop(box(list(CORPUS).index(name)))
    assert difference(thumbnail(CORPUS[name]), kept) < TOLERANCE


@pytest.mark.slow
def test_the_same_twice_to_the_last_bit() -> None:
    for svg in list(CORPUS.values())[::4]:
        assert render(svg, 200) == render(svg, 200)


@pytest.mark.slow
def test_a_difference_is_noticed(sheet: Image.Image) -> None:
    tiles = [sheet.crop(box(at)) for at in range(len(CORPUS))]
    for at, tile in enumerate(tiles):
        for other in tiles[at + 1 :]:
            assert difference(tile, other) > TOLERANCE
        assert difference(tile, ImageChops.offset(tile, 4, 3)) > TOLERANCE
        assert difference(tile, Image.new("RGB", (SIDE, SIDE), "white")) > TOLERANCE
