from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.calls import Fault
from limner.core.errors import UsageError
from limner.strategies import DIRECT_STRATEGY, STRATEGIES, open_strategy, parse_strategy
from tests.strategies.support import Brush, Mind, draw, made, said_by_studio


def names(word: str) -> list[str]:
    return [stage.name for stage in parse_strategy(word)[0]]


@pytest.mark.parametrize(
    ("word", "chain"),
    [
        ("direct", ["direct"]),
        ("rewrite", ["rewrite", "direct"]),
        ("rewrite+best-of-4", ["rewrite", "direct", "best-of-N"]),
        ("best-of-2+edit", ["direct", "best-of-N", "edit"]),
        ("edit", ["direct", "edit"]),
        ("reason+svg-prior", ["reason", "svg-prior"]),
        ("structure+recaption+svg+best-of-3+edit+edit", [
            "structure", "recaption", "svg", "best-of-N", "edit", "edit",
        ]),
    ],
)  # fmt: skip
def test_drawing_stage_is_inserted(word: str, chain: list[str]) -> None:
    assert names(word) == chain


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("", "no strategy ''"),
        ("dream", "no strategy 'dream'"),
        ("best-of-N", "no strategy"),
        ("best-of-1", "N from 2"),
        ("best-of-99", "N from 2"),
        ("edit+rewrite", "first those that change the prompt"),
        ("svg+rewrite", "first those that change the prompt"),
        ("svg+svg-prior", "first those that change the prompt"),
        ("best-of-2+best-of-2", "first those that change the prompt"),
        ("best-of-2+svg", "first those that change the prompt"),
    ],
)
def test_invalid_chain_is_refused(word: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_strategy(word)


PIECES = st.sampled_from([*STRATEGIES.own(), "best-of-2", "best-of-16", "best-of-0", "dream", "-N", "", "-3"])


@given(st.text() | st.lists(PIECES, min_size=1, max_size=5).map("+".join))
def test_any_text_is_parsed_as_chain_or_refused(word: str) -> None:
    try:
        stages, n = parse_strategy(word)
    except UsageError:
        return
    assert sum(stage.place == "drawing" for stage in stages) == 1
    assert 1 <= n <= 16


def test_a_missing_model_is_named() -> None:
    with pytest.raises(UsageError, match="name its chooser: -S chooser=PROVIDER/MODEL"):
        open_strategy("best-of-2", {"planner": "fake/mind"}, None, None)


@pytest.mark.parametrize(
    ("word", "options", "message"),
    [
        ("reason", {"style": "r2"}, "it must be one of: o3, r1, r1-7b"),
        ("best-of-2", {"choose": "dice"}, "it must be one of: listwise, pairwise"),
        ("recaption", {"tokens": "many"}, "it must be a whole number"),
    ],
)
def test_options_are_checked_before_drawing(word: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        made(word, None, **options)


def test_name_includes_options_in_order() -> None:
    strategy = made("recaption", None, tokens="64", **{"planner.temperature": "0"})
    assert strategy.name == "recaption[planner=fake/mind,planner.temperature=0,tokens=64]"
    assert made("direct", None) is DIRECT_STRATEGY


def test_editor_without_edit_support_is_refused() -> None:
    made("edit", None).fits(Brush())
    made("edit", None, Brush()).fits(Brush(edits=False))
    with pytest.raises(UsageError, match="cannot start from a picture"):
        made("edit", None).fits(Brush(edits=False))


def test_fault_includes_cost_paid_before_it(tmp_path: Path) -> None:
    mind = Mind(said_by_studio)
    with pytest.raises(Fault) as caught:
        draw(made("recaption", mind), tmp_path, Brush(faults={0: "refusal"}))
    assert (caught.value.kind, len(caught.value.calls)) == ("refusal", 2)
    assert caught.value.cost == pytest.approx(0.03)


def test_every_stage_is_described_and_has_one_role() -> None:
    for stage in map(STRATEGIES.get, STRATEGIES.own()):
        assert stage.about
        assert sum(part is not None for part in (stage.words, stage.draw, stage.many, stage.finish)) == 1
        assert stage.guess(100, {}, 4)


@pytest.mark.parametrize(
    "word", ["rewrite+best-of-2", "reason+best-of-2", "reason+edit", "recaption+svg+best-of-2+edit"]
)
def test_judging_models_get_question_not_plan(word: str, tmp_path: Path) -> None:
    """A planner that gets it wrong must not be the measure of the drawing."""
    asked, wrong = 'Draw how a "Leaf" drinks.', "A picture of a locomotive"
    replies = {
        "You prepare": json.dumps({"content": wrong, "labels": [], "relations": [], "layout": "l", "style": "s"}),
        "You plan": f"Steam.\n=== DRAWING ===\n{wrong}",
        "Write a longer": wrong,
    }

    def say(words: str, seen: list[str], turn: int) -> str:
        found = next((reply for start, reply in replies.items() if words.startswith(start)), None)
        return found or said_by_studio(words, seen, turn)

    mind, brush, editor = Mind(say), Brush(), Brush("editor")
    draw(made(word, mind, editor), tmp_path, brush, prompt=asked)
    judging = [json.loads(heard)["words"] for heard in mind.heard if json.loads(heard)["seen"]]
    assert judging
    for words in judging:
        assert words.partition("## The order")[2].partition("## Reply")[0].strip() == asked
        assert wrong not in words
    assert all(wrong in sent.prompt for sent in [*brush.drawn, *editor.drawn])


@pytest.mark.parametrize(
    ("word", "options", "name"),
    [
        ("edit", {"edit": "plain"}, "edit[edit=plain,editor=fake/editor]"),
        ("edit", {"edit": "plain", "rounds": "3"}, "edit[edit=plain,editor=fake/editor]"),
        ("best-of-2+edit", {"edit": "plain"}, "best-of-2+edit[chooser=fake/mind,edit=plain,editor=fake/editor]"),
        ("edit", {"edit": "critique"}, "edit[chooser=fake/mind,critic=fake/mind,edit=critique,editor=fake/editor]"),
    ],
)
def test_name_includes_only_options_used_by_mode(word: str, options: dict[str, str], name: str) -> None:
    assert made(word, Mind(said_by_studio), Brush("editor"), **options).name == name
