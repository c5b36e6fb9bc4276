"""Scores, the three averages and their breakdowns."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.asks import Ask, Picture, Text
from limner.core.exam import Question
from limner.core.marks import Mark
from limner.core.protocol import Row
from limner.exams.rubric.criteria import presence_words
from limner.exams.worldgenbench import WORLDGENBENCH
from limner.exams.worldgenbench.data import CONTINENTS, DISCIPLINES, ChecklistItem, ChecklistRubric
from limner.judges import make_variant
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
def test_score_is_share_of_items_met(marks: list[int]) -> None:
    expected = float(Fraction(100 * sum(marks), len(marks)))
    assert row(marks).scores == {"checklist": pytest.approx(expected)}


@given(rows=ROWS)
def test_three_averages_match_exact_fractions(rows: list[tuple[str, list[int]]]) -> None:
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


def test_three_averages_can_differ() -> None:
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


def test_prompt_without_continent_has_no_category() -> None:
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
def test_items_about_label_presence_are_recognised(item: str, explanation: str, words: tuple[str, ...]) -> None:
    assert presence_words(item, explanation) == words


DRAWING = "1" * 64
each_way = pytest.mark.parametrize("explain", ["false", "true"])


def ask(explain: str, asked: Question[ChecklistRubric] | None = None) -> Ask:
    (found,) = PROTOCOL.asks(asked or question(3), DRAWING, {}, make_variant(WORLDGENBENCH, None, {"explain": explain}))
    return found


def told(found: Ask) -> str:
    return "".join(part.text if isinstance(part, Text) else "\n" for part in found.shown)


def sections(found: Ask) -> dict[str, str]:
    """The request's text by its headings, each in one line."""
    assert "{{" not in told(found)
    parts = re.split(r"^## (.+)$", "## Opening\n" + told(found), flags=re.M)[1:]
    return {name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def test_reply_instructions_depend_on_explain_option() -> None:
    plain, explained = (sections(ask(explain))["Reply"] for explain in ("false", "true"))
    assert re.search("the list alone", plain)
    assert re.search("exactly 3 numbers in square brackets, each 0 or 1, in the order of the checklist", plain)
    assert re.search("one JSON object and nothing else", explained)
    assert re.search('"answers" has exactly 3 entries, in the order of the checklist', explained)
    assert re.search('"reason" says in one sentence', explained)


@each_way
def test_picture_is_between_rules_and_checklist(explain: str) -> None:
    first, picture, last = ask(explain).shown
    assert isinstance(first, Text)
    assert isinstance(last, Text)
    assert picture == Picture(DRAWING)
    assert last.text.startswith("## The checklist")


@each_way
def test_drawing_prompt_is_not_shown(explain: str) -> None:
    asked = Question("secret-id", "A very telling prompt.", question(2).rubric, {"domain": "nature"})
    assert "telling prompt" not in told(ask(explain, asked))
    assert "secret-id" not in told(ask(explain, asked))


def test_reasons_are_requested_with_strict_schema() -> None:
    assert ask("false").contract.schema is None
    schema = ask("true").contract.schema
    assert schema is not None
    inner = schema["properties"]["answers"]["items"]
    for level in (schema, inner):
        assert level["additionalProperties"] is False
        assert level["required"] == list(level["properties"])
    assert inner["properties"]["mark"] == {"type": "integer", "enum": [0, 1]}


def test_braces_in_checklist_are_not_expanded() -> None:
    odd = ChecklistRubric(checklist=(ChecklistItem(item="Shows {{reply}} {{", explanation="{{count}}"),))
    assert "1. Item: Shows {{reply}} {{\n   Explanation: {{count}}" in told(ask("false", Question("q", "x", odd)))


def test_prompts_copy_no_sentence_of_authors() -> None:
    from tests.needs import shared

    paper = " ".join(Path(shared("papers", "worldgenbench.txt")).read_text("utf-8").lower().split())
    words = re.findall(r"[\w']+", paper)
    known = {tuple(words[n : n + 8]) for n in range(len(words) - 7)}
    for path in WORLDGENBENCH.prompts.iterdir():
        ours = re.findall(r"[\w']+", path.read_text("utf-8").lower())
        shared_runs = [run for n in range(len(ours) - 7) if (run := tuple(ours[n : n + 8])) in known]
        assert not shared_runs, (path.name, shared_runs)
