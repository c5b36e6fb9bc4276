"""Evidence from a chat model: lines of text that it reads, or its rating of a drawing's aesthetics.

Such values are stored under the model's name, so that they are never mistaken for an engine's. Their calls are chat
calls, with a price and a budget.
"""

from __future__ import annotations

import asyncio
import hashlib
from abc import ABC, abstractmethod
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..calls import Calls, Fault
from ..core.asks import Contract, Picture, Prompts, Text, Unreadable, list_schema, object_schema
from ..core.evidence import MODEL_PREFIX, TextLine
from ..core.faults import picture_faults
from ..core.images import decode
from ..core.json_text import loads
from ..models import ChatModel, Context, ReplayModel
from ..models.base import BYTES_PER_TOKEN, PICTURE_TOKENS, complete_afresh
from .ocr import in_reading_order
from .probe import Finding

PROMPTS = Prompts(Path(str(files(__package__))) / "prompts")
SCALE = 1000
"""The units of boxes: thousandths of the picture's width and height."""
Size = tuple[int, int]


TEXT, NUMBER = {"type": "string"}, {"type": "number"}
LINE = {"text": TEXT, "box": {"type": "array", "items": NUMBER}, "confidence": NUMBER}
LINES = object_schema({"lines": list_schema(LINE)})
RATING = object_schema({"reason": TEXT, "rating": NUMBER})


class ModelProbe(ABC):
    """A probe that asks a model about one picture."""

    evidence: str
    template: str
    reply_tokens: int

    def __init__(self, model: ChatModel | ReplayModel) -> None:
        self._model = model

    @property
    def model(self) -> ChatModel | ReplayModel:
        """The model that it asks."""
        return self._model

    @property
    def name(self) -> str:
        """The model with its arguments, and the hash of the wording."""
        args = "".join(f" {key}={value}" for key, value in sorted(self._model.settings.get("args", {}).items()))
        return f"{MODEL_PREFIX}{self._model.name}{args} prompt={PROMPTS.hash(self.template)}"

    def check(self) -> None:
        """Check that the model can be reached."""
        self._model.check()

    def unpriced(self) -> str | None:
        """Return why the cost of one of its calls is unknown, or None."""
        return self._model.unpriced()

    def price(self) -> tuple[float | None, str]:
        """Return the dollars for one measurement; see `limner.core.catalogue.Priced`."""
        if isinstance(self._model, ReplayModel):
            return 0.0, "free"
        sent = len(PROMPTS.text(self.template).encode()) // BYTES_PER_TOKEN + PICTURE_TOKENS
        return self._model.price(sent, self.reply_tokens), "rule of thumb"

    @abstractmethod
    def contract(self, size: Size) -> Contract[Any]:
        """Return the contract that parses the reply for a picture of this size into plain JSON."""

    async def measure(self, image: bytes, calls: Calls) -> Finding:
        """Ask the model; see `limner.evidence.probe.Probe`. The picture must be among the store's images."""
        sha256 = hashlib.sha256(image).hexdigest()
        with picture_faults(f"image {sha256[:12]}"):
            size = (await asyncio.to_thread(decode, image)).size
        shown = Text(PROMPTS.text(self.template).strip()), Picture(sha256)
        contract = self.contract(size)
        about = Context("", sha256, "", self.template, usual=self.reply_tokens)
        try:
            answer = await complete_afresh(self._model, shown, contract, about, calls)
        except Fault as fault:
            raise Fault(
                fault.kind, f"image {sha256[:12]}: {fault.detail}", calls=fault.calls, cost=fault.cost
            ) from fault
        assert answer.reply.call is not None
        return Finding(answer.value, self.name, answer.reply.call)


class ModelReader(ModelProbe):
    """A probe with which a chat model reads the lines of text."""

    evidence, template, reply_tokens = "ocr", "read-lines", 1500

    def contract(self, size: Size) -> Contract[list[dict[str, Any]]]:
        """Return the contract for lines with boxes, converted to the picture's pixels."""
        return Contract(lambda reply: [line.to_json() for line in read_lines(reply, size)], LINES)


class ModelRating(ModelProbe):
    """A probe with which a chat model rates a drawing's aesthetics from 0 to 100."""

    evidence, template, reply_tokens = "aesthetics", "rate-looks", 500

    def contract(self, size: Size) -> Contract[float]:
        """Return the contract for a number from 0 to 100."""
        return Contract(read_rating, RATING)


def read_lines(reply: str, size: Size) -> list[TextLine]:
    """Return the lines in a reply, in reading order and in the pixels of a picture of this size.

    Raises:
        Unreadable: It is not what was asked for.
    """
    listed = loads(reply).get("lines")
    if not isinstance(listed, list):
        raise Unreadable('"lines" must be a list')
    lines = []
    for number, entry in enumerate(listed, 1):
        if not isinstance(entry, dict) or not isinstance(text := entry.get("text"), str):
            raise Unreadable(f'line {number} must be an object with a "text"')
        box, confidence = entry.get("box"), entry.get("confidence")
        if not isinstance(box, list) or len(box) != 4 or not all(_number(edge, 0, SCALE) for edge in box):
            raise Unreadable(f'line {number}: "box" must be four numbers from 0 to {SCALE}')
        left, top, right, bottom = (float(edge) / SCALE * size[n % 2] for n, edge in enumerate(box))
        if right <= left or bottom <= top:
            raise Unreadable(f'line {number}: "box" must be left, top, right, bottom, in this order')
        if not _number(confidence, 0, 1):
            raise Unreadable(f'line {number}: "confidence" must be a number from 0 to 1')
        if text.strip():
            corners = ((left, top), (right, top), (right, bottom), (left, bottom))
            lines.append(TextLine(" ".join(text.split()), corners, float(confidence)))  # type: ignore[arg-type]
    return in_reading_order(lines)


def read_rating(reply: str) -> float:
    """Return the rating in a reply.

    Raises:
        Unreadable: It is not what was asked for.
    """
    rating = loads(reply).get("rating")
    if not _number(rating, 0, 100):
        raise Unreadable('"rating" must be a number from 0 to 100')
    return float(rating)  # type: ignore[arg-type]


def _number(value: object, least: float, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
