"""SAM 2.1 with random weights, large as in the paper or tiny; tuned so that about half of its masks pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from transformers import Sam2Config, Sam2Model

from benchmarks.material import diagram

SPREAD = 40.0
"""How far a mask's logits spread: far enough for about half of the masks to be stable."""
COVER = 1.0
"""By how many spreads the logits lie below the threshold: the more, the smaller are the masks."""

LARGE: dict[str, Any] = {
    "vision_config": {
        "backbone_config": {
            "model_type": "sam2_hiera_det_model",
            "hidden_size": 144,
            "num_attention_heads": 2,
            "blocks_per_stage": [2, 6, 36, 4],
            "embed_dim_per_stage": [144, 288, 576, 1152],
            "num_attention_heads_per_stage": [2, 4, 8, 16],
            "window_size_per_stage": [8, 4, 16, 8],
            "global_attention_blocks": [23, 33, 43],
        },
        "backbone_channel_list": [1152, 576, 288, 144],
    }
}
TINY: dict[str, Any] = {
    "vision_config": {
        "backbone_config": {
            "model_type": "sam2_hiera_det_model",
            "image_size": [128, 128],
            "hidden_size": 8,
            "blocks_per_stage": [1, 1, 2, 1],
            "embed_dim_per_stage": [8, 16, 32, 64],
            "num_attention_heads_per_stage": [1, 1, 2, 2],
            "window_size_per_stage": [4, 4, 4, 4],
            "global_attention_blocks": [3],
        },
        "backbone_channel_list": [64, 32, 16, 8],
        "backbone_feature_sizes": [[32, 32], [16, 16], [8, 8]],
        "fpn_hidden_size": 32,
    },
    "prompt_encoder_config": {"hidden_size": 32, "image_size": 128},
    "mask_decoder_config": {"hidden_size": 32, "mlp_dim": 32, "num_attention_heads": 4, "iou_head_hidden_dim": 32},
}


def make(tiny: bool, seed: int = 0) -> Any:
    """A model whose weights are random, but whose masks look like masks: patches, of all qualities."""
    torch.manual_seed(seed)
    model: Any = Sam2Model(Sam2Config(**(TINY if tiny else LARGE)))
    model.eval()
    side = model.prompt_encoder.input_image_size
    pixels = np.asarray(diagram("tuning").resize((side, side)), dtype=np.float32) / 128 - 1
    _tune(model, torch.from_numpy(pixels).permute(2, 0, 1)[None])
    return model


@torch.no_grad()
def _tune(model: Any, picture: Any) -> None:
    """Scale random weights until points matter, masks are patches, and qualities lie around the threshold."""
    decoder = model.mask_decoder
    for layer in [*decoder.transformer.layers, decoder.transformer]:
        for name, part in layer.named_children():
            if "attn" in name and "norm" not in name:
                for line in (part.q_proj, part.k_proj, part.v_proj, part.o_proj):
                    torch.nn.init.normal_(line.weight, std=2 / line.in_features**0.5)
    for convolution in (decoder.upscale_conv1, decoder.upscale_conv2):
        # The four pixels that come out of one are alike, so that masks are patches and no noise.
        weight = torch.randn_like(convolution.weight[..., :1, :1]) / convolution.weight.shape[0] ** 0.5
        convolution.weight.copy_(weight.expand_as(convolution.weight))
    for head in (*decoder.output_hypernetworks_mlps, decoder.iou_prediction_head):
        for line in (head.proj_in, *head.layers, head.proj_out):
            torch.nn.init.normal_(line.weight, std=2 / line.in_features**0.5)
    side = model.prompt_encoder.input_image_size
    points = torch.rand(1, 32, 1, 2) * side
    coarse = model.get_image_embeddings(picture)[-1]
    for convolution in model.vision_encoder.neck.convs:
        convolution.weight.div_(coarse.std((2, 3)).mean())
        convolution.bias.zero_()
    model.no_memory_embedding.sub_(model.get_image_embeddings(picture)[-1].mean((0, 2, 3)))
    seen: list[Any] = []
    watch = decoder.activation.register_forward_hook(lambda *called: seen.append(called[-1]))
    model(pixel_values=picture, input_points=points, multimask_output=True)
    usual = seen[-1].mean((0, 2, 3))
    for mlp in decoder.output_hypernetworks_mlps:
        # What all pixels have in common says nothing about any of them; it only keeps masks from covering everything.
        mlp.proj_out.weight.sub_(torch.outer(usual, usual @ mlp.proj_out.weight) / usual.dot(usual))
        mlp.proj_out.bias.zero_()
    out = model(pixel_values=picture, input_points=points, multimask_output=True)
    for mlp in decoder.output_hypernetworks_mlps:
        mlp.proj_out.weight.mul_(SPREAD / out.pred_masks.std())
        mlp.proj_out.bias.copy_(-COVER * SPREAD * usual / usual.dot(usual))
    logits = torch.logit(out.iou_scores, eps=1e-6)
    last = decoder.iou_prediction_head.proj_out
    last.weight.mul_(0.5 / logits.std())
    last.bias.fill_(float(torch.logit(torch.tensor(0.7)) - logits.mean() * 0.5 / logits.std()))
    watch.remove()
