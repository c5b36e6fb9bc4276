"""Metrics computed by local models: text against image, aesthetics, and distances between sets of images."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..calls import Attempt, Calls, Fault, Request, Result
from ..core.errors import UsageError
from ..core.images import BadImage, inspect
from ..workers import Recipe
from .backends import word_and_options
from .imported import METRIC_COLUMNS
from .probe import run_in_worker
from .regions.base import file_hash

IMAGE_S = 600.0
"""Seconds allowed for one image."""
LOAD_S = 1800.0
PACKAGES = ("torch", "transformers")
WORKER = "limner.evidence.metrics_worker"


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
