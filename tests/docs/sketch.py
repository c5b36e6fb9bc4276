"""A stand-in for an image model: boxes with the names it is told to write. It forgets one now and then."""

from __future__ import annotations

import re
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont


def draw(prompt: str, seed: int, images: Sequence[object] = ()) -> Image.Image:
    """The names in quotation marks, in boxes; one is forgotten unless there is a picture to go by."""
    names = list(dict.fromkeys(re.findall(r"['\"]([A-Z][\w ]{2,24})['\"]", prompt)))[:6] or ["?"]
    if not images and len(names) > 1 and seed % 3 != 2:
        names.pop(seed % len(names))
    sheet = Image.new("RGB", (660, 80 + 130 * -(-len(names) // 3)), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(18)
    for n, name in enumerate(names):
        x, y = 20 + n % 3 * 220, 40 + n // 3 * 130
        pen.rounded_rectangle((x, y, x + 180, y + 70), 10, fill=(232, 240 - 10 * (seed % 4), 224), outline="black")
        pen.text((x + 90, y + 35), name, font=font, fill="black", anchor="mm")
    return sheet
