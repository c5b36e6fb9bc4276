"""The released procedure for counting regions, written down step by step: what Limner's own way is held against.

Crop by crop; every mask at the size of the image, in float32; run lengths for all that pass, and the masks again out of
the run lengths of those that remain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from PIL import Image

from limner.evidence.regions.base import Box
from limner.evidence.regions.boxes import MaskSettings, crops, cut_by_crop, grid, suppress_overlaps

BATCH = 256
MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
Runs = tuple[bool, list[int]]


class Port:
    """Finds masks as the release does, with a ``Sam2Model``."""

    def __init__(self, model: Any, settings: MaskSettings, device: str) -> None:
        self._model = model.to(device).float().eval()
        # The release builds its model without the fallback from one mask to three.
        self._model.mask_decoder.dynamic_multimask_via_stability = False
        self._settings, self._device = settings, device
        self._side = int(model.prompt_encoder.input_image_size)
        self.passed = 0
        self.runs = 0

    @torch.no_grad()
    def boxes(self, image: Image.Image) -> list[Box]:
        """The boxes of the masks that remain."""
        pixels = np.array(image.convert("RGB"))
        height, width = pixels.shape[:2]
        kept_boxes, kept_runs, worth = [np.zeros((0, 4))], list[Runs](), list[float]()
        parts = crops(width, height, self._settings.layers)
        for crop in parts:
            left, top, right, bottom = crop.box
            boxes, quality, runs = self._crop(pixels, crop.box, self._settings.side(crop.layer))
            best = suppress_overlaps(boxes, quality, self._settings.nms)
            kept_boxes.append(boxes[best])
            kept_runs += [runs[n] for n in best]
            worth += [1 / ((right - left) * (bottom - top))] * len(best)
        remain: Any = range(len(worth))
        if len(parts) > 1:
            remain = suppress_overlaps(np.concatenate(kept_boxes), np.array(worth), self._settings.crop_nms)
        masks = [_mask(kept_runs[n], height, width) for n in remain]
        return [_around(mask) for mask in masks]

    def _crop(self, pixels: Any, box: tuple[int, int, int, int], side: int) -> tuple[Any, Any, list[Runs]]:
        left, top, right, bottom = box
        features = self._model.get_image_embeddings(self._prepared(pixels[top:bottom, left:right]))
        points = torch.from_numpy(grid(side) * self._side).float().to(self._device)
        boxes, quality, runs = [np.zeros((0, 4))], [np.zeros(0)], list[Runs]()
        for start in range(0, len(points), BATCH):
            found = self._batch(features, points[start : start + BATCH], box, pixels.shape[:2])
            boxes.append(found[0])
            quality.append(found[1])
            runs += found[2]
        return np.concatenate(boxes), np.concatenate(quality), runs

    def _batch(self, features: Any, points: Any, box: Any, size: tuple[int, int]) -> tuple[Any, Any, list[Runs]]:
        settings, (height, width) = self._settings, size
        masks, quality, low = self._predicted(features, points, None, box)
        masks, quality, low = masks.flatten(0, 1), quality.flatten(), low.flatten(0, 1)
        if settings.refine:
            again = points.repeat_interleave(3, dim=0)
            found = [
                self._predicted(features, again[n : n + BATCH], low[n : n + BATCH], box)
                for n in range(0, len(low), BATCH)
            ]
            masks = torch.cat([each[0] for each in found]).squeeze(1)
            quality = torch.cat([each[1] for each in found]).squeeze(1)
        good = quality > settings.iou
        masks, quality = masks[good], quality[good]
        stable = _area(masks > settings.offset) / _area(masks > -settings.offset) >= settings.stability
        masks, quality = masks[stable] > 0, quality[stable]
        left, top, right, bottom = box
        boxes = _boxes(masks) + torch.tensor([left, top, left, top], device=masks.device)
        self.passed += len(boxes)
        placed = boxes.double().cpu().numpy().reshape(-1, 4)
        whole = ~cut_by_crop(placed, box, (width, height))
        masks = masks[torch.from_numpy(whole).to(masks.device)]
        masks = F.pad(masks, (left, width - right, top, height - bottom))
        runs = _runs(masks)
        self.runs += sum(len(lengths) for _, lengths in runs)
        return placed[whole], quality.double().cpu().numpy()[whole], runs

    def _predicted(self, features: Any, points: Any, low: Any, box: Any) -> tuple[Any, Any, Any]:
        """Masks at the size of the crop, their quality, and the masks as they came."""
        left, top, right, bottom = box
        if low is None:
            out = self._model(image_embeddings=features, input_points=points[None, :, None], multimask_output=True)
            small, quality = out.pred_masks[0], out.iou_scores[0]
        else:
            many = [level.expand(len(points), -1, -1, -1) for level in features]
            out = self._model(
                image_embeddings=many,
                input_points=points[:, None, None],
                input_masks=low[:, None],
                multimask_output=False,
            )
            small, quality = out.pred_masks[:, 0], out.iou_scores[:, 0]
        large = F.interpolate(small, (bottom - top, right - left), mode="bilinear", align_corners=False)
        return large, quality, small.clamp(-32, 32)

    def _prepared(self, pixels: Any) -> Any:
        part = torch.from_numpy(pixels.copy()).permute(2, 0, 1)[None].float() / 255
        size = (self._side, self._side)
        part = F.interpolate(part, size, mode="bilinear", align_corners=False, antialias=True)
        mean, spread = (torch.tensor(values).view(1, 3, 1, 1) for values in (MEAN, SPREAD))
        return ((part - mean) / spread).to(self._device)


def _area(masks: Any) -> Any:
    return masks.sum(-1, dtype=torch.int16).sum(-1, dtype=torch.int32)


def _boxes(masks: Any) -> Any:
    """First and last column and row; every mask has some."""
    rows, columns = masks.any(-1).int(), masks.any(-2).int()
    right, bottom = (line.shape[1] - 1 - line.flip(1).argmax(1) for line in (columns, rows))
    return torch.stack([columns.argmax(1), rows.argmax(1), right, bottom], dim=1)


def _runs(masks: Any) -> list[Runs]:
    """Column by column: whether the first pixel is inside, and the lengths of what is alike."""
    flat = masks.transpose(1, 2).flatten(1)
    changes = (flat[:, 1:] ^ flat[:, :-1]).nonzero()
    found = []
    for number, line in enumerate(flat):
        places = changes[changes[:, 0] == number, 1] + 1
        ends = torch.cat([places.new_zeros(1), places, places.new_tensor([line.numel()])])
        found.append((bool(line[0]), ends.diff().cpu().tolist()))
    return found


def _mask(runs: Runs, height: int, width: int) -> Any:
    inside, lengths = runs
    flat = np.empty(height * width, dtype=bool)
    at = 0
    for length in lengths:
        flat[at : at + length] = inside
        at, inside = at + length, not inside
    return flat.reshape(width, height).T


def _around(mask: Any) -> Box:
    rows, columns = np.where(mask)
    return float(columns.min()), float(rows.min()), float(columns.max()), float(rows.max())
