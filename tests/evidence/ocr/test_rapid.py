"""Reading text in images."""

from __future__ import annotations

import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

import limner.core.images
from limner.core.evidence import Position, TextLine
from limner.evidence.ocr import LONGEST, SECOND_SCALE, SHORTEST, RapidOcr, in_reading_order, other_scale

FONT = Path(str(limner.core.images.__file__)).with_name("DejaVuSans.ttf")


@pytest.fixture(scope="module")
def ocr() -> RapidOcr:
    return RapidOcr()


def page(*texts: tuple[str, int, int], size: tuple[int, int] = (640, 360)) -> Image.Image:
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    for text, x, y in texts:
        draw.text((x, y), text, "black", ImageFont.truetype(FONT, 28))
    return image


def words(lines: list[TextLine]) -> list[str]:
    return [line.text for line in lines]


@pytest.mark.slow
def test_lines_are_in_reading_order_with_positions(ocr: RapidOcr) -> None:
    lines = ocr.read(page(("Ribosome", 400, 40), ("Nucleus", 40, 44), ("Vacuole", 200, 250)))
    assert words(lines) == ["Nucleus", "Ribosome", "Vacuole"]
    left, top, right, bottom = lines[0].bounds
    assert (left, top, right, bottom) == pytest.approx((40, 50, 155, 75), abs=15)
    assert all(0.5 <= line.confidence <= 1 for line in lines)
    assert TextLine.from_json(lines[0].to_json()) == lines[0]


@pytest.mark.slow
def test_transparent_parts_become_white(ocr: RapidOcr) -> None:
    mask = page(("Nucleus", 40, 40), size=(320, 160)).convert("L").point(lambda value: 255 - value)
    glass = Image.new("RGBA", mask.size, (0, 0, 0, 0))
    glass.putalpha(mask)
    assert words(ocr.read(glass)) == ["Nucleus"]


@pytest.mark.slow
def test_rotated_labels_keep_their_corners(ocr: RapidOcr) -> None:
    image = page(("Population", 20, 20), size=(240, 80)).rotate(90, expand=True)
    (line,) = ocr.read(image)
    assert line.text == "Population"
    left, top, right, bottom = line.bounds
    assert bottom - top > 3 * (right - left)


@pytest.mark.parametrize(
    ("mode", "size"),
    [("RGB", (1, 1)), ("RGBA", (7, 500)), ("L", (64, 64)), ("P", (900, 9)), ("1", (9, 9000))],
)
def test_blank_and_tiny_images_have_no_lines(ocr: RapidOcr, mode: str, size: tuple[int, int]) -> None:
    assert ocr.read(Image.new(mode, size)) == []


@pytest.mark.slow
def test_long_strip_is_read(ocr: RapidOcr) -> None:
    image = page(("Nucleus", 20, 20), size=(1600, 80))
    (line,) = ocr.read(image)
    assert line.text == "Nucleus"
    assert line.bounds[2] < 250


@pytest.mark.slow
def test_second_reading_gives_positions_in_same_pixels(ocr: RapidOcr) -> None:
    image = page(("Nucleus", 40, 44), ("Vacuole", 200, 250))
    first, second = ocr.read(image), ocr.read(image, again=True)
    assert words(first) == words(second) == ["Nucleus", "Vacuole"]
    for one, other in zip(first, second, strict=True):
        assert one.bounds == pytest.approx(other.bounds, abs=12)
    assert ocr.second != ocr.version


@given(st.integers(8, 6000), st.integers(8, 6000))
def test_second_reading_uses_other_scale(width: int, height: int) -> None:
    short, long = sorted((width, height))
    seen = max(min(1.0, LONGEST / long), SHORTEST / short)
    factor = other_scale((width, height))
    assert factor == pytest.approx(seen * SECOND_SCALE) or factor == pytest.approx(seen / SECOND_SCALE)


@pytest.mark.slow
def test_each_thread_has_own_engine(ocr: RapidOcr) -> None:
    image = page(("Nucleus", 40, 40), size=(320, 160))
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(ocr.read, [image] * 2))
    assert all(words(lines) == ["Nucleus"] for lines in results)


def test_version_is_available_without_loading_engine() -> None:
    code = (
        "import sys; from limner.evidence.ocr import RapidOcr; print(RapidOcr.name, RapidOcr().version);"
        "assert not {'rapidocr', 'onnxruntime', 'numpy', 'cv2'} & set(sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.startswith(f"rapidocr {metadata.version('rapidocr')} ")
    assert "PP-OCRv6-small" in shown


@pytest.mark.slow
def test_reading_prints_no_output() -> None:
    code = (
        "from PIL import Image, ImageDraw; from limner.evidence.ocr import RapidOcr;"
        "image = Image.new('RGB', (200, 100), 'white'); ImageDraw.Draw(image).line((0, 0, 200, 100), 'black');"
        "RapidOcr().read(image)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def box(x: float, y: float, width: float, height: float, turn: float) -> tuple[Position, Position, Position, Position]:
    corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
    cos, sin = math.cos(turn), math.sin(turn)
    a, b, c, d = ((px * cos - py * sin, px * sin + py * cos) for px, py in corners)
    return a, b, c, d


@given(st.permutations(range(12)), st.floats(-5, 5))
def test_reading_order_tolerates_slight_skew(order: list[int], degrees: float) -> None:
    lines = [
        TextLine(str(n), box(300 * (n % 3), 60 * (n // 3), 200, 30, math.radians(degrees)), 0.9) for n in range(12)
    ]
    assert [int(line.text) for line in in_reading_order([lines[n] for n in order])] == list(range(12))
