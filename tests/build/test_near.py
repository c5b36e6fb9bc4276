"""Near-duplicates: the index finds what a search through all finds; copies are found, other pictures are not."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from limner.build.near import NearIndex, distance, first_of_each, picture_hashes
from limner.build.steps.duplicates import DuplicatesSettings
from tests.build.damage import COPIES

HASHES = st.integers(0, 2**256 - 1)


def drawn(number: int) -> Image.Image:
    chance = random.Random(number)
    image = Image.new("RGB", (700, 560), "white")
    pen = ImageDraw.Draw(image)
    for _ in range(14):
        x, y = chance.randrange(80, 500), chance.randrange(80, 400)
        chance.choice((pen.rectangle, pen.ellipse))(
            (x, y, x + chance.randint(20, 180), y + chance.randint(20, 140)), outline="black", width=4
        )
    return image


@given(HASHES, st.lists(HASHES, max_size=8), st.lists(st.sets(st.integers(0, 255), max_size=44), max_size=8))
def test_the_index_finds_what_a_search_finds(base: int, far: list[int], flips: list[set[int]]) -> None:
    values = far + [base ^ sum(1 << bit for bit in flip) for flip in flips]
    for bits in (0, 15, 40):
        index = NearIndex(bits)
        for n, value in enumerate(values):
            index.add(str(n), f"{value:064x}")
        wanted = sorted((d, str(n)) for n, v in enumerate(values) if (d := (v ^ base).bit_count()) <= bits)
        assert index.near(f"{base:064x}") == wanted


def test_copies_are_found_and_others_are_not() -> None:
    bits = DuplicatesSettings().bits
    images = {n: drawn(n) for n in range(12)}
    hashes = {n: picture_hashes(image) for n, image in images.items()}
    assert first_of_each([(str(n), found) for n, found in hashes.items()], bits) == {}
    for name, damage in COPIES.items():
        found = [min(map(distance, hashes[n], picture_hashes(damage(images[n], random.Random(n))))) for n in images]
        assert sum(one <= bits for one in found) >= 11, name


def test_of_alike_pictures_the_first_stays() -> None:
    one, other = ["0" * 64] * 2, ["f" * 64] * 2
    near = ["0" * 63 + "1", "0" * 64]
    assert first_of_each([("a", one), ("b", other), ("c", near)], 4) == {"c": ("a", 0)}


def test_a_blank_sheet_has_a_hash() -> None:
    assert [len(found) for found in picture_hashes(Image.new("RGB", (300, 200), "white"))] == [64, 64]
