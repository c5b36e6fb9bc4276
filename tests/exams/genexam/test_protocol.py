"""GenExam's readings and scores: what counts as a verdict, and what a verdict is worth."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
from hypothesis import given

from limner.core.asks import Ask, Picture, Reply, Text
from limner.core.errors import Lacking
from limner.core.exam import Question, Reference
from limner.core.marks import Mark
from limner.core.protocol import READINGS, Reading
from limner.exams.genexam import GENEXAM
from limner.exams.genexam.data import ScoringPointsRubric
from limner.exams.genexam.protocol import GenExam
from limner.judges import make_variant
from tests.cli.invoke import limner
from tests.exams.genexam.replies import CAREFUL, RATINGS, SHA, SHARED, VERDICTS, even, question, reply

PROTOCOL = GenExam()
each_reading = pytest.mark.parametrize("reading", READINGS)


def read(question: Question[ScoringPointsRubric], text: str, reading: Reading) -> list[Mark]:
    return PROTOCOL.marks(question, [Reply("mark", text)], reading)


def values(marks: list[Mark]) -> list[int | None]:
    return [mark.value for mark in marks]


def is_unread(question: Question[ScoringPointsRubric], text: str, reading: Reading) -> bool:
    """Whether nothing of the reply was read; half a verdict must never be taken."""
    marks = read(question, text, reading)
    assert [mark.criterion for mark in marks] == [criterion.id for criterion in PROTOCOL.criteria(question)]
    unread = [mark.verdict == "unread" for mark in marks]
    assert all(unread) or not any(unread)
    if any(unread):
        assert values(marks) == [None] * len(marks)
        assert all(mark.reason for mark in marks)
    return all(unread)


@each_reading
@pytest.mark.parametrize("form", SHARED)
@given(verdict=VERDICTS)
def test_every_reading_accepts_release_forms(
    reading: Reading, form: str, verdict: tuple[list[int], tuple[int, ...]]
) -> None:
    answers, ratings = verdict
    marks = read(even(len(answers)), SHARED[form](reply(answers, ratings)), reading)
    assert values(marks) == [*answers, *ratings]


@pytest.mark.parametrize("form", CAREFUL)
@given(verdict=VERDICTS)
def test_careful_reading_accepts_more_forms(form: str, verdict: tuple[list[int], tuple[int, ...]]) -> None:
    answers, ratings = verdict
    question, text = even(len(answers)), CAREFUL[form](reply(answers, ratings))
    assert values(read(question, text, "careful")) == [*answers, *ratings]
    assert is_unread(question, text, "paper")
    assert is_unread(question, text, "release")


@given(verdict=VERDICTS)
def test_release_reading_accepts_only_its_name_of_readability(verdict: tuple[list[int], tuple[int, ...]]) -> None:
    answers, ratings = verdict
    text = json.dumps(reply(answers, ratings, ("Spelling", "Readability", "Logical Consistency")))
    question = even(len(answers))
    assert values(read(question, text, "careful")) == values(read(question, text, "paper")) == [*answers, *ratings]
    assert is_unread(question, text, "release")


def test_reasons_are_kept(three: Question[ScoringPointsRubric]) -> None:
    body = reply([1, 0, 1], [2, 1, 0])
    body["answers"][1] = {"reasoning": "the label is missing", "answer": 0}
    body["answers"][2] = {"reasoning": 7, "answer": 1}
    marks = read(three, json.dumps(body), "careful")
    assert [mark.reason for mark in marks[1:3]] == ["the label is missing", ""]


@each_reading
@pytest.mark.parametrize(("given_", "value"), [(True, 1), (False, 0), (1.0, 1), (0.0, 0)])
def test_equivalent_answer_values_are_accepted(
    three: Question[ScoringPointsRubric], reading: Reading, given_: object, value: int
) -> None:
    assert values(read(three, json.dumps(reply([given_, 0, 1], [2, 2, 2])), reading))[0] == value


SCORED_BY_RELEASE = re.compile(r"answer |rating (3|-1|1\.5|True|False)-")
"""What the release scores and the other readings refuse: answers other than 0 and 1, and numbers as ratings."""


def broken() -> dict[str, Any]:
    """Replies that break the contract in one place each."""
    found: dict[str, Any] = {
        "one answer too few": reply([1, 1], [2, 2, 2]),
        "one answer too many": reply([1, 1, 1, 1], [2, 2, 2]),
        "no answers": reply([], [2, 2, 2]),
        "ratings are missing": {"answers": [{"answer": 1}] * 3},
        "answers are missing": {"global_evaluation": reply([], [2, 2, 2])["global_evaluation"]},
        "answers as an object": reply([1, 1, 1], [2, 2, 2]) | {"answers": {"1": 1, "2": 1, "3": 1}},
        "answers without their key": reply([1, 1, 1], [2, 2, 2]) | {"answers": [1, 1, 1]},
        "ratings as a list": reply([1, 1, 1], [2, 2, 2]) | {"global_evaluation": [2, 2, 2]},
        "ratings without their key": reply([1, 1, 1], [2, 2, 2]) | {"global_evaluation": dict.fromkeys(RATINGS, 2)},
        "a list": [reply([1, 1, 1], [2, 2, 2])],
        "a number": 1,
        "text": "all right",
        "null": None,
    }
    for wrong in (2, -1, 0.5, "1", None, [1], math.nan, math.inf, 10**30):
        found[f"answer {wrong!r}"] = reply([1, wrong, 1], [2, 2, 2])
    for wrong in (3, -1, 1.5, "2", None, True, False, [2], math.nan):
        found[f"rating {wrong!r}"] = reply([1, 1, 1], [2, wrong, 2])
    for name in RATINGS:
        body = reply([1, 1, 1], [2, 2, 2])
        del body["global_evaluation"][name]
        found[f"no {name}"] = body
    return found


@each_reading
@pytest.mark.parametrize("body", broken().values(), ids=broken())
def test_invalid_verdict_is_unread_completely(
    three: Question[ScoringPointsRubric], reading: Reading, body: object, request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.id
    scored = reading == "release" and SCORED_BY_RELEASE.match(name) is not None
    assert is_unread(three, json.dumps(body), reading) is not scored


@each_reading
@pytest.mark.parametrize("text", ["", "   ", "sorry", "{", "```json\n```", "[" * 100_000, '{"a":' * 50_000, "\0", "{}"])
def test_text_without_verdict_is_unread(three: Question[ScoringPointsRubric], reading: Reading, text: str) -> None:
    assert is_unread(three, text, reading)


@each_reading
def test_exactly_one_reply_is_expected(three: Question[ScoringPointsRubric], reading: Reading) -> None:
    one = Reply("mark", json.dumps(reply([1, 1, 1], [2, 2, 2])))
    for replies in ([], [one, one], [Reply("caption", one.text)]):
        marks = PROTOCOL.marks(three, replies, reading)
        assert values(marks) == [None] * 6
        assert "expected one reply" in marks[0].reason
    assert values(PROTOCOL.marks(three, [Reply("caption", "words"), one], reading)) == [1, 1, 1, 2, 2, 2]


Partial = tuple[list[int | None], tuple[int | None, ...]]


def marks_of(question: Question[ScoringPointsRubric], given_: Partial) -> list[Mark]:
    flat = [*given_[0], *given_[1]]
    criteria = PROTOCOL.criteria(question)
    return [
        Mark.abstain(criterion.id, "cannot tell") if value is None else Mark(criterion.id, value)
        for criterion, value in zip(criteria, flat, strict=True)
    ]


def scores(question: Question[ScoringPointsRubric], marks: list[Mark]) -> dict[str, float | None]:
    return PROTOCOL.scores(question, marks, {})


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        (([1, 1, 1], (2, 2, 2)), {"strict": 100.0, "relaxed": 100.0, "semantic": 1.0}),
        (([1, 1, 0], (2, 2, 2)), {"strict": 0.0, "relaxed": 86.0, "semantic": 0.8}),
        (([1, 1, 1], (2, 1, 2)), {"strict": 0.0, "relaxed": 95.0, "semantic": 1.0}),
        (([0, 0, 0], (0, 0, 0)), {"strict": 0.0, "relaxed": 0.0, "semantic": 0.0}),
        (([0, 0, 0], (2, 2, 2)), {"strict": 0.0, "relaxed": 30.0, "semantic": 0.0}),
        (([1, None, 1], (2, 2, 2)), {"strict": None, "relaxed": None, "semantic": None}),
        (([1, None, 0], (2, 2, 2)), {"strict": 0.0, "relaxed": None, "semantic": None}),
        (([1, 1, 1], (None, 2, 2)), {"strict": None, "relaxed": None, "semantic": 1.0, "spelling": None}),
        (([None, None, None], (None, None, None)), {"strict": None, "relaxed": None, "semantic": None}),
    ],
)
def test_scores_match_worked_examples(
    three: Question[ScoringPointsRubric], given_: Partial, expected: dict[str, float | None]
) -> None:
    found = scores(three, marks_of(three, given_))
    assert expected.items() <= found.items()
    assert list(found) == [score.name for score in PROTOCOL.scored]


def test_semantic_score_keeps_four_decimals_and_relaxed_three() -> None:
    """The points' sum keeps four decimals and the relaxed score three, before it becomes a percentage."""
    thirds = question(0.3333, 0.3333, 0.3334)
    found = scores(thirds, marks_of(thirds, ([1, 1, 0], (2, 2, 1))))
    assert (found["semantic"], found["relaxed"]) == (0.6666, 71.7)


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


