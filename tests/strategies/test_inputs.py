"""Strategies for questions that come with pictures: models see them, and painters get them after their own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from limner.calls import Calls
from limner.core.asks import Part, Picture, Text
from limner.models import Context
from limner.painters import Painting, PaintRequest
from limner.store import Store
from limner.strategies import Strategy
from tests.strategies.support import Brush, Mind, made, said_by_studio
from tests.support import picture

BEFORE = (picture(800), picture(801))
PROMPT = "Paint the cell red."


class SeeingMind(Mind):
    """A model that notes the parts of every request in order."""

    def __init__(self) -> None:
        super().__init__(said_by_studio)
        self.shown: list[tuple[Part, ...]] = []

    async def turn(
        self, shown: tuple[Part, ...], said: tuple[tuple[str, str], ...], context: Context, calls: Calls
    ) -> tuple[str, str, float | None]:
        self.shown.append(shown)
        # The fake studio answers as if there were no inputs: a text and the pictures come before what it knows.
        return await super().turn(shown[1 + len(BEFORE) :], said, context, calls)


def draw(strategy: Strategy, folder: Path, painter: Any) -> tuple[Painting, list[str]]:
    async def run() -> tuple[Painting, list[str]]:
        with Store(folder / "store") as store:
            inputs = [store.blobs.put(data)[0] for data in BEFORE]
            async with Calls(store, tries=1) as calls:
                request = PaintRequest("q1", PROMPT, 0, inputs=tuple(inputs))
                return await strategy.draw(request, painter, calls, store.blobs, "exam"), inputs

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("word", "asked", "drawn"),
    [
        ("direct", 0, 1), ("rewrite", 1, 1), ("recaption", 1, 1), ("reason", 1, 1), ("best-of-2", 2, 2),
        ("svg-prior", 1, 1), ("edit", None, None), ("svg", 1, 0),
    ],
)  # fmt: skip
def test_models_see_inputs_first_and_painters_get_them(
    tmp_path: Path, word: str, asked: int | None, drawn: int | None
) -> None:
    brush, mind = Brush(), SeeingMind()
    painting, inputs = draw(made(word, mind), tmp_path, brush)
    assert painting.image
    if asked is not None:
        assert (len(mind.shown), len(brush.drawn)) == (asked, drawn)
    for shown in mind.shown:
        assert isinstance(shown[0], Text)
        assert "comes with the pictures that follow" in shown[0].text
        assert list(shown[1:3]) == [Picture(sha256) for sha256 in inputs]
    for request in brush.drawn:
        assert request.pictures[-2:] == tuple(inputs)
        told = "first picture is the one to work on" in request.prompt
        # Only a painter that gets other pictures too is told which is which.
        assert told == (len(request.images) == 1) == (len(request.pictures) == 3)


def test_editor_gets_drawing_before_inputs(tmp_path: Path) -> None:
    brush, mind = Brush(), SeeingMind()
    painting, inputs = draw(made("edit", mind, edit="plain"), tmp_path, brush)
    draft, edited = brush.drawn
    assert (draft.pictures, edited.pictures[1:]) == (tuple(inputs), tuple(inputs))
    assert edited.images == (painting.notes["steps"][0]["image"],)


def test_prior_is_sent_as_text_if_painter_has_no_room_for_picture(tmp_path: Path) -> None:
    brush, mind = Brush(), SeeingMind()
    brush.most_pictures = 2
    draw(made("svg-prior", mind), tmp_path, brush)
    (sent,) = brush.drawn
    assert (sent.images, "<svg" in sent.prompt) == ((), True)
