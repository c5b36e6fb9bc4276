"""Makes the picture of the page on regions (needs SAM 2 tiny): ``python -m tests.docs.regions_picture``."""

from __future__ import annotations

from PIL import Image

from limner.evidence.ocr.rapid import RapidOcr
from limner.evidence.regions import open_counter
from limner.evidence.regions.compare import overlay
from tests.docs.blocks import ROOT
from tests.docs.pictures import sheet

SAMPLE = ROOT / "src" / "limner" / "exams" / "mmmg" / "sample" / "images" / "PhD_Biology_1.png"
HEIGHT = 420


def main() -> None:
    """Count on one reference of the sample with two counters, and put what they count beside each other."""
    image = Image.open(SAMPLE).convert("RGB")
    lines = RapidOcr().read(image)
    shown = {}
    for word in ("classical", "sam2-tiny"):
        found = open_counter(word).count(image, lines)
        shown[f"{word}: {found.masks} masks + {found.lines} lines"] = overlay(image, found)
    small = sheet(shown, HEIGHT).quantize(64, dither=Image.Dither.NONE)
    small.save(ROOT / "docs" / "images" / "regions.png", optimize=True)


if __name__ == "__main__":
    main()
