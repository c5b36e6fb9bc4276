"""The interface of probes, which measure evidence on each image once per backend, through the journal."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..calls import Attempt, Calls, Fault, Request, Result
from ..core.errors import UsageError
from ..core.evidence import EVIDENCE, TextLine, is_paper_backend, short_backend_name
from ..core.registry import Opener, Registry
from ..store.records import Measurement
from ..workers import JobFailure, Recipe, WorkerDeath, WorkerUnfit, pool_of
from .ocr import RapidOcr

if TYPE_CHECKING:
    from ..core.images import Preparer
    from ..core.settings import Settings

OCR_S = 120.0
"""Seconds allowed for reading one image."""


@dataclass(frozen=True)
class Finding:
    """The measurement of one image.

    Attributes:
        value: Plain JSON: lines of text, a count, a rating.
        backend: The backend, with everything that affects the value.
        call: The key of the call.
    """

    value: Any
    backend: str
    call: str

    @property
    def lines(self) -> list[TextLine]:
        """The lines of text, if those were measured."""
        return [TextLine.from_json(line) for line in self.value]


class Probe(Protocol):
    """A backend that measures one kind of evidence.

    Attributes:
        evidence: ``ocr``, ``regions`` or ``aesthetics``.
        name: The backend, with everything that affects the value; values of different names are never mixed.
    """

    evidence: str

    @property
    def name(self) -> str:
        """See the class."""
        ...

    async def measure(self, image: bytes, calls: Calls) -> Finding:
        """Measure one image.

        Raises:
            limner.calls.Fault: ``image`` when it cannot be decoded, ``probe`` when the backend fails on it.
        """
        ...

    def check(self) -> None:
        """Raise an error early if it cannot work, for example without a program, weights or a key."""
        return

    def unpriced(self) -> str | None:
        """Return why the cost of one of its calls is unknown, or None if it is known or nothing."""
        return None


class LocalProbe(Probe):
    """The base class of probes that measure in local workers: they cost nothing, and can crash on an image."""

    field = "value"
    """The name of the value in the journal."""

    def __init__(
        self, evidence: str, name: str, recipe: Recipe, seconds: float, given: Mapping[str, Any] | None = None
    ) -> None:
        self.evidence, self._name, self._recipe, self.seconds = evidence, name, recipe, seconds
        self._given = given or {}

    @property
    def name(self) -> str:
        """The backend, with everything that affects its values."""
        return self._name

    async def ask(self, image: bytes, calls: Calls, **given: Any) -> tuple[Any, str]:
        """Return a worker's measurement, made now or taken from the journal, and the key of the call."""
        sha256 = hashlib.sha256(image).hexdigest()

        async def perform(_attempt: Attempt) -> Result:
            return Result({self.field: await run_in_worker(self._recipe, image, given, self.seconds)})

        # Other inputs follow from the image and the name, so they are not part of the key.
        outcome = await calls.do(Request("probe", f"{self.evidence}/{self.name}", {"image": sha256}), perform)
        return outcome.payload[self.field], outcome.key

    async def measure(self, image: bytes, calls: Calls) -> Finding:
        """See `Probe`."""
        value, call = await self.ask(image, calls, **self._given)
        return Finding(value, self.name, call)


async def run_in_worker(recipe: Recipe, image: bytes, given: Mapping[str, Any], seconds: float) -> Any:
    """Return the value that a worker measures on one image.

    Raises:
        limner.calls.Fault: ``image`` when it cannot be decoded, ``probe`` when the worker fails on it.
    """
    try:
        job = pool_of(recipe).submit(dict(given), (image,), seconds=seconds)
        return (await asyncio.wrap_future(job)).value
    except (WorkerDeath, JobFailure, WorkerUnfit) as error:
        fault = fault_of(error, recipe.label)
        raise Fault(fault.kind, f"image {hashlib.sha256(image).hexdigest()[:12]}: {fault.detail}") from error


def fault_of(error: WorkerDeath | JobFailure | WorkerUnfit, label: str) -> Fault:
    """Return a worker's failure as the fault of its image."""
    if isinstance(error, JobFailure):
        return Fault("image", error.detail) if error.kind == "image" else Fault("probe", f"{label}: {error.detail}")
    return Fault("probe", f"{label}: {'it cannot be started: ' if error.loading else ''}{error}")


class OcrProbe(LocalProbe):
    """A probe that reads text with RapidOCR: the default, and the one that the OCR examiner uses.

    Args:
        seconds: The time allowed for one image.
        again: Whether to read at another scale, under a different name.
    """

    field = "lines"

    def __init__(self, seconds: float = OCR_S, again: bool = False) -> None:
        engine = RapidOcr()
        version = engine.second if again else engine.version
        recipe = Recipe(engine.name, "limner.evidence.ocr:rapidocr_reader")
        super().__init__("ocr", f"{engine.name}/{version}", recipe, seconds, {"again": True} if again else None)


class TextRegionProbe(LocalProbe):
    """A probe that finds where text is, whether RapidOCR can read it or not."""

    field = "regions"

    def __init__(self, seconds: float = OCR_S) -> None:
        engine = RapidOcr()
        recipe = Recipe(engine.name, "limner.evidence.ocr:rapidocr_reader")
        super().__init__("text-regions", f"{engine.name}/{engine.version}", recipe, seconds, {"regions": True})


