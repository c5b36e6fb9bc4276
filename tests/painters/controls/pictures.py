"""A drawing with labels whose places are known, so that no OCR is needed."""

from __future__ import annotations

from PIL import Image, ImageDraw

from limner.core.evidence import TextLine
from limner.core.images import font

LABELS = ("Nucleus", "Membrane", "Cell wall", "Vacuole", "Ribosome", "Golgi body", "Length 42 cm", "Plasmid")


def labelled(number: int = 0) -> tuple[Image.Image, tuple[TextLine, ...]]:
    """A frame, four arrows of their own, and eight labels down both sides; another number gives another picture."""
    image = Image.new("RGB", (560, 360), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((200, 60, 350, 300), outline="black", width=3, fill=(220, 240, 220 - number))
    lines = []
    for n, text in enumerate(LABELS):
        text = f"{text}{'abcdefghijklmnopqrstuvwxyz'[number]}" if number else text
        x, y = (8 if n < 4 else 390), 50 + 70 * (n % 4)
        left, top, right, bottom = draw.textbbox((x, y), text, font=font(23))
        draw.text((x, y), text, fill="black", font=font(23))
        corners = ((left, top), (right, top), (right, bottom), (left, bottom))
        lines.append(TextLine(text, tuple((float(a), float(b)) for a, b in corners), 0.99))  # type: ignore[arg-type]
        if n < 4:
            draw.line((132, y + 30, 190, y + 50), fill="black", width=2)
    return image, tuple(lines)
