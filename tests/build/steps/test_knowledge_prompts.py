"""Lines of prompts and concepts, whatever stands around them."""

from __future__ import annotations

import pytest

from limner import exams
from limner.build.recipe import open_recipe
from limner.build.steps.knowledge_prompts import KnowledgePromptsSettings, names_form, read_prompts
from limner.core.asks import Unreadable


def how() -> KnowledgePromptsSettings:
    place = next(place for place in open_recipe("graph").places if place.name == "write")
    assert isinstance(place.settings, KnowledgePromptsSettings)
    return place.settings


def test_lines_are_read_whatever_surrounds_them() -> None:
    reply = (
        "Of course!\n\n**PROMPT**: Draw a *flow chart* of digestion.\n**CONCEPT**: digestion\n\n"
        "2. **PROMPT:** A poster on tides.\n   **Concept**: no\n**CONCEPT:** tides"
    )
    assert read_prompts(reply, 2, how()) == [
        {"prompt": "Draw a *flow chart* of digestion.", "concept": "digestion"},
        {"prompt": "A poster on tides.", "concept": "tides"},
    ]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("nothing", "there are 0 lines"),
        ("**PROMPT**: A map of x.\n" * 3, "there are 3 lines"),
        ("**PROMPT**: A map of x.", "no line **CONCEPT**"),
        ("**PROMPT**: Explain tides.\n**CONCEPT**: tides", "names no visual form"),
        (f"**PROMPT**: A map {'very ' * 80}far.\n**CONCEPT**: maps", "words; at most 80"),
        (f"**PROMPT**: A map.\n**CONCEPT**: {'a ' * 9}", "more than 8 words"),
        ("**PROMPT**: A map.\n**CONCEPT**: m\n**PROMPT**: a MAP\n**CONCEPT**: m", "stands there twice"),
        ("**CONCEPT**: m\n**PROMPT**: A map.\n**CONCEPT**: m", "has no prompt before it"),
    ],
)
def test_what_is_wrong_is_told(reply: str, said: str) -> None:
    with pytest.raises(Unreadable) as found:
        read_prompts(reply, 2, how())
    assert said in str(found.value)


def test_the_samples_prompts_name_a_form() -> None:
    prompts = [question.prompt for question in exams.read(exams.resolve("sample/mmmg")).questions]
    assert [prompt for prompt in prompts if not names_form(prompt, how().forms)] == []
