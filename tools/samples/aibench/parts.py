"""What method figures are made of: blocks, data, stages, losses, and the arrows between them."""

from __future__ import annotations

from collections.abc import Sequence

from tools.samples.genexam.canvas import BLUE, GREEN, GREY, INK, RED, Canvas
from tools.samples.genexam.paths import Point

TYPE = 16
GAP = 20
"""From one line of a label to the next."""

TONES = {
    "data": ("#fdf3d3", "#8a6d1b"),
    "block": ("#dfeaf7", BLUE),
    "head": ("#ddefdd", GREEN),
    "loss": ("#f9ddd9", RED),
}
"""Fill and outline by sort."""


class Figure:
    """A sheet with named parts at known places."""

    def __init__(self, width: int, height: int) -> None:
        self.sheet = Canvas(width, height)
        self._boxes: dict[str, tuple[float, float, float, float]] = {}

    def part(self, name: str, at: Point, sort: str = "block", size: tuple[float, float] | None = None) -> None:
        """A part with its name in it; ``/`` in the name breaks the line."""
        lines = name.split("/")
        width, height = size or (max(len(line) for line in lines) * 10.4 + 22, len(lines) * GAP + 22)
        (x, y), (fill, edge) = at, TONES[sort]
        left, top, right, bottom = x - width / 2, y - height / 2, x + width / 2, y + height / 2
        self._boxes[name.replace("/", " ")] = (left, top, right, bottom)
        if sort == "data":
            self.sheet.box((left + 4, top + 4, right + 4, bottom + 4), "#efe2b4", None, 0, radius=height / 2)
            self.sheet.box((left, top, right, bottom), fill, edge, 2, radius=height / 2)
        else:
            self.sheet.box((left, top, right, bottom), fill, edge, 2.2, radius=4 if sort == "block" else 12)
        self.sheet.stacked((x, y), name, TYPE, gap=GAP)

    def taper(self, name: str, at: Point, size: tuple[float, float]) -> None:
        """An encoder: a block that narrows in the direction of the flow, from left to right."""
        (x, y), (width, height) = at, size
        left, right, tall, low = x - width / 2, x + width / 2, height / 2, height / 2 - 14
        fill, edge = TONES["block"]
        self.sheet.polygon([(left, y - tall), (right, y - low), (right, y + low), (left, y + tall)], fill, edge, 2.2)
        self._boxes[name.replace("/", " ")] = (left, y - tall + 7, right, y + tall - 7)
        self.sheet.stacked((x, y), name, TYPE, gap=GAP)

    def stage(self, name: str, box: tuple[float, float, float, float]) -> None:
        """A dashed frame around the parts of one stage, with its name at the top."""
        left, top, right, bottom = box
        self.sheet.box(box, "#f7f8fa", None, 0, radius=10)
        self.sheet.dashes([(left, top), (right, top), (right, bottom), (left, bottom), (left, top)], GREY, 1.6)
        self.sheet.label(((left + right) / 2, top + 17), name, TYPE, "#4a5563")

    def link(
        self, start: str, end: str, sides: str = "rl", via: Sequence[Point] = (), shift: tuple[float, float] = (0, 0)
    ) -> None:
        """An arrow from one part's side (``l``, ``r``, ``t``, ``b``) to another's; `shift` slides its ends."""
        first, last = self._side(start, sides[0], shift[0]), self._side(end, sides[1], shift[1])
        with self.sheet.part(f"{start} → {end}"):
            self.sheet.arrow([first, *via, last], INK, 2.2, head=11)

    def note(self, at: Point, text: str, anchor: str = "mm") -> None:
        """Words beside an arrow."""
        self.sheet.label(at, text, TYPE, BLUE, anchor)

    def _side(self, name: str, side: str, shift: float) -> Point:
        left, top, right, bottom = self._boxes[name]
        x, y = (left + right) / 2, (top + bottom) / 2
        return {
            "l": (left - 2, y + shift),
            "r": (right + 2, y + shift),
            "t": (x + shift, top - 2),
            "b": (x + shift, bottom + 2),
        }[side]
