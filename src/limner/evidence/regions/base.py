"""Regions, the interface of counters, the classical counter, and the merging of text lines with masks."""

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
"""The greatest distance between the vertical centres of lines that are merged, in pixels."""
MIN_LINE_SIDE = 10
"""The minimum width and height of a merged line in pixels; a smaller one covers masks, but is not a region."""
MAX_OVERLAP = 0.8
"""The overlap of a mask with a line, as a share of the smaller box, above which the mask counts as text."""


@dataclass(frozen=True)
class Regions:
    """The regions of one image.

    Attributes:
        count: Masks and lines together, from which readability is computed.
        masks: The number of masks that no line of text covers.
        lines: The number of lines of text.
        boxes: The boxes of the masks, then those of the lines.
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
    """A counter of regions; safe to call from several threads.

    Attributes:
        name: Backend, weights and settings: everything that affects a count.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    def check(self) -> None:
        """Check that it can work here, without loading anything large.

        Raises:
            UsageError: Something is missing; the message says what to get and where to put it.
        """

    def count(self, image: Image, lines: Sequence[TextLine]) -> Regions:
        """Return the regions of an image whose text has been read already."""
        ...


def text_lines(lines: Iterable[TextLine]) -> list[Box]:
    """Return the boxes of whole lines of text, top to bottom; parts at one height form a line, however far apart."""
    parts = sorted((part for part in lines if _is_trusted(part)), key=_centre)
    rows: list[list[TextLine]] = []
    height = 0.0
    for part in parts:
        centre = _centre(part)
        if rows and abs(centre - height) <= MERGE_DISTANCE:
            rows[-1].append(part)
            # As in the release, each new part moves the height halfway, however many came before.
            height = (height + centre) / 2
        else:
            rows.append([part])
            height = centre
    return [_bounding_box(row) for row in rows]


def box_overlap(first: Box, second: Box) -> float:
    """Return the shared area as a share of the smaller box's area; 0 if they do not overlap."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    return width * height / min(_area(first), _area(second))


def merge_regions(masks: Iterable[Box], lines: Sequence[TextLine]) -> Regions:
    """Return the regions of an image: masks that no line covers, and lines."""
    rows = text_lines(lines)
    kept = [mask for mask in masks if not any(box_overlap(mask, row) > MAX_OVERLAP for row in rows)]
    large = [row for row in rows if row[2] - row[0] >= MIN_LINE_SIDE and row[3] - row[1] >= MIN_LINE_SIDE]
    return Regions.of(kept, large)


def _is_trusted(line: TextLine) -> bool:
    return line.confidence >= MIN_CONFIDENCE and _short_side(line) >= MIN_SHORT_SIDE


def _short_side(line: TextLine) -> float:
    corners = line.box
    return min(math.dist(corners[n], corners[(n + 1) % 4]) for n in range(4))


def _centre(line: TextLine) -> float:
    return sum(y for _, y in line.box) / 4


def _bounding_box(row: Sequence[TextLine]) -> Box:
    """Return the bounding box of all corners, truncated to whole pixels."""
    bounds = [line.bounds for line in row]
    lefts, tops, rights, bottoms = zip(*bounds, strict=True)
    return float(int(min(lefts))), float(int(min(tops))), float(int(max(rights))), float(int(max(bottoms)))


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


CACHE = "LIMNER_CACHE"


def cache_folder() -> Path:
    """Return the folder for weights provided by users: ``LIMNER_CACHE``, or ``~/.cache/limner``."""
    given = os.environ.get(CACHE, "").strip()
    return Path(given).expanduser() if given else Path.home() / ".cache" / "limner"


def file_hash(file: Path) -> str:
    """Return the file's hash, computed again only after the file has changed."""
    state = file.stat()
    return _hashed(file.resolve(), state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=16)
