"""Controls' pictures: blank, typeset, labels erased, labels exchanged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from limner.core.evidence import TextLine
from limner.core.images import flatten, font
from limner.painters.controls import images
from limner.painters.controls import images as swaps

GROUND = (235, 240, 250)


def line(text: str, left: float, top: float, right: float, bottom: float, confidence: float = 0.95) -> TextLine:
    return TextLine(text, ((left, top), (right, top), (right, bottom), (left, bottom)), confidence)


def write(image: Image.Image, text: str, x: int, y: int, size: int = 20, fill: str = "black") -> TextLine:
    """Draw a label and give its box as OCR would: the ink with a little air."""
    draw = ImageDraw.Draw(image)
    left, top, right, bottom = draw.textbbox((x, y), text, font=font(size))
    draw.text((x, y), text, fill=fill, font=font(size))
    return line(text, left - 2, top - 2, right + 2, bottom + 2)


@pytest.fixture
def drawing() -> tuple[Image.Image, list[TextLine]]:
    """Two labels of like size, an axis number, a long title, and a circle that nothing may change."""
    image = Image.new("RGB", (400, 300), GROUND)
    ImageDraw.Draw(image).ellipse((150, 100, 250, 200), outline="red", width=4)
    lines = [
        write(image, "nucleus", 20, 80),
        write(image, "membrane", 280, 80),
        write(image, "100", 20, 250),
        write(image, "The parts of a living cell", 60, 10),
    ]
    return image, lines


def inked(image: Image.Image, box: tuple[int, int, int, int]) -> int:
    return int((np.asarray(image.crop(box)).astype(int).sum(axis=2) < 300).sum())


def changed(before: Image.Image, after: Image.Image) -> NDArray[np.bool_]:
    return np.array(np.abs(np.asarray(before).astype(int) - np.asarray(after)).max(axis=2) > 0)


def test_blank_is_white() -> None:
    image = images.blank((7, 5))
    assert (image.mode, image.size, image.getcolors()) == ("RGB", (7, 5), [(35, (255, 255, 255))])


def rgba() -> Image.Image:
    image = Image.new("RGBA", (4, 4), (10, 20, 30, 0))
    image.putpixel((0, 0), (10, 20, 30, 255))
    return image


def palette() -> Image.Image:
    image = Image.new("P", (4, 4), 0)
    image.putpalette([10, 20, 30, 9, 9, 9])
    image.info["transparency"] = 1
    image.putpixel((1, 1), 1)
    return image


@pytest.mark.parametrize(
    ("make", "first", "second"),
    [
        (rgba, (10, 20, 30), (255, 255, 255)),
        (palette, (10, 20, 30), (255, 255, 255)),
        (lambda: Image.new("I;16", (4, 4), 257 * 77), (77, 77, 77), (77, 77, 77)),
        (lambda: Image.new("F", (4, 4), 77.2), (77, 77, 77), (77, 77, 77)),
    ],
)
def test_every_mode_is_flattened_on_white(
    make: Callable[[], Image.Image], first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    for flat in (flatten(make()), images.erase(make(), [])):
        assert flat.mode == "RGB"
        assert (flat.getpixel((0, 0)), flat.getpixel((1, 1))) == (first, second)
    assert images.swap(make(), [], 0) is None


def test_altering_does_not_modify_given_image(drawing: tuple[Image.Image, list[TextLine]]) -> None:
    image, lines = drawing
    before = image.tobytes()
    images.erase(image, lines)
    images.swap(image, lines, 0)
    assert image.tobytes() == before


def rows(image: Image.Image) -> list[tuple[int, int]]:
    """First and last row of each line of type."""
    dark = (np.asarray(image.convert("L")) < 128).any(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], dark.astype(int), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def test_short_text_is_set_large_and_long_text_smaller() -> None:
    heights = []
    for count in (3, 60, 200):
        image = images.typeset("HHHHH " * count, (500, 500))
        assert image.size == (500, 500)
        heights.append(rows(image)[0][1] - rows(image)[0][0])
        dark = np.asarray(image.convert("L")) < 128
        assert not dark[:, :20].any()
        assert not dark[:, -20:].any()
        assert not dark[-20:].any()
    assert heights == sorted(heights, reverse=True)
    assert heights[0] > 25 > heights[2]


def test_text_too_long_for_smallest_type_enlarges_picture() -> None:
    image = images.typeset("word " * 2000, (300, 200))
    assert image.width == 300
    assert image.height > 200
    assert rows(image)[-1][1] < image.height


def test_paragraphs_are_kept_and_long_words_broken() -> None:
    one, two = images.typeset("HH HH", (400, 400)), images.typeset("HH\n\nHH", (400, 400))
    assert len(rows(one)) == 1
    (_, end), (start, _) = rows(two)
    assert start - end > 40
    broken = images.typeset("H" * 100, (400, 400))
    assert len(rows(broken)) > 3
    assert not (np.asarray(broken.convert("L"))[:, -20:] < 128).any()


@given(st.text(alphabet=st.characters(), max_size=80), st.integers(0, 200), st.integers(0, 60))
def test_any_text_can_be_set_at_any_size(text: str, width: int, height: int) -> None:
    image = images.typeset(text, (width, height))
    assert image.width == width
    assert image.height >= height


def test_labels_are_erased_and_rest_is_unchanged(drawing: tuple[Image.Image, list[TextLine]]) -> None:
    image, lines = drawing
    erased = images.erase(image, lines)
    touched = changed(image, erased)
    for label in lines:
        left, top, right, bottom = swaps.rect(label)
        assert erased.crop((left, top, right, bottom)).getcolors() == [((right - left) * (bottom - top), GROUND)]
        touched[top : bottom + 1, left : right + 1] = False
    assert not touched.any()
    assert len(erased.getcolors(1000) or []) == 2


def test_a_tilted_label_is_erased_along_its_tilt() -> None:
    image = Image.new("RGB", (200, 200), "white")
    ImageDraw.Draw(image).polygon([(42, 50), (50, 42), (158, 150), (150, 158)], fill="black")
    ImageDraw.Draw(image).rectangle((140, 45, 150, 55), fill="blue")
    tilted = TextLine("tilted", ((50, 40), (160, 150), (150, 160), (40, 50)), 0.9)
    erased = images.erase(image, [tilted])
    assert {colour for _, colour in erased.getcolors() or []} == {(255, 255, 255), (0, 0, 255)}


def test_background_is_taken_from_inside_tight_frame() -> None:
    image = Image.new("RGB", (200, 100), "orange")
    frame = (50, 30, 150, 60)
    ImageDraw.Draw(image).rectangle(frame, fill="green")
    write(image, "Magma", 65, 33, fill="white")
    erased = images.erase(image, [line("Magma", 51, 31, 149, 59)])
    assert erased.crop((52, 32, 148, 58)).getcolors() == [(96 * 26, (0, 128, 0))]


def test_heavy_type_is_not_taken_as_background() -> None:
    image = Image.new("RGB", (200, 100), GROUND)
    ImageDraw.Draw(image).rectangle((52, 32, 148, 58), fill="black")
    assert images.erase(image, [line("█", 50, 30, 150, 60)]).getcolors() == [(20000, GROUND)]


def test_noisy_background_is_found() -> None:
    noise = np.random.default_rng(1).integers(-6, 7, (100, 200, 3))
    image = Image.fromarray((np.array([200, 180, 160]) + noise).astype(np.uint8))
    label = write(image, "noise", 60, 40)
    erased = np.asarray(images.erase(image, [label])).astype(int)
    assert np.abs(erased - [200, 180, 160]).max() <= 12


@pytest.mark.parametrize(
    "box", [(-50, -50, -20, -30), (180, 80, 260, 160), (0, 0, 200, 100), (50, 50, 50, 50), (500, 500, 600, 520)]
)
def test_boxes_at_and_beyond_the_edge_are_erased(box: tuple[int, int, int, int]) -> None:
    image = Image.new("RGB", (200, 100), GROUND)
    assert images.erase(image, [line("x", *box)]).getcolors() == [(20000, GROUND)]
    assert images.swap(image, [line("x", *box), line("y", 10, 10, 30, 30)], 0) is None or box == (50, 50, 50, 50)


def test_two_labels_are_swapped(drawing: tuple[Image.Image, list[TextLine]]) -> None:
    image, lines = drawing
    found = images.swap(image, lines, 0)
    assert found
    altered, pair = found
    assert {label.text for label in pair} == {"nucleus", "membrane"}
    touched = changed(image, altered)
    for label, other in (pair, pair[::-1]):
        left, top, right, bottom = swaps.rect(label)
        assert altered.getpixel((left, top)) == GROUND
        ink, was = inked(altered, (left, top, right, bottom)), inked(image, swaps.rect(other))
        assert 0.4 * was < ink < 1.6 * was
        assert touched[top:bottom, left:right].any()
        touched[top:bottom, left:right] = False
    assert not touched.any()


def test_labels_of_equal_size_are_swapped_pixel_for_pixel() -> None:
    image = Image.new("RGB", (300, 100), "white")
    for x, text in ((20, "A"), (200, "B")):
        ImageDraw.Draw(image).text((x, 20), text, fill="black", font=font(30))
    lines = [line("A", 15, 15, 55, 65), line("B", 195, 15, 235, 65)]
    found = images.swap(image, lines, 3)
    assert found
    assert found[0].crop((10, 10, 60, 70)).tobytes() == image.crop((190, 10, 240, 70)).tobytes()
    assert found[0].crop((190, 10, 240, 70)).tobytes() == image.crop((10, 10, 60, 70)).tobytes()


def test_seed_determines_swapped_pair() -> None:
    image = Image.new("RGB", (600, 600), "white")
    lines = [
        write(image, f"part {letter}", 20 + 140 * (n % 4), 20 + 150 * (n // 4)) for n, letter in enumerate("abcdefgh")
    ]
    outcomes = [images.swap(image, lines, seed) for seed in range(12)]
    again = [images.swap(image, lines, seed) for seed in range(12)]
    assert [(o[0].tobytes(), o[1]) for o in outcomes if o] == [(o[0].tobytes(), o[1]) for o in again if o]
    assert len({o[1] for o in outcomes if o}) > 2


def test_swap_prefers_words_over_numbers_and_text_blocks() -> None:
    image = Image.new("RGB", (600, 400), "white")
    words = [write(image, "anode", 20, 20), write(image, "cathode", 450, 320)]
    numbers = [write(image, "10", 20, 300), write(image, "20", 100, 300), write(image, "30", 180, 300)]
    two_lines = [write(image, "salt", 300, 100), write(image, "bridge", 300, 126)]
    for seed in range(6):
        found = images.swap(image, [*numbers, *two_lines, *words], seed)
        assert found
        assert set(found[1]) == set(words)
        found = images.swap(image, numbers, seed)
        assert found
        assert set(found[1]) < set(numbers)


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [line("Cell", 10, 10, 60, 30), line("cell.", 100, 10, 150, 30)],
        [line("one", 10, 10, 60, 30), line("two", 100, 10, 150, 30, confidence=0.4)],
        [line("one", 10, 10, 60, 30), line("two", 50, 15, 100, 35)],
        [line("one", 10, 10, 60, 30), line("far too long for that", 10, 50, 190, 70)],
        [line("one", 10, 10, 60, 30), TextLine("tilted", ((100, 10), (150, 30), (145, 50), (95, 30)), 0.9)],
    ],
)
def test_swap_without_two_suitable_labels_returns_none(lines: list[TextLine]) -> None:
    assert images.swap(Image.new("RGB", (200, 100), "white"), lines, 0) is None


def test_adjacent_text_line_is_neither_cut_nor_moved() -> None:
    image = Image.new("RGB", (500, 200), "white")
    labels = [write(image, "sepal", 20, 40), write(image, "petal", 300, 40)]
    ImageDraw.Draw(image).rectangle((20, 70, 90, 80), fill="blue")
    left, top, right, _ = labels[0].bounds
    deep = line("sepal", left, top, right, 72)
    found = images.swap(image, [deep, labels[1]], 0)
    assert found
    assert sum(n for n, colour in found[0].getcolors(100_000) or [] if colour == (0, 0, 255)) == 71 * 11
    assert found[0].crop((0, 70, 500, 81)).tobytes() == image.crop((0, 70, 500, 81)).tobytes()


def test_moved_label_gets_background_of_its_new_place() -> None:
    image = Image.new("RGB", (400, 100), "white")
    ImageDraw.Draw(image).rectangle((200, 0, 400, 100), fill=(210, 180, 160))
    lines = [write(image, "inlet", 40, 30), write(image, "outlet", 280, 30)]
    found = images.swap(image, lines, 0)
    assert found
    for label, ground in ((lines[0], (255, 255, 255)), (lines[1], (210, 180, 160))):
        left, top, right, bottom = swaps.rect(label)
        area = (right - left) * (bottom - top)
        colours = {colour: n for n, colour in found[0].crop((left, top, right, bottom)).getcolors(area) or []}
        assert colours[ground] > area / 2
        assert inked(found[0], (left, top, right, bottom)) > 50


def test_a_white_label_stays_legible_on_white() -> None:
    image = Image.new("RGB", (400, 100), "white")
    ImageDraw.Draw(image).rectangle((200, 0, 400, 100), fill="navy")
    lines = [write(image, "inlet", 40, 30), write(image, "outlet", 280, 30, fill="white")]
    found = images.swap(image, lines, 0)
    assert found
    left, top, right, bottom = swaps.rect(lines[0])
    assert len(found[0].crop((left, top, right, bottom)).getcolors(10_000) or []) > 10
    assert inked(found[0], (left, top, right, bottom)) > 100
