"""Makes the picture of docs/svg.md from the reply in reply.md: ``python -m tests.strategies.svg.pictures``."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image

from limner.strategies.svg import clean, extract, render

REPLY = Path(__file__).with_name("reply.md")
TARGET = Path(__file__).resolve().parents[3] / "docs" / "images" / "svg.png"


def main() -> None:
    """Draw the picture of a reply, as a strategy does it."""
    image = Image.open(io.BytesIO(render(clean(extract(REPLY.read_text("utf-8"))), 800))).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(TARGET, optimize=True)
    print(f"{TARGET.name}: {image.width} x {image.height}, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
