from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from limner.calls import Fault
from limner.core.asks import Unreadable
from limner.core.settings import PainterFacts
from limner.painters.diffusers.text_encoding import SEPARATOR
from limner.strategies.rewrite import about, parted, read_traces, structured, thinking, without_thought
from tests.strategies.support import Brush, Mind, draw, made, said_by_studio

SOURCE = "The Encoder maps tokens to a Latent Code; a decoder reads it."
PLAN: dict[str, Any] = {
    "content": "An encoder and a decoder.",
    "labels": ["Encoder", "Latent Code"],
    "relations": ["Encoder -> decoder: latent code"],
    "layout": "left to right",
    "style": "flat",
}


def test_a_rewritten_prompt_has_its_five_parts() -> None:
    prompt = structured(PLAN, SOURCE, 1000)
    for part in ('"Encoder", "Latent Code"', "- Encoder -> decoder", "Layout: left to right", "Style: flat"):
        assert part in prompt
    assert prompt.startswith("An encoder and a decoder.")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"labels": ["Encoder", "Transformer"]}, "'Transformer'"),
        ({"labels": "Encoder"}, '"labels" must be a list'),
        ({"relations": [3]}, '"relations" must be a list'),
        ({"layout": " "}, '"layout" must be a text'),
        ({"content": "x" * 2000}, "at most 1000 are allowed"),
    ],
)
def test_a_broken_plan_is_told_what_is_wrong(change: dict[str, Any], said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        structured({**PLAN, **change}, SOURCE, 1000)


def test_rewrite_keeps_to_the_painters_limit_and_asks_again(tmp_path: Path) -> None:
    replies = [json.dumps({**PLAN, "content": "x" * 900}), json.dumps(PLAN)]
    mind = Mind(lambda words, seen, turn: replies[turn])
    brush = Brush()
    brush.facts = PainterFacts(prompt_limit=600)  # type: ignore[attr-defined]
    painting = draw(made("rewrite", mind), tmp_path, brush, SOURCE)
    assert "under 600 characters" in mind.heard[0]
    assert "at most 600 are allowed" in mind.heard[1]
    (sent,) = brush.drawn
    assert (sent.prompt, len(mind.heard)) == (structured(PLAN, SOURCE, 600), 2)
    assert [step["step"] for step in painting.notes["steps"]] == ["rewrite"]
    assert painting.cost == pytest.approx(2 * 0.01 + 0.02)


def test_a_recaption_is_cut_to_its_tokens(tmp_path: Path) -> None:
    brush = Brush()
    draw(made("recaption", Mind(said_by_studio), tokens="40"), tmp_path, brush)
    (sent,) = brush.drawn
    assert sent.prompt.startswith("A wide, bright page: Draw a cell.")
    assert 20 < about(sent.prompt) <= 40


def test_an_empty_caption_is_no_caption(tmp_path: Path) -> None:
    with pytest.raises(Fault, match="no text"):
        draw(made("recaption", Mind(lambda *_: "<think>hm</think>")), tmp_path, Brush())


def test_parting_trace_and_description() -> None:
    assert parted(f"<think>long</think>short\n{SEPARATOR}\nA tree.") == ("long\n\nshort", "A tree.")
    assert without_thought("half a thought</think> done") == ("half a thought", "done")
    for broken in ("no separator", f"trace {SEPARATOR}  "):
        with pytest.raises(Unreadable):
            parted(broken)


def test_thinking_sent_apart_is_found() -> None:
    raw = {"choices": [{"message": {"content": "x", "reasoning_content": " why "}}]}
    assert thinking({"raw": raw}) == "why"
    assert thinking({"raw": {"choices": [{"message": {"reasoning": "because"}}]}}) == "because"
    assert thinking({"raw": {"choices": []}}) == thinking({}) == ""


def test_reason_sends_the_description_and_keeps_the_trace(tmp_path: Path) -> None:
    brush = Brush()
    painting = draw(made("reason", Mind(said_by_studio)), tmp_path, brush)
    (sent,) = brush.drawn
    assert sent.prompt == "A drawing of Draw a cell."
    steps = {step["step"]: step["text"] for step in painting.notes["steps"]}
    assert steps == {"trace": "First the parts, then what joins them.", "description": sent.prompt}


def test_a_stretched_encoder_gets_trace_and_description(tmp_path: Path) -> None:
    brush = Brush()
    trace = "Roots take water up. " * 400
    mind = Mind(lambda *_: f"<think>{trace}</think>\n{SEPARATOR}\nA tree with roots.")
    painting = draw(made("reason", mind, style="r1-7b", tokens="2048"), tmp_path, brush)
    (sent,) = brush.drawn
    assert sent.prompt.startswith("Roots take water up.")
    assert sent.prompt.endswith("\n\nA tree with roots.")
    assert 1900 < about(sent.prompt) <= 2048
    assert painting.notes["steps"][0]["text"] == trace.strip()
    assert "Think it through at length" in mind.heard[0]


def test_a_painter_that_reads_far_is_sent_as_much_unasked(tmp_path: Path) -> None:
    brush = Brush()
    brush.encoder_tokens = 2048  # type: ignore[attr-defined]
    mind = Mind(lambda *_: f"<think>{'Roots take water up. ' * 400}</think>\n{SEPARATOR}\nA tree with roots.")
    draw(made("reason", mind, style="r1-7b"), tmp_path, brush)
    (sent,) = brush.drawn
    assert 1900 < about(sent.prompt) <= 2048


def test_an_encoder_of_512_tokens_gets_the_description_cut_to_it(tmp_path: Path) -> None:
    brush = Brush()
    mind = Mind(lambda *_: f"why\n{SEPARATOR}\n" + "A leaf is green. " * 300)
    draw(made("reason", mind, style="o3"), tmp_path, brush)
    (sent,) = brush.drawn
    assert 490 < about(sent.prompt) <= 512
    assert "summary of your reasoning" in mind.heard[0]


def test_a_trained_flux_reads_trace_separator_and_description_and_the_question_apart(tmp_path: Path) -> None:
    brush = Brush()
    mind = Mind(lambda *_: f"<think>{'Roots take water up. ' * 400}</think>\n{SEPARATOR}\nA tree with roots.")
    with pytest.raises(Fault, match="reads one text: send=trained is for a local FLUX"):
        draw(made("reason", mind, style="r1-7b", send="trained"), tmp_path, brush)
    brush.reads_short = True  # type: ignore[attr-defined]
    draw(made("reason", mind, style="r1-7b", send="trained", tokens="2048"), tmp_path, brush)
    (sent,) = brush.drawn
    assert sent.prompt.startswith("Roots take water up.")
    assert sent.prompt.endswith(f"\n\n{SEPARATOR}\n\nA tree with roots.")
    assert 1900 < about(sent.prompt) <= 2048
    assert sent.short == "Draw a cell."


def test_traces_may_come_from_a_file_instead_of_a_planner(tmp_path: Path) -> None:
    brush, file = Brush(), tmp_path / "oracle.jsonl"
    brush.reads_short = True  # type: ignore[attr-defined]
    file.write_text(
        json.dumps({"id": "q1", "trace": "It has walls.", "final_prompt": "A cell.", "level": "PhD"}), "utf-8"
    )
    strategy = made("reason", None, traces=str(file), send="trained", tokens="2048")
    painting = draw(strategy, tmp_path, brush)
    (sent,) = brush.drawn
    assert sent.prompt == f"It has walls.\n\n{SEPARATOR}\n\nA cell."
    assert painting.cost == pytest.approx(0.02)
    assert "oracle.jsonl" in strategy.name
    assert [guess.who for guess in strategy.guesses(100)] == ["painter"]
    file.write_text(json.dumps({"id": "other", "trace": "", "final_prompt": "A leaf."}), "utf-8")
    read_traces.cache_clear()
    with pytest.raises(Fault, match="has no trace for this question") as found:
        draw(strategy, tmp_path, brush)
    assert found.value.kind == "not_applicable"