def _hashed(file: Path, _size: int, _changed: int) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def pinned_files(folder: Path, files: dict[str, str], how: str) -> dict[str, Path]:
    """Return the files of a folder by name, each checked to have the required hash.

    Args:
        folder: Their folder.
        files: Hash by name.
        how: What to do if one is missing, for the message.
    """
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        raise UsageError(f"{' and '.join(missing)}: not in {folder}. {how}")
    for name, wanted in files.items():
        actual = file_hash(folder / name)
        if actual != wanted:
            raise UsageError(f"{folder / name} is a different file: its sha256 is {actual}, not {wanted}. {how}")
    return {name: folder / name for name in files}


def read_config(folder: Path) -> dict[str, Any]:
    """Return a model folder's ``config.json``; empty if it cannot be read."""
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return config if isinstance(config, dict) else {}


def tensor_names(file: Path) -> set[str]:
    """Return the names in a safetensors file's header, without reading weights."""
    try:
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(length)) if length < 2**26 else {}
    except (OSError, ValueError):
        return set()
    return set(header) if isinstance(header, dict) else set()


REVISION = 1
"""Increased whenever this module would count the same image differently."""
MAX_SIDE = 1024
"""The maximum side in pixels; larger images are reduced, so that regions do not depend on resolution."""
EDGE_STEP = 32
"""The difference in any channel above which neighbouring pixels form an edge."""
EDGE_GAP = 7
"""The width in pixels below which gaps in edges are closed, so that small letters contain no regions."""
BACKGROUND_STEP = 8
"""The greatest difference from the border's colour at which an area at the image's border is background."""
MIN_AREA_SHARE = 0.0003
"""The share of the image below which areas are dropped."""


class ClassicalCounter:
    """A counter of areas within edges. It suits flat diagrams; shading and texture are split into many areas."""

    @property
    def name(self) -> str:
        """The method and its constants."""
        edges = f"edge={EDGE_STEP} close={EDGE_GAP} ground={BACKGROUND_STEP}"
        return f"classical/{edges} smallest={MIN_AREA_SHARE:g} side={MAX_SIDE} rev={REVISION}"

    def check(self) -> None:
        """Check that OpenCV can be loaded.

        Raises:
            UsageError: It cannot, for example because system libraries are missing.
        """
        try:
            import cv2  # noqa: F401
        except ImportError as error:
            what = "the classical counter needs OpenCV: pip install --force-reinstall opencv-python-headless"
            raise UsageError(f"{what} ({error})") from error

    def count(self, image: Image, lines: Sequence[TextLine]) -> Regions:
        """Return the regions of an image whose text has been read already."""
        return merge_regions(find_areas(image), lines)


def find_areas(image: Image) -> list[Box]:
    """Return the boxes of all areas within edges except the background, in pixels, from top to bottom."""
    import cv2

    flat = flatten(image)
    pixels = np.ascontiguousarray(np.asarray(flat))
    scale = min(1.0, MAX_SIDE / max(flat.size))
    if scale < 1:
        width, height = (max(1, round(side * scale)) for side in flat.size)
        pixels = np.asarray(cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA))
    height, width = pixels.shape[:2]
    steps = cv2.morphologyEx(pixels, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)).max(axis=2)
    square = np.ones((EDGE_GAP, EDGE_GAP), np.uint8)
    edges = cv2.morphologyEx((steps > EDGE_STEP).astype(np.uint8), cv2.MORPH_CLOSE, square)
    number, labels, figures, _ = cv2.connectedComponentsWithStats(1 - edges, connectivity=4)
    rim = _border_colour(pixels)
    across, down = flat.width / width, flat.height / height
    boxes = []
    for label in range(1, number):
        left, top, wide, high, size = (int(figure) for figure in figures[label])
        at_rim = left == 0 or top == 0 or left + wide == width or top + high == height
        if size < MIN_AREA_SHARE * width * height:
            continue
        place = (slice(top, top + high), slice(left, left + wide))
        if at_rim and np.abs(_median_colour(pixels[place][labels[place] == label]) - rim).max() <= BACKGROUND_STEP:
            continue
        boxes.append((left * across, top * down, (left + wide - 1) * across, (top + high - 1) * down))
    return boxes


def _border_colour(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return _median_colour(np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]]))


def _median_colour(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the median colour of some pixels."""
    return np.asarray(np.median(pixels.astype(np.int16), axis=0))
