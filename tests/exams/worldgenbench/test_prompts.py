"""What the judge is told: every fact of the protocol in its place, and nothing of what was to be drawn."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from limner.core.asks import Ask, Picture, Text
from limner.core.exam import Question
from limner.exams.worldgenbench import WORLDGENBENCH
from limner.exams.worldgenbench.data import ChecklistItem, ChecklistRubric
from limner.judges import make_variant
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


def test_words_of_the_checklist_are_not_fields() -> None:
    odd = ChecklistRubric(checklist=(ChecklistItem(item="Shows {{reply}} {{", explanation="{{count}}"),))
    assert "1. Item: Shows {{reply}} {{\n   Explanation: {{count}}" in told(ask("false", Question("q", "x", odd)))


def test_no_sentence_of_the_authors_is_copied() -> None:
    from tests.needs import shared

    paper = " ".join(Path(shared("papers", "worldgenbench.txt")).read_text("utf-8").lower().split())
    words = re.findall(r"[\w']+", paper)
    known = {tuple(words[n : n + 8]) for n in range(len(words) - 7)}
    for path in WORLDGENBENCH.prompts.iterdir():
        ours = re.findall(r"[\w']+", path.read_text("utf-8").lower())
        shared_runs = [run for n in range(len(ours) - 7) if (run := tuple(ours[n : n + 8])) in known]
        assert not shared_runs, (path.name, shared_runs)
