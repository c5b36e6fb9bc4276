"""Automatic mask generation with a SAM 2 model of transformers, on a GPU or a CPU.

The crops of an image are encoded several at a time and stay on the device. Masks stay at the decoder's resolution; only
those that pass the quality threshold are scaled up, a few at a time, and only their areas and edges are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

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
        model.mask_decoder.iou_prediction_head.float()
        self._settings, self._device, self._batch = settings, torch.device(device), batch
        self._side = int(model.prompt_encoder.input_image_size)
        self._pixels = 2**28 if self._device.type == "cuda" else 2**24
        self._sparse: dict[int, Any] = {}
        self._encode, self._measure = model.get_image_embeddings, measure_at_size
        if compiled:
            self._encode = torch.compile(self._encode, dynamic=False)
            # Images have many sizes; compiling for each would take longer than it saves.
            self._measure = torch.compile(measure_at_size, dynamic=True)
        self._decoder = PromptDecoder(model, compiled=compiled)
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

    def _embedded(self, pixels: Any, parts: list[Crop]) -> Iterator[tuple[Crop, CellMaps]]:
        """Yield every crop with its features."""
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
        """Return masks of all points of a crop and their quality, batch by batch, without waiting for the device."""
        batches = []
        for points in self._prompts(self._settings.side(crop.layer)).split(self._batch):
            masks, quality = self._decoder.first(maps, points)
            masks, quality = masks.flatten(0, 1), quality.flatten()
            if not self._settings.refine:
                batches.append((masks, quality))
                continue
            points = points.repeat_interleave(len(masks) // len(points), dim=0)
            for some, before in zip(points.split(self._batch), masks.split(self._batch), strict=True):
                again, quality = self._decoder.again(maps, some, before)
                batches.append((again[:, 0], quality[:, 0]))
        return batches

    def _measured(self, crop: Crop, batches: list[tuple[Any, Any]]) -> tuple[Crop, Masks]:
        """Return the masks of a crop that pass the thresholds, with areas and edges at the crop's size."""
        (width, height), settings = crop.size, self._settings
        measures, qualities = [], []
        for masks, quality in batches:
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
TOKENS = 2
"""The number of the decoder's tokens before those of the masks: one for an object's presence, one for quality."""
SINGLE, SEVERAL = slice(0, 1), slice(1, None)
"""The mask token for an unambiguous prompt, and those for the interpretations of an ambiguous one."""


class CellMaps(NamedTuple):
    """The encoder's features of one crop, by cell: n x channels, n x 4 x channels, n x 4 x 4 x channels."""

    coarse: Any
    middle: Any
    fine: Any


