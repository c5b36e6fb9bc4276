"""What regions are, what counts them, and the way with text: which lines become regions, which masks they cover."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...core.errors import UsageError
from ...core.evidence import TextLine
from ...core.images import flatten

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
        """Return the regions with these boxes."""
        first, second = tuple(masks), tuple(lines)
        return cls(len(first) + len(second), len(first), len(second), first + second)

    def to_json(self) -> dict[str, Any]:
        """Return the regions as plain JSON, as the journal keeps them."""
        boxes = [list(box) for box in self.boxes]
        return {"count": self.count, "masks": self.masks, "lines": self.lines, "boxes": boxes}


class RegionCounter(Protocol):
    """Counts regions; safe to call from several threads.

    Attributes:
        name: Backend, weights and settings: everything that decides a count.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    def check(self) -> None:
        """Look whether it can work here, without loading anything large.

        Raises:
            UsageError: Something is missing; the message says what to get and where to put it.
        """

    def count(self, image: Image, lines: Sequence[TextLine]) -> Regions:
        """Return the regions of an image whose text has been read already."""
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
    """Return the shared area as part of the smaller box's area; 0 for boxes that share none."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    return width * height / min(_area(one), _area(other))


def merge_regions(masks: Iterable[Box], lines: Sequence[TextLine]) -> Regions:
    """Return the regions of an image: masks that no line covers, and the lines."""
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
    """Return the upright box around all corners, cut to whole pixels towards zero."""
    bounds = [line.bounds for line in row]
    lefts, tops, rights, bottoms = zip(*bounds, strict=True)
    return float(int(min(lefts))), float(int(min(tops))), float(int(max(rights))), float(int(max(bottoms)))


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


CACHE = "LIMNER_CACHE"


def cache() -> Path:
    """Return the folder for weights that users put there: ``LIMNER_CACHE``, or ``~/.cache/limner``."""
    given = os.environ.get(CACHE, "").strip()
    return Path(given).expanduser() if given else Path.home() / ".cache" / "limner"


def sha256(file: Path) -> str:
    """Return the file's hash; the file is read once, until it changes."""
    state = file.stat()
    return _hashed(file.resolve(), state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=16)
def _hashed(file: Path, _size: int, _changed: int) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def pinned_files(folder: Path, files: dict[str, str], how: str) -> dict[str, Path]:
    """Return the files of a folder by name, each with exactly the hash that is asked for.

    Args:
        folder: Where they should lie.
        files: Hash by name.
        how: What to do when one is missing, for the message.
    """
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        raise UsageError(f"{' and '.join(missing)}: not in {folder}. {how}")
    for name, wanted in files.items():
        found = sha256(folder / name)
        if found != wanted:
            raise UsageError(f"{folder / name} is another file: its sha256 is {found}, not {wanted}. {how}")
    return {name: folder / name for name in files}


def read_config(folder: Path) -> dict[str, Any]:
    """Return a model folder's ``config.json``; empty when there is none to read."""
    try:
        found = json.loads((folder / "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def tensor_names(file: Path) -> set[str]:
    """Return the names in a safetensors file's header, without reading any weights."""
    try:
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(length)) if length < 2**26 else {}
    except (OSError, ValueError):
        return set()
    return set(header) if isinstance(header, dict) else set()


REVISION = 1
"""Raised whenever this module would count the same image differently."""
SIDE = 1024
"""Larger images are reduced to this; what is a region must not depend on how many pixels it was drawn with."""
EDGE = 32
"""Neighbouring pixels that differ by more than this, in any colour, lie at an edge."""
GAP = 7
"""Gaps in edges narrower than this are closed; small letters close up and hold no regions."""
GROUND = 8
"""An area at the image's rim that differs from the rim's usual colour by no more than this is ground."""
SMALLEST = 0.0003
"""Areas below this part of the image are specks."""


class ClassicalCounter:
    """Counts areas within edges. Right on flat diagrams; shading and texture fall apart into many."""

    @property
    def name(self) -> str:
        """The method and its constants."""
        settings = f"edge={EDGE} close={GAP} ground={GROUND} smallest={SMALLEST:g} side={SIDE} rev={REVISION}"
        return f"classical/{settings}"

    def check(self) -> None:
        """Raise unless OpenCV can be loaded.

        Raises:
            UsageError: It cannot, such as where system libraries are missing.
        """
        try:
            import cv2  # noqa: F401
        except ImportError as error:
            what = "the classical counter needs OpenCV: pip install --force-reinstall opencv-python-headless"
            raise UsageError(f"{what} ({error})") from error

    def count(self, image: Image, lines: Sequence[TextLine]) -> Regions:
        """Return the regions of an image whose text has been read already."""
        return merge_regions(areas(image), lines)


def areas(image: Image) -> list[Box]:
    """Return the boxes of all areas within edges but the ground, in the image's own pixels, from top to bottom."""
    import cv2

    flat = flatten(image)
    pixels = np.ascontiguousarray(np.asarray(flat))
    scale = min(1.0, SIDE / max(flat.size))
    if scale < 1:
        width, height = (max(1, round(side * scale)) for side in flat.size)
        pixels = np.asarray(cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA))
    height, width = pixels.shape[:2]
    steps = cv2.morphologyEx(pixels, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)).max(axis=2)
    edges = cv2.morphologyEx((steps > EDGE).astype(np.uint8), cv2.MORPH_CLOSE, np.ones((GAP, GAP), np.uint8))
    number, labels, figures, _ = cv2.connectedComponentsWithStats(1 - edges, connectivity=4)
    rim = _rim(pixels)
    across, down = flat.width / width, flat.height / height
    found = []
    for label in range(1, number):
        left, top, wide, high, size = (int(figure) for figure in figures[label])
        at_rim = left == 0 or top == 0 or left + wide == width or top + high == height
        if size < SMALLEST * width * height:
            continue
        place = (slice(top, top + high), slice(left, left + wide))
        if at_rim and np.abs(_colour(pixels[place][labels[place] == label]) - rim).max() <= GROUND:
            continue
        found.append((left * across, top * down, (left + wide - 1) * across, (top + high - 1) * down))
    return found


def _rim(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return _colour(np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]]))


def _colour(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the usual colour of some pixels."""
    return np.asarray(np.median(pixels.astype(np.int16), axis=0))
