"""Makes the picture of the page on certificates: ``python -m tests.docs.certificate_picture``."""

from __future__ import annotations

from PIL import Image, ImageDraw

from limner.core.images import font
from limner.evidence.ocr import RapidOcr
from limner.painters.controls.faults import FAULTS
from tests.docs.blocks import ROOT

SAMPLE = ROOT / "src" / "limner" / "exams" / "genexam" / "sample" / "images"
PICTURES = ("Biology/Sample_Biology_1.png", "Mathematics/Sample_Mathematics_1.png")
TILE, GAP, LINE, SEED = (210, 180), 8, 20, 7
NUMBERS = {"number", "arrow"}
"""Kinds that are shown on the second picture, which has numbers and free lines."""


def main() -> None:
    """Every kind in its doses, two kinds beside each other."""
    images = [Image.open(SAMPLE / name).convert("RGB") for name in PICTURES]
    read = [RapidOcr().read(image) for image in images]
    kinds = [kind for kind in FAULTS.values() if kind.make is not None]
    width, height = TILE[0] + GAP, TILE[1] + GAP + LINE
    page = Image.new("RGB", (6 * width + GAP, (len(kinds) + 1) // 2 * height + GAP), "white")
    draw = ImageDraw.Draw(page)
    for n, kind in enumerate(kinds):
        which = kind.name in NUMBERS
        for dose in range(1, len(kind.doses) + 1):
            assert kind.make is not None
            made = kind.make(images[which], read[which], dose, SEED)
            if made is None:
                continue
            small = made.image.copy()
            small.thumbnail(TILE, Image.Resampling.LANCZOS)
            x, y = GAP + (n % 2 * 3 + dose - 1) * width, GAP + n // 2 * height
            page.paste(small, (x, y))
            draw.rectangle((x - 1, y - 1, x + small.width, y + small.height), outline=(200, 200, 200))
            draw.text((x, y + TILE[1] + 2), f"{kind.name}: {kind.doses[dose - 1]}", fill="black", font=font(11))
    small = page.quantize(24, dither=Image.Dither.NONE)
    small.save(ROOT / "docs" / "images" / "faults.png", optimize=True)


if __name__ == "__main__":
    main()
