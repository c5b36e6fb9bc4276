"""Automatic mask generation with a SAM 2 model of transformers, on a GPU or a CPU.

All crops of an image go through the encoder together and stay on the device. Masks stay as small as the decoder
makes them; only those that pass the threshold of quality are scaled up, a few at a time, and of these only areas and
edges are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812

from ...core.images import flatten
from .base import Box
from .boxes import Crop, Masks, MaskSettings, crops, grid, measure_masks, remaining_boxes, stable_masks
from .decoder import CellMaps, PromptDecoder

if TYPE_CHECKING:
    from PIL.Image import Image

MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class MaskGenerator:
    """Finds the masks of images; not safe to be called from several threads at once.

    Args:
        model: A ``Sam2Model``; it is moved to `device` and its large parts to `precision`.
        settings: Points, crops and thresholds.
        device: Such as ``cuda`` or ``cpu``.
        precision: ``bfloat16`` or ``float32``; points, qualities and thresholds are computed in float32 either way.
        batch: Prompts that go through the decoder together.
        compiled: Whether the model is compiled first, which takes about a minute.
    """

    def __init__(
        self,
        model: Any,
        settings: MaskSettings,
        *,
        device: str = "cpu",
        precision: str = "float32",
        batch: int = 256,
        compiled: bool = False,
    ) -> None:
        self._dtype = getattr(torch, precision)
        self._model = model.to(device).eval()
        for part in (model.vision_encoder, model.mask_decoder, model.prompt_encoder.mask_embed):
            part.to(self._dtype)
        model.mask_decoder.iou_prediction_head.float()
        self._settings, self._device, self._batch = settings, torch.device(device), batch
        self._side = int(model.prompt_encoder.input_image_size)
        self._pixels = 2**28 if self._device.type == "cuda" else 2**24
        self._sparse: dict[int, Any] = {}
        self._encode, self._measure = model.get_image_embeddings, measure_at_size
        if compiled:
            self._encode = torch.compile(self._encode, dynamic=False)
            # Images have many sizes; to compile once more for each would take longer than it saves.
            self._measure = torch.compile(measure_at_size, dynamic=True)
        self._decoder = PromptDecoder(model, compiled=compiled)
        self.passed = 0
        """Masks that passed the thresholds so far, before any was suppressed."""

    @torch.inference_mode()
    def boxes(self, image: Image) -> list[Box]:
        """The boxes of the masks that remain."""
        # A copy, because torch wants to be able to write.
        pixels = torch.from_numpy(np.array(flatten(image))).to(self._device)
        parts = crops(image.width, image.height, self._settings.layers)
        found: list[tuple[Crop, Masks]] = []
        waiting: list[tuple[Crop, list[tuple[Any, Any]]]] = []
        for crop, maps in self._embedded(pixels, parts):
            waiting.append((crop, self._decoded(crop, maps)))
            if len(waiting) > 1:  # The device has the next crop's work before we wait for what it says of this one.
                found.append(self._measured(*waiting.pop(0)))
        found += [self._measured(*last) for last in waiting]
        self.passed += sum(len(masks.quality) for _, masks in found)
        return remaining_boxes(found, image.size, self._settings)

    def _embedded(self, pixels: Any, parts: list[Crop]) -> Iterator[tuple[Crop, CellMaps]]:
        """Every crop with its features."""
        together = 5
        for start in range(0, len(parts), together):
            some = parts[start : start + together]
            maps = self._encode(torch.cat([self._prepared(pixels, crop) for crop in some]))
            for number, crop in enumerate(some):
                yield crop, self._decoder.cells([level[number : number + 1] for level in maps])

    def _prepared(self, pixels: Any, crop: Crop) -> Any:
        left, top, right, bottom = crop.box
        part = pixels[top:bottom, left:right].permute(2, 0, 1)[None].float() / 255
        size = (self._side, self._side)
        part = F.interpolate(part, size, mode="bilinear", align_corners=False, antialias=True)
        mean, spread = (torch.tensor(values, device=self._device).view(1, 3, 1, 1) for values in (MEAN, SPREAD))
        return ((part - mean) / spread).to(self._dtype)

    def _decoded(self, crop: Crop, maps: CellMaps) -> list[tuple[Any, Any]]:
        """Masks of all points of a crop and their quality, batch by batch; nothing is waited for."""
        found = []
        for points in self._prompts(self._settings.side(crop.layer)).split(self._batch):
            masks, quality = self._decoder.first(maps, points)
            masks, quality = masks.flatten(0, 1), quality.flatten()
            if not self._settings.refine:
                found.append((masks, quality))
                continue
            points = points.repeat_interleave(len(masks) // len(points), dim=0)
            for some, before in zip(points.split(self._batch), masks.split(self._batch), strict=True):
                again, quality = self._decoder.again(maps, some, before)
                found.append((again[:, 0], quality[:, 0]))
        return found

    def _measured(self, crop: Crop, found: list[tuple[Any, Any]]) -> tuple[Crop, Masks]:
        """The masks of a crop that pass the thresholds; areas and edges are those at the crop's size."""
        (width, height), settings = crop.size, self._settings
        measures, qualities = [], []
        for masks, quality in found:
            good = quality > settings.iou
            qualities.append(quality[good])
            rows = self._decoder.rows(masks[good])
            for some in rows.split(max(1, self._pixels // (width * height))) if len(rows) else ():
                measures.append(self._measure(some, height, width, settings.offset))
        if not measures:
            return crop, Masks.none()
        raised, lowered, columns, lines = (torch.cat(each).cpu().numpy() for each in zip(*measures, strict=True))
        worth = torch.cat(qualities).cpu().numpy()
        return crop, stable_masks((raised, lowered), (columns, lines), worth, settings.stability)

    def _prompts(self, side: int) -> Any:
        """A grid of points as the decoder takes them: the point, and the mark that no box follows."""
        if side not in self._sparse:
            points = torch.from_numpy(grid(side) * self._side).float().to(self._device)[None, :, None]
            labels = torch.ones(points.shape[:3], dtype=torch.int, device=self._device)
            sparse, _ = self._model.prompt_encoder(points, labels, None, None)
            self._sparse[side] = sparse[0].to(self._dtype)
        return self._sparse[side]


def measure_at_size(masks: Any, height: int, width: int, offset: float) -> tuple[Any, Any, Any, Any]:
    """What `measure_masks` says of masks that are scaled to a size first."""
    large = F.interpolate(masks[:, None].float(), (height, width), mode="bilinear", align_corners=False)
    return measure_masks(large[:, 0], offset)