@dataclass(frozen=True)
class ProbeInputs:
    """The inputs for opening a probe.

    Attributes:
        word: The given word: ``backend``, ``backend:rest``, with ``?name=value&…`` for options.
        rest: The part after the colon.
        options: The options after the question mark.
        images: Prepares pictures for sending.
        reader: The probe that reads text, for probes that need its lines; None for one that reads text itself.
    """

    word: str
    rest: str
    options: Mapping[str, Any]
    settings: Settings
    images: Preparer
    reader: Probe | None = None


@dataclass(frozen=True)
class ProbeKind(Opener[ProbeInputs, "Probe"]):
    """A backend that measures one kind of evidence.

    A probe that may cost money has `limner.core.catalogue.Priced.price`, for estimates.

    Attributes:
        options: Its options; None if it checks them itself.
    """

    options: frozenset[str] | None = frozenset()


MODEL_KIND = "model"
"""The backend behind every ``provider/model``."""
PROBES: Registry[ProbeKind] = Registry("limner.probes", "probe", ProbeKind)


def evidence_names() -> tuple[str, ...]:
    """Return the names of all evidence that can be measured; nothing is loaded."""
    return tuple(dict.fromkeys([*EVIDENCE, *(name.partition(".")[0] for name in PROBES.names())]))


def split_options(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Split options into those that name backends of evidence, and those for asking a judge."""
    measured = evidence_names()
    return (
        {name: value for name, value in options.items() if name in measured},
        {name: value for name, value in options.items() if name not in measured},
    )


def backends_of(evidence: str) -> list[str]:
    """Return the backends that measure this evidence; nothing is loaded."""
    backends = [
        backend for name, _, backend in (registered.partition(".") for registered in PROBES.names()) if name == evidence
    ]
    return sorted(backends, key=lambda backend: backend == MODEL_KIND)


def probe_kind(evidence: str, backend: str, option: str) -> ProbeKind:
    """Return the backend with this name.

    Raises:
        UsageError: There is none; the message names `option`, which the word was given with.
    """
    PROBES.own()
    available = backends_of(evidence)
    if backend not in available:
        usages = [PROBES.usage(f"{evidence}.{name}") for name in available]
        raise UsageError(f"{option}: choose from {', '.join(usages) or 'none'}")
    return PROBES.get(f"{evidence}.{backend}")


Subjects = tuple[str | None, str]
"""A drawing's image and its id."""
Chosen = dict[str, dict[str, Any]]
"""The chosen measurements of one drawing: value and backend, by the evidence's name."""


class BackendChoice:
    """The choice of a backend for each row of a table.

    The backend that measured most of a row's drawings is chosen; among equals, the one that measured most of all
    drawings, then the paper's, then the newest. `wanted` names another one, by its full or short name.
    """

    def __init__(
        self, measurements: Iterable[Measurement], drawings: Sequence[Subjects], wanted: Mapping[str, str] | None = None
    ) -> None:
        self._values: dict[tuple[str, str], dict[str, Measurement]] = {}
        for measurement in measurements:
            self._values.setdefault((measurement.name, measurement.backend), {})[measurement.subject] = measurement
        self._wanted = {name: self._named(name, word) for name, word in (wanted or {}).items()}
        self._overall = {key: self._covered(key, drawings) for key in self._values}

    def _named(self, name: str, word: str) -> frozenset[str]:
        backends = sorted(backend for evidence, backend in self._values if evidence == name)
        fitting = [
            backend for backend in backends if word in (backend, backend.partition(" ")[0], short_backend_name(backend))
        ]
        if not fitting:
            listed = ", ".join(sorted({short_backend_name(backend) for backend in backends})) or "none"
            raise UsageError(f"{name}={word}: these drawings have no such value; measured by: {listed}")
        return frozenset(fitting)

    def _covered(self, key: tuple[str, str], drawings: Sequence[Subjects]) -> int:
        return sum(_measurement_of(self._values[key], drawing) is not None for drawing in drawings)

    def of(self, drawings: Sequence[Subjects]) -> list[Chosen]:
        """Return the chosen measurements of one row's drawings, in order."""
        best: dict[str, tuple[tuple[int, int, bool, float, str], dict[str, Measurement]]] = {}
        for (name, backend), values in self._values.items():
            covered = self._covered((name, backend), drawings)
            if not covered or backend not in self._wanted.get(name, {backend}):
                continue
            newest = max(measurement.created for measurement in values.values())
            rank = covered, self._overall[name, backend], is_paper_backend(name, backend), newest, backend
            if name not in best or rank > best[name][0]:
                best[name] = rank, values
        rows: list[Chosen] = []
        for drawing in drawings:
            row: Chosen = {}
            for name in sorted(best):
                if (measurement := _measurement_of(best[name][1], drawing)) is not None:
                    row[name] = {"value": measurement.value, "backend": measurement.backend}
            rows.append(row)
        return rows


def _measurement_of(values: Mapping[str, Measurement], drawing: Subjects) -> Measurement | None:
    image, id = drawing
    return values.get(id) or values.get(image or "")
