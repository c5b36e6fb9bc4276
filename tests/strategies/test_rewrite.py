"""."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.calls import Fault
from limner.core.asks import Unreadable
from limner.core.settings import PainterFacts
from limner.painters.diffusers.text_encoding import SEPARATOR, reason_text
from limner.strategies.rewrite import (
    cut_to_tokens,
    differences,
    estimate_tokens,
    format_plan,
    read_traces,
    split_thinking,
    split_trace,
    stored_thinking,
)
from tests.strategies.support import Brush, Mind, draw, made, said_by_studio

SOURCE = "The Encoder maps tokens to a Latent Code; a decoder reads it."
PLAN: dict[str, Any] = {
    "content": "An encoder and a decoder.",
    "labels": ["Encoder", "Latent Code"],
    "relations": ["Encoder -> decoder: latent code"],
    "layout": "left to right",
    "style": "flat",
}


def test_rewritten_prompt_has_five_parts() -> None:
    prompt = format_plan(PLAN, SOURCE, 1000)
    for part in ('"Encoder", "Latent Code"', "- Encoder -> decoder", "Layout: left to right", "Style: flat"):
        assert part in prompt
    assert prompt.startswith("An encoder and a decoder.")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": ["Encoder", "Transformer"]}, "'Transformer'"),
        ({"labels": "Encoder"}, '"labels" must be a list'),
        ({"relations": [3]}, '"relations" must be a list'),
        ({"layout": " "}, '"layout" must be a text'),
        ({"content": "x" * 2000}, "at most 1000 are allowed"),
    ],
)
def test_broken_plan_is_reported(change: dict[str, Any], message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        format_plan({**PLAN, **change}, SOURCE, 1000)


def test_rewrite_over_painter_limit_is_requested_again(tmp_path: Path) -> None:
    replies = [json.dumps({**PLAN, "content": "x" * 900}), json.dumps(PLAN)]
    mind = Mind(lambda words, seen, turn: replies[turn])
    brush = Brush()
    brush.facts = PainterFacts(prompt_limit=600)  # type: ignore[attr-defined]
    painting = draw(made("rewrite", mind), tmp_path, brush, SOURCE)
    assert "under 600 characters" in mind.heard[0]
    assert "at most 600 are allowed" in mind.heard[1]
    (sent,) = brush.drawn
    assert (sent.prompt, len(mind.heard)) == (format_plan(PLAN, SOURCE, 600), 2)
    assert [step["step"] for step in painting.notes["steps"]] == ["rewrite"]
    assert painting.cost == pytest.approx(2 * 0.01 + 0.02)


def test_recaption_is_cut_to_token_limit(tmp_path: Path) -> None:
    brush = Brush()
    draw(made("recaption", Mind(said_by_studio), tokens="40"), tmp_path, brush)
    (sent,) = brush.drawn
    assert sent.prompt.startswith("A wide, bright page: Draw a cell.")
    assert 20 < estimate_tokens(sent.prompt) <= 40


def test_empty_caption_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Fault, match="no text"):
        draw(made("recaption", Mind(lambda *_: "<think>hm</think>")), tmp_path, Brush())


def test_trace_and_description_are_split() -> None:
    assert split_trace(f"<think>long</think>short\n{SEPARATOR}\nA tree.") == ("short", "A tree.")
    assert split_thinking("half a thought</think> done") == ("half a thought", "done")
    for broken in ("no separator", f"trace {SEPARATOR}  "):
        with pytest.raises(Unreadable):
            split_trace(broken)


def test_separately_sent_thinking_is_read() -> None:
    raw = {"choices": [{"message": {"content": "x", "reasoning_content": " why "}}]}
    assert stored_thinking({"raw": raw}) == "why"
    assert stored_thinking({"raw": {"choices": [{"message": {"reasoning": "because"}}]}}) == "because"
    assert stored_thinking({"raw": {"choices": []}}) == stored_thinking({}) == ""


def test_reason_sends_description_and_stores_trace(tmp_path: Path) -> None:
    brush = Brush()
    painting = draw(made("reason", Mind(said_by_studio)), tmp_path, brush)
    (sent,) = brush.drawn
    assert sent.prompt == "A drawing of Draw a cell."
    steps = {step["step"]: step["text"] for step in painting.notes["steps"]}
    assert steps == {"trace": "First the parts, then what joins them.", "description": sent.prompt}


def test_long_encoder_gets_trace_and_description(tmp_path: Path) -> None:
    brush = Brush()
    trace = "Roots take water up. " * 400
    mind = Mind(lambda *_: f"<think>{trace}</think>\n{SEPARATOR}\nA tree with roots.")
    painting = draw(made("reason", mind, style="r1-7b", tokens="2048"), tmp_path, brush)
    (sent,) = brush.drawn
    assert sent.prompt.startswith("Roots take water up.")
    assert sent.prompt.endswith("\n\nA tree with roots.")
    assert 1900 < estimate_tokens(sent.prompt) <= 2048
    assert painting.notes["steps"][0]["text"] == trace.strip()
    assert "Think it through at length" in mind.heard[0]


def test_painter_encoder_length_is_used_by_default(tmp_path: Path) -> None:
    brush = Brush()
    brush.encoder_tokens = 2048  # type: ignore[attr-defined]
    mind = Mind(lambda *_: f"<think>{'Roots take water up. ' * 400}</think>\n{SEPARATOR}\nA tree with roots.")
    draw(made("reason", mind, style="r1-7b"), tmp_path, brush)
    (sent,) = brush.drawn
    assert 1900 < estimate_tokens(sent.prompt) <= 2048


def test_encoder_of_512_tokens_gets_description_cut_to_limit(tmp_path: Path) -> None:
    brush = Brush()
    mind = Mind(lambda *_: f"why\n{SEPARATOR}\n" + "A leaf is green. " * 300)
    draw(made("reason", mind, style="o3"), tmp_path, brush)
    (sent,) = brush.drawn
    assert 490 < estimate_tokens(sent.prompt) <= 512
    assert "summary of your reasoning" in mind.heard[0]


class FluxBrush(Brush):
    """A painter that reads two texts, like a local FLUX; each letter is one of its tokens."""

    reads_short = True
    encoder_tokens = 68

    def token_counter(self) -> Any:
        return len


@pytest.mark.parametrize("style", ["o3", "r1", "r1-7b"])
def test_trained_flux_reads_written_trace_alone_counted_by_its_tokenizer(tmp_path: Path, style: str) -> None:
    brush = FluxBrush()
    reply = f"Roots take water up. Leaves use it up.\n{SEPARATOR}\nA tree with roots."
    mind = Mind(lambda *_: f"<think>Okay so the user wants. Hmm, wait.</think>{reply}", thinking="Hmm, but wait.")
    with pytest.raises(Fault, match="reads one text: send=trained needs a local FLUX"):
        draw(made("reason", mind, style=style, send="trained"), tmp_path, Brush())
    painting = draw(made("reason", mind, style=style, send="trained"), tmp_path, brush)
    (sent,) = brush.drawn
    assert sent.prompt == reason_text(*split_trace(reply), 68, len)
    assert sent.prompt == f"Roots take water up. Leaves\n\n{SEPARATOR}\n\nA tree with roots."
    assert sent.short == "Draw a cell."
    assert painting.notes["steps"][0]["text"] == "Roots take water up. Leaves use it up."


def test_untrained_flux_also_reads_thinking(tmp_path: Path) -> None:
    brush = Brush()
    mind = Mind(lambda *_: f"<think>Hm.</think>Roots drink.\n{SEPARATOR}\nA tree.", thinking="Sent separately.")
    draw(made("reason", mind, style="r1", send="both"), tmp_path, brush)
    assert brush.drawn[0].prompt == "Sent separately.\n\nHm.\n\nRoots drink.\n\nA tree."


def test_trained_flux_gets_no_drawing_without_written_trace(tmp_path: Path) -> None:
    replies = [f"<think>Hm.</think>{SEPARATOR}\nA tree.", f"<think>Hm.</think>Roots drink.\n{SEPARATOR}\nA tree."]
    mind, brush = Mind(lambda words, seen, turn: replies[turn]), FluxBrush()
    draw(made("reason", mind, style="r1-7b", send="trained"), tmp_path, brush)
    assert brush.drawn[0].prompt == f"Roots drink.\n\n{SEPARATOR}\n\nA tree."
    assert "the reasoning before" in mind.heard[1]


def test_captions_are_cut_by_the_painters_own_tokenizer(tmp_path: Path) -> None:
    brush, caption = FluxBrush(), "Roots take water up. " * 5
    draw(made("recaption", Mind(lambda *_: caption), tokens="40"), tmp_path, brush)
    assert [len(request.prompt) for request in brush.drawn] == [20]


def test_traces_can_come_from_file_instead_of_planner(tmp_path: Path) -> None:
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


@given(st.text(max_size=400), st.integers(0, 60))
def test_cut_text_fits_and_is_a_prefix(text: str, most: int) -> None:
    kept = cut_to_tokens(text, most)
    assert estimate_tokens(kept) <= most
    assert text.split()[: len(kept.split())] == kept.split() or estimate_tokens(text) <= most or kept == ""
    assert cut_to_tokens(kept, most) == kept


def test_whole_sentences_are_kept_where_one_fits() -> None:
    assert cut_to_tokens("Roots drink. Leaves breathe. Light feeds.", 8) == "Roots drink. Leaves breathe."
    assert cut_to_tokens("an endless sentence without a stop in it", 3) == "an endless"


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("cat", 1), ("photosynthesis", 3), ("42", 2), ("细胞核", 3), ("a-b", 3)]
)
def test_token_estimates(text: str, count: int) -> None:
    assert estimate_tokens(text) == count


def test_token_estimate_of_english_prose_is_not_too_low() -> None:
    prose = "The mitochondrion is drawn as an oval with a folded inner membrane, labelled in plain letters."
    assert estimate_tokens(prose) >= len(prose.split()) * 1.2


PROMPT = (
    'Draw a cross-section of a volcano with a magma chamber labelled "Magma chamber" below 2 vents. '
    "An arrow leads from the chamber to the main vent. There is no snow on the left flank."
)
ORDERED = """Subject
- cross-section of a volcano
Elements
- magma chamber
- 2 vents, one the main vent
- left flank
Labels
- "Magma chamber", labelled below the vents
Relations
- arrow leading from the chamber to the main vent
Layout
- no snow on the left flank
"""


def test_reordered_prompt_has_no_differences() -> None:
    assert differences(PROMPT, ORDERED) in ([], ["added: one"])
    assert differences(PROMPT, ORDERED.replace(", one the main vent", "")) == []


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        ("- magma chamber\n", "- magma chamber\n- crater lake\n", "added: crater, lake"),
        ("2 vents", "3 vents", "dropped: 2; added: 3"),
        ("cross-section of a volcano", "volcano", "dropped: cross-section"),
        ('"Magma chamber"', '"Magma Chamber"', "changed in quotation"),
        ("no snow", "snow", "1 negations became 0"),
        ("arrow leading", "line leading", "dropped: arrow"),
    ],
)
def test_additions_omissions_and_changes_are_reported(old: str, new: str, difference: str) -> None:
    assert old in ORDERED
    assert difference in "; ".join(differences(PROMPT, ORDERED.replace(", one the main vent", "").replace(old, new)))


@given(st.text(max_size=200))
def test_a_prompt_does_not_differ_from_itself(text: str) -> None:
    assert differences(text, text) == [] or any(word in text.casefold() for word in ("subject", "panels", "elements",
        "labels", "relations", "layout", "style"))  # fmt: skip


def test_altered_prompt_is_sent_back_then_fails(tmp_path: Path) -> None:
    replies = ["Subject\n- Draw a nerve.", "Subject\n- Draw a cell."]
    mind, brush = Mind(lambda words, seen, turn: replies[turn]), Brush()
    draw(made("structure", mind), tmp_path / "a", brush)
    assert "dropped: cell; added: nerve" in mind.heard[1]
    assert [sent.prompt for sent in brush.drawn] == ["Subject\n- Draw a cell."]
    with pytest.raises(Fault, match="added: nerve") as caught:
        draw(made("structure", Mind(lambda *_: replies[0])), tmp_path / "b", Brush())
    assert caught.value.kind == "unreadable"


def test_structure_reorders_prompt_without_changes(tmp_path: Path) -> None:
    brush = Brush()
    draw(made("structure", Mind(said_by_studio)), tmp_path, brush, PROMPT)
    assert brush.drawn[0].prompt.startswith("Subject\n- Draw a cross-section")
