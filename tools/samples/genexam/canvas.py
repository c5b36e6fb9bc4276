"""A sheet to draw on: shapes, arrows, labels; drawn larger than asked and reduced for smooth edges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from PIL import Image, ImageDraw

from limner.core.images import font
from tools.samples.genexam.paths import Point, dashed, polar, shortened

SCALE = 4
INK = "#1f2933"
GREY = "#8a94a0"
PALE = "#d9dee4"
RED = "#c2352b"
BLUE = "#1f6fb2"
GREEN = "#2e8540"
ORANGE = "#d9822b"


@dataclass(frozen=True)
class Damage:
    """What is drawn wrongly on purpose.

    Attributes:
        texts: Label -> what is written in its place.
        erased: Whether no label is written at all.
        missing: The part that is left out.
        unlabelled: Whether the label of this part is left out too.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    erased: bool = False
    missing: str | None = None
    unlabelled: bool = False


_damage: ContextVar[Damage | None] = ContextVar("damage", default=None)


@contextmanager
def damaged(damage: Damage) -> Iterator[None]:
    """Damage every sheet that is started within."""
    token = _damage.set(damage)
    try:
        yield
    finally:
        _damage.reset(token)


class Canvas:
    """A white sheet that keeps a record of what is drawn on it.

    All coordinates and widths are pixels of the finished picture.

    Attributes:
        places: Each label in the order of writing, with the text that was written in its place; None if none was.
        parts: The parts that can be left out.
        missing: The part that was left out.
        shapes: The number of closed shapes.
    """

    def __init__(self, width: int, height: int, background: str = "white") -> None:
        self.places: list[tuple[str, str | None]] = []
        self.parts: set[str] = set()
        self.missing: str | None = None
        self.shapes = 0
        self._damage = _damage.get() or Damage()
        self._image = Image.new("RGB", (width * SCALE, height * SCALE), background)
        self._draw = ImageDraw.Draw(self._image)

    def finish(self) -> Image.Image:
        """The finished picture at its final size."""
        return self._image.reduce(SCALE)

    @property
    def words(self) -> list[str]:
        """The texts written, in order."""
        return [text for _, text in self.places if text is not None]

    @contextmanager
    def part(self, name: str, label: bool = False) -> Iterator[None]:
        """Name what is drawn within, a part or its `label`; what is to be missing does not reach the sheet."""
        self.parts.add(name)
        if name != self._damage.missing or (label and not self._damage.unlabelled):
            yield
            return
        kept = self._image, self._draw, self.shapes
        start, self.missing = len(self.places), name
        self._image = self._image.copy()
        self._draw = ImageDraw.Draw(self._image)
        yield
        self._image, self._draw, self.shapes = kept
        self.places[start:] = [(label, None) for label, _ in self.places[start:]]

    def reword(self, label: str) -> str | None:
        """Return what to write in the place of a label, and record it."""
        text = None if self._damage.erased else self._damage.texts.get(label, label)
        self.places.append((label, text))
        return text

    def line(self, points: Iterable[Point], color: str = INK, width: float = 2) -> None:
        """A run of straight pieces with round corners and ends."""
        where = _scaled(points)
        thick = round(width * SCALE)
        self._draw.line(where, fill=color, width=thick, joint="curve")
        for x, y in (where[0], where[-1]):
            r = thick / 2 - 0.5
            self._draw.ellipse((x - r, y - r, x + r, y + r), fill=color)

    def dashes(
        self, points: Iterable[Point], color: str = GREY, width: float = 2, on: float = 7, off: float = 5
    ) -> None:
        """A dashed run of straight pieces, `on` pixels drawn and `off` pixels left out."""
        for piece in dashed(list(points), on, off):
            self.line(piece, color, width)

    def polygon(
        self, points: Iterable[Point], fill: str | None = None, outline: str | None = INK, width: float = 2
    ) -> None:
        """A closed shape."""
        corners = list(points)
        self.shapes += 1
        if fill is not None:
            self._draw.polygon(_scaled(corners), fill=fill)
        if outline is not None:
            self.line([*corners, corners[0]], outline, width)

    def box(
        self,
        corners: tuple[float, float, float, float],
        fill: str | None = None,
        outline: str | None = INK,
        width: float = 2,
        radius: float = 0,
    ) -> None:
        """An upright rectangle (left, top, right, bottom), with rounded corners where `radius` is given."""
        where = tuple(v * SCALE for v in corners)
        self.shapes += 1
        thick = round(width * SCALE)
        self._draw.rounded_rectangle(where, radius * SCALE, fill=fill, outline=outline, width=thick)

    def ellipse(
        self,
        center: Point,
        rx: float,
        ry: float | None = None,
        fill: str | None = None,
        outline: str | None = INK,
        width: float = 2,
    ) -> None:
        """An upright ellipse; a circle where only `rx` is given."""
        ry = rx if ry is None else ry
        self.shapes += 1
        (x, y), thick = center, round(width * SCALE)
        where = ((x - rx) * SCALE, (y - ry) * SCALE, (x + rx) * SCALE, (y + ry) * SCALE)
        self._draw.ellipse(where, fill=fill, outline=outline, width=thick)

    def dot(self, center: Point, radius: float = 4, color: str = INK) -> None:
        """A filled spot."""
        self.ellipse(center, radius, fill=color, outline=None)

    def arrow(
        self,
        points: Iterable[Point],
        color: str = INK,
        width: float = 2,
        head: float = 10,
        both: bool = False,
    ) -> None:
        """A line that ends in an arrowhead exactly at its last point, or at both ends."""
        path = list(points)
        tip, path = path[-1], shortened(path, head * 0.8)
        tail = path[0]
        if both:
            path = shortened(path[::-1], head * 0.8)[::-1]
        self.line(path, color, width)
        self._head(path[-1], tip, color, head)
        if both:
            self._head(path[0], tail, color, head)

    def _head(self, base: Point, tip: Point, color: str, size: float) -> None:
        angle = math.atan2(tip[1] - base[1], tip[0] - base[0])
        wings = [polar(tip, size, math.degrees(angle) + 180 + turn) for turn in (-24, 24)]
        self._draw.polygon(_scaled([tip, *wings]), fill=color)

    def label(
        self,
        at: Point,
        text: str,
        size: int = 18,
        color: str = INK,
        anchor: str = "mm",
        back: str | None = None,
    ) -> None:
        """Writes a label at a place; `anchor` is Pillow's, `back` a colour to clear behind the letters."""
        if (wording := self.reword(text)) is not None:
            self.write(at, wording, size, color, anchor, back)

    def write(
        self, at: Point, text: str, size: int = 18, color: str = INK, anchor: str = "mm", back: str | None = None
    ) -> None:
        """Writes a text as it is, without a record."""
        where = (at[0] * SCALE, at[1] * SCALE)
        face = font(size * SCALE)
        if back is not None:
            left, top, right, bottom = self._draw.textbbox(where, text, font=face, anchor=anchor)
            pad = 3 * SCALE
            self._draw.rectangle((left - pad, top - pad, right + pad, bottom + pad), fill=back)
        self._draw.text(where, text, font=face, fill=color, anchor=anchor)

    def stacked(self, at: Point, text: str, size: int, color: str = INK, gap: float = 20) -> None:
        """Writes one label on several lines, centred at a place; ``/`` breaks the line."""
        wording = self.reword(text.replace("/", " "))
        if wording is None:
            return
        lines = text.split("/") if wording == text.replace("/", " ") else wording.split(" ", 1)
        top = at[1] - gap * (len(lines) - 1) / 2
        for number, line in enumerate(lines):
            self.write((at[0], top + gap * number), line, size, color)

    def upright(self, at: Point, text: str, size: int = 18, color: str = INK) -> None:
        """Writes a label turned to read from bottom to top, centred at a place."""
        wording = self.reword(text)
        if wording is None:
            return
        text = wording
        face = font(size * SCALE)
        left, top, right, bottom = (int(v) for v in face.getbbox(text))
        stamp = Image.new("L", (right - left + 2, bottom - top + 2), 0)
        ImageDraw.Draw(stamp).text((1 - left, 1 - top), text, font=face, fill=255)
        stamp = stamp.rotate(90, expand=True)
        corner = (round(at[0] * SCALE - stamp.width / 2), round(at[1] * SCALE - stamp.height / 2))
        self._image.paste(color, corner, stamp)

    def callout(self, at: Point, text: str, target: Point, size: int = 18, anchor: str = "lm") -> None:
        """A label with a thin leader line to the thing it names; the line ends in a small spot."""
        gap = {"l": -6, "r": 6, "m": 0}[anchor[0]]
        drop = {"m": 0, "s": 5, "d": 5, "a": -4, "t": -4}[anchor[1]]
        self.line([(at[0] + gap, at[1] + drop), target], INK, 1.2)
        self.dot(target, 2.6)
        self.label(at, text, size, anchor=anchor)


def _scaled(points: Iterable[Point]) -> list[Point]:
    return [(x * SCALE, y * SCALE) for x, y in points]
