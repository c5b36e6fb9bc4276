"""Models with random weights for metrics, made from configurations alone: a few hundred kilobytes each."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

WORDS = [
    "<pad>", "<s>", "</s>", "<unk>", "<image>", "Yes", "No", "a", "cell", "plant", "draw", "with", "the", "labels",
    "figure", "of", "and", "is", "this", "picture",
]  # fmt: skip
VISION = {
    "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 32,
    "patch_size": 8,
}  # fmt: skip
TEXT = {
    "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
    "vocab_size": len(WORDS), "max_position_embeddings": 12, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
}  # fmt: skip
CHAT = "{% for m in messages %}{% for c in m['content'] %}{{ '<image>' if c['type'] == 'image' else c['text'] }} {% endfor %}{% endfor %}"  # noqa: E501


def _transformers() -> Any:
    return import_module("transformers")


def _tokenizer() -> Any:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from tokenizers.processors import TemplateProcessing

    found = Tokenizer(WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="<unk>"))
    found.pre_tokenizer = WhitespaceSplit()
    found.post_processor = TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    return _transformers().PreTrainedTokenizerFast(
        tokenizer_object=found, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>",
        additional_special_tokens=["<image>"],
    )  # fmt: skip


def _pictures() -> Any:
    size = {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}}
    module = import_module("transformers.models.clip.image_processing_pil_clip")
    return module.CLIPImageProcessorPil(**size)


def clip(folder: Path) -> Path:
    import torch

    transformers = _transformers()
    torch.manual_seed(0)
    config = transformers.CLIPConfig(text_config=TEXT, vision_config=VISION, projection_dim=24)
    transformers.CLIPModel(config).save_pretrained(folder)
    transformers.CLIPProcessor(_pictures(), _tokenizer()).save_pretrained(folder)
    return folder


def siglip(folder: Path) -> Path:
    import torch

    transformers = _transformers()
    torch.manual_seed(1)
    config = transformers.SiglipConfig(text_config=TEXT, vision_config=VISION)
    transformers.SiglipModel(config).save_pretrained(folder)
    _pictures().save_pretrained(folder)
    _tokenizer().save_pretrained(folder)
    return folder


def llava(folder: Path) -> Path:
    import torch

    transformers = _transformers()
    torch.manual_seed(2)
    text = {"model_type": "llama", **TEXT, "max_position_embeddings": 256, "num_key_value_heads": 2}
    config = transformers.LlavaConfig(
        vision_config={"model_type": "clip_vision_model", **VISION}, text_config=text, image_token_index=4,
        vision_feature_layer=-1,
    )  # fmt: skip
    transformers.LlavaForConditionalGeneration(config).save_pretrained(folder)
    transformers.LlavaProcessor(
        _pictures(), _tokenizer(), patch_size=8, vision_feature_select_strategy="default", chat_template=CHAT,
        image_token="<image>", num_additional_image_tokens=1,
    ).save_pretrained(folder)  # fmt: skip
    return folder


def head(file: Path, inputs: int, prefix: str = "layers.") -> Path:
    """A chain of three linear layers, numbered as those between which dropout stands."""
    import torch

    torch.manual_seed(3)
    sizes, state = [inputs, 8, 4, 1], {}
    for n in range(3):
        state[f"{prefix}{2 * n}.weight"] = torch.randn(sizes[n + 1], sizes[n])
        state[f"{prefix}{2 * n}.bias"] = torch.randn(sizes[n + 1])
    torch.save(state, file)
    return file


def inception(file: Path) -> Path:
    """A network in TorchScript that is called as released Inception networks are: bytes in, features out."""
    import torch

    class Network(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(4)
            self.conv = torch.nn.Conv2d(3, 6, 3)

        def forward(self, pixels: torch.Tensor, return_features: bool = False) -> torch.Tensor:
            found = torch.relu(self.conv(pixels.float() / 255)).mean(dim=(2, 3))
            return found if return_features else found.sum(dim=1)

    torch.jit.script(Network()).save(str(file))
    return file
