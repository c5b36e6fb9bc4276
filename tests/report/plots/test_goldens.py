"""Pictures of plots held against kept ones: long names, three questions or fewer.

The kept pictures are small and grey, and the comparison forgives how letters are rasterised, not where they stand.
``python -m tests.report.plots.test_goldens`` makes them anew; look at them before you keep them.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops, ImageFilter

from limner.core.plot_data import Bands, Bin, Grid, Histograms, Point, Points, Quantity, Spread
from limner.report.plots.maps import raters, scores
from limner.report.plots.multiples import bands, profiles
from limner.report.plots.points import points
from limner.report.plots.rows import dots, histograms, kinds, violins
from limner.report.plots.style import Sketch, compose, look

pytestmark = pytest.mark.usefixtures("matplotlib")
HERE = Path(__file__).parent / "goldens"
SIDE = 330
"""How wide a kept picture is, in pixels."""
BLOCK = 10
"""The side of the squares whose ink is compared, in the same pixels: about the height of a line of text."""
MOST = 5
"""So many steps of grey (of 255) a square's mean may differ; a word that moves changes its squares by 6 or more."""

LONG = (
    "my-own-fine-tuned-diffusion-transformer-with-a-very-long-name-01 + best-of-4[chooser=lab/a-long-chooser-name]",
    "my-own-fine-tuned-diffusion-transformer-with-a-very-long-name-02",
    "short",
)
CAPTION = "made up · judge nobody · n = {} questions"


def value(n: int, place: int) -> float:
    return float((37 * n + 23 * place + 11) % 101)


def grid(rows: tuple[str, ...], columns: int, n: int) -> Grid:
    def cell(row: int, place: int) -> Quantity:
        middle = value(row, place)
        if n < 5:
            return Quantity(middle, n=n)
        return Quantity(middle, max(0.0, middle - 9), min(100.0, middle + 9), n)

    names = tuple(f"category {place + 1}" for place in range(columns))
    cells = tuple(tuple(cell(row, place) for place in range(columns)) for row in range(len(rows)))
    return Grid(rows, names, cells, "score (of 100)", 100, CAPTION.format(n))


def plane(rows: tuple[str, ...]) -> Points:
    found = tuple(
        Point(name, Quantity(0.01 * (n + 1)), Quantity(value(n, 0), value(n, 0) - 4, value(n, 0) + 4, 40))
        for n, name in enumerate(rows)
    )
    return Points(found, "dollars for one drawing (log scale)", "score", CAPTION.format(40), money=True).with_front()


def spread(rows: tuple[str, ...], n: int) -> Spread:
    each = tuple(tuple(value(row, m) for m in range(n)) for row in range(len(rows)))
    return Spread(rows, ("score",), (100.0,), (each,), CAPTION.format(n))


def counted(rows: tuple[str, ...], n: int) -> Histograms:
    each = tuple(tuple(value(row, m) for m in range(n)) for row in range(len(rows)))
    return Histograms(rows, each, (70.0, 160.0), tuple((0.5, 0.0) for _ in rows), CAPTION.format(n), "regions")


def banded(rows: tuple[str, ...], n: int) -> Bands:
    def bins(row: int, place: int) -> tuple[Bin, ...]:
        middles = [0.2 + value(row + m, place) / 200 for m in range(3)]
        return tuple(Bin((10 * m, 10 * m + 9), n, at, at - 0.1, at + 0.1) for m, at in enumerate(middles))

    sizes = tuple(int(10 + value(m, 1)) for m in range(n))
    found = tuple(tuple(bins(row, place) for place in range(3)) for row in range(len(rows)))
    scores = ("if", "re", "sp")
    return Bands(rows, scores, found, (sizes,) * len(rows), CAPTION.format(n), "atoms of a question")


GOLDENS: dict[str, Callable[[], Sketch]] = {
    "dots-long": lambda: dots(grid(LONG, 4, 40), "double"),
    "dots-few": lambda: dots(grid(("a", "b"), 3, 3), "single"),
    "map-long": lambda: scores(grid(LONG, 6, 40), "double"),
    "profiles-long": lambda: profiles(grid(LONG, 4, 40).scaled(0.01), "double"),
    "points-long": lambda: points(plane(LONG), "double"),
    "violins-long": lambda: violins(spread(LONG, 40), "double"),
    "raters-long": lambda: raters(grid(LONG, 2, 40), "double"),
    "histograms-long": lambda: histograms(counted(LONG, 20), "double"),
    "bands-long": lambda: bands(banded(LONG, 20), "double"),
    "kinds-long": lambda: kinds(grid(LONG, 3, 40).scaled(0.01), "double"),
}
"""Name -> what draws it: one for each way of drawing painters; few questions once."""


def drawn(name: str) -> Image.Image:
    with look():
        sketch = GOLDENS[name]()
    figure: Any = compose([sketch], "single" if name.endswith("few") else "double")
    raw = io.BytesIO()
    with look():
        figure.savefig(raw, format="png", dpi=120)
    grey = Image.open(raw).convert("L")
    grey = grey.resize((SIDE, round(grey.height * SIDE / grey.width)), Image.Resampling.BOX)
    return grey.point(lambda tone: round(tone / 17) * 17)  # Sixteen tones make small files.


def apart(one: Image.Image, other: Image.Image) -> float:
    """How far the ink of the two differs in the square where it differs most, in steps of grey; 255 for other sizes."""
    if abs(one.height - other.height) > 2:
        return 255.0
    high = min(one.height, other.height)
    # A letter that stands half a pixel elsewhere is the same letter.
    soft = [each.crop((0, 0, one.width, high)).filter(ImageFilter.GaussianBlur(1.5)) for each in (one, other)]
    gap = ImageChops.difference(*soft)
    blocks = gap.resize((one.width // BLOCK, max(1, high // BLOCK)), Image.Resampling.BOX)
    return float(blocks.getextrema()[1])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", GOLDENS)
def test_plot_matches_golden_image(name: str, tmp_path: Path) -> None:
    kept = HERE / f"{name}.png"
    assert kept.stat().st_size < 10_000
    found = drawn(name)
    found.save(tmp_path / kept.name)
    far = apart(found, Image.open(kept).convert("L"))
    assert far <= MOST, f"differs by {far} of 255 from {kept}; what was drawn: {tmp_path / kept.name}"


def main() -> None:
    """Make the kept pictures anew."""
    HERE.mkdir(exist_ok=True)
    for name in GOLDENS:
        drawn(name).quantize(16).save(HERE / f"{name}.png", optimize=True)
        print(name, (HERE / f"{name}.png").stat().st_size)


if __name__ == "__main__":
    main()
