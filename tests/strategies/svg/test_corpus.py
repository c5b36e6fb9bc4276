"""Many valid files render to the same pixels, today and on other machines."""

from __future__ import annotations

import pytest
from PIL import Image

from limner.strategies.svg.rendering import choose
from tests.needs import need
from tests.strategies.svg.corpus import CORPUS
from tests.strategies.svg.corpus.thumbnails import SHEET, box, difference, thumbnail

TOLERANCE = 12.0


@pytest.fixture(scope="module")
def sheet() -> Image.Image:
    with Image.open(SHEET) as opened:
        return opened.convert("RGB")


@pytest.mark.parametrize("name", CORPUS)
def test_rendering_matches_stored_thumbnail(name: str, sheet: Image.Image) -> None:
    if name.startswith("far-eastern/"):
        found = any("NotoSansCJK-Regular" in path.name for path in choose("漢")[0])
        need("cjk", found, "Noto Sans CJK, which the thumbnails were written with, is not installed")
    kept = sheet.crop(box(list(CORPUS).index(name)))
    assert difference(thumbnail(CORPUS[name]), kept) < TOLERANCE
