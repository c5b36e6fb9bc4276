"""Exams and drawings of real size for benchmarks, made by code."""

from __future__ import annotations

import io
import json
import random
import zlib
from functools import lru_cache
from pathlib import Path

from PIL import Image, ImageDraw

from limner.core.images import font

POINTS = 7
SIDE = 1024
PICTURES = 48
"""So many pictures are drawn; each file has one of them under a hash of its own."""
END = 12
"""Bytes of a PNG's last chunk."""


def drawn_by(painter: int) -> str:
    """The folder with the drawings of a painter, counted from nought."""
    return f"drawings-{painter + 1}" if painter else "drawings"


def make(folder: Path, count: int, painters: int = 1) -> None:
    """Write `count` questions in GenExam's layout, with references, and as many drawings of each painter."""
    done = folder / (f"made-{count}x{painters}" if painters > 1 else f"made-{count}")
    if done.exists():
        return
    (folder / "annotations").mkdir(parents=True, exist_ok=True)
    kinds = ("images", *(drawn_by(painter) for painter in range(painters)))
    for kind in kinds:
        (folder / kind).mkdir(exist_ok=True)
    rows = []
    for number in range(count):
        name = f"Bench_{number}"
        for place, kind in enumerate(kinds):
            (folder / kind / f"{name}.png").write_bytes(picture(number * len(kinds) + place))
        points = [{"question": f"Is part {n} of drawing {number} shown and labelled?"} for n in range(POINTS)]
        weights = [0.15] * (POINTS - 1) + [0.1]
        row = {"id": name, "prompt": f"Draw system number {number} with its {POINTS} parts. " * 6}
        row |= {"image_path": f"{name}.png", "taxonomy": "Physics/Bench", "img_type": "diagrams"}
        row |= {"subject": "Physics", "difficulty": "easy"}
        rows.append(row | {"scoring_points": [p | {"score": w} for p, w in zip(points, weights, strict=True)]})
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "annotations" / "All_Subjects.jsonl").write_text(text)
    done.touch()


def picture(number: int) -> bytes:
    """The PNG of this number; one in `PICTURES` shows the same, and no two have the same bytes."""
    data, words = _drawn(number % PICTURES), b"tEXt" + b"Comment\0" + str(number).encode()
    note = (len(words) - 4).to_bytes(4) + words + zlib.crc32(words).to_bytes(4)
    return data[:-END] + note + data[-END:]


def shown(data: bytes) -> bytes:
    """What of a `picture` all that show the same have in common."""
    return data[: data.rindex(b"tEXt") - 4]


@lru_cache(maxsize=PICTURES)
def _drawn(number: int) -> bytes:
    buffer = io.BytesIO()
    diagram(f"picture {number}").save(buffer, format="PNG", compress_level=1)
    return buffer.getvalue()


def diagram(seed: str) -> Image.Image:
    """A diagram-like picture: boxes, arrows, words."""
    dice = random.Random(seed)
    image = Image.new("RGB", (SIDE, SIDE), "white")
    draw = ImageDraw.Draw(image)
    for n in range(14):
        x, y = dice.randrange(40, SIDE - 260), dice.randrange(40, SIDE - 120)
        colour = tuple(dice.randrange(120, 256) for _ in range(3))
        draw.rounded_rectangle((x, y, x + 200, y + 70), 12, fill=colour, outline="black", width=3)
        draw.text((x + 20, y + 18), f"part {n} {dice.randrange(1000)}", font=font(26), fill="black")
        draw.line((x + 100, y, dice.randrange(SIDE), dice.randrange(SIDE)), fill="black", width=3)
    return image
