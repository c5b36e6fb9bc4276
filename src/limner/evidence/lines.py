"""Lines of text found in an image: the common output of every OCR backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text: its words, its four corners (clockwise from top left, pixels), its confidence 0-1."""

    text: str
    box: tuple[Point, Point, Point, Point]
    confidence: float

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom of the upright rectangle around the line."""
        xs, ys = [p[0] for p in self.box], [p[1] for p in self.box]
        return min(xs), min(ys), max(xs), max(ys)

    def to_json(self) -> dict[str, Any]:
        """A plain mapping that `from_json` reads back."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Line:
        """The line behind a mapping made by `to_json`."""
        a, b, c, d = (tuple(float(v) for v in p) for p in data["box"])
        return cls(data["text"], (a, b, c, d), float(data["confidence"]))  # type: ignore[arg-type]
