"""Stripes: a painter, a judge, a strategy and two probes, as somebody else might publish them."""

from __future__ import annotations

import asyncio
import hashlib
import io
import re
from collections.abc import Callable
from dataclasses import replace

from PIL import Image, ImageColor, ImageStat

from limner.calls import Attempt, Calls, Request, Result
from limner.core.errors import UsageError
from limner.core.marks import Mark
from limner.evidence.probe import Finding, ProbeInputs, ProbeKind
from limner.judges import JudgeInputs, JudgeKind, JudgeResult, Subject
from limner.painters import PainterInputs, PainterKind, Painting, PaintRequest
from limner.painters.base import FreePainter, refuse_pictures
from limner.strategies import Stage, Studio

PRICE = 0.01
KNOWN = ("black", "blue", "green", "red", "white", "yellow")


def rgb(colour: str) -> tuple[int, ...]:
    """A colour's three numbers."""
    return ImageColor.getrgb(colour)


def colours_of(image: bytes) -> set[tuple[int, ...]]:
    """The colours in a picture."""
    return {colour for _, colour in Image.open(io.BytesIO(image)).convert("RGB").getcolors() or ()}  # type: ignore[misc]


def drawn(colours: list[str], width: int) -> bytes:
    """A picture of stripes."""
    image = Image.new("RGB", (width * len(colours), 8))
    for place, colour in enumerate(colours):
        image.paste(colour, (place * width, 0, (place + 1) * width, 8))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


class StripesPainter(FreePainter):
    """Draws a stripe for each colour behind the slash, and for each that the prompt names. A cent an image."""

    changeable = False

    def __init__(self, given: PainterInputs) -> None:
        self.name, self.spec, self.options, self._blobs = given.name, given.spec, given.options, given.blobs
        self._colours = given.rest.split(",")
        if unknown := set(self._colours) - set(KNOWN):
            raise UsageError(f"{self.spec}: no colour {', '.join(sorted(unknown))}; there is: {', '.join(KNOWN)}")
        if unknown := set(self.options) - {"width"}:
            raise UsageError(f"{self.spec} has no option {', '.join(sorted(unknown))}; there is: width")

    def price(self) -> tuple[float | None, str]:
        """A cent an image."""
        return PRICE, "price list"

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        """Draw through the journal."""
        refuse_pictures(self, request)
        named = [word for word in re.findall(r"\w+", request.prompt.lower()) if word in KNOWN]
        colours, width = list(dict.fromkeys([*self._colours, *named])), int(self.options.get("width", 4))
        body = {"prompt": request.prompt, "colours": colours, "width": width, "seed": request.seed}

        async def perform(_attempt: Attempt) -> Result:
            sha256, _ = await asyncio.to_thread(self._blobs.put, drawn(colours, width))
            return Result({"image": sha256}, PRICE)

        outcome = await calls.do(Request("paint", self.spec, body), perform, bound=PRICE)
        data = await asyncio.to_thread(self._blobs.get, outcome.payload["image"])
        return Painting(data, request.prompt, (outcome.key,), outcome.cost)


class ColoursJudge:
    """Looks whether the colour that a criterion is called by is in the picture."""

    def __init__(self, given: JudgeInputs) -> None:
        self.name, self.setup = given.spec, {"judge": given.spec, "variant": "exact"}
        self._protocol, self._blobs = given.exam.protocol, given.blobs

    def check(self) -> None:
        """Nothing can be missing."""

    def unpriced(self) -> str | None:
        """It costs nothing."""
        return None

    async def mark(self, subject: Subject, calls: Calls) -> JudgeResult:
        """One mark for each colour."""
        found = colours_of(await asyncio.to_thread(self._blobs.get, subject.image))
        criteria = self._protocol.criteria(subject.question)
        return JudgeResult(marks=tuple(Mark(one.id, int(rgb(one.id) in found)) for one in criteria))


async def brighten(request: PaintRequest, studio: Studio) -> PaintRequest:
    """Ask for yellow too, or for another colour."""
    colour = studio.options.get("with", "yellow")
    studio.note("brightened", text=colour)
    return replace(request, prompt=f"{request.prompt}, with {colour}")


class PictureProbe:
    """Measures a picture by a function of its bytes."""

    def __init__(self, evidence: str, name: str, function: Callable[[bytes], float]) -> None:
        self.evidence, self._name, self._function = evidence, name, function

    @property
    def name(self) -> str:
        """The backend."""
        return self._name

    def check(self) -> None:
        """Nothing can be missing."""

    def unpriced(self) -> str | None:
        """It costs nothing."""
        return None

    async def measure(self, image: bytes, calls: Calls) -> Finding:
        """Measure through the journal."""

        async def perform(_attempt: Attempt) -> Result:
            return Result({"value": self._function(image)})

        body = {"image": hashlib.sha256(image).hexdigest()}
        outcome = await calls.do(Request("probe", f"{self.evidence}/{self.name}", body), perform)
        return Finding(outcome.payload["value"], self.name, outcome.key)


def _count(given: ProbeInputs) -> PictureProbe:
    least = int(given.options.get("least", 0))
    return PictureProbe("regions", f"stripes/least={least}", lambda data: max(least, len(colours_of(data))))


def _brightness(given: ProbeInputs) -> PictureProbe:
    def mean(data: bytes) -> float:
        return round(ImageStat.Stat(Image.open(io.BytesIO(data)).convert("L")).mean[0], 2)

    return PictureProbe("brightness", "mean/1", mean)


STRIPES = PainterKind("stripes/COLOUR,COLOUR", "painting a stripe for each colour", StripesPainter)
COLOURS = JudgeKind("colours", "looks whether the colours that criteria name are there", ColoursJudge)
BRIGHTEN = Stage(
    "brighten", "yellow is asked for too", "words", (), {"with": "another colour"}, {"with": KNOWN}, words=brighten
)  # fmt: skip
COUNT = ProbeKind("stripes", "counts colours", _count, frozenset({"least"}))
BRIGHTNESS = ProbeKind("mean", "the mean brightness of all pixels, from 0 to 255", _brightness)
