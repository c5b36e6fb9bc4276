from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from limner.calls import Calls, Fault
from limner.core.errors import UsageError
from limner.core.settings import PainterFacts
from limner.painters import Painting, PaintRequest
from tests.strategies.support import Brush, Mind, draw, made, said_by_studio, sha

PROMPT = "Draw a flower with 'Petal', 'Sepal' and 'Ovary'."
GOOD = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20" fill="red"/></svg>'


def test_svg_needs_no_painter_and_keeps_its_source(tmp_path: Path) -> None:
    strategy = made("svg", Mind(lambda *_: f"Here it is:\n```svg\n{GOOD}\n```"))
    brush = Brush()
    painting = draw(strategy, tmp_path, brush, PROMPT)
    image = Image.open(io.BytesIO(painting.image))
    assert not strategy.paints
    assert brush.drawn == []
    assert image.width == 2 * image.height
    assert image.convert("RGB").getpixel((image.width // 2, image.height // 2)) == (255, 0, 0)
    (step,) = painting.notes["steps"]
    assert "<rect" in step["text"]
    assert step["image"] == sha(painting.image)


def test_broken_svg_is_sent_back_with_parser_message(tmp_path: Path) -> None:
    replies = ["<svg xmlns='http://www.w3.org/2000/svg'><rect></svg>", "no code at all", GOOD]
    mind = Mind(lambda words, seen, turn: replies[turn])
    draw(made("svg", mind), tmp_path, Brush(), PROMPT)
    assert len(mind.heard) == 3
    assert "mismatched tag" in mind.heard[1] or "rect" in mind.heard[1].rpartition("cannot be used")[2]


def test_three_broken_replies_are_a_fault(tmp_path: Path) -> None:
    mind = Mind(lambda *_: "<svg><oops")
    with pytest.raises(Fault) as caught:
        draw(made("svg", mind), tmp_path, Brush(), PROMPT)
    assert (caught.value.kind, len(mind.heard)) == ("unreadable", 3)
    assert caught.value.cost == pytest.approx(0.03)


def test_svg_with_active_content_is_sent_back(tmp_path: Path) -> None:
    replies = [GOOD.replace("<rect", "<script>alert(1)</script><rect"), GOOD.replace("<rect", '<rect onclick="x()"')]
    mind = Mind(lambda words, seen, turn: replies[turn])
    painting = draw(made("svg", mind), tmp_path, Brush(), PROMPT)
    assert "scripts are not run" in mind.heard[1]
    assert "onclick" not in painting.notes["steps"][0]["text"]


def test_prior_is_sent_as_picture_if_painter_accepts_one(tmp_path: Path) -> None:
    brush = Brush()
    painting = draw(made("svg-prior", Mind(lambda *_: GOOD)), tmp_path, brush, PROMPT)
    (sent,) = brush.drawn
    assert sent.images == (painting.notes["steps"][0]["image"],)
    assert "draft of the structure" in sent.prompt
    assert "<rect" not in sent.prompt


@pytest.mark.parametrize(("edits", "options"), [(False, {}), (True, {"prior": "text"})])
def test_prior_is_sent_as_text_otherwise(edits: bool, options: dict[str, str], tmp_path: Path) -> None:
    brush = Brush(edits=edits)
    draw(made("svg-prior", Mind(lambda *_: GOOD), **options), tmp_path, brush, PROMPT)
    (sent,) = brush.drawn
    assert sent.images == ()
    assert "<rect" in sent.prompt
    assert sent.prompt.startswith(PROMPT)


def test_image_prior_is_refused_if_painter_cannot_edit(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot start from a picture"):
        draw(made("svg-prior", Mind(lambda *_: GOOD), prior="image"), tmp_path, Brush(edits=False), PROMPT)


def test_prior_too_long_for_painter_is_reported(tmp_path: Path) -> None:
    brush = Brush(edits=False)
    brush.facts = PainterFacts(prompt_limit=300, over_limit="refused")  # type: ignore[attr-defined]
    with pytest.raises(Fault, match="brush takes 300"):
        draw(made("svg-prior", Mind(lambda *_: GOOD)), tmp_path, brush, PROMPT)
    assert brush.drawn == []


@pytest.mark.parametrize("over", ["cut", None])
def test_prior_beyond_soft_limit_is_sent(tmp_path: Path, over: Any) -> None:
    brush = Brush(edits=False)
    brush.facts = PainterFacts(prompt_limit=300, over_limit=over)  # type: ignore[attr-defined]
    draw(made("svg-prior", Mind(lambda *_: GOOD)), tmp_path, brush, PROMPT)
    (sent,) = brush.drawn
    assert len(sent.prompt) > 300


class HalfReader(Brush):
    """Draws from the first characters of a prompt alone."""

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        painting = await super().paint(request, calls)
        told = {"prompt_cut": {"sent": len(request.prompt), "read": 10}} if len(request.prompt) > 10 else {}
        return replace(painting, notes=told)


@pytest.mark.parametrize("word", ["best-of-2", "edit"])
def test_unread_part_of_prompt_is_noted_on_drawing(tmp_path: Path, word: str) -> None:
    painting = draw(made(word, Mind(said_by_studio), Brush("editor")), tmp_path, HalfReader(), PROMPT)
    assert painting.notes["prompt_cut"] == {"sent": len(PROMPT), "read": 10}
    plain = draw(made(word, Mind(said_by_studio), Brush("editor")), tmp_path / "plain", Brush(), PROMPT)
    assert "prompt_cut" not in plain.notes


def test_each_svg_candidate_is_separate_coder_call(tmp_path: Path) -> None:
    tries = iter(("red", "blue", "green"))

    def say(words: str, seen: list[str], turn: int) -> str:
        return GOOD.replace("red", next(tries)) if "SVG" in words[:80] else said_by_studio(words, seen, turn)

    painting = draw(made("svg+best-of-3", Mind(say)), tmp_path, Brush(), PROMPT)
    candidates = [step["image"] for step in painting.notes["steps"] if step["step"] == "candidate"]
    assert len(set(candidates)) == 3
