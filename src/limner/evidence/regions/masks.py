"""Automatic mask generation with a SAM 2 model of transformers, on a GPU or a CPU.

All crops of an image go through the encoder together and stay on the device. Masks stay as small as the decoder
makes them; only those that pass the threshold of quality are scaled up, a few at a time, and of these only areas and
edges are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
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
CLAMP = 32.0
"""Masks that go in again are held to this, either way."""
TOKENS = 2
"""Tokens of the decoder before those of the masks: one for whether there is an object, one for the quality."""
SINGLE, SEVERAL = slice(0, 1), slice(1, None)
"""Of the mask tokens, the one for a mask out of a clear prompt, and those for the readings of an unclear one."""


class MaskGenerator:
    """Finds the masks of images; not safe to be called from several threads at once.

    Args:
        model: A ``Sam2Model``; it is moved to `device` and its large parts to `precision`.
        settings: Points, crops and thresholds.
        device: Such as ``cuda`` or ``cpu``.
        precision: ``bfloat16`` or ``float32``; points, qualities and thresholds are computed in float32 either way.
        batch: Prompts that go through the decoder together.
        compiled: Whether the decoder is compiled first: half a minute that pays off after some sixty images.
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
        self._decode = torch.compile(self._decoded, dynamic=False) if compiled else self._decoded
        self.passed = 0
        """Masks that passed the thresholds so far, before any was suppressed."""

    @torch.inference_mode()
    def boxes(self, image: Image) -> list[Box]:
        """The boxes of the masks that remain."""
        # A copy, because torch wants to be able to write.
        pixels = torch.from_numpy(np.array(flatten(image))).to(self._device)
        parts = crops(image.width, image.height, self._settings.layers)
        found = [(crop, self._masks(crop, features)) for crop, features in self._embedded(pixels, parts)]
        self.passed += sum(len(masks.quality) for _, masks in found)
        return remaining_boxes(found, image.size, self._settings)

    def _embedded(self, pixels: Any, parts: list[Crop]) -> Iterator[tuple[Crop, list[Any]]]:
        """Every crop with its features, from the largest map to the smallest."""
        together = 5
        for start in range(0, len(parts), together):
            some = parts[start : start + together]
            maps = self._model.get_image_embeddings(torch.cat([self._prepared(pixels, crop) for crop in some]))
            maps = [level.to(self._dtype).contiguous(memory_format=torch.channels_last) for level in maps]
            for number, crop in enumerate(some):
                yield crop, [level[number : number + 1] for level in maps]

    def _prepared(self, pixels: Any, crop: Crop) -> Any:
        left, top, right, bottom = crop.box
        part = pixels[top:bottom, left:right].permute(2, 0, 1)[None].float() / 255
        size = (self._side, self._side)
        part = F.interpolate(part, size, mode="bilinear", align_corners=False, antialias=True)
        mean, spread = (torch.tensor(values, device=self._device).view(1, 3, 1, 1) for values in (MEAN, SPREAD))
        return ((part - mean) / spread).to(self._dtype)

    def _masks(self, crop: Crop, features: list[Any]) -> Masks:
        settings = self._settings
        sparse = self._prompts(settings.side(crop.layer))
        plain = self._model.prompt_encoder.no_mask_embed.weight.reshape(1, -1, 1, 1).to(self._dtype)
        measures: list[tuple[Any, Any, Any, Any]] = []
        qualities = []
        for points in sparse.split(self._batch):
            logits, quality = self._decode(features, points, plain, SEVERAL)
            logits, quality = logits.flatten(0, 1), quality.flatten()
            if settings.refine:
                again = points.repeat_interleave(len(logits) // len(points), dim=0)
                batches = list(self._refined(features, again, logits))
            else:
                batches = [(logits, quality)]
            for some, worth in batches:
                good = worth > settings.iou
                measures += self._measured(some[good], crop)
                qualities.append(worth[good])
        if not measures:
            return Masks.none()
        raised, lowered, columns, rows = (torch.cat(each).cpu().numpy() for each in zip(*measures, strict=True))
        return stable_masks((raised, lowered), (columns, rows), torch.cat(qualities).cpu().numpy(), settings.stability)

    def _refined(self, features: list[Any], points: Any, logits: Any) -> Iterator[tuple[Any, Any]]:
        """The masks once more, each out of its point and itself."""
        for start in range(0, len(logits), self._batch):
            some = slice(start, start + self._batch)
            dense = self._model.prompt_encoder.mask_embed(logits[some, None].clamp(-CLAMP, CLAMP))
            again, quality = self._decode(features, points[some], dense, SINGLE)
            yield again[:, 0], quality[:, 0]

    def _measured(self, logits: Any, crop: Crop) -> Iterator[tuple[Any, Any, Any, Any]]:
        """Areas and edges of masks at the size of their crop, some at a time."""
        width, height = crop.size
        for some in logits.split(max(1, self._pixels // (width * height))) if len(logits) else ():
            large = F.interpolate(some[:, None].float(), (height, width), mode="bilinear", align_corners=False)
            yield measure_masks(large[:, 0], self._settings.offset)

    def _prompts(self, side: int) -> Any:
        """A grid of points as the decoder takes them: the point, and the mark that no box follows."""
        if side not in self._sparse:
            points = torch.from_numpy(grid(side) * self._side).float().to(self._device)[None, :, None]
            labels = torch.ones(points.shape[:3], dtype=torch.int, device=self._device)
            sparse, _ = self._model.prompt_encoder(points, labels, None, None)
            self._sparse[side] = sparse[0].to(self._dtype)
        return self._sparse[side]

    @cached_property
    def _places(self) -> Any:
        return self._model.get_image_wide_positional_embeddings().to(self._dtype)

    def _decoded(self, features: list[Any], sparse: Any, dense: Any, wanted: slice) -> tuple[Any, Any]:
        """Masks as logits, and their quality, for prompts of one image; nothing is copied per prompt that need not be.

        Args:
            features: The image's feature maps.
            sparse: Prompts x tokens x channels.
            dense: One map for all prompts, or one for each.
            wanted: Which of the decoder's masks.
        """
        decoder = self._model.mask_decoder
        fine, middle, coarse = features
        many, (channels, high, wide) = len(sparse), coarse.shape[1:]
        own = torch.cat([decoder.obj_score_token.weight, decoder.iou_token.weight, decoder.mask_tokens.weight])
        tokens, keys = decoder.transformer(
            point_embeddings=torch.cat([own.expand(many, -1, -1), sparse], dim=1)[:, None],
            image_embeddings=(coarse + dense).expand(many, -1, -1, -1),
            image_positional_embeddings=self._places,
            attention_similarity=None,
        )
        grown = decoder.upscale_conv1(keys.transpose(2, 3).reshape(many, channels, high, wide)) + middle
        grown = decoder.activation(decoder.upscale_layer_norm(grown))
        grown = decoder.activation(decoder.upscale_conv2(grown) + fine)
        numbers = range(decoder.num_mask_tokens)[wanted]
        weights = [decoder.output_hypernetworks_mlps[n](tokens[:, 0, TOKENS + n]) for n in numbers]
        masks = torch.stack(weights, dim=1) @ grown.flatten(2)
        quality = decoder.iou_prediction_head(tokens[:, 0, 1].float())[:, wanted]
        return masks.unflatten(-1, grown.shape[-2:]), quality
