"""Scores, the three averages and their breakdowns."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.marks import Mark
from limner.core.protocol import Row
from limner.exams.worldgenbench import WORLDGENBENCH
from limner.exams.worldgenbench.data import CONTINENTS, DISCIPLINES
from limner.exams.worldgenbench.labels import words_alone
from tests.exams.worldgenbench.replies import MARKS, question

PROTOCOL = WORLDGENBENCH.protocol
CATEGORIES = {
    **{short: {"domain": "humanities", "continent": short} for short in CONTINENTS},
    **{short: {"domain": "nature", "discipline": short} for short in DISCIPLINES},
}
ROWS = st.lists(st.tuples(st.sampled_from(sorted(CATEGORIES)), MARKS), min_size=1, max_size=12)


def row(marks: list[int], **tags: str) -> Row:
    asked = question(len(marks), **tags)
    given = tuple(Mark(f"item/{n}", mark) for n, mark in enumerate(marks, 1))
    return Row(asked, given, PROTOCOL.scores(asked, given, {}))


@given(marks=MARKS)
def test_the_score_is_the_share_of_items_met(marks: list[int]) -> None:
    expected = float(Fraction(100 * sum(marks), len(marks)))
    assert row(marks).scores == {"checklist": pytest.approx(expected)}


@given(rows=ROWS)
def test_the_three_averages(rows: list[tuple[str, list[int]]]) -> None:
    made = [row(marks, **CATEGORIES[category]) for category, marks in rows]
    shares = [(category, Fraction(100 * sum(marks), len(marks))) for category, marks in rows]
    groups = {category: [share for name, share in shares if name == category] for category, _ in rows}
    expected = {
        "checklist": sum(share for _, share in shares) / len(shares),
        "checklist_items": Fraction(100 * sum(sum(m) for _, m in rows), sum(len(m) for _, m in rows)),
        "checklist_macro": sum((sum(found) / Fraction(len(found)) for found in groups.values()), Fraction(0))
        / len(groups),
    }
    assert PROTOCOL.summary(made) == {name: pytest.approx(float(value)) for name, value in expected.items()}


def test_averages_that_differ() -> None:
    """Ten items against two, two prompts against one."""
    made = [
        row([1] * 10, **CATEGORIES["AF"]),
        row([0, 0], **CATEGORIES["AF"]),
        row([0, 1], **CATEGORIES["PHYS"]),
    ]
    found = PROTOCOL.summary(made)
    assert found["checklist"] == pytest.approx(50.0)
    assert found["checklist_items"] == pytest.approx(100 * 11 / 14)
    assert found["checklist_macro"] == pytest.approx(50.0)
    assert PROTOCOL.summary(made[:1] * 3 + made[2:])["checklist_macro"] == pytest.approx(75.0)


def test_a_prompt_without_a_continent_is_in_no_category() -> None:
    alone = row([1, 0], domain="humanities", country="Nowhere")
    assert "checklist_macro" not in PROTOCOL.summary([alone])
    both = PROTOCOL.summary([alone, row([1, 1], **CATEGORIES["EU"])])
    assert both == {
        "checklist": pytest.approx(75),
        "checklist_items": pytest.approx(75),
        "checklist_macro": pytest.approx(100),
    }


@pytest.mark.parametrize(
    ("item", "explanation", "words"),
    [
        ("The label 'Umbra' is present.", "The full shadow.", ("Umbra",)),
        ("The words “Sea level” are clearly visible", "The height of the water.", ("Sea level",)),
        ("The labels 'Red', 'Green' and 'Blue' must be written.", "Three colours.", ("Red", "Green", "Blue")),
        # More is asked than words.
        ("An arrow labelled 'Volume' points up.", "The direction is plain.", ()),
        ("The label 'Umbra' is present twice.", "Two shadows.", ()),
        ("The label 'Umbra' is present.", "It must stand inside the shadow.", ()),
        ("The label 'pH' is present.", "The unit of the axis.", ()),
        ("The trees are in blossom.", "It is April.", ()),
    ],
)
def test_items_about_words_alone(item: str, explanation: str, words: tuple[str, ...]) -> None:
    assert words_alone(item, explanation) == words
