"""One sheet with a small picture of every file of the corpus."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from limner.strategies.svg import render
from tests.strategies.svg.corpus import CORPUS, HERE

SHEET = HERE / "thumbnails.png"
SIDE, COLUMNS = 80, 12
FINE = 4
"""Each is rendered this many times larger and then averaged, so that the last bit of an edge does not count."""


def thumbnail(svg: str) -> Image.Image:
    """Return the picture in the upper left corner of a white square."""
    rendered = Image.open(io.BytesIO(render(svg, SIDE * FINE))).convert("RGB")
    square = Image.new("RGB", (SIDE * FINE, SIDE * FINE), "white")
    square.paste(rendered)
    return square.reduce(FINE)


def box(at: int) -> tuple[int, int, int, int]:
    """Return where the thumbnail of this number lies on the sheet."""
    left, top = at % COLUMNS * SIDE, at // COLUMNS * SIDE
    return left, top, left + SIDE, top + SIDE


def difference(one: Image.Image, other: Image.Image) -> float:
    """Return the largest of the mean differences over blocks of 8 by 8 pixels, of 255."""
    apart = np.abs(np.asarray(one, dtype=float) - np.asarray(other, dtype=float)).mean(axis=2)
    return float(apart.reshape(SIDE // 8, 8, SIDE // 8, 8).mean(axis=(1, 3)).max())


def main() -> None:
    """Write the sheet."""
    rows = -(-len(CORPUS) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * SIDE, rows * SIDE), "white")
    for at, svg in enumerate(CORPUS.values()):
        sheet.paste(thumbnail(svg), box(at))
    sheet.save(SHEET, optimize=True)
    print(f"{len(CORPUS)} thumbnails, {SHEET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
