"""Worker side of metrics: loads a model from a local folder or file, then measures one image after another."""

from __future__ import annotations

import base64
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..core.images import decode

QUESTION = 'Is this a picture of the following: "{text}"? Answer with Yes or No.'
ANSWER = "Yes"
LAYER = re.compile(r"(?:.*\.)?(\d+)\.(weight|bias)")


def _load(kind: str, weights: str, device: str) -> Any:
    import torch
    import transformers

    torch.manual_seed(0)
    loaded = getattr(transformers, kind).from_pretrained(weights, local_files_only=True)
    return loaded.to(device).eval() if hasattr(loaded, "eval") else loaded


def _pixels(processor: Any, data: bytes, device: str) -> Any:
    return processor(images=decode(data), return_tensors="pt")["pixel_values"].to(device)


def text_image(weights: str, device: str = "cpu", scaled: bool = False) -> Any:
    """Return a function for the CLIP score (100 times the cosine, at least 0), or, if `scaled`, PickScore's logit."""
    import torch

    model = _load("AutoModel", weights, device)
    pictures, words = _load("AutoImageProcessor", weights, device), _load("AutoTokenizer", weights, device)
    longest = int(model.config.text_config.max_position_embeddings)

    @torch.no_grad()
    def measure(data: bytes, text: str) -> dict[str, Any]:
        tokens = len(words(text)["input_ids"])
        read = words(text, truncation=True, max_length=longest, return_tensors="pt").to(device)
        out = model(pixel_values=_pixels(pictures, data, device), **read)
        if scaled:
            value = float(out.logits_per_image[0, 0])
        else:
            image, prompt = (side / side.norm(dim=-1, keepdim=True) for side in (out.image_embeds, out.text_embeds))
            value = max(100 * float((image * prompt).sum()), 0.0)
        return {"value": value, "tokens": tokens, "read": min(tokens, longest)}

    return measure


def answer_chance(weights: str, device: str = "cpu", question: str = QUESTION, answer: str = ANSWER) -> Any:
    """Return a function for the VQA score: the probability that the answer to the question begins with `answer`."""
    import torch

    model = _load("AutoModelForImageTextToText", weights, device)
    processor = _load("AutoProcessor", weights, device)
    words = processor.tokenizer
    wanted = words(answer, add_special_tokens=False)["input_ids"][0]

    @torch.no_grad()
    def measure(data: bytes, text: str) -> dict[str, Any]:
        asked = question.replace("{text}", text)
        if getattr(processor, "chat_template", None):
            content = [{"type": "image"}, {"type": "text", "text": asked}]
            asked = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
        given = processor(images=decode(data), text=asked, return_tensors="pt").to(device)
        if getattr(model.config, "is_encoder_decoder", False):
            given["decoder_input_ids"] = torch.full((1, 1), int(model.config.decoder_start_token_id), device=device)
        logits = model(**given).logits[0, -1].float()
        return {"value": float(torch.softmax(logits, dim=-1)[wanted])}

    return measure


def looks(weights: str, head: str, device: str = "cpu") -> Any:
    """Return an aesthetic predictor: a chain of linear layers over a vision model's normalised features."""
    import torch

    features, layers = _features(weights, device), _layers(Path(head))
    layers = [(weight.to(device), bias.to(device)) for weight, bias in layers]

    @torch.no_grad()
    def measure(data: bytes) -> dict[str, Any]:
        values = features(data)
        values = values / values.norm(dim=-1, keepdim=True)
        for weight, bias in layers:
            if weight.shape[1] != values.shape[-1]:
                raise RuntimeError(f"the head takes {weight.shape[1]} features; the model gives {values.shape[-1]}")
            values = values @ weight.T + bias
        return {"value": float(values[0, 0])}

    return measure


def _features(weights: str, device: str) -> Any:
    """Return a function that computes an image's features, projected if the model has a projection shared with text."""
    import torch

    model, pictures = _load("AutoModel", weights, device), _load("AutoImageProcessor", weights, device)
    vision, project = getattr(model, "vision_model", model), getattr(model, "visual_projection", None)

    @torch.no_grad()
    def features(data: bytes) -> Any:
        pooled = vision(pixel_values=_pixels(pictures, data, device)).pooler_output
        return (pooled if project is None else project(pooled)).float()

    return features


def _layers(file: Path) -> list[tuple[Any, Any]]:
    """Return the linear layers of a file, first to last.

    Raises:
        RuntimeError: It also has other layers, or the layers do not fit together.
    """
    import torch

    if file.suffix == ".safetensors":
        from safetensors.torch import load_file

        state = load_file(file)
    else:
        state = torch.load(file, map_location="cpu", weights_only=True)
    named = {name: LAYER.fullmatch(name) for name in state}
    if other := sorted(name for name, match in named.items() if match is None):
        raise RuntimeError(f"{file}: {other[0]} is not a linear layer; a head is a chain of linear layers")
    layers: dict[int, dict[str, Any]] = {}
    for name, match in named.items():
        assert match is not None
        layers.setdefault(int(match[1]), {})[match[2]] = state[name].float()
    chain = []
    for number, layer in sorted(layers.items()):
        if layer.keys() != {"weight", "bias"} or layer["weight"].ndim != 2:
            raise RuntimeError(f"{file}: layer {number} is not linear; a head is a chain of linear layers")
        chain.append((layer["weight"], layer["bias"]))
    for (weights, _), (next_weights, _) in pairwise(chain):
        if next_weights.shape[1] != weights.shape[0]:
            size, next_size = weights.shape[0], next_weights.shape[1]
            raise RuntimeError(f"{file}: a layer gives {size} numbers and the next takes {next_size}")
    if not chain or chain[-1][0].shape[0] != 1:
        raise RuntimeError(f"{file}: the last layer must give one number")
    return chain


def features(weights: str, device: str = "cpu") -> Any:
    """Return a function for features of a Fréchet distance, by Inception in TorchScript or a folder's vision model."""
    import numpy as np
    import torch

    if Path(weights).is_dir():
        row = _features(weights, device)
    else:
        network = torch.jit.load(weights, map_location=device).eval()

        @torch.no_grad()
        def row(data: bytes) -> Any:
            pixels = torch.from_numpy(np.array(decode(data).convert("RGB"))).permute(2, 0, 1)[None].to(device)
            return network(pixels, return_features=True)

    def measure(data: bytes) -> dict[str, Any]:
        values = row(data)[0].float().cpu().numpy().astype("<f4")
        return {"value": base64.b64encode(values.tobytes()).decode(), "dims": int(values.size)}

    return measure
