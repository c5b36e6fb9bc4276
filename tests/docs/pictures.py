"""Makes the tutorial's picture of the demo's painters: ``python -m tests.docs.pictures``."""

from __future__ import annotations

import io
import tempfile

from PIL import Image, ImageDraw

import limner
from limner.core.images import font
from limner.exams.key import PAINTERS
from limner.store.records import load_drawings
from tests.docs.blocks import ROOT

EXAM, QUESTION = "sample/genexam", "Sample_Biology_1"
GAP, HEAD, HEIGHT, COLUMNS = 14, 30, 220, 4


def sheet(images: dict[str, Image.Image]) -> Image.Image:
    """The images in rows, all of one height, with their names above."""
    tiles = {
        name: image.resize((round(image.width * HEIGHT / image.height), HEIGHT), Image.Resampling.LANCZOS)
        for name, image in images.items()
    }
    wide, rows = max(tile.width for tile in tiles.values()) + GAP, -(-len(tiles) // COLUMNS)
    ground = Image.new("RGB", (COLUMNS * wide + GAP, rows * (HEAD + HEIGHT) + GAP), (238, 238, 234))
    for n, (name, tile) in enumerate(tiles.items()):
        left, top = GAP + n % COLUMNS * wide, n // COLUMNS * (HEAD + HEIGHT)
        ImageDraw.Draw(ground).text((left, top + 7), name, font=font(15), fill=(50, 50, 50))
        ground.paste(tile, (left, top + HEAD))
    return ground


def main() -> None:
    """Draw a question with every painter of the demo and write the sheet."""
    painters = [f"{name}=sample/{name.replace(' ', '-')}" for name in PAINTERS]
    with tempfile.TemporaryDirectory() as folder, limner.Store(folder) as store:
        # All questions are drawn: the wrong question's picture is another one's reference.
        limner.run(EXAM, painters=painters, store=store)
        by_painter = {d.painter: d.image for d in load_drawings(store, EXAM) if d.question_id == QUESTION and d.image}
        images = {name: Image.open(io.BytesIO(store.blobs.get(by_painter[name]))).convert("RGB") for name in PAINTERS}
        small = sheet(images).quantize(64, dither=Image.Dither.NONE)
        small.save(ROOT / "docs" / "images" / "painters.png", optimize=True)


if __name__ == "__main__":
    main()
