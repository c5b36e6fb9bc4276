"""Painters whose correct result is known: controls, ``control/NAME``, and a sample's own pictures, ``sample/NAME``."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import Any

from ...calls import Calls, Fault
from ...core.errors import UsageError
from ...core.exam import Exam
from ...core.faults import picture_faults
from ...core.images import BadImage, decode, encode_png
from ...exams import kind
from ...exams.key import PAINTERS, VARIANTS, answer_key
from ..base import FreePainter, PainterInputs, PainterKind, Painting, PaintRequest, refuse_pictures

NAMES = ("reference", "blank", "text", "shuffled", "erased", "swapped", "unchanged")
SIZE = (1024, 1024)


class ControlPainter(FreePainter):
    """A painter that uses the exam's own references, or deliberately ignores the question."""

    changeable = False

    def __init__(self, given: PainterInputs, control: str) -> None:
        self.name, self.spec, exam = given.name, given.spec, given.exam
        self._find, self._blobs, self._ocr, self._sheet = exam.find, given.blobs, given.ocr, given.blank
        self._variant = control.replace("-", " ")
        self._draw: Callable[[PaintRequest, Calls], Any] = getattr(
            self, "_shipped" if control in VARIANTS else f"_{control}"
        )
        self._key = answer_key(kind(exam.kind)) if control in VARIANTS else None
        self._partners = partners(exam) if control == "shuffled" else {}

    def lacks(self, question: str) -> bool:
        """Return False: a control that does not apply to a question says so when it is asked."""
        return False

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        """Return the control's image; see `limner.painters.base.Painter`."""
        refuse_pictures(self, request)
        painting: Painting = await self._draw(request, calls)
        return painting

    async def _reference(self, request: PaintRequest, calls: Calls) -> Painting:
        return Painting(await asyncio.to_thread(self._bytes, request.question))

    async def _blank(self, request: PaintRequest, calls: Calls) -> Painting:
        from . import images

        return Painting(encode_png(images.blank(self._sheet)))

    async def _text(self, request: PaintRequest, calls: Calls) -> Painting:
        from . import images

        image = await asyncio.to_thread(images.typeset, request.prompt, SIZE)
        return Painting(encode_png(image), prompt_sent=request.prompt)

    async def _shuffled(self, request: PaintRequest, calls: Calls) -> Painting:
        partner = self._partners.get(request.question)
        if partner is None:
            raise Fault("not_applicable", "no other question has a reference to show instead")
        return Painting(await asyncio.to_thread(self._bytes, partner), notes={"reference_of": partner})

    async def _unchanged(self, request: PaintRequest, calls: Calls) -> Painting:
        if not any(request.inputs[:1]):
            raise Fault("not_applicable", "the question comes with no picture to hand back")
        with picture_faults("the question's picture"):
            return Painting(await asyncio.to_thread(self._blobs.get, request.inputs[0]))

    async def _erased(self, request: PaintRequest, calls: Calls) -> Painting:
        from . import images

        data = await asyncio.to_thread(self._bytes, request.question)
        text = await self._ocr.measure(data, calls)
        if not text.lines:
            raise Fault("not_applicable", "the reference has no label to erase")
        image = await asyncio.to_thread(lambda: encode_png(images.erase(_decode(data), text.lines)))
        return Painting(image, calls=(text.call,), notes={"erased": [line.text for line in text.lines]})

    async def _swapped(self, request: PaintRequest, calls: Calls) -> Painting:
        from . import images

        data = await asyncio.to_thread(self._bytes, request.question)
        text = await self._ocr.measure(data, calls)
        seed = int.from_bytes(hashlib.sha256(request.question.encode()).digest()[:4]) + request.seed
        swapped = await asyncio.to_thread(lambda: images.swap(_decode(data), text.lines, seed))
        if swapped is None:
            raise Fault("not_applicable", "the reference has no two labels to exchange")
        image, pair = swapped
        return Painting(encode_png(image), calls=(text.call,), notes={"swapped": [line.text for line in pair]})

    async def _shipped(self, request: PaintRequest, calls: Calls) -> Painting:
        file = self._key.picture(request.question, self._variant) if self._key else None
        if file is None:
            raise Fault("not_applicable", f"no picture with {self._variant} is shipped for this question")
        return Painting(await asyncio.to_thread(file.read_bytes))

    def _bytes(self, question: str) -> bytes:
        asked = self._find(question)
        reference = asked.reference if asked is not None else None
        if reference is None or reference.sha256 is None:
            raise Fault("not_applicable", "the question has no reference image on this machine")
        data = reference.read()
        with picture_faults(reference.name):
            return self._blobs.get(reference.sha256) if data is None else data


def _decode(data: bytes) -> Any:
    try:
        return decode(data)
    except BadImage as error:
        raise Fault("image", str(error)) from error


def partners(exam: Exam[Any]) -> dict[str, str]:
    """Return another question with a different reference for each question: the next by hashed id, cyclically."""

    shown = ((q.id, q.reference.sha256) for q in exam.questions if q.reference and q.reference.sha256)
    circle = sorted(shown, key=lambda pair: hashlib.sha256(pair[0].encode()).hexdigest())
    partner_ids: dict[str, str] = {}
    for place, (id, image) in enumerate(circle):
        for step in range(1, len(circle)):
            other, shows = circle[(place + step) % len(circle)]
            if shows != image:
                partner_ids[id] = other
                break
    return partner_ids


def _open(given: PainterInputs) -> ControlPainter:
    if given.rest not in NAMES:
        raise UsageError(f"no control {given.rest!r}; the controls are: {', '.join(NAMES)}")
    return ControlPainter(given, given.rest)


def _open_sample(given: PainterInputs) -> ControlPainter:
    names = {name.replace(" ", "-"): name for name in PAINTERS}
    if given.rest not in names:
        raise UsageError(f"no picture {given.rest!r} is shipped with the samples; choose from: {', '.join(names)}")
    return ControlPainter(given, {"wrong-question": "shuffled"}.get(given.rest, given.rest))


CONTROL = PainterKind(
    "control/NAME", "following fixed rules: seven painters whose right result is known, to examine a judge", _open
)
SAMPLE = PainterKind(
    "sample/NAME", "taking pictures shipped with a sample: its references, right or damaged", _open_sample
)
