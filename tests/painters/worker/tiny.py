"""Janus and Emu3 with random weights, made from configurations alone: a few hundred kilobytes each."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

SHADES = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
CHAT = "{% for m in messages %}User: {{ m['content'][0]['text'] }}\n\nAssistant:{% endfor %}"


def janus(folder: Path) -> Path:
    import torch

    transformers: Any = import_module("transformers")
    special = ["<pad>", "<bos>", "<eos>", "<image_placeholder>", "<begin_of_image>", "<end_of_image>"]
    named = {"image_token": special[3], "boi_token": special[4], "eoi_token": special[5]}
    words, size = _words(special, named, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>")
    text = {"model_type": "llama", **_text(size)}
    vision = {
        "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 32, "patch_size": 8,
        "num_image_tokens": 16, "projection_dim": 32, "depth": 1,
    }  # fmt: skip
    decoder = {
        "embed_dim": 4, "num_embeddings": 64, "latent_channels": 8, "base_channels": 32, "channel_multiplier": [1, 1],
        "num_res_blocks": 1, "projection_dim": 32, "image_token_embed_dim": 32, "num_hidden_layers": 1,
    }  # fmt: skip
    config = transformers.JanusConfig(text_config=text, vision_config=vision, vq_config=decoder, image_token_id=3)
    torch.manual_seed(0)
    model = transformers.JanusForConditionalGeneration(config)
    model.generation_config.pad_token_id, model.generation_config.bos_token_id = 0, 1
    model.save_pretrained(folder)
    pictures = import_module("transformers.models.janus.image_processing_pil_janus").JanusImageProcessorPil(**SHADES)
    transformers.JanusProcessor(pictures, words, chat_template=CHAT).save_pretrained(folder)
    return folder


def emu3(folder: Path) -> Path:
    import torch

    transformers: Any = import_module("transformers")
    special = [
        "<|endoftext|>", "<|extra_203|>", "<|extra_204|>", "<image>", "<|image start|>", "<|image end|>",
        "<|image token|>", "<|extra_201|>", "<|extra_200|>",
    ]  # fmt: skip
    visual = [f"<|visual token {number:06d}|>" for number in range(64)]
    names = ("image_token", "boi_token", "eoi_token", "image_wrapper_token", "eof_token")
    words, size = _words(
        [*special, *visual], dict(zip(names, special[3:8], strict=True)), bos_token=special[1], eos_token=special[2],
        pad_token=special[0],
    )  # fmt: skip
    decoder = {
        "codebook_size": 64, "embed_dim": 4, "latent_channels": 4, "base_channels": 32, "num_res_blocks": 1,
        "channel_multiplier": [1, 1, 1, 1], "hidden_size": 32, "attn_resolutions": [],
    }  # fmt: skip
    config = transformers.Emu3Config(text_config=_text(size), vq_config=decoder, vocabulary_map=words.get_vocab())
    torch.manual_seed(0)
    transformers.Emu3ForConditionalGeneration(config).save_pretrained(folder)
    transformers.Emu3Processor(transformers.Emu3ImageProcessor(**SHADES), words).save_pretrained(folder)
    return folder


def _text(words: int) -> dict[str, Any]:
    return {
        "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "num_key_value_heads": 2, "vocab_size": words, "max_position_embeddings": 512, "pad_token_id": 0,
        "bos_token_id": 1, "eos_token_id": 2,
    }  # fmt: skip


def _words(special: Sequence[str], named: dict[str, str], **more: str) -> tuple[Any, int]:
    """A tokenizer that takes text letter by letter, and how many tokens it has."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    transformers: Any = import_module("transformers")
    tokens = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    inner = Tokenizer(models.BPE(vocab={word: number for number, word in enumerate(tokens)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, extra_special_tokens=named, **more)
    return made, len(tokens)
