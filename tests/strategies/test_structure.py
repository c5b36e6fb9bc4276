from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.calls import Fault
from limner.strategies.rewrite import differences
from tests.strategies.support import Brush, Mind, draw, made, said_by_studio

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


def test_the_same_in_order_passes() -> None:
    assert differences(PROMPT, ORDERED) in ([], ["added: one"])
    assert differences(PROMPT, ORDERED.replace(", one the main vent", "")) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("- magma chamber\n", "- magma chamber\n- crater lake\n", "added: crater, lake"),
        ("2 vents", "3 vents", "dropped: 2; added: 3"),
        ("cross-section of a volcano", "volcano", "dropped: cross-section"),
        ('"Magma chamber"', '"Magma Chamber"', "changed in quotation"),
        ("no snow", "snow", "1 negations became 0"),
        ("arrow leading", "line leading", "dropped: arrow"),
    ],
)
def test_what_is_added_dropped_or_altered_is_named(old: str, new: str, said: str) -> None:
    assert old in ORDERED
    assert said in "; ".join(differences(PROMPT, ORDERED.replace(", one the main vent", "").replace(old, new)))


@given(st.text(max_size=200))
def test_a_prompt_does_not_differ_from_itself(text: str) -> None:
    assert differences(text, text) == [] or any(word in text.casefold() for word in ("subject", "panels", "elements",
        "labels", "relations", "layout", "style"))  # fmt: skip


def test_an_altered_prompt_is_sent_back_and_then_given_up(tmp_path: Path) -> None:
    replies = ["Subject\n- Draw a nerve.", "Subject\n- Draw a cell."]
    mind, brush = Mind(lambda words, seen, turn: replies[turn]), Brush()
    draw(made("structure", mind), tmp_path / "a", brush)
    assert "dropped: cell; added: nerve" in mind.heard[1]
    assert [sent.prompt for sent in brush.drawn] == ["Subject\n- Draw a cell."]
    with pytest.raises(Fault, match="added: nerve") as caught:
        draw(made("structure", Mind(lambda *_: replies[0])), tmp_path / "b", Brush())
    assert caught.value.kind == "unreadable"


def test_the_studio_orders_without_change(tmp_path: Path) -> None:
    brush = Brush()
    draw(made("structure", Mind(said_by_studio)), tmp_path, brush, PROMPT)
    assert brush.drawn[0].prompt.startswith("Subject\n- Draw a cross-section")
