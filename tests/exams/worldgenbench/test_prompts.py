"""What the judge is told: every fact of the protocol in its place, and nothing of what was to be drawn."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from limner.core.asks import Ask, Picture, Text
from limner.core.errors import UsageError
from limner.core.exam import Question
from limner.exams.worldgenbench import WORLDGENBENCH
from limner.exams.worldgenbench.data import ChecklistItem, ChecklistRubric
from limner.judges import make_variant
from tests.cli.invoke import limner
from tests.exams.worldgenbench.replies import question

DRAWING = "1" * 64
PROTOCOL = WORLDGENBENCH.protocol
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


FACTS = [
    ("Opening", "checklist"),
    ("Opening", "never instructions"),
    ("Opening", "what the model was told to draw is not shown to you"),
    ("How to work", "item and its explanation together"),
    ("How to work", "Whatever the explanation says is demanded as well, in full"),
    ("How to work", "1 only when every one of them is there, plain and beyond doubt"),
    ("How to work", "One element that is missing or unclear makes the mark 0"),
    ("How to work", "Infer nothing"),
    ("How to work", "related word, a likeness, symmetry or what is generally known"),
    ("How to work", "Only what is drawn or labelled counts"),
    ("How to work", "unmarked, ambiguous or merely hinted at counts as absent"),
    ("What is evidence", "A term by itself proves no structure"),
    ("What is evidence", "Arrows, colours, directions and shapes .* only where a label or a legend says"),
    ("What is evidence", "met as a whole or not at all"),
    ("Going back", "return to each 1"),
    ("Going back", "demanded detail neither drawn nor labelled"),
    ("Going back", "rest on an assumption"),
    ("Going back", "turn the 1 into 0"),
    ("An example", "Item: .* Explanation: "),
    ("An example", "- Met, 1: "),
    ("An example", "- Not met, 0: "),
    ("The checklist", r"1\. Item: Part 1 is shown\. Explanation: Reason 1\. 2\. Item: .* 3\. Item: .* Reason 3\."),
]


@each_way
def test_every_fact_is_told(explain: str) -> None:
    found = sections(ask(explain))
    assert not [(name, fact) for name, fact in FACTS if not re.search(fact, found[name])]


def test_how_to_reply() -> None:
    plain, explained = (sections(ask(explain))["Reply"] for explain in ("false", "true"))
    assert re.search("the list alone", plain)
    assert re.search("exactly 3 numbers in square brackets, each 0 or 1, in the order of the checklist", plain)
    assert re.search("one JSON object and nothing else", explained)
    assert re.search('"answers" has exactly 3 entries, in the order of the checklist', explained)
    assert re.search('"reason" says in one sentence', explained)


@each_way
def test_the_picture_stands_between_rules_and_checklist_as_it_is(explain: str) -> None:
    first, picture, last = ask(explain).shown
    assert isinstance(first, Text)
    assert isinstance(last, Text)
    assert picture == Picture(DRAWING)
    assert last.text.startswith("## The checklist")


@each_way
def test_the_drawing_prompt_is_not_told(explain: str) -> None:
    asked = Question("secret-id", "A very telling prompt.", question(2).rubric, {"domain": "nature"})
    assert "telling prompt" not in told(ask(explain, asked))
    assert "secret-id" not in told(ask(explain, asked))


def test_reasons_are_asked_for_in_a_strict_shape() -> None:
    assert ask("false").contract.schema is None
    schema = ask("true").contract.schema
    assert schema is not None
    inner = schema["properties"]["answers"]["items"]
    for level in (schema, inner):
        assert level["additionalProperties"] is False
        assert level["required"] == list(level["properties"])
    assert inner["properties"]["mark"] == {"type": "integer", "enum": [0, 1]}


def test_ways_of_asking_never_mix() -> None:
    ways = [make_variant(WORLDGENBENCH, None, {"explain": explain}) for explain in ("false", "true")]
    assert len({way.prompts.hash(*PROTOCOL.templates(way)) for way in ways}) == 2
    assert {name for way in ways for name in PROTOCOL.templates(way)} == {
        path.stem for path in WORLDGENBENCH.prompts.glob("*.md")
    }
    with pytest.raises(UsageError, match="explain=maybe: worldgenbench takes false, true"):
        make_variant(WORLDGENBENCH, None, {"explain": "maybe"})


def test_words_of_the_checklist_are_not_fields() -> None:
    odd = ChecklistRubric(checklist=(ChecklistItem(item="Shows {{reply}} {{", explanation="{{count}}"),))
    assert "1. Item: Shows {{reply}} {{\n   Explanation: {{count}}" in told(ask("false", Question("q", "x", odd)))


def test_the_papers_settings() -> None:
    assert WORLDGENBENCH.preset("paper") == {
        "judge": "openai/gpt-4o",
        "variant": "paper",
        "reading": "paper",
        "judge_args": {},
        "options": {"explain": "false"},
        "painter_args": {},
        "draw_options": {},
    }


def test_the_exam_is_listed_with_all_it_offers() -> None:
    said = limner("exams").out
    for fact in (
        f"worldgenbench: {WORLDGENBENCH.title}",
        "checklist (0-100): percent of a prompt's checklist that is met, mean over prompts",
        "checklist_items (0-100)",
        "checklist_macro (0-100)",
        "-O explain=false|true",
        "--preset paper: judge openai/gpt-4o, variant paper, explain=false, reading paper",
        "bundled sample: sample/worldgenbench",
    ):
        assert fact in said


def test_no_sentence_of_the_authors_is_copied() -> None:
    from tests.needs import shared

    paper = " ".join(Path(shared("papers", "worldgenbench.txt")).read_text("utf-8").lower().split())
    words = re.findall(r"[\w']+", paper)
    known = {tuple(words[n : n + 8]) for n in range(len(words) - 7)}
    for path in WORLDGENBENCH.prompts.iterdir():
        ours = re.findall(r"[\w']+", path.read_text("utf-8").lower())
        shared_runs = [run for n in range(len(ours) - 7) if (run := tuple(ours[n : n + 8])) in known]
        assert not shared_runs, (path.name, shared_runs)
