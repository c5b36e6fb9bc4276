"""What regions are, what counts them, and the way with text: which lines become regions, which masks they cover."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ...core.evidence import TextLine

if TYPE_CHECKING:
    from PIL.Image import Image

Box = tuple[float, float, float, float]
"""Left, top, right, bottom, in the image's pixels."""
MIN_CONFIDENCE = 0.85
MIN_SHORT_SIDE = 20
MERGE_DISTANCE = 20
"""Lines whose vertical centres lie no further apart than this, in pixels, become one."""
MIN_LINE_SIDE = 10
"""A merged line that is narrower or lower than this still covers masks, but is no region."""
MAX_OVERLAP = 0.8
"""A mask is text when a line shares more than this of the smaller one of the two boxes."""


@dataclass(frozen=True)
class Regions:
    """The regions of one image.

    Attributes:
        count: Masks and lines together: what readability is computed from.
        masks: Mask regions that no line of text covers.
        lines: TextLine regions.
        boxes: The boxes of the mask regions, then those of the lines.
    """

    count: int
    masks: int
    lines: int
    boxes: tuple[Box, ...]

    def __post_init__(self) -> None:
        if not self.count == self.masks + self.lines == len(self.boxes):
            raise ValueError(
                f"{self.masks} masks and {self.lines} lines with {len(self.boxes)} boxes are not {self.count} regions"
            )

    @classmethod
    def of(cls, masks: Iterable[Box], lines: Iterable[Box]) -> Regions:
        """The regions with these boxes."""
        first, second = tuple(masks), tuple(lines)
        return cls(len(first) + len(second), len(first), len(second), first + second)

    def to_json(self) -> dict[str, Any]:
        """A plain mapping that `from_json` reads back."""
        boxes = [list(box) for box in self.boxes]
        return {"count": self.count, "masks": self.masks, "lines": self.lines, "boxes": boxes}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Regions:
        """The regions behind a mapping made by `to_json`."""
        boxes = tuple((float(a), float(b), float(c), float(d)) for a, b, c, d in data["boxes"])
        return cls(int(data["count"]), int(data["masks"]), int(data["lines"]), boxes)


class RegionCounter(Protocol):
    """Counts regions; safe to call from several threads.

    Attributes:
        name: Backend, weights and settings: everything that decides a count.
        paper: Whether this is the counter the paper used, with the release's settings.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def paper(self) -> bool: ...  # noqa: D102

    def check(self) -> None:
        """Look whether it can work here, without loading anything large.

        Raises:
            UsageError: Something is missing; the message says what to get and where to put it.
        """

    def count(self, image: Image, lines: Sequence[TextLine]) -> Regions:
        """The regions of an image whose text has been read already."""
        ...


def text_lines(lines: Iterable[TextLine]) -> list[Box]:
    """The boxes of whole lines of text, from top to bottom: parts at one height are one line, however far apart."""
    parts = sorted((part for part in lines if _trusted(part)), key=_centre)
    rows: list[list[TextLine]] = []
    height = 0.0
    for part in parts:
        centre = _centre(part)
        if rows and abs(centre - height) <= MERGE_DISTANCE:
            rows[-1].append(part)
            # The height drifts: each new part pulls it halfway, whatever the number of parts before.
            height = (height + centre) / 2
        else:
            rows.append([part])
            height = centre
    return [_around(row) for row in rows]


def overlap(one: Box, other: Box) -> float:
    """The shared area as part of the smaller box's area; 0 for boxes that share none."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    return width * height / min(_area(one), _area(other))


def merge_regions(masks: Iterable[Box], lines: Sequence[TextLine]) -> Regions:
    """The regions of an image: masks that no line covers, and the lines."""
    rows = text_lines(lines)
    kept = [mask for mask in masks if not any(overlap(mask, row) > MAX_OVERLAP for row in rows)]
    large = [row for row in rows if row[2] - row[0] >= MIN_LINE_SIDE and row[3] - row[1] >= MIN_LINE_SIDE]
    return Regions.of(kept, large)


def _trusted(line: TextLine) -> bool:
    return line.confidence >= MIN_CONFIDENCE and _short_side(line) >= MIN_SHORT_SIDE


def _short_side(line: TextLine) -> float:
    corners = line.box
    return min(math.dist(corners[n], corners[(n + 1) % 4]) for n in range(4))


def _centre(line: TextLine) -> float:
    return sum(y for _, y in line.box) / 4


def _around(row: Sequence[TextLine]) -> Box:
    """The upright box around all corners, cut to whole pixels towards zero."""
    bounds = [line.bounds for line in row]
    lefts, tops, rights, bottoms = zip(*bounds, strict=True)
    return float(int(min(lefts))), float(int(min(tops))), float(int(max(rights))), float(int(max(bottoms)))


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