def test_only_paper_variant_shows_weights() -> None:
    release, paper = sections(ask("release")), sections(ask("paper"))
    assert "weight" not in " ".join(release.values())
    expected = "1. Is part 1 there? (weight 0.5) 2. Is part 2 there? (weight 0.3) 3. Is part 3 there? (weight 0.2)"
    assert paper["Scoring points"] == expected


def test_each_variant_names_readability_like_its_source() -> None:
    for variant, name, other in (
        ("release", "Clarity and Readability", '"Readability"'),
        ("paper", "Readability", "Clarity"),
    ):
        shown = sections(ask(variant))
        assert f'"{name}": {{' in shown["Reply"]
        assert other not in " ".join(shown.values())


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
def test_prompt_explains_reference_according_to_option(variant: str, reference: str, facts: list[str]) -> None:
    section = sections(ask(variant, reference))["The pictures"]
    assert all(fact in section for fact in facts)
    assert (CAPTION in section) == (reference in ("caption", "both"))


@each_variant
@each_reference
def test_text_precedes_drawing_and_reference(variant: str, reference: str) -> None:
    first, *pictures = ask(variant, reference).shown
    assert isinstance(first, Text)
    expected = [Picture(DRAWING, max_side=768, detail="high")]
    if reference in ("image", "both"):
        expected.append(Picture(SHA, max_side=768, detail="high"))
    assert pictures == expected


