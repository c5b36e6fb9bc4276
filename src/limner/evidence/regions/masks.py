"""Automatic mask generation with a SAM 2 model of transformers, on a GPU or a CPU.

The crops of an image are encoded several at a time and stay on the device. Masks stay at the decoder's resolution; only
those that pass the quality threshold are scaled up, a few at a time, and only their areas and edges are kept.
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

if TYPE_CHECKING:
    from PIL.Image import Image

MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class MaskGenerator:
    """A generator of masks of images; not thread-safe.

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
        # The release builds its model without the fallback from one mask to three.
        model.mask_decoder.dynamic_multimask_via_stability = False
        model.mask_decoder.iou_prediction_head.float().register_forward_pre_hook(lambda _, tokens: tokens[0].float())
        self._settings, self._device, self._batch = settings, torch.device(device), batch
        self._side = int(model.prompt_encoder.input_image_size)
        self._places = model.get_image_wide_positional_embeddings().to(self._dtype)
        self._pixels = 2**28 if self._device.type == "cuda" else 2**24
        self._sparse: dict[int, Any] = {}
        self._encode, self._decode, self._measure = model.get_image_embeddings, self._predicted, measure_at_size
        if compiled:
            self._encode = torch.compile(self._encode, dynamic=False)
            self._decode = torch.compile(self._decode, dynamic=False)
            # Images have many sizes; compiling for each would take longer than it saves.
            self._measure = torch.compile(measure_at_size, dynamic=True)
        self.passed = 0
        """The number of masks that passed the thresholds, before suppression."""

    @torch.inference_mode()
    def boxes(self, image: Image) -> list[Box]:
        """Return the boxes of the remaining masks."""
        # A copy, because torch requires a writable array.
        pixels = torch.from_numpy(np.array(flatten(image))).to(self._device)
        parts = crops(image.width, image.height, self._settings.layers)
        measured: list[tuple[Crop, Masks]] = []
        waiting: list[tuple[Crop, list[tuple[Any, Any]]]] = []
        for crop, maps in self._embedded(pixels, parts):
            waiting.append((crop, self._decoded(crop, maps)))
            if len(waiting) > 1:  # The device gets the next crop's work before we wait for this one's result.
                measured.append(self._measured(*waiting.pop(0)))
        measured += [self._measured(*last) for last in waiting]
        self.passed += sum(len(masks.quality) for _, masks in measured)
        return remaining_boxes(measured, image.size, self._settings)

    def _embedded(self, pixels: Any, parts: list[Crop]) -> Iterator[tuple[Crop, list[Any]]]:
        """Yield every crop with its features."""
        together = 5
        for start in range(0, len(parts), together):
            some = parts[start : start + together]
            maps = self._encode(torch.cat([self._prepared(pixels, crop) for crop in some]))
            for number, crop in enumerate(some):
                yield crop, [level[number : number + 1].to(self._dtype) for level in maps]

    def _prepared(self, pixels: Any, crop: Crop) -> Any:
        left, top, right, bottom = crop.box
        part = pixels[top:bottom, left:right].permute(2, 0, 1)[None].float() / 255
        size = (self._side, self._side)
        part = F.interpolate(part, size, mode="bilinear", align_corners=False, antialias=True)
        mean, spread = (torch.tensor(values, device=self._device).view(1, 3, 1, 1) for values in (MEAN, SPREAD))
        return ((part - mean) / spread).to(self._dtype)

    def _decoded(self, crop: Crop, maps: list[Any]) -> list[tuple[Any, Any]]:
        """Return masks of all points of a crop and their quality, batch by batch, without waiting for the device."""
        batches = []
        for points in self._prompts(self._settings.side(crop.layer)).split(self._batch):
            masks, quality = self._decode(maps, points, None)
            if self._settings.refine:
                again = points.repeat_interleave(len(masks) // len(points), dim=0)
                for some, before in zip(again.split(self._batch), masks.split(self._batch), strict=True):
                    batches.append(self._decode(maps, some, before))
            else:
                batches.append((masks, quality))
        return batches

    def _measured(self, crop: Crop, batches: list[tuple[Any, Any]]) -> tuple[Crop, Masks]:
        """Return the masks of a crop that pass the thresholds, with areas and edges at the crop's size."""
        (width, height), settings = crop.size, self._settings
        measures, qualities = [], []
        for masks, quality in batches:
            good = quality > settings.iou
            qualities.append(quality[good])
            rows = masks[good]
            for some in rows.split(max(1, self._pixels // (width * height))) if len(rows) else ():
                measures.append(self._measure(some, height, width, settings.offset))
        if not measures:
            return crop, Masks.none()
        raised, lowered, columns, lines = (torch.cat(each).cpu().numpy() for each in zip(*measures, strict=True))
        worth = torch.cat(qualities).cpu().numpy()
        return crop, stable_masks((raised, lowered), (columns, lines), worth, settings.stability)

    def _predicted(self, maps: list[Any], sparse: Any, masks: Any) -> tuple[Any, Any]:
        """Return masks of prompts, and their quality: several per prompt, or one if each has a mask as an input."""
        prompts = self._model.prompt_encoder
        dense = prompts.no_mask_embed.weight.reshape(1, -1, 1, 1).to(self._dtype)
        if masks is not None:
            dense = prompts.mask_embed(masks.clamp(-CLAMP, CLAMP)[:, None])
        made, quality, _, _ = self._model.mask_decoder(
            image_embeddings=maps[-1].expand(len(sparse), -1, -1, -1),
            image_positional_embeddings=self._places,
            sparse_prompt_embeddings=sparse[:, None],
            dense_prompt_embeddings=dense,
            multimask_output=masks is None,
            high_resolution_features=maps[:-1],
        )
        return made.flatten(0, 2), quality.flatten()

    def _prompts(self, side: int) -> Any:
        """Return a grid of points as prompts for the decoder: each point with the token that means "no box"."""
        if side not in self._sparse:
            points = torch.from_numpy(grid(side) * self._side).float().to(self._device)[None, :, None]
            labels = torch.ones(points.shape[:3], dtype=torch.int, device=self._device)
            sparse, _ = self._model.prompt_encoder(points, labels, None, None)
            self._sparse[side] = sparse[0].to(self._dtype)
        return self._sparse[side]


def measure_at_size(masks: Any, height: int, width: int, offset: float) -> tuple[Any, Any, Any, Any]:
    """Scale masks to a size and apply `measure_masks`."""
    large = F.interpolate(masks[:, None].float(), (height, width), mode="bilinear", align_corners=False)
    return measure_masks(large[:, 0], offset)


CLAMP = 32.0
"""The limit to which masks used as inputs are clamped, in both directions."""
