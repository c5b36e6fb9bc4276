from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.strategies.support import Brush, Mind, draw, made, said_by_studio, sha


class Critic(Mind):
    """Finds as many rounds of faults as it is told to, and likes the newest picture best."""

    def __init__(self, rounds: int) -> None:
        super().__init__(self.reply)
        self.left, self.order = rounds, []  # type: tuple[int, list[str]]

    def reply(self, words: str, seen: list[str], turn: int) -> str:
        self.order += [image for image in seen if image not in self.order]
        if words.startswith("Several"):
            best = sorted(seen, key=self.order.index, reverse=True)
            return json.dumps({"ranking": ["ABCDEFGH"[seen.index(image)] for image in best]})
        self.left -= 1
        if self.left < 0:
            return '{"faults": []}'
        return json.dumps({"faults": [{"what": "no nucleus", "where": "middle", "mend": "draw it"}]})


def steps_of(painting: object) -> list[str]:
    return [step["step"] for step in painting.notes["steps"]]  # type: ignore[attr-defined]


def test_nothing_to_mend_keeps_the_draft(tmp_path: Path) -> None:
    brush = Brush()
    painting = draw(made("edit", Critic(0)), tmp_path, brush)
    assert steps_of(painting) == ["draft", "critique"]
    assert len(brush.drawn) == 1


def test_faults_are_mended_until_none_is_left(tmp_path: Path) -> None:
    brush, editor, critic = Brush(edits=False), Brush("editor"), Critic(1)
    painting = draw(made("edit", critic, editor, rounds="5"), tmp_path, brush)
    assert steps_of(painting) == ["draft", "critique", "edit", "critique", "ranking", "ranking", "choice"]
    (order,) = editor.drawn
    assert "- no nucleus (middle): draw it" in order.prompt
    assert "Draw a cell." in order.prompt
    draft = painting.notes["steps"][0]["image"]
    assert order.images == (draft,)
    assert sha(painting.image) == painting.notes["steps"][2]["image"] != draft
    assert painting.cost == pytest.approx(0.02 * 2 + 0.01 * 4)


def test_the_rounds_end(tmp_path: Path) -> None:
    editor = Brush("editor")
    draw(made("edit", Critic(99), editor, rounds="3"), tmp_path, Brush())
    assert len(editor.drawn) == 3


def test_an_editor_that_refuses_leaves_the_drawing_as_it_is(tmp_path: Path) -> None:
    editor = Brush("editor", faults={0: "refusal"})
    painting = draw(made("edit", Critic(99), editor), tmp_path, Brush())
    assert steps_of(painting) == ["draft", "critique", "edit"]
    assert sha(painting.image) == painting.notes["steps"][0]["image"]
    assert painting.cost == pytest.approx(0.02 * 2 + 0.01)


def test_run_again_nothing_is_asked_or_drawn_twice(tmp_path: Path) -> None:
    brush, strategy = Brush(), made("best-of-2+edit", Mind(said_by_studio))
    first = draw(strategy, tmp_path, brush)
    count = len(brush.drawn)
    again = draw(strategy, tmp_path, brush)
    assert (again.image, again.cost, again.calls) == (first.image, first.cost, first.calls)
    assert len(brush.drawn) == count


def test_the_plain_pass_is_one_order_to_the_editor_and_nothing_else(tmp_path: Path) -> None:
    brush, editor, mind = Brush(edits=False), Brush("editor"), Mind(said_by_studio)
    painting = draw(made("edit", mind, editor, edit="plain"), tmp_path, brush)
    assert steps_of(painting) == ["draft", "edit"]
    assert mind.heard == []
    (order,) = editor.drawn
    assert order.images == (painting.notes["steps"][0]["image"],)
    assert order.prompt.rstrip().endswith("The order:\n\nDraw a cell.")
    assert sha(painting.image) == painting.notes["steps"][1]["image"]
    assert painting.cost == pytest.approx(0.04)


def test_the_plain_editor_goes_by_the_question(tmp_path: Path) -> None:
    editor = Brush("editor")
    draw(made("recaption+edit", Mind(lambda *_: "A locomotive."), editor, edit="plain"), tmp_path, Brush())
    (order,) = editor.drawn
    assert order.prompt.rstrip().endswith("The order:\n\nDraw a cell.")


def test_a_plain_editor_that_refuses_leaves_the_drawing_as_it_is(tmp_path: Path) -> None:
    editor = Brush("editor", faults={0: "refusal"})
    painting = draw(made("edit", Mind(said_by_studio), editor, edit="plain"), tmp_path, Brush())
    assert sha(painting.image) == painting.notes["steps"][0]["image"]
    assert painting.notes["steps"][1]["fault"] == "refusal"
