"""Metrics that models compute on this machine: text and image, looks, and how far sets of images are apart."""

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
from .regions.base import sha256

SECONDS = 600.0
"""How long one image may take."""
LOAD_S = 1800.0
PACKAGES = ("torch", "transformers")
WORKER = "limner.evidence.metrics_worker"


@dataclass(frozen=True)
class LocalMetricKind:
    """A metric that a model computes here.

    Attributes:
        name: What its numbers are called.
        usage: How it is written.
        factory: What makes it in a worker.
        fixed: Arguments of the factory that make it this one.
        options: Further ones that a user may give.
        texts: Whether it compares the drawing with the question's prompt.
        folder: Whether its weights are a folder rather than a file.
        sets: Whether it is of a painter's drawings together.
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
            "clip-score", "clip-score:FOLDER", "CLIP's likeness of prompt and drawing", "text_image",
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
            "aesthetic-clip", "aesthetic-clip:FOLDER?head=FILE", "looks, by a head over CLIP", "looks", {},
            frozenset({"device", "head"}),
        ),
        LocalMetricKind(
            "aesthetic-siglip", "aesthetic-siglip:FOLDER?head=FILE", "looks, by a head over SigLIP", "looks", {},
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
    """One metric with its weights; measures in a worker, through the journal where the value is one number."""

    def __init__(self, kind: LocalMetricKind, weights: Path, options: Mapping[str, Any]) -> None:
        self.kind, self.weights, self.options = kind, weights, dict(options)
        args = {name: value for name, value in self.options.items() if name != "reference"}
        given = json.dumps({**kind.fixed, **args, "weights": str(weights.resolve())}, sort_keys=True)
        self._recipe = Recipe(
            kind.name, f"{WORKER}:{kind.factory}", given, workers=1, start_s=LOAD_S, single=False,
            gpu=options.get("device", "cpu") != "cpu",
        )  # fmt: skip

    def check(self) -> None:
        """Raise early where weights or packages are missing."""
        needed = {"weights": self.weights}
        if "head" in self.options:
            needed["head"] = Path(str(self.options["head"]))
        for what, path in needed.items():
            folder = what == "weights" and self.kind.folder
            if not (path.is_dir() if folder else path.is_file()):
                raise UsageError(f"--metric {self.kind.usage}: {path}: no such {'folder' if folder else 'file'}")
        if self.kind.factory == "looks" and "head" not in self.options:
            raise UsageError(f"--metric {self.kind.name}: name the head too: {self.kind.usage}")
        if lacking := [name for name in PACKAGES if find_spec(name) is None]:
            raise UsageError(f"--metric {self.kind.usage}: {lacking[0]} is missing; pip install 'limner[metrics]'")

    def unpriced(self) -> str | None:
        """It costs nothing."""
        return None

    @property
    def setup(self) -> dict[str, Any]:
        """Everything that decides its values, as the store keeps it; where it computes does not."""
        args = {name: value for name, value in self.options.items() if name not in ("device", "head")}
        body = {"judge": f"metric/{self.kind.name}", "weights": weights_id(self.weights)}
        if "head" in self.options:
            body["head"] = weights_id(Path(str(self.options["head"])))
        return {**body, **({"options": args} if args else {})}

    async def compute(self, image: bytes, text: str | None = None) -> Any:
        """Return what a worker makes of one image.

        Raises:
            limner.calls.Fault: ``image`` when it cannot be decoded, ``probe`` when the model fails on it.
        """
        try:
            inspect(image)
        except BadImage as error:
            raise Fault("image", str(error)) from error
        return await run_in_worker(self._recipe, image, {"text": text} if self.kind.texts else {}, SECONDS)

    async def measure(self, image: bytes, text: str, calls: Calls) -> dict[str, Any]:
        """Return the number of one drawing, or what was measured before."""
        body: dict[str, Any] = {"image": hashlib.sha256(image).hexdigest(), "setup": self.setup}
        if self.kind.texts:
            body["text"] = text

        async def perform(_attempt: Attempt) -> Result:
            return Result({"value": await self.compute(image, text)})

        outcome = await calls.do(Request("metric", f"metric/{self.kind.name}", body), perform)
        return dict(outcome.payload["value"])


def weights_id(path: Path) -> str:
    """Identifies weights by what they are, wherever they lie: a file's hash, or that of a folder's files."""
    if path.is_file():
        return sha256(path)[:16]
    files = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
    told = [f"{file.relative_to(path)} {sha256(file)}" for file in files if file.suffix != ".md"]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


def open_metric(word: str) -> LocalMetric:
    """Return the metric behind ``NAME:WEIGHTS?option=value``.

    Raises:
        UsageError: There is none of that name, or it has no such option.
    """
    head, options = word_and_options(word)
    name, _, weights = head.partition(":")
    if name not in METRICS or not weights:
        usages = ", ".join(kind.usage for kind in METRICS.values())
        raise UsageError(f"--metric {word}: there is {usages}; or FILE.csv, a table of {','.join(METRIC_COLUMNS)}")
    kind = METRICS[name]
    if unknown := sorted(options.keys() - kind.options):
        raise UsageError(f"--metric {word}: no option {unknown[0]}; there is: {', '.join(sorted(kind.options))}")
    return LocalMetric(kind, Path(weights).expanduser(), options)


Features = NDArray[np.float64]


class Moments:
    """Mean and covariance of features that come one after another; only sums are kept."""

    def __init__(self) -> None:
        self.n = 0
        self._sum: Features | None = None
        self._products: Features | None = None

    def add(self, features: Features) -> None:
        """One image's features.

        Raises:
            ValueError: They are not as many as the others'.
        """
        row = np.asarray(features, dtype=np.float64)
        if self._sum is None or self._products is None:
            self._sum, self._products = np.zeros(len(row)), np.zeros((len(row), len(row)))
        if len(row) != len(self._sum):
            raise ValueError(f"{len(row)} features where {len(self._sum)} are wanted")
        self.n += 1
        self._sum += row
        self._products += np.outer(row, row)

    @property
    def dims(self) -> int:
        """How many features an image has."""
        return 0 if self._sum is None else len(self._sum)

    @property
    def mean(self) -> Features:
        """The mean."""
        assert self._sum is not None
        return self._sum / self.n

    @property
    def covariance(self) -> Features:
        """The covariance, over n - 1."""
        assert self._products is not None
        found: Features = (self._products - self.n * np.outer(self.mean, self.mean)) / (self.n - 1)
        return found


def frechet_distance(one: Moments, other: Moments) -> float:
    """``|m1 - m2|² + tr(S1 + S2 - 2 (S1 S2)^½)``; both sets need two images.

    >>> first, second = Moments(), Moments()
    >>> for x in (0.0, 2.0):
    ...     first.add(np.array([x])); second.add(np.array([x + 3]))
    >>> round(frechet_distance(first, second), 9)
    9.0
    """
    values, vectors = np.linalg.eigh(one.covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    # Symmetric, so that its eigenvalues are real even where a covariance is singular.
    between = np.linalg.eigvalsh(root @ other.covariance @ root)
    gap = one.mean - other.mean
    spread = np.trace(one.covariance) + np.trace(other.covariance) - 2 * np.sqrt(np.maximum(between, 0)).sum()
    # Below nought only by the last bits.
    return max(0.0, float(gap @ gap + spread))
