"""How a drawing came about, as one picture: a card for every step of its strategy."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PIL import Image, ImageDraw

from ..core.images import flatten, font
from ..store import Blobs

CARD, GAP, PER_ROW = 300, 16, 4
LINES = 12
INK, PALE, GROUND, PAPER, EDGE = "#222222", "#6b6b6b", "#eeeeea", "#ffffff", "#c9c9c4"
KEPT = "#0b6e4f"


@dataclass(frozen=True)
class Card:
    """A step's title, words and picture; `kept` where the picture is the finished drawing."""

    title: str
    text: str = ""
    image: Image.Image | None = None
    kept: bool = False


def cards(prompt: str, steps: Sequence[Mapping[str, Any]], final: str | None, blobs: Blobs) -> list[Card]:
    """The steps of a drawing, its prompt first and its finished image last."""
    found = [Card("what was asked", prompt)]
    for step in steps:
        words = [str(step["step"])]
        words += [str(step["round"])] if "round" in step else []
        words += [f"(seed {step['seed']})"] if "seed" in step else []
        words += [f"· {step['fault']}"] if "fault" in step else []
        image = step.get("image")
        text = "" if image and step["step"] in ("svg", "choice") else str(step.get("text", ""))
        found.append(Card(" ".join(words), text, _open(image, blobs), image is not None and image == final))
    if final is not None:
        found.append(Card("the drawing", "", _open(final, blobs), True))
    return found


def sheet(found: Sequence[Card]) -> Image.Image:
    """The cards beside and below each other."""
    rows = [found[start : start + PER_ROW] for start in range(0, len(found), PER_ROW)]
    heights = [max(_height(card) for card in row) for row in rows]
    width = GAP + min(PER_ROW, len(found)) * (CARD + GAP)
    ground = Image.new("RGB", (width, GAP + sum(height + GAP for height in heights)), GROUND)
    top, number = GAP, 0
    for row, height in zip(rows, heights, strict=True):
        for place, card in enumerate(row):
            _draw(ground, card, number, GAP + place * (CARD + GAP), top, height)
            number += 1
        top += height + GAP
    return ground


def _open(sha256: str | None, blobs: Blobs) -> Image.Image | None:
    if sha256 is None:
        return None
    image = flatten(Image.open(io.BytesIO(blobs.get(sha256))))
    image.thumbnail((CARD - 20, CARD - 20))
    if max(image.size) < 100:
        scale = 100 // max(image.size)
        image = image.resize((image.width * scale, image.height * scale), Image.Resampling.NEAREST)
    return image


def _wrapped(text: str) -> list[str]:
    written, room = font(13), CARD - 20
    lines: list[str] = []
    for paragraph in text.splitlines():
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}".strip()
            if line and written.getlength(longer) > room:
                lines.append(line)
                longer = word
            while written.getlength(longer) > room:
                longer = longer[:-2]
            line = longer
        lines += [line] if line else []
    return lines if len(lines) <= LINES else [*lines[:LINES], "…"]


def _height(card: Card) -> int:
    words = 18 * len(_wrapped(card.text))
    picture = card.image.height + 8 if card.image is not None else 0
    return 36 + words + picture + 10


def _draw(ground: Image.Image, card: Card, number: int, left: int, top: int, height: int) -> None:
    pen = ImageDraw.Draw(ground)
    box = (left, top, left + CARD, top + height)
    pen.rounded_rectangle(box, 8, fill=PAPER, outline=KEPT if card.kept else EDGE, width=3 if card.kept else 1)
    pen.text((left + 10, top + 8), f"{number}. {card.title}" if number else card.title, font=font(15), fill=INK)
    at = top + 34
    for line in _wrapped(card.text):
        pen.text((left + 10, at), line, font=font(13), fill=PALE)
        at += 18
    if card.image is not None:
        ground.paste(card.image, (left + (CARD - card.image.width) // 2, at + 4))
