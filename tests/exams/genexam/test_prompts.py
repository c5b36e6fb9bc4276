"""What the judge is told: every fact of the protocol in its place, for both variants and every use of the reference."""

from __future__ import annotations

import re

import pytest

from limner.core.asks import Ask, Picture, Text
from limner.core.errors import Lacking
from limner.core.exam import Question, Reference
from limner.exams.genexam import GENEXAM
from limner.exams.genexam.data import ScoringPointsRubric
from limner.judges import make_variant
from tests.cli.invoke import limner
from tests.exams.genexam.replies import SHA, question

DRAWING = "1" * 64
REFERENCES = ("image", "none", "caption", "both")
CAPTION = "A triangle with corners A, B and C."
each_variant = pytest.mark.parametrize("variant", ["release", "paper"])
each_reference = pytest.mark.parametrize("reference", REFERENCES)


def ask(variant: str, reference: str = "image", asked: Question[ScoringPointsRubric] | None = None) -> Ask:
    way = make_variant(GENEXAM, variant, {"reference": reference})
    evidence = {"caption": CAPTION} if reference in ("caption", "both") else {}
    (found,) = GENEXAM.protocol.asks(asked or question(0.5, 0.3, 0.2), DRAWING, evidence, way)
    return found


def sections(found: Ask) -> dict[str, str]:
    """The request's text by its headings, each in one line; the three ratings by their names."""
    first = found.shown[0]
    assert isinstance(first, Text)
    assert "{{" not in first.text
    parts = re.split(r"^## (.+)$", "## Opening\n" + first.text, flags=re.M)[1:]
    named = dict(zip(parts[::2], parts[1::2], strict=True))
    ratings = re.split(r"^\*\*(.+?)\.\*\*", named["Ratings (0, 1 or 2)"], flags=re.M)
    named |= {"Ratings": ratings[0], **dict(zip(ratings[1::2], ratings[2::2], strict=True))}
    named["Readability"] = named.get("Clarity and Readability") or named["Readability"]
    return {name: " ".join(text.split()) for name, text in named.items()}


def test_weights_are_the_papers_alone() -> None:
    release, paper = sections(ask("release")), sections(ask("paper"))
    assert "weight" not in " ".join(release.values())
    expected = "1. Is part 1 there? (weight 0.5) 2. Is part 2 there? (weight 0.3) 3. Is part 3 there? (weight 0.2)"
    assert paper["Scoring points"] == expected


def test_each_variant_names_readability_as_its_source_does() -> None:
    for variant, name, other in (
        ("release", "Clarity and Readability", '"Readability"'),
        ("paper", "Readability", "Clarity"),
    ):
        told = sections(ask(variant))
        assert f'"{name}": {{' in told["Reply"]
        assert other not in " ".join(told.values())


@each_variant
@pytest.mark.parametrize(
    ("reference", "facts"),
    [
        ("image", ["Mark only the first picture", "second picture is a reference", "knowledge of what is right"]),
        ("none", ["There is one picture", "no reference picture", "your own knowledge"]),
        ("caption", ["There is one picture", "Mark only the drawing", "knowledge of what is right", CAPTION]),
        ("both", ["Mark only the first picture", "second picture is a reference", "a description of it", CAPTION]),
    ],
)
def test_what_is_said_of_the_reference(variant: str, reference: str, facts: list[str]) -> None:
    told = sections(ask(variant, reference))["The pictures"]
    assert all(fact in told for fact in facts)
    assert (CAPTION in told) == (reference in ("caption", "both"))


@each_variant
@each_reference
def test_text_then_drawing_then_reference(variant: str, reference: str) -> None:
    first, *pictures = ask(variant, reference).shown
    assert isinstance(first, Text)
    expected = [Picture(DRAWING, max_side=768, detail="high")]
    if reference in ("image", "both"):
        expected.append(Picture(SHA, max_side=768, detail="high"))
    assert pictures == expected


@each_reference
def test_a_caption_is_asked_for_first_where_it_is_shown(reference: str) -> None:
    way = make_variant(GENEXAM, None, {"reference": reference})
    before = GENEXAM.protocol.before(question(1.0), way)
    assert len(before) == (reference in ("caption", "both"))
    for found in before:
        text, picture = found.shown
        assert isinstance(text, Text)
        assert "Describe" in text.text
        assert picture == Picture(SHA, max_side=768, detail="high")
        assert found.contract.parse("A triangle.") == "A triangle."
        with pytest.raises(ValueError, match="empty"):
            found.contract.parse("  \n")


@pytest.mark.parametrize("reference", ["image", "both", "caption"])
def test_a_reference_that_is_absent(reference: str) -> None:
    plain = question(1.0)
    absent = Question(plain.id, plain.prompt, plain.rubric, {}, Reference("Q/Q_1.png"))
    way = make_variant(GENEXAM, None, {"reference": reference})
    stage = "asks" if reference == "image" else "before"
    words: dict[str, tuple[object, ...]] = {"asks": (absent, DRAWING, {}, way), "before": (absent, way)}
    with pytest.raises(Lacking, match=r"Q_1: the reference image Q/Q_1\.png is absent; .*--reference none"):
        getattr(GENEXAM.protocol, stage)(*words[stage])


def test_presets_are_listed_with_all_they_set() -> None:
    lines = limner("exams").out.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("genexam:"))
    line = next(line for line in lines[start:] if "--preset paper:" in line)
    facts = ["openai/gpt-5-2025-08-07", "reasoning_effort=low", "verbosity=medium", "max_completion_tokens=16384"]
    assert all(fact in line for fact in [*facts, "variant paper", "reference=image", "reading paper"])
