"""Metrics computed by local models: text against image, aesthetics, and distances between sets of images."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..calls import Attempt, Calls, Fault, Request, Result
from ..core.errors import UsageError
from ..core.images import BadImage, decode, inspect
from ..workers import Recipe
from .backends import word_and_options
from .imported import METRIC_COLUMNS
from .probe import run_in_worker
from .regions.base import file_hash

IMAGE_S = 600.0
"""Seconds allowed for one image."""
LOAD_S = 1800.0
PACKAGES = ("torch", "transformers")
WORKER = "limner.evidence.metrics"


@dataclass(frozen=True)
class LocalMetricKind:
    """A metric that a local model computes.

    Attributes:
        name: The name of its numbers.
        usage: Its form on the command line.
        factory: The function that loads it in a worker.
        fixed: Fixed arguments of the factory.
        options: Further arguments that a user may give.
        texts: Whether it compares the drawing with the question's prompt.
        folder: Whether its weights are a folder rather than a file.
        sets: Whether it measures all of a painter's drawings together.
    """

    name: str
    usage: str
    about: str
    factory: str
    fixed: Mapping[str, Any]
    options: frozenset[str] = frozenset({"device"})
    texts: bool = False
    folder: bool = True
    sets: bool = False


METRICS = {
    kind.name: kind
    for kind in (
        LocalMetricKind(
            "clip-score", "clip-score:FOLDER", "CLIP's similarity of prompt and drawing", "text_image",
            {"scaled": False}, texts=True,
        ),
        LocalMetricKind(
            "pickscore", "pickscore:FOLDER", "PickScore's preference for a drawing of a prompt", "text_image",
            {"scaled": True}, texts=True,
        ),
        LocalMetricKind(
            "vqa-score", "vqa-score:FOLDER", "the chance that a vision-language model finds the prompt in the drawing",
            "answer_chance", {}, frozenset({"device", "question", "answer"}), texts=True,
        ),
        LocalMetricKind(
            "aesthetic-clip", "aesthetic-clip:FOLDER?head=FILE", "aesthetics, by a head over CLIP", "looks", {},
            frozenset({"device", "head"}),
        ),
        LocalMetricKind(
            "aesthetic-siglip", "aesthetic-siglip:FOLDER?head=FILE", "aesthetics, by a head over SigLIP", "looks", {},
            frozenset({"device", "head"}),
        ),
        LocalMetricKind(
            "fid", "fid:FILE.pt", "Fréchet distance to the reference images in Inception's features", "features", {},
            frozenset({"device", "reference"}), folder=False, sets=True,
        ),
        LocalMetricKind(
            "frechet", "frechet:FOLDER", "the same in the features of any vision model", "features", {},
            frozenset({"device", "reference"}), sets=True,
        ),
    )
}  # fmt: skip


class LocalMetric:
    """A metric with its weights; it measures in a worker, through the journal if the value is a single number."""

    def __init__(self, kind: LocalMetricKind, weights: Path, options: Mapping[str, Any]) -> None:
        self.kind, self.weights, self.options = kind, weights, dict(options)
        args = {name: value for name, value in self.options.items() if name != "reference"}
        given = json.dumps({**kind.fixed, **args, "weights": str(weights.resolve())}, sort_keys=True)
        self._recipe = Recipe(
            kind.name, f"{WORKER}:{kind.factory}", given, workers=1, start_s=LOAD_S, single=False,
            gpu=options.get("device", "cpu") != "cpu",
        )  # fmt: skip

    def check(self) -> None:
        """Raise an error early if weights or packages are missing."""
        needed = {"weights": self.weights}
        if "head" in self.options:
            needed["head"] = Path(str(self.options["head"]))
        for what, path in needed.items():
            folder = what == "weights" and self.kind.folder
            if not (path.is_dir() if folder else path.is_file()):
                raise UsageError(f"--metric {self.kind.usage}: {path}: no such {'folder' if folder else 'file'}")
        if self.kind.factory == "looks" and "head" not in self.options:
            raise UsageError(f"--metric {self.kind.name}: it needs a head: {self.kind.usage}")
        if lacking := [name for name in PACKAGES if find_spec(name) is None]:
            raise UsageError(f"--metric {self.kind.usage}: {lacking[0]} is missing; pip install 'limner[metrics]'")

    def unpriced(self) -> str | None:
        """Return None, as it costs nothing."""
        return None

    @property
    def setup(self) -> dict[str, Any]:
        """Everything that affects its values, in the form that is stored; the device does not affect them."""
        args = {name: value for name, value in self.options.items() if name not in ("device", "head")}
        body = {"judge": f"metric/{self.kind.name}", "weights": weights_id(self.weights)}
        if "head" in self.options:
            body["head"] = weights_id(Path(str(self.options["head"])))
        return {**body, **({"options": args} if args else {})}

    async def compute(self, image: bytes, text: str | None = None) -> Any:
        """Return a worker's result for one image.

        Raises:
            limner.calls.Fault: ``image`` when it cannot be decoded, ``probe`` when the model fails on it.
        """
        try:
            inspect(image)
        except BadImage as error:
            raise Fault("image", str(error)) from error
        return await run_in_worker(self._recipe, image, {"text": text} if self.kind.texts else {}, IMAGE_S)

    async def measure(self, image: bytes, text: str, calls: Calls) -> dict[str, Any]:
        """Return the value of one drawing, computed now or taken from the journal."""
        body: dict[str, Any] = {"image": hashlib.sha256(image).hexdigest(), "setup": self.setup}
        if self.kind.texts:
            body["text"] = text

        async def perform(_attempt: Attempt) -> Result:
            return Result({"value": await self.compute(image, text)})

        outcome = await calls.do(Request("metric", f"metric/{self.kind.name}", body), perform)
        return dict(outcome.payload["value"])


def weights_id(path: Path) -> str:
    """Return a hash of weights, either a file or the files of a folder, that does not depend on their location."""
    if path.is_file():
        return file_hash(path)[:16]
    files = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
    lines = [f"{file.relative_to(path)} {file_hash(file)}" for file in files if file.suffix != ".md"]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def open_metric(word: str) -> LocalMetric:
    """Return the metric behind ``NAME:WEIGHTS?option=value``.

    Raises:
        UsageError: There is no such metric, or it has no such option.
    """
    head, options = word_and_options(word)
    name, _, weights = head.partition(":")
    if name not in METRICS or not weights:
        usages = ", ".join(kind.usage for kind in METRICS.values())
        raise UsageError(f"--metric {word}: choose from {usages}; or FILE.csv, a table of {','.join(METRIC_COLUMNS)}")
    kind = METRICS[name]
    if unknown := sorted(options.keys() - kind.options):
        raise UsageError(f"--metric {word}: no option {unknown[0]}; choose from: {', '.join(sorted(kind.options))}")
    return LocalMetric(kind, Path(weights).expanduser(), options)


Features = NDArray[np.float64]


class Moments:
    """Running mean and covariance of features; only sums are kept."""

    def __init__(self) -> None:
        self.n = 0
        self._sum: Features | None = None
        self._products: Features | None = None

    def add(self, features: Features) -> None:
        """Add one image's features.

        Raises:
            ValueError: Their number differs from that of earlier images.
        """
        row = np.asarray(features, dtype=np.float64)
        if self._sum is None or self._products is None:
            self._sum, self._products = np.zeros(len(row)), np.zeros((len(row), len(row)))
        if len(row) != len(self._sum):
            raise ValueError(f"{len(row)} features instead of {len(self._sum)}")
        self.n += 1
        self._sum += row
        self._products += np.outer(row, row)

    @property
    def dims(self) -> int:
        """The number of features of an image."""
        return 0 if self._sum is None else len(self._sum)

    @property
    def mean(self) -> Features:
        """The mean of the features."""
        assert self._sum is not None
        return self._sum / self.n

    @property
    def covariance(self) -> Features:
        """The covariance of the features, with divisor n - 1."""
        assert self._products is not None
        covariance: Features = (self._products - self.n * np.outer(self.mean, self.mean)) / (self.n - 1)
        return covariance


def frechet_distance(first: Moments, second: Moments) -> float:
    """Return ``|m1 - m2|² + tr(S1 + S2 - 2 (S1 S2)^½)``; both sets need at least two images.

    >>> first, second = Moments(), Moments()
    >>> for x in (0.0, 2.0):
    ...     first.add(np.array([x])); second.add(np.array([x + 3]))
    >>> round(frechet_distance(first, second), 9)
    9.0
    """
    values, vectors = np.linalg.eigh(first.covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    # A symmetric product, so that its eigenvalues are real even if a covariance is singular.
    between = np.linalg.eigvalsh(root @ second.covariance @ root)
    gap = first.mean - second.mean
    spread = np.trace(first.covariance) + np.trace(second.covariance) - 2 * np.sqrt(np.maximum(between, 0)).sum()
    # Only rounding can make it negative.
    return max(0.0, float(gap @ gap + spread))


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
