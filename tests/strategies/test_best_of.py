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
def test_the_best_of_four_is_kept_whatever_the_order(how: str, tmp_path: Path) -> None:
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
def test_who_likes_the_place_and_not_the_picture_changes_nothing(how: str, tmp_path: Path) -> None:
    painting = draw(made("best-of-3", Mind(last_one), choose=how), tmp_path, Brush())
    first = next(step["image"] for step in painting.notes["steps"] if step["step"] == "candidate")
    assert sha(painting.image) == first


def test_another_seed_draws_other_candidates(tmp_path: Path) -> None:
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


def test_a_passing_fault_waits_for_the_next_run_which_draws_the_rest_only(tmp_path: Path) -> None:
    brush, strategy = Brush(faults={2: "server"}), made("best-of-4", Mind(said_by_studio))
    with pytest.raises(Fault, match="seed 2") as caught:
        draw(strategy, tmp_path, brush)
    assert caught.value.kind == "server"
    brush.faults = {}
    painting = draw(strategy, tmp_path, brush)
    assert sorted(sent.seed for sent in brush.drawn) == [0, 1, 2, 2, 3]
    assert len([step for step in painting.notes["steps"] if step["step"] == "candidate"]) == 4


def test_a_ranking_that_lacks_a_letter_is_asked_for_again(tmp_path: Path) -> None:
    replies = ['{"ranking": ["A"]}', '{"ranking": ["A", "A"]}', '{"ranking": ["B", "A"]}']
    mind = Mind(lambda words, seen, turn: replies[turn])
    draw(made("best-of-2", mind), tmp_path, Brush())
    assert "each of" in mind.heard[1]


def test_the_chooser_sees_prompt_and_pictures_alone(tmp_path: Path) -> None:
    mind = Mind(said_by_studio)
    draw(made("best-of-2", mind), tmp_path, Brush(), prompt="Draw a leaf.")
    asked = json.loads(mind.heard[0])
    assert "Draw a leaf." in asked["words"]
    assert len(asked["seen"]) == 2
    assert json.loads(mind.heard[1])["seen"] == asked["seen"][::-1]
