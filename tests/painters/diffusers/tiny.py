"""Pipelines of four families with random weights, made from configurations alone: a few hundred kilobytes each."""

from __future__ import annotations

import string
from importlib import import_module
from pathlib import Path
from typing import Any


def save(family: str, folder: Path) -> Path:
    """Make a pipeline and save it."""
    pipe: Any = {"flux": flux, "sd3": sd3, "sdxl": sdxl, "qwen": qwen}[family]()
    pipe.save_pretrained(folder)
    return folder


def flux() -> Any:
    diffusers: Any = import_module("diffusers")

    transformer = _made(
        diffusers.FluxTransformer2DModel, patch_size=1, in_channels=16, num_layers=1, num_single_layers=1,
        attention_head_dim=16, num_attention_heads=2, joint_attention_dim=32, pooled_projection_dim=32,
        axes_dims_rope=(4, 4, 8), guidance_embeds=True,
    )  # fmt: skip
    return diffusers.FluxPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(), transformer=transformer, vae=_flow_autoencoder(),
        text_encoder=_clip(), tokenizer=_clip_words(), text_encoder_2=_t5(), tokenizer_2=_t5_words(),
    )  # fmt: skip


def sd3() -> Any:
    diffusers: Any = import_module("diffusers")

    transformer = _made(
        diffusers.SD3Transformer2DModel, sample_size=32, patch_size=1, in_channels=4, out_channels=4, num_layers=1,
        attention_head_dim=8, num_attention_heads=4, joint_attention_dim=32, caption_projection_dim=32,
        pooled_projection_dim=64,
    )  # fmt: skip
    return diffusers.StableDiffusion3Pipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(), transformer=transformer, vae=_flow_autoencoder(),
        text_encoder=_clip(projecting=True), tokenizer=_clip_words(), text_encoder_2=_clip(projecting=True),
        tokenizer_2=_clip_words(), text_encoder_3=_t5(), tokenizer_3=_t5_words(),
    )  # fmt: skip


def sdxl() -> Any:
    diffusers: Any = import_module("diffusers")

    unet = _made(
        diffusers.UNet2DConditionModel, sample_size=32, in_channels=4, out_channels=4, block_out_channels=(8, 16),
        layers_per_block=1, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), attention_head_dim=(2, 4), use_linear_projection=True,
        addition_embed_type="text_time", addition_time_embed_dim=8, transformer_layers_per_block=(1, 1),
        projection_class_embeddings_input_dim=80, cross_attention_dim=64, norm_num_groups=4,
    )  # fmt: skip
    return diffusers.StableDiffusionXLPipeline(
        scheduler=diffusers.EulerDiscreteScheduler(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear"),
        unet=unet, vae=_autoencoder(), text_encoder=_clip(), tokenizer=_clip_words(),
        text_encoder_2=_clip(projecting=True), tokenizer_2=_clip_words(), add_watermarker=False,
    )  # fmt: skip


def qwen() -> Any:
    diffusers: Any = import_module("diffusers")
    transformers: Any = import_module("transformers")
    transformer = _made(
        diffusers.QwenImageTransformer2DModel, patch_size=2, in_channels=16, out_channels=4, num_layers=2,
        attention_head_dim=16, num_attention_heads=3, joint_attention_dim=16, guidance_embeds=False,
        axes_dims_rope=(8, 4, 4),
    )  # fmt: skip
    autoencoder = _made(
        diffusers.AutoencoderKLQwenImage, base_dim=24, z_dim=4, dim_mult=[1, 2, 4], num_res_blocks=1,
        temperal_downsample=[False, True], latents_mean=[0.0] * 4, latents_std=[1.0] * 4,
    )  # fmt: skip
    config = transformers.Qwen2_5_VLConfig(
        text_config={
            "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
            "num_key_value_heads": 2, "vocab_size": 300, "max_position_embeddings": 2048, "rope_theta": 1e6,
            "rope_scaling": {"mrope_section": [1, 1, 2], "rope_type": "default", "type": "default"},
        },
        vision_config={"depth": 2, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2, "out_hidden_size": 16},
        hidden_size=16, vocab_size=300, vision_start_token_id=290, vision_end_token_id=291, vision_token_id=292,
        image_token_id=293, video_token_id=294,
    )  # fmt: skip
    return diffusers.QwenImagePipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(), transformer=transformer, vae=autoencoder,
        text_encoder=_made(transformers.Qwen2_5_VLForConditionalGeneration, config), tokenizer=_qwen_words(),
    )  # fmt: skip


def _made(kind: Any, *words: Any, **settings: Any) -> Any:
    import torch

    torch.manual_seed(0)
    return kind(*words, **settings)


def _autoencoder(**settings: Any) -> Any:
    diffusers: Any = import_module("diffusers")

    return _made(
        diffusers.AutoencoderKL, in_channels=3, out_channels=3, latent_channels=4, sample_size=32, norm_num_groups=4,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
        block_out_channels=(8, 8), layers_per_block=1, **settings,
    )  # fmt: skip


def _flow_autoencoder() -> Any:
    return _autoencoder(use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.06, scaling_factor=1.5)


def _clip(*, projecting: bool = False) -> Any:
    transformers: Any = import_module("transformers")

    config = transformers.CLIPTextConfig(
        bos_token_id=0, eos_token_id=1, pad_token_id=1, hidden_size=32, intermediate_size=37, num_attention_heads=4,
        num_hidden_layers=2, vocab_size=514, projection_dim=32, hidden_act="gelu",
    )  # fmt: skip
    return _made(transformers.CLIPTextModelWithProjection if projecting else transformers.CLIPTextModel, config)


def _t5() -> Any:
    transformers: Any = import_module("transformers")

    config = transformers.T5Config(
        vocab_size=100, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4, feed_forward_proj="gated-gelu",
        decoder_start_token_id=0,
    )  # fmt: skip
    return _made(transformers.T5EncoderModel, config)


def _clip_words() -> Any:
    """A tokenizer that takes text letter by letter."""
    from tokenizers.pre_tokenizers import ByteLevel

    transformers: Any = import_module("transformers")

    letters = sorted(ByteLevel.alphabet())
    words = ["<|startoftext|>", "<|endoftext|>", *letters, *(f"{letter}</w>" for letter in letters)]
    return transformers.CLIPTokenizer(vocab={word: n for n, word in enumerate(words)}, merges=[], model_max_length=77)


def _t5_words() -> Any:
    transformers: Any = import_module("transformers")

    letters = string.ascii_letters + string.digits + ".,-:;!?()'\"/+*"
    vocabulary = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0), *((letter, -3.0) for letter in letters)]
    return transformers.T5Tokenizer(vocab=vocabulary, extra_ids=0, model_max_length=64)


def _qwen_words() -> Any:
    from tokenizers.pre_tokenizers import ByteLevel

    transformers: Any = import_module("transformers")
    words = [*sorted(ByteLevel.alphabet()), "<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    return transformers.Qwen2Tokenizer(vocab={word: n for n, word in enumerate(words)}, merges=[])