class PromptDecoder:
    """A decoder that makes masks from prompts.

    Args:
        model: A ``Sam2Model`` on its device and in its precision.
        compiled: Whether to compile the passes first.
    """

    def __init__(self, model: Any, *, compiled: bool = False) -> None:
        self._decoder, self._prompts = model.mask_decoder, model.prompt_encoder
        self._dtype = self._decoder.upscale_conv1.weight.dtype
        self._places = model.get_image_wide_positional_embeddings().to(self._dtype).flatten(2).transpose(1, 2)
        self._side = int(self._places.shape[1] ** 0.5)
        self._compiled = compiled
        self._activation = _gelu if compiled and self._dtype == torch.bfloat16 else self._decoder.activation
        self.first = torch.compile(self._first, dynamic=False) if compiled else self._first
        self.again = torch.compile(self._again, dynamic=False) if compiled else self._again

    def cells(self, maps: list[Any]) -> CellMaps:
        """Return the feature maps of one crop (largest first, 1 x channels x height x width) by cell."""
        fine, middle, coarse = (level[0].to(self._dtype) for level in maps)
        side = self._side
        return CellMaps(
            coarse.flatten(1).T.contiguous(),
            middle.unflatten(1, (side, 2)).unflatten(3, (side, 2)).permute(1, 3, 2, 4, 0).reshape(side**2, 4, -1),
            fine.unflatten(1, (side, 2, 2))
            .unflatten(4, (side, 2, 2))
            .permute(1, 4, 2, 5, 3, 6, 0)
            .reshape(side**2, 4, 4, -1),
        )

    def rows(self, masks: Any) -> Any:
        """Return masks of shape m x cells x 4 x 4 as m x height x width."""
        side = self._side
        apart = masks.unflatten(3, (2, 2)).unflatten(2, (2, 2)).unflatten(1, (side, side))
        return apart.permute(0, 1, 3, 5, 2, 4, 6).reshape(-1, 4 * side, 4 * side)

    def _first(self, maps: CellMaps, sparse: Any) -> tuple[Any, Any]:
        """Return several masks for each prompt (p x tokens x channels), and their quality."""
        image = maps.coarse + self._prompts.no_mask_embed.weight.to(self._dtype)
        return self._decoded(maps, image[None], sparse, SEVERAL)

    def _again(self, maps: CellMaps, sparse: Any, masks: Any) -> tuple[Any, Any]:
        """Return one mask for each prompt and its previous mask, and its quality."""
        return self._decoded(maps, maps.coarse + self._embedded(masks.clamp(-CLAMP, CLAMP)), sparse, SINGLE)

    def _embedded(self, masks: Any) -> Any:
        """Return masks of shape m x cells x 4 x 4 as inputs, m x cells x channels."""
        embed = self._prompts.mask_embed
        small = F.linear(masks, embed.conv1.weight.flatten(1), embed.conv1.bias)
        small = embed.activation(_normed(embed.layer_norm1, small)).flatten(2)
        weight = embed.conv2.weight.permute(0, 2, 3, 1).flatten(1)
        small = embed.activation(_normed(embed.layer_norm2, F.linear(small, weight, embed.conv2.bias)))
        return F.linear(small, embed.conv3.weight.flatten(1), embed.conv3.bias)

    def _decoded(self, maps: CellMaps, image: Any, sparse: Any, wanted: slice) -> tuple[Any, Any]:
        """Return masks (p x masks x cells x 4 x 4 logits) and quality; `image` is common to all prompts or one each."""
        decoder = self._decoder
        own = torch.cat([decoder.obj_score_token.weight, decoder.iou_token.weight, decoder.mask_tokens.weight])
        tokens, image = self._attended(torch.cat([own.expand(len(sparse), -1, -1), sparse], dim=1), image)
        grown = F.linear(image, decoder.upscale_conv1.weight.permute(2, 3, 1, 0).flatten(0, 2))
        grown = grown.unflatten(2, (4, -1)) + decoder.upscale_conv1.bias + maps.middle
        grown = self._activation(_normed(decoder.upscale_layer_norm, grown))
        grown = F.linear(grown, decoder.upscale_conv2.weight.permute(2, 3, 1, 0).flatten(0, 2))
        grown = self._activation(grown.unflatten(3, (4, -1)) + decoder.upscale_conv2.bias + maps.fine)
        numbers = range(decoder.num_mask_tokens)[wanted]
        weights = [decoder.output_hypernetworks_mlps[n](tokens[:, TOKENS + n]) for n in numbers]
        quality = decoder.iou_prediction_head(tokens[:, 1].float())[:, wanted]
        if self._compiled:
            # The compiler fuses this sum with the steps before, so that the upscaled image is never written.
            masks = [(grown * weight[:, None, None, None]).sum(-1) for weight in weights]
            return torch.stack(masks, dim=1), quality
        masks = torch.stack(weights, dim=1) @ grown.flatten(1, 3).transpose(1, 2)
        return masks.unflatten(2, grown.shape[1:4]), quality

    def _attended(self, points: Any, image: Any) -> tuple[Any, Any]:
        """Return tokens and cells after the transformer."""
        transformer, tokens = self._decoder.transformer, points
        for layer in transformer.layers:
            if layer.skip_first_layer_pe:
                tokens = _among(layer.self_attn, tokens, tokens)
            else:
                tokens = tokens + _among(layer.self_attn, tokens + points, tokens)
            tokens = layer.layer_norm1(tokens)
            placed = image + self._places
            tokens = layer.layer_norm2(
                tokens + _from_image(layer.cross_attn_token_to_image, tokens + points, placed, image)
            )
            tokens = layer.layer_norm3(tokens + layer.mlp(tokens))
            image = layer.layer_norm4(
                image + _to_image(layer.cross_attn_image_to_token, placed, tokens + points, tokens)
            )
        last = transformer.final_attn_token_to_image
        tokens = tokens + _from_image(last, tokens + points, image + self._places, image)
        return transformer.layer_norm_final_attn(tokens), image


