"""Evidence: what stands in a prompt, what does not, and what may be about something else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.build.figures.spans import doubtful, labels, missing
from tests.build.evidence_spans import claims

PROMPT = "Draw a cell with its 'Nucleus' at the left – and two “Vacuoles” at the lens' right."


@pytest.mark.parametrize(
    "span", ['a cell with its "nucleus"', "two 'Vacuoles'", "DRAW a  cell", "cell … left - and", "the lens' right."]
)
def test_spans_that_are_there(span: str) -> None:
    assert missing(span, PROMPT) is None


@pytest.mark.parametrize(
    "span", ["a cells", "ell with", "right … left", "three Vacuoles", "…", " . ", "cell its nucleus"]
)
def test_spans_that_are_not(span: str) -> None:
    assert missing(span, PROMPT) is not None


def test_labels_are_words_in_quotation_marks() -> None:
    assert labels(PROMPT) == {"nucleus", "vacuoles"}


@pytest.mark.parametrize("half", ["tuned on", "held out"])
def test_error_rates(half: str) -> None:
    """What docs/build-fepbench.md says of the half that no rule was set on."""
    found = {}
    for name, rows in claims(half).items():
        refused = [one for one in rows if missing(one.span, one.prompt)]
        doubted = [
            one for one in rows
            if one not in refused and doubtful(one.modality, one.atom, one.span, one.prompt)
        ]  # fmt: skip
        found[name] = (len(refused), len(doubted), len(rows))
    print(half, found)
    if half == "held out":
        assert found == {
            "right": (0, 1, 58),
            "altered": (58, 0, 58),
            "elsewhere": (0, 55, 58),
            "reasoning": (0, 15, 24),
        }


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_what_was_copied_is_there(before: str, span: str, after: str) -> None:
    words = " ".join(span.split()).strip(" .,;:!?\"'()…")
    if "..." in words or "…" in words or sum(map(str.isalnum, words)) < 2 or not words.isascii():
        return
    assert missing(words, f"{before} {words} {after}") is None or not words[0].isalnum() or not words[-1].isalnum()
