"""Scores, the three averages and their breakdowns."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.marks import Mark, fill
from limner.core.protocol import Row
from limner.exams.worldgenbench import WORLDGENBENCH
from limner.exams.worldgenbench.data import CONTINENTS, DISCIPLINES
from limner.exams.worldgenbench.labels import words_alone
from limner.scoring.stats import LEAST, bootstrap
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


@given(marks=MARKS, data=st.data())
def test_an_undecided_item_leaves_no_score_but_bounds(marks: list[int], data: st.DataObject) -> None:
    asked = question(len(marks))
    hidden = data.draw(st.sets(st.integers(0, len(marks) - 1), min_size=1))
    given = [
        Mark.abstain(f"item/{n + 1}", "unsure") if n in hidden else Mark(f"item/{n + 1}", mark)
        for n, mark in enumerate(marks)
    ]
    assert PROTOCOL.scores(asked, given, {}) == {"checklist": None}
    assert PROTOCOL.parts(Row(asked, tuple(given), {"checklist": None})) == {}
    low, high = (
        PROTOCOL.scores(asked, fill(given, PROTOCOL.criteria(asked), best), {})["checklist"] for best in (False, True)
    )
    whole = row(marks).scores["checklist"]
    assert low is not None
    assert high is not None
    assert whole is not None
    assert low <= whole <= high


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


@given(rows=ROWS)
def test_resampling_works_on_arrays_as_on_numbers(rows: list[tuple[str, list[int]]]) -> None:
    made = [row(marks, **CATEGORIES[category]) for category, marks in rows]
    parts: dict[str, tuple[Any, Any]] = {}
    for place, one in enumerate(made):
        for name, (top, bottom) in PROTOCOL.parts(one).items():
            tops, bottoms = parts.setdefault(name, (np.zeros(len(made)), np.zeros(len(made))))
            tops[place], bottoms[place] = top, bottom
    found = bootstrap(parts, PROTOCOL.derive, resamples=50)
    assert set(found) == {score.name for score in PROTOCOL.scored}
    for name, value in PROTOCOL.summary(made).items():
        assert found[name].value == pytest.approx(value)
        low, high = found[name].low, found[name].high
        assert (low is None) == (high is None) == (len(made) < LEAST)
        if low is None or high is None:
            continue
        assert 0 <= low <= high <= 100 + 1e-9


def test_a_prompt_without_a_continent_is_in_no_category() -> None:
    alone = row([1, 0], domain="humanities", country="Nowhere")
    assert "checklist_macro" not in PROTOCOL.summary([alone])
    both = PROTOCOL.summary([alone, row([1, 1], **CATEGORIES["EU"])])
    assert both == {
        "checklist": pytest.approx(75),
        "checklist_items": pytest.approx(75),
        "checklist_macro": pytest.approx(100),
    }


def test_averages_are_named_for_what_they_are() -> None:
    about = {score.name: score.about for score in PROTOCOL.scored}
    assert list(about) == ["checklist", "checklist_items", "checklist_macro"]
    assert "mean over prompts" in about["checklist"]
    assert "all checklist items" in about["checklist_items"]
    assert "continents and disciplines" in about["checklist_macro"]
    assert all(score.monotone and score.top == 100 for score in PROTOCOL.scored)
    assert PROTOCOL.breakdowns == ("domain", "continent", "discipline")


@pytest.mark.parametrize(
    ("item", "explanation", "words"),
    [
        ("The label 'Umbra' is present.", "The full shadow.", ("Umbra",)),
        ("The words “Sea level” are clearly visible", "The height of the water.", ("Sea level",)),
        ("Text 'Giza' should be shown.", "", ("Giza",)),
        ("The labels 'Red', 'Green' and 'Blue' must be written.", "Three colours.", ("Red", "Green", "Blue")),
        # More is asked than words.
        ("The banner reads 'Spring Fair'.", "It names the feast.", ()),
        ("The title 'Dispersion' is written.", "The effect.", ()),
        ("The embankment is labelled 'Dyke'.", "The term.", ()),
        ("An arrow labelled 'Volume' points up.", "The direction is plain.", ()),
        ("The label 'Umbra' is present twice.", "Two shadows.", ()),
        ("The label 'Umbra' is present.", "It must stand inside the shadow.", ()),
        ("The label 'Umbra' is present.", "It stands beside 'Penumbra'.", ()),
        ("The label 'pH' is present.", "The unit of the axis.", ()),
        ("The label Umbra is present.", "The full shadow.", ()),
        ("The trees are in blossom.", "It is April.", ()),
    ],
)
def test_items_about_words_alone(item: str, explanation: str, words: tuple[str, ...]) -> None:
    assert words_alone(item, explanation) == words


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_item_can_be_looked_at(item: str, explanation: str) -> None:
    assert isinstance(words_alone(item, explanation), tuple)
