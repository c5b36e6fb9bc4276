"""SAM 2's mask decoder, arranged so that each prompt touches the image as seldom as can be.

There are thousands of prompts for one image, with eight tokens each against 4,096 cells of the image. The model's own
modules project every cell to queries, keys and values for every prompt. Here the projections of cells are folded into
the tokens instead, which gives the same sums in another order. Upscaling by two and two keeps the sixteen pixels of
a cell together, as that is how they come out of it and how they go in again; only masks that are looked at are put into
rows and columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812

CLAMP = 32.0
"""Masks that go in again are held to this, either way."""
TOKENS = 2
"""Tokens of the decoder before those of the masks: one for whether there is an object, one for the quality."""
SINGLE, SEVERAL = slice(0, 1), slice(1, None)
"""Of the mask tokens, the one for a mask out of a clear prompt, and those for the readings of an unclear one."""


class CellMaps(NamedTuple):
    """What the encoder says of one crop, cell by cell: n x channels, n x 4 x channels, n x 4 x 4 x channels."""

    coarse: Any
    middle: Any
    fine: Any


class PromptDecoder:
    """Makes masks out of prompts.

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
        """Feature maps of one crop (the largest first, 1 x channels x height x width), cell by cell."""
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
        """Masks m x cells x 4 x 4 as m x height x width."""
        side = self._side
        apart = masks.unflatten(3, (2, 2)).unflatten(2, (2, 2)).unflatten(1, (side, side))
        return apart.permute(0, 1, 3, 5, 2, 4, 6).reshape(-1, 4 * side, 4 * side)

    def _first(self, maps: CellMaps, sparse: Any) -> tuple[Any, Any]:
        """Several masks for each of the prompts (p x tokens x channels), and their quality."""
        image = maps.coarse + self._prompts.no_mask_embed.weight.to(self._dtype)
        return self._decoded(maps, image[None], sparse, SEVERAL)

    def _again(self, maps: CellMaps, sparse: Any, masks: Any) -> tuple[Any, Any]:
        """One mask for each of the prompts and the mask that it gave before, and its quality."""
        return self._decoded(maps, maps.coarse + self._embedded(masks.clamp(-CLAMP, CLAMP)), sparse, SINGLE)

    def _embedded(self, masks: Any) -> Any:
        """Masks m x cells x 4 x 4 as inputs, m x cells x channels."""
        embed = self._prompts.mask_embed
        small = F.linear(masks, embed.conv1.weight.flatten(1), embed.conv1.bias)
        small = embed.activation(_normed(embed.layer_norm1, small)).flatten(2)
        weight = embed.conv2.weight.permute(0, 2, 3, 1).flatten(1)
        small = embed.activation(_normed(embed.layer_norm2, F.linear(small, weight, embed.conv2.bias)))
        return F.linear(small, embed.conv3.weight.flatten(1), embed.conv3.bias)

    def _decoded(self, maps: CellMaps, image: Any, sparse: Any, wanted: slice) -> tuple[Any, Any]:
        """Masks p x masks x cells x 4 x 4 as logits, and their quality; `image` is one for all or one for each."""
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
            # A sum that the compiler joins to what is before it: the upscaled image is then never written.
            masks = [(grown * weight[:, None, None, None]).sum(-1) for weight in weights]
            return torch.stack(masks, dim=1), quality
        masks = torch.stack(weights, dim=1) @ grown.flatten(1, 3).transpose(1, 2)
        return masks.unflatten(2, grown.shape[1:4]), quality

    def _attended(self, points: Any, image: Any) -> tuple[Any, Any]:
        """Tokens and cells after the transformer."""
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
    """A norm over the last dimension, whichever one the module would take."""
    return F.layer_norm(values, norm.normalized_shape, norm.weight, norm.bias, norm.eps)


def _gelu(values: Any) -> Any:
    """GELU through formula 7.1.26 of Abramowitz and Stegun, off by at most 1.5e-7 of a value: half the work, and four
    orders of magnitude below what bfloat16 can tell apart."""
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
    """Projected tokens as prompts x heads x tokens x channels of a head."""
    return projection(tokens).unflatten(2, (attention.num_attention_heads, -1)).transpose(1, 2)


def _head_weights(attention: Any, weight: Any) -> Any:
    """The weights of a projection to heads as heads x channels of a head x channels."""
    return weight.unflatten(0, (attention.num_attention_heads, -1))


def _from_image(attention: Any, tokens: Any, placed: Any, image: Any) -> Any:
    """What tokens take from the image; the bias of keys is the same for all cells, so it changes no share."""
    asked = _heads(attention, attention.q_proj, tokens) * attention.scaling
    folded = (asked @ _head_weights(attention, attention.k_proj.weight)).flatten(1, 2)
    shares = (folded @ placed.transpose(1, 2)).softmax(-1)
    taken = (shares @ image).unflatten(1, asked.shape[1:3])
    values = taken @ _head_weights(attention, attention.v_proj.weight).transpose(1, 2)
    return attention.o_proj(values.transpose(1, 2).flatten(2) + attention.v_proj.bias)


def _to_image(attention: Any, placed: Any, keys: Any, tokens: Any) -> Any:
    """What the image takes from tokens."""
    asked = _heads(attention, attention.k_proj, keys) * attention.scaling
    folded = (asked @ _head_weights(attention, attention.q_proj.weight)).flatten(1, 2)
    bias = (asked @ attention.q_proj.bias.unflatten(0, (attention.num_attention_heads, -1))[:, :, None]).flatten(1)
    shares = (placed @ folded.transpose(1, 2) + bias[:, None]).unflatten(2, asked.shape[1:3]).softmax(-1)
    out = attention.o_proj.weight.T.unflatten(0, (attention.num_attention_heads, -1))
    given = (_heads(attention, attention.v_proj, tokens) @ out).flatten(1, 2)
    return shares.flatten(2) @ given + attention.o_proj.bias