@each_reference
def test_caption_is_requested_first_when_shown(reference: str) -> None:
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
def test_absent_reference_is_reported(reference: str) -> None:
    plain = question(1.0)
    absent = Question(plain.id, plain.prompt, plain.rubric, {}, Reference("Q/Q_1.png"))
    way = make_variant(GENEXAM, None, {"reference": reference})
    stage = "asks" if reference == "image" else "before"
    words: dict[str, tuple[object, ...]] = {"asks": (absent, DRAWING, {}, way), "before": (absent, way)}
    with pytest.raises(Lacking, match=r"Q_1: the reference image Q/Q_1\.png is absent; .*--reference none"):
        getattr(GENEXAM.protocol, stage)(*words[stage])


def test_presets_are_listed_with_all_settings() -> None:
    lines = limner("exams", "genexam").out.splitlines()
    line = next(line for line in lines if "--preset paper:" in line)
    facts = ["openai/gpt-5-2025-08-07", "reasoning_effort=low", "verbosity=medium", "max_completion_tokens=16384"]
    assert all(fact in line for fact in [*facts, "variant paper", "reference=image", "reading paper"])


@pytest.mark.parametrize("answer", [2, 0.5, -1, "1", None])
def test_reading_release_counts_other_answers_as_the_release_does(answer: object) -> None:
    marks = PROTOCOL.marks(question(0.5, 0.5), [Reply("mark", json.dumps(reply([1, answer], [2, 2, 2])))], "release")
    assert PROTOCOL.scores(question(0.5, 0.5), marks, {})["relaxed"] == 65.0


@pytest.mark.parametrize(("rating", "relaxed"), [(1.5, 97.5), (3, 105.0), (True, 95.0), (-1, 85.0)])
def test_reading_release_scores_any_rating_as_the_release_does(rating: float, relaxed: float) -> None:
    body = reply([1, 1], [rating, 2, 2])
    asked = question(0.5, 0.5)
    marks = PROTOCOL.marks(asked, [Reply("mark", json.dumps(body))], "release")
    scores = PROTOCOL.scores(asked, marks, {})
    assert (scores["relaxed"], scores["strict"]) == (relaxed, 0.0)
    careful = PROTOCOL.marks(asked, [Reply("mark", json.dumps(body))], "careful")
    assert {mark.verdict for mark in careful} == {"unread"}