def _normed(norm: Any, values: Any) -> Any:
    """Normalise over the last dimension, regardless of the one that the module would use."""
    return F.layer_norm(values, norm.normalized_shape, norm.weight, norm.bias, norm.eps)


def _gelu(values: Any) -> Any:
    """Compute GELU by formula 7.1.26 of Abramowitz and Stegun, with an error of at most 1.5e-7.

    It takes half the time, and the error is four orders of magnitude below the resolution of bfloat16.
    """
    wide = values.float()
    size = wide.abs()
    part = 1 / (1 + 0.3275911 * 0.7071067811865476 * size)
    tail = (
        (((1.061405429 * part - 1.453152027) * part + 1.421413741) * part - 0.284496736) * part + 0.254829592
    ) * part
    return (0.5 * (wide + size * (1 - tail * torch.exp(-0.5 * size * size)))).to(values.dtype)


def _among(attention: Any, asked: Any, values: Any) -> Any:
    return attention(query=asked[:, None], key=asked[:, None], value=values[:, None])[0][:, 0]


def _heads(attention: Any, projection: Any, tokens: Any) -> Any:
    """Return projected tokens as prompts x heads x tokens x channels of a head."""
    return projection(tokens).unflatten(2, (attention.num_attention_heads, -1)).transpose(1, 2)


def _head_weights(attention: Any, weight: Any) -> Any:
    """Return the weights of a projection to heads as heads x channels of a head x channels."""
    return weight.unflatten(0, (attention.num_attention_heads, -1))


def _from_image(attention: Any, tokens: Any, placed: Any, image: Any) -> Any:
    """Return the attention of tokens to the image; the keys' bias is equal for all cells, so it has no effect."""
    asked = _heads(attention, attention.q_proj, tokens) * attention.scaling
    folded = (asked @ _head_weights(attention, attention.k_proj.weight)).flatten(1, 2)
    shares = (folded @ placed.transpose(1, 2)).softmax(-1)
    taken = (shares @ image).unflatten(1, asked.shape[1:3])
    values = taken @ _head_weights(attention, attention.v_proj.weight).transpose(1, 2)
    return attention.o_proj(values.transpose(1, 2).flatten(2) + attention.v_proj.bias)


def _to_image(attention: Any, placed: Any, keys: Any, tokens: Any) -> Any:
    """Return the attention of the image to tokens."""
    asked = _heads(attention, attention.k_proj, keys) * attention.scaling
    folded = (asked @ _head_weights(attention, attention.q_proj.weight)).flatten(1, 2)
    bias = (asked @ attention.q_proj.bias.unflatten(0, (attention.num_attention_heads, -1))[:, :, None]).flatten(1)
    shares = (placed @ folded.transpose(1, 2) + bias[:, None]).unflatten(2, asked.shape[1:3]).softmax(-1)
    out = attention.o_proj.weight.T.unflatten(0, (attention.num_attention_heads, -1))
    given = (_heads(attention, attention.v_proj, tokens) @ out).flatten(1, 2)
    return shares.flatten(2) @ given + attention.o_proj.bias
