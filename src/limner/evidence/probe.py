"""The seam behind which everything that measures stands: each image once per backend, through the journal."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from typing import Any, Protocol

from ..calls import Attempt, Calls, Fault, Request, Result
from ..core.evidence import TextLine
from ..workers import JobFailure, Recipe, WorkerDeath, WorkerUnfit, pool_of
from .ocr.rapid import RapidOcr

OCR_S = 120.0
"""Seconds that reading one image may take."""


@dataclass(frozen=True)
class Finding:
    """What was measured on one image.

    Attributes:
        value: Plain JSON: lines of text, a count, a rating.
        backend: What measured it, with everything that decides the value.
        call: The key of the call that found it.
    """

    value: Any
    backend: str
    call: str

    @property
    def lines(self) -> list[TextLine]:
        """The lines of text, where that is what was measured."""
        return [TextLine.from_json(line) for line in self.value]


class Probe(Protocol):
    """What measures.

    Attributes:
        evidence: What: ``ocr``, ``regions`` or ``aesthetics``.
        name: The backend, with everything that decides the value; values of different names never mix.
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
        """Raise early when it cannot work at all, such as for want of a program, weights or a key."""
        ...

    def unpriced(self) -> str | None:
        """Why nobody knows what one of its calls can cost, or None when that is known."""
        ...


class LocalProbe:
    """For probes that measure on this machine, in workers: they cost nothing, and can die of an image."""

    field = "value"
    """Under which name the journal has the value."""

    def __init__(self, evidence: str, name: str, recipe: Recipe, seconds: float) -> None:
        self.evidence, self._name, self._recipe, self.seconds = evidence, name, recipe, seconds

    @property
    def name(self) -> str:
        """The backend and what decides its values."""
        return self._name

    def check(self) -> None:
        """Nothing can be missing."""

    def unpriced(self) -> str | None:
        """It costs nothing."""
        return None

    async def ask(self, image: bytes, calls: Calls, **given: Any) -> tuple[Any, str]:
        """What a worker measures, or has measured before, and the key of the call."""
        sha256 = hashlib.sha256(image).hexdigest()

        async def perform(_attempt: Attempt) -> Result:
            job = pool_of(self._recipe).submit(given, (image,), seconds=self.seconds)
            try:
                return Result({self.field: (await asyncio.wrap_future(job)).value})
            except (WorkerDeath, JobFailure, WorkerUnfit) as error:
                fault = fault_of(error, self._recipe.label)
                raise Fault(fault.kind, f"image {sha256[:12]}: {fault.detail}") from error

        # What is given beside the image follows from it and from the name.
        outcome = await calls.do(Request("probe", f"{self.evidence}/{self.name}", {"image": sha256}), perform)
        return outcome.payload[self.field], outcome.key

    async def measure(self, image: bytes, calls: Calls) -> Finding:
        """See `Probe`."""
        value, call = await self.ask(image, calls)
        return Finding(value, self.name, call)


def fault_of(error: WorkerDeath | JobFailure | WorkerUnfit, label: str) -> Fault:
    """What a worker could not do, as the fault of its image."""
    if isinstance(error, JobFailure):
        return Fault("image", error.detail) if error.kind == "image" else Fault("probe", f"{label}: {error.detail}")
    return Fault("probe", f"{label}: {'it cannot be started: ' if error.loading else ''}{error}")


class OcrProbe(LocalProbe):
    """Reads the text in images with RapidOCR: the default everywhere, and what the OCR examiner goes by.

    Args:
        seconds: How long one image may take.
        again: Read at another scale than usual, under a name of its own.
    """

    field = "lines"

    def __init__(self, seconds: float = OCR_S, again: bool = False) -> None:
        engine, self._given = RapidOcr(), {"again": True} if again else {}
        version = engine.second if again else engine.version
        recipe = Recipe(engine.name, "limner.evidence.ocr.rapid:reader")
        super().__init__("ocr", f"{engine.name}/{version}", recipe, seconds)

    async def measure(self, image: bytes, calls: Calls) -> Finding:
        """See `Probe`."""
        value, call = await self.ask(image, calls, **self._given)
        return Finding(value, self.name, call)
