"""Settings, crops, points and boxes of automatic mask generation, as pure functions independent of the model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import UsageError
from .base import Box

Floats = NDArray[np.float64]
OVERLAP = 512 / 1500
"""The overlap of the four crops of the first layer, as a share of the image's shorter side."""
NEAR_EDGE = 20
"""The distance from an edge of its crop, in pixels, within which a mask counts as cut off."""


@dataclass(frozen=True)
class MaskSettings:
    """The settings of automatic mask generation; the defaults are those of MMMG's released script.

    Attributes:
        points: Points per side of the grid on the whole image.
        iou: The estimated quality up to which masks are dropped.
        stability: The minimum ratio of a mask's areas at a raised and at a lowered threshold.
        offset: The amount by which the threshold is raised and lowered.
        layers: 0 for the whole image only, 1 for four more overlapping crops, 2 for sixteen more.
        downscale: The divisor of the points per side in each further layer.
        nms: Of two masks in one crop whose boxes overlap by more than this, the better one is kept.
        crop_nms: The threshold for masks of different crops, of which that of the smaller crop is kept.
        refine: Whether every mask is passed through the decoder again, as an input, before any is dropped.
    """

    points: int = 32
    iou: float = 0.7
    stability: float = 0.95
    offset: float = 0.7
    layers: int = 1
    downscale: int = 2
    nms: float = 0.6
    crop_nms: float = 0.7
    refine: bool = True

    def __post_init__(self) -> None:
        whole = {"points": (1, 256), "layers": (0, 4), "downscale": (1, 16)}
        for name, (least, most) in whole.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
                raise UsageError(f"{name} is a whole number from {least} to {most}, not {value!r}")
        for name in ("iou", "stability", "offset", "nms", "crop_nms"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
                raise UsageError(f"{name} is a number of at least 0, not {value!r}")
        if not isinstance(self.refine, bool):
            raise UsageError(f"refine is true or false, not {self.refine!r}")

    def side(self, layer: int) -> int:
        """Return the points per side of the grid in a layer of crops."""
        return max(1, int(self.points / self.downscale**layer))

    def __str__(self) -> str:
        """Return the differences from the release's settings."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        changed = [f"{name}={value:g}" for name, value in values.items() if value != getattr(RELEASE, name)]
        return " ".join(changed) or "release"


RELEASE = MaskSettings()


def mask_settings(base: MaskSettings, options: dict[str, Any]) -> MaskSettings:
    """Return `base` with the options that are settings, which are removed from `options`."""
    return replace(base, **{field.name: options.pop(field.name) for field in fields(base) if field.name in options})


@dataclass(frozen=True)
class Crop:
    """A part of the image, and its layer; layer 0 is the whole image."""

    box: tuple[int, int, int, int]
    layer: int

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        left, top, right, bottom = self.box
        return right - left, bottom - top


@dataclass(frozen=True)
class Masks:
    """Masks of one crop that passed the thresholds: their boxes in the crop's pixels, and their quality."""

    boxes: Floats
    quality: Floats

    @classmethod
    def none(cls) -> Masks:
        """Return an empty set of masks."""
        return cls(np.zeros((0, 4)), np.zeros(0))


def crops(width: int, height: int, layers: int) -> list[Crop]:
    """Return the whole image, then the crops of each layer, twice as many per side as before, column by column."""
    parts = [Crop((0, 0, width, height), 0)]
    for layer in range(1, layers + 1):
        many = 2**layer
        shared = int(OVERLAP * min(width, height) * 2 / many)
        wide, high = (math.ceil((shared * (many - 1) + side) / many) for side in (width, height))
        for column, row in product(range(many), repeat=2):
            left, top = (wide - shared) * column, (high - shared) * row
            if left < width and top < height:  # A tiny image cannot have more crops than pixels.
                parts.append(Crop((left, top, min(left + wide, width), min(top + high, height)), layer))
    return parts


def grid(side: int) -> Floats:
    """Return points at the centres of `side` x `side` equal cells, row by row, from 0 to 1."""
    places = (np.arange(side) + 0.5) / side
    across, down = np.meshgrid(places, places)
    return np.stack([across.ravel(), down.ravel()], axis=1)


def remaining_boxes(
    masks_by_crop: Iterable[tuple[Crop, Masks]], size: tuple[int, int], settings: MaskSettings
) -> list[Box]:
    """Return the remaining boxes of all crops' masks: none cut by a crop's edge, no duplicates.

    Args:
        masks_by_crop: Every crop with its masks.
        size: Width and height of the image.
        settings: The thresholds of suppression.
    """
    boxes: list[Floats] = [np.zeros((0, 4))]
    worth: list[Floats] = [np.zeros(0)]
    count = 0
    for crop, masks in masks_by_crop:
        count += 1
        left, top, right, bottom = crop.box
        placed = masks.boxes + np.array([left, top, left, top], dtype=np.float64)
        whole = ~cut_by_crop(placed, crop.box, size)
        placed, quality = placed[whole], masks.quality[whole]
        best = suppress_overlaps(placed, quality, settings.nms)
        boxes.append(placed[best])
        worth.append(np.full(len(best), 1 / ((right - left) * (bottom - top))))
    together = np.concatenate(boxes)
    if count > 1:
        together = together[suppress_overlaps(together, np.concatenate(worth), settings.crop_nms)]
    return [(float(a), float(b), float(c), float(d)) for a, b, c, d in together]


def cut_by_crop(boxes: Floats, crop: Sequence[int], size: tuple[int, int]) -> NDArray[np.bool_]:
    """Return which boxes come close to an edge of their crop that is not an edge of the image."""
    edges = np.array(crop, dtype=np.float64)
    image = np.array([0, 0, *size], dtype=np.float64)
    near = (np.abs(boxes - edges) <= NEAR_EDGE) & ~(np.abs(boxes - image) <= NEAR_EDGE)
    return np.asarray(near.any(axis=1))


def suppress_overlaps(boxes: Floats, worth: Floats, threshold: float) -> NDArray[np.intp]:
    """Return the indices of kept boxes, best first: none overlaps a better one by more than `threshold`.

    Ties keep their order. A box without area overlaps nothing.
    """
    order = np.argsort(-worth, kind="stable")
    left, top, right, bottom = boxes.T
    areas = (right - left) * (bottom - top)
    kept = []
    while len(order):
        first, order = order[0], order[1:]
        kept.append(first)
        width = np.minimum(right[first], right[order]) - np.maximum(left[first], left[order])
        height = np.minimum(bottom[first], bottom[order]) - np.maximum(top[first], top[order])
        common = np.maximum(width, 0) * np.maximum(height, 0)
        union = areas[first] + areas[order] - common
        order = order[common / np.where(union > 0, union, 1) <= threshold]
    return np.array(kept, dtype=np.intp)


def measure_masks(masks: Any, offset: float) -> tuple[Any, Any, Any, Any]:
    """Return the areas of masks at the raised and lowered threshold, and which columns and rows they cover.

    Masks are numpy arrays or tensors of shape n x height x width.
    """
    inside = masks > 0
    raised, lowered = ((masks > bound).sum((-2, -1)) for bound in (offset, -offset))
    return raised, lowered, inside.any(-2), inside.any(-1)


def stable_masks(
    areas: tuple[Floats, Floats], places: tuple[NDArray[np.bool_], NDArray[np.bool_]], quality: Floats, stability: float
) -> Masks:
    """Return the stable masks; areas and places (columns, rows) are those of `measure_masks`."""
    raised, lowered = areas
    columns, rows = places
    # A mask without any area is dropped.
    stable = (lowered > 0) & (raised / np.maximum(lowered, 1) >= stability) & columns.any(axis=1)
    columns, rows, quality = columns[stable], rows[stable], quality[stable]
    (left, right), (top, bottom) = _span(columns), _span(rows)
    return Masks(np.stack([left, top, right, bottom], axis=1).astype(np.float64), quality.astype(np.float64))


def _span(held: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first and last true index of every row."""
    return held.argmax(axis=1), held.shape[1] - 1 - held[:, ::-1].argmax(axis=1)
