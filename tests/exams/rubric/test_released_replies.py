"""Replies in the forms of the releases: what is read, and what stays unread."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from limner.core.asks import Prompts, Reply, Unreadable, Variant
from limner.exams import kind, read, resolve
from limner.exams.rubric.definition import ReleasedForm


def values(name: str, ask: str, text: str, id: str | None = None) -> dict[str, int | None]:
    """The values that a reply to one ask gives, of the criteria that this ask decides."""
    it = kind(name)
    protocol = it.protocol
    way = Variant("exam", Prompts(it.prompts), {option: words[0] for option, words in protocol.options.items()})
    for question in read(resolve(f"sample/{name}")).questions:
        asks = {each.name: each for each in protocol.asks(question, "1" * 64, {}, way)}
        if ask in asks and id in (None, question.id):
            marks = protocol.marks(question, [Reply(ask, text)], "careful")
            decided = {criterion.id for criterion in asks[ask].criteria}
            return {mark.criterion: mark.value for mark in marks if mark.criterion in decided}
    raise AssertionError(f"no question of {name} has the ask {ask}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Score: 1", 1),
        ("**Score**: 0", 0),
        ("It is right.\nscore 1", 1),
        ("1", 1),
        ("Score: 2", None),
        ("I would say one", None),
        ("", None),
        ('{"correct": {"reason": "seen", "answer": 1}}', 1),
        ("It is meant so.\n1", 1),
        ("1\n0", None),
        ("There are 2 of them.", None),
    ],
)
def test_labelled_number_is_read(text: str, value: int | None) -> None:
    assert values("wise", "mark", text) == {"correct": value}


@pytest.mark.parametrize(
    ("text", "value"), [("yes", 1), ('"No."', 0), ("No, that is not so", 0), ("YES", 1), ("not sure", None)]
)
def test_word_is_read(text: str, value: int | None) -> None:
    assert values("corebench", "point/1", text) == {"points/1": value}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"instruction_score": 4, "knowledge_score": 5}, {"instruction": 4, "knowledge": 5}),
        ({"instruction_score": "4", "knowledge_score": 5.0}, {"instruction": 4, "knowledge": 5}),
        ({"instruction_score": 4}, {"instruction": None, "knowledge": None}),
        ({"instruction_score": 0, "knowledge_score": 5}, {"instruction": None, "knowledge": None}),
    ],
)
def test_keys_of_an_object_are_read(body: dict[str, object], expected: dict[str, int | None]) -> None:
    assert values("krisbench", "knowledge", f"I looked.\n{json.dumps(body)}") == expected


def test_list_is_read_in_order() -> None:
    answers = [{"question": "x", "answer": word, "reason": "seen"} for word in ("Yes", "No", "yes")]
    assert values("grade", "reasoning", json.dumps(answers)) == {"points/1": 1, "points/2": 0, "points/3": 1}
    assert set(values("grade", "reasoning", json.dumps(answers[:2])).values()) == {None}
    assert set(values("grade", "reasoning", "[1, 2, 3]").values()) == {None}


@pytest.mark.parametrize("body", [{}, {"label": "Score", "word": True}])
def test_form_is_one_of_four(body: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="give one of label, word, key and list"):
        ReleasedForm.model_validate(body)


def test_unreadable_reply_is_reported_in_terms_of_own_form() -> None:
    it = kind("risebench")
    question = read(resolve("sample/risebench")).questions[0]
    ask = it.protocol.asks(question, "1" * 64, {}, Variant("exam", Prompts(it.prompts)))[0]
    with pytest.raises(Unreadable) as error:
        ask.contract.parse("I cannot tell.")
    assert "Final Score" not in str(error.value)
