"""A scripted mind and a painter of coloured squares, for strategies."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from limner.calls import Attempt, Calls, Fault, Request, Result
from limner.calls.keys import digest
from limner.core.asks import Part, Picture, Text
from limner.models import Context
from limner.painters import Painting, PaintRequest
from limner.painters.base import FreePainter
from limner.store import Store
from limner.strategies import Strategy, open_strategy
from tests.fakes.studio import StudioPlan, answer
from tests.fakes.tally import Turn
from tests.support import picture

Say = Callable[[str, list[str], int], str]
"""Words, pictures and turn of a request to the reply."""


class Mind:
    """A model that says what a function says; it goes through the journal like any other."""

    def __init__(
        self, say: Say, name: str = "fake/mind", cost: float | None = 0.01, thinking: str | None = None
    ) -> None:
        self.name, self.settings = name, {}  # type: tuple[str, dict[str, Any]]
        self.say, self.cost = say, cost
        self.raw = {"choices": [{"message": {"reasoning_content": thinking}}]} if thinking else {}
        self.heard: list[str] = []

    def check(self) -> None: ...

    def unpriced(self) -> str | None:
        return None

    async def turn(
        self, shown: tuple[Part, ...], said: tuple[tuple[str, str], ...], context: Context, calls: Calls
    ) -> tuple[str, str, float | None]:
        words = "\n".join(part.text for part in shown if isinstance(part, Text))
        seen = [part.sha256 for part in shown if isinstance(part, Picture)]
        body = {"words": words, "seen": seen, "said": [list(pair) for pair in said]}

        async def perform(_: Attempt) -> Result:
            self.heard.append(json.dumps(body))
            return Result({"text": self.say(words, seen, len(said)), "raw": self.raw}, self.cost)

        outcome = await calls.do(Request("chat", self.name, body, context.repeat, context.round), perform)
        return outcome.payload["text"], outcome.key, outcome.cost


class Brush(FreePainter):
    """Draws a square whose colour follows from prompt, seed and pictures; notes every drawing it makes."""

    changeable = False

    def __init__(self, name: str = "brush", *, edits: bool = True, faults: Mapping[int, str] | None = None) -> None:
        self.name = self.spec = name
        self.most_pictures = 16 if edits else 0
        self.faults = faults or {}
        self.drawn: list[PaintRequest] = []

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        body = {"prompt": request.prompt, "seed": request.seed, "images": list(request.pictures)}

        async def perform(_: Attempt) -> Result:
            self.drawn.append(request)
            if (kind := self.faults.get(request.seed)) is not None:
                raise Fault(kind, f"seed {request.seed}", cost=0.02)  # type: ignore[arg-type]
            return Result({"number": await self.drawn_number(body)}, 0.02)

        outcome = await calls.do(Request("paint", self.spec, body), perform)
        return Painting(picture(outcome.payload["number"]), request.prompt, (outcome.key,), outcome.cost)

    async def drawn_number(self, body: dict[str, Any]) -> int:
        """The colour, once it is drawn."""
        return int(digest(body)[:6], 16)


def made(word: str, mind: Any, editor: Any = None, **options: str) -> Strategy:
    """A strategy whose every role is `mind`."""
    given = {**dict.fromkeys(("planner", "coder", "chooser", "critic"), "fake/mind"), **options}
    if editor is not None:
        given["editor"] = "fake/editor"
    return open_strategy(word, given, lambda spec, args: mind, lambda spec, args: editor)


def draw(
    strategy: Strategy, folder: Path, painter: Any, prompt: str = "Draw a cell.", seed: int = 0, tries: int = 1
) -> Painting:
    """Draw once with a store under `folder`."""

    async def run() -> Painting:
        with Store(folder / "store") as store:
            async with Calls(store, tries=tries) as calls:
                request = PaintRequest("q1", prompt, seed)
                return await strategy.draw(request, painter, calls, store.blobs, "exam")

    return asyncio.run(run())


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def said_by_studio(words: str, seen: list[str], turn: int) -> str:
    """What the fake studio service would say."""
    return str(answer(words, seen, Turn("0" * 64, 1, turn), StudioPlan()))
