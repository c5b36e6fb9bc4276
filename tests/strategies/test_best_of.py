"""."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from limner.calls import Fault
from tests.strategies.support import Brush, Mind, draw, made, said_by_studio, sha


def last_one(words: str, seen: list[str], turn: int) -> str:
    """A chooser that always likes what stands last."""
    return json.dumps({"ranking": ["ABCDEFGH"[i] for i in range(len(seen))][::-1]})


@pytest.mark.parametrize("how", ["listwise", "pairwise"])
def test_best_of_four_is_kept_in_any_order(how: str, tmp_path: Path) -> None:
    brush, mind = Brush(), Mind(said_by_studio)
    painting = draw(made("best-of-4", mind, choose=how), tmp_path, brush)
    steps = painting.notes["steps"]
    candidates = [step["image"] for step in steps if step["step"] == "candidate"]
    assert [sent.seed for sent in brush.drawn] == [0, 1, 2, 3]
    assert len(set(candidates)) == 4
    assert sha(painting.image) == min(candidates)  # What the studio's chooser likes best.
    assert len(mind.heard) == (2 if how == "listwise" else 6)
    assert painting.cost == pytest.approx(4 * 0.02 + len(mind.heard) * 0.01)
    assert len(painting.calls) == 4 + len(mind.heard)


@pytest.mark.parametrize("how", ["listwise", "pairwise"])
def test_position_bias_of_chooser_does_not_affect_choice(how: str, tmp_path: Path) -> None:
    painting = draw(made("best-of-3", Mind(last_one), choose=how), tmp_path, Brush())
    first = next(step["image"] for step in painting.notes["steps"] if step["step"] == "candidate")
    assert sha(painting.image) == first


def test_different_seed_draws_different_candidates(tmp_path: Path) -> None:
    brush = Brush()
    draw(made("best-of-2", Mind(said_by_studio)), tmp_path, brush, seed=0)
    draw(made("best-of-2", Mind(said_by_studio)), tmp_path, brush, seed=1)
    assert [sent.seed for sent in brush.drawn] == [0, 1, 2, 3]


def test_refused_candidates_are_left_out(tmp_path: Path) -> None:
    painting = draw(made("best-of-3", Mind(said_by_studio)), tmp_path, Brush(faults={1: "refusal"}))
    faults = [step.get("fault") for step in painting.notes["steps"] if step["step"] == "candidate"]
    assert sorted(map(str, faults)) == ["None", "None", "refusal"]
    assert painting.cost == pytest.approx(3 * 0.02 + 2 * 0.01)


def test_all_refused_is_a_refusal(tmp_path: Path) -> None:
    with pytest.raises(Fault, match="all 2 candidates") as caught:
        draw(made("best-of-2", Mind(said_by_studio)), tmp_path, Brush(faults={0: "refusal", 1: "refusal"}))
    assert (caught.value.kind, len(caught.value.calls)) == ("refusal", 2)
    assert caught.value.cost == pytest.approx(0.04)


def test_next_run_draws_only_candidates_missing_after_fault(tmp_path: Path) -> None:
    brush, strategy = Brush(faults={2: "server"}), made("best-of-4", Mind(said_by_studio))
    with pytest.raises(Fault, match="seed 2") as caught:
        draw(strategy, tmp_path, brush)
    assert caught.value.kind == "server"
    brush.faults = {}
    painting = draw(strategy, tmp_path, brush)
    assert sorted(sent.seed for sent in brush.drawn) == [0, 1, 2, 2, 3]
    assert len([step for step in painting.notes["steps"] if step["step"] == "candidate"]) == 4


def test_incomplete_ranking_is_requested_again(tmp_path: Path) -> None:
    replies = ['{"ranking": ["A"]}', '{"ranking": ["A", "A"]}', '{"ranking": ["B", "A"]}']
    mind = Mind(lambda words, seen, turn: replies[turn])
    draw(made("best-of-2", mind), tmp_path, Brush())
    assert "each of" in mind.heard[1]


def test_chooser_sees_prompt_and_pictures_only(tmp_path: Path) -> None:
    mind = Mind(said_by_studio)
    draw(made("best-of-2", mind), tmp_path, Brush(), prompt="Draw a leaf.")
    asked = json.loads(mind.heard[0])
    assert "Draw a leaf." in asked["words"]
    assert len(asked["seen"]) == 2
    assert json.loads(mind.heard[1])["seen"] == asked["seen"][::-1]


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


def test_draft_is_kept_when_critic_finds_no_fault(tmp_path: Path) -> None:
    brush = Brush()
    painting = draw(made("edit", Critic(0)), tmp_path, brush)
    assert steps_of(painting) == ["draft", "critique"]
    assert len(brush.drawn) == 1


def test_editing_continues_until_no_fault_is_left(tmp_path: Path) -> None:
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


def test_editing_stops_after_given_rounds(tmp_path: Path) -> None:
    editor = Brush("editor")
    draw(made("edit", Critic(99), editor, rounds="3"), tmp_path, Brush())
    assert len(editor.drawn) == 3


def test_draft_is_kept_when_editor_refuses(tmp_path: Path) -> None:
    editor = Brush("editor", faults={0: "refusal"})
    painting = draw(made("edit", Critic(99), editor), tmp_path, Brush())
    assert steps_of(painting) == ["draft", "critique", "edit"]
    assert sha(painting.image) == painting.notes["steps"][0]["image"]
    assert painting.cost == pytest.approx(0.02 * 2 + 0.01)


def test_second_run_reuses_stored_calls_and_drawings(tmp_path: Path) -> None:
    brush, strategy = Brush(), made("best-of-2+edit", Mind(said_by_studio))
    first = draw(strategy, tmp_path, brush)
    count = len(brush.drawn)
    again = draw(strategy, tmp_path, brush)
    assert (again.image, again.cost, again.calls) == (first.image, first.cost, first.calls)
    assert len(brush.drawn) == count


def test_plain_edit_sends_single_order_to_editor(tmp_path: Path) -> None:
    brush, editor, mind = Brush(edits=False), Brush("editor"), Mind(said_by_studio)
    painting = draw(made("edit", mind, editor, edit="plain"), tmp_path, brush)
    assert steps_of(painting) == ["draft", "edit"]
    assert mind.heard == []
    (order,) = editor.drawn
    assert order.images == (painting.notes["steps"][0]["image"],)
    assert order.prompt.rstrip().endswith("The order:\n\nDraw a cell.")
    assert sha(painting.image) == painting.notes["steps"][1]["image"]
    assert painting.cost == pytest.approx(0.04)


def test_plain_edit_uses_original_question(tmp_path: Path) -> None:
    editor = Brush("editor")
    draw(made("recaption+edit", Mind(lambda *_: "A locomotive."), editor, edit="plain"), tmp_path, Brush())
    (order,) = editor.drawn
    assert order.prompt.rstrip().endswith("The order:\n\nDraw a cell.")


def test_draft_is_kept_when_plain_editor_refuses(tmp_path: Path) -> None:
    editor = Brush("editor", faults={0: "refusal"})
    painting = draw(made("edit", Mind(said_by_studio), editor, edit="plain"), tmp_path, Brush())
    assert sha(painting.image) == painting.notes["steps"][0]["image"]
    assert painting.notes["steps"][1]["fault"] == "refusal"
