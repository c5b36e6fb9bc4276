"""Makes the documentation's pictures from the bundled sample: ``python -m tests.docs.pictures``."""

from __future__ import annotations

import io
import tempfile

from PIL import Image, ImageDraw

import limner
from limner.core.images import font
from limner.store.records import load_drawings
from tests.docs.blocks import ROOT

EXAM, QUESTION = "sample/genexam", "Sample_Biology_1"
GAP, HEAD = 14, 30
SHEETS = {"controls.png": (300, "reference", "erased", "swapped"), "others.png": (240, "blank", "text", "shuffled")}


def sheet(images: dict[str, Image.Image], height: int) -> Image.Image:
    """The images beside each other, all of one height, with their names above."""
    tiles = {
        name: image.resize((round(image.width * height / image.height), height), Image.Resampling.LANCZOS)
        for name, image in images.items()
    }
    width = sum(tile.width + GAP for tile in tiles.values()) + GAP
    ground = Image.new("RGB", (width, HEAD + height + GAP), (238, 238, 234))
    left = GAP
    for name, tile in tiles.items():
        ImageDraw.Draw(ground).text((left, 7), name, font=font(15), fill=(50, 50, 50))
        ground.paste(tile, (left, HEAD))
        left += tile.width + GAP
    return ground


def main() -> None:
    """Draw the question with every control and write the sheets."""
    painters = [f"control/{name}" for _, *names in SHEETS.values() for name in names]
    with tempfile.TemporaryDirectory() as folder, limner.Store(folder) as store:
        # All questions are drawn: the shuffled control takes its picture from another one.
        limner.run(EXAM, painters=painters, store=store)
        by_painter = {d.painter: d.image for d in load_drawings(store, EXAM) if d.question_id == QUESTION and d.image}
        for file, (height, *names) in SHEETS.items():
            wanted = [f"control/{name}" for name in names]
            images = {name: Image.open(io.BytesIO(store.blobs.get(by_painter[name]))).convert("RGB") for name in wanted}
            small = sheet(images, height).quantize(64, dither=Image.Dither.NONE)
            small.save(ROOT / "docs" / "images" / file, optimize=True)


if __name__ == "__main__":
    main()
