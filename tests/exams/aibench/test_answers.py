"""How replies are read: what is an answer, what is none, and that nothing makes a reader fail."""

from __future__ import annotations

import pytest

from limner.core.asks import Unreadable
from limner.exams.aibench.data import QuestionsRubric
from limner.exams.aibench.protocol import batch_schema, check_batched, read_choice, read_release_choice
from tests.exams.aibench.rows import CHECKLIST

OPTIONS = {"A": "The encoder", "B": "Branch B", "C": "Both of them", "D": "It cannot be told"}
YES_NO = {"A": "No", "B": "Yes"}
ITEMS = QuestionsRubric.model_validate({"checklist": CHECKLIST}).checklist


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("A. The encoder", "A"),
        ("The encoder.", "A"),
        ("C\n\nThe picture shows A and B.", "C"),
        ("Option B is correct", "B"),
        ("<think>A or B? I say A.</think>D", "D"),
        ('{"answer": "C"}', "C"),
        (r"\boxed{\text{D}}", "D"),
        ("a", "A"),
        ("The correct option is A.", "A"),
        ("答案：A", "A"),
        ("Answer: Option B - Branch B", "B"),
    ],
)
def test_single_option_is_recognised(text: str, letter: str) -> None:
    assert read_choice(text, OPTIONS) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [("Yes", "B"), ("no.", "A"), ("Yes, it is shown.", "B"), ("**No**", "A"), ("Answer: Option A - No", "A")],
)
def test_yes_and_no_in_words_are_recognised(text: str, letter: str) -> None:
    assert read_choice(text, YES_NO) == letter


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the reply is empty"),
        ("<think>It must be B", "the reply is empty"),
        ("Based on the picture, it is the decoder.", "must be one letter of A, B, C, D"),
        ("The answer is not A.", "must be one letter"),
        ("A, B", "must choose one option"),
        ("A. Branch B", "must choose one option"),
        ("答案是A或B。", "must choose one option"),
        ("Answer: Option B - Both of them", "must choose one option"),
    ],
)
def test_missing_or_ambiguous_choice_is_unreadable(text: str, message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        read_choice(text, OPTIONS)


def test_words_contradicting_letter_are_unreadable() -> None:
    assert read_choice("A. No", YES_NO) == "A"
    with pytest.raises(Unreadable, match="must choose one option"):
        read_choice("A. Yes", YES_NO)


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("the answer is C..", "C"),
        ("..B is shown", "B"),
        ("<think>A</think> .D. ", "D"),
        ("the answer is C .", None),
    ],
)
def test_release_reader_strips_dots_at_both_ends_once(text: str, letter: str | None) -> None:
    assert read_release_choice(text) == letter


def test_minus_sign_is_not_read_as_dash() -> None:
    options = {"A": "-1", "B": "1"}
    assert read_choice("A. -1", options) == "A"
    assert read_choice("The answer is B - 1", options) == "B"
    with pytest.raises(Unreadable, match="must choose one option"):
        read_choice("B. -1", options)


def test_release_reader_takes_b_from_based_on() -> None:
    text = "Based on the image, the answer cannot be determined"
    assert read_release_choice(text) == "B"
    with pytest.raises(Unreadable):
        read_choice(text, OPTIONS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("B, A, C, D, A", "JSON"),
        ('["B", "A"]', "JSON object"),
        ('{"1": "B", "2": "A", "3": "C", "4": "D"}', "question 5: the reply is empty"),
        ('{"1": "C", "2": "A", "3": "C", "4": "D", "5": "A"}', "question 1: the reply must be one letter of A, B"),
        ('{"1": 1, "2": "A", "3": "C", "4": "D", "5": "A"}', "question 1: the reply is empty"),
    ],
)
def test_incomplete_batched_reply_is_unreadable(text: str, message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        check_batched(text, ITEMS)


def test_batch_schema_is_strict() -> None:
    found = batch_schema(ITEMS)
    assert found["required"] == list(found["properties"]) == ["1", "2", "3", "4", "5"]
    assert found["additionalProperties"] is False
    assert found["properties"]["1"]["enum"] == ["A", "B"]
    assert found["properties"]["3"]["enum"] == ["A", "B", "C", "D"]
