"""Makes the picture of ``docs/evidence.md`` from the bundled sample: ``python -m tests.docs.evidence_picture``."""

from __future__ import annotations

from PIL import Image, ImageDraw

from limner.core.evidence import TextLine
from limner.core.images import decode, font
from limner.evidence.ocr import RapidOcr, tesseract_reader
from limner.exams import read, resolve
from tests.docs.blocks import ROOT
from tests.docs.pictures import sheet

EXAM, QUESTION, HEIGHT, SHARP = "sample/mmmg", "highschool_Economics_1", 400, 2
COLOURS = ((200, 30, 30), (30, 90, 200))


def boxed(image: Image.Image, lines: list[TextLine]) -> Image.Image:
    """The image with a box around every line, numbered in reading order."""
    shown = image.resize((image.width * SHARP, image.height * SHARP), Image.Resampling.LANCZOS)
    pen = ImageDraw.Draw(shown)
    for number, line in enumerate(lines, 1):
        corners = [(SHARP * x, SHARP * y) for x, y in line.box]
        colour = COLOURS[0] if line.confidence >= 0.9 else COLOURS[1]
        pen.polygon(corners, outline=colour, width=4)
        left, top = min(x for x, _ in corners), min(y for _, y in corners)
        pen.text((left, top - 30), f"{number}  {line.confidence:.2f}", colour, font(24))
    return shown


def main() -> None:
    """Read one reference with both engines and set the results side by side."""
    (question,) = [one for one in read(resolve(EXAM)).questions if one.id == QUESTION]
    assert question.reference is not None
    data = question.reference.read()
    assert data is not None
    image = decode(data)
    found = {
        "rapidocr": RapidOcr().read(image),
        "tesseract": [TextLine.from_json(line) for line in tesseract_reader()(data)],
    }
    tiles = {f"{name}: {len(lines)} lines": boxed(image, lines) for name, lines in found.items()}
    picture = sheet(tiles, HEIGHT).quantize(64, dither=Image.Dither.NONE)
    picture.save(ROOT / "docs" / "images" / "evidence.png", optimize=True)


if __name__ == "__main__":
    main()
