"""What a region counter is, and what it finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from PIL.Image import Image

    from ...core.evidence import TextLine

Box = tuple[float, float, float, float]
"""Left, top, right, bottom, in the image's pixels."""


@dataclass(frozen=True)
class Regions:
    """The regions of one image.

    Attributes:
        count: Masks and lines together: what readability is computed from.
        masks: Mask regions that no line of text covers.
        lines: Line regions.
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
