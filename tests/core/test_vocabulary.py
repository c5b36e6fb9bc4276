"""The closed vocabulary of replies and rules."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from limner.core.asks import Unreadable
from limner.core.vocabulary import ReplyField, Rule, apply_rules, describe_fields, example_reply, read_reply

FIELDS = {
    "fit": ReplyField(kind="yesno"),
    "sort": ReplyField(kind="choice", among=("None",), among_list="sorts"),
    "score": ReplyField(kind="scale", low=1, high=5, low_means="bad", high_means="good"),
    "why": ReplyField(kind="text", about="one sentence"),
    "parts": ReplyField(kind="list", least=1, most=3),
    "answers": ReplyField(kind="list", of=ReplyField(kind="yesno"), one_per="points"),
    "more": ReplyField(kind="group", required=False, fields={"weight": ReplyField(kind="scale", whole=False, high=1)}),
}
LISTS = {"sorts": ("Plant", "Animal"), "points": ("a", "b")}
GOOD: dict[str, Any] = {
    "fit": "Yes", "sort": "plant", "score": 3, "why": " It  is. ", "parts": ["x", "x", "y"], "answers": [True, "no"],
}  # fmt: skip


def test_reply_is_read_as_declared() -> None:
    assert read_reply(FIELDS, {**GOOD, "chat": 1}, LISTS) == {
        "fit": True, "sort": "Plant", "score": 3, "why": "It is.", "parts": ["x", "y"], "answers": [True, False]
    }  # fmt: skip
    assert read_reply(FIELDS, {**GOOD, "more": {"weight": 0.5}}, LISTS)["more"] == {"weight": 0.5}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fit": "perhaps"}, '"fit" must be true or false'),
        ({"sort": "stone"}, "'stone'; it must be one of: Plant, Animal, None"),
        ({"score": 6}, '"score" is 6; it must be from 1 to 5'),
        ({"score": 2.5}, '"score" must be a whole number'),
        ({"why": ""}, '"why" must be a text'),
        ({"parts": []}, '"parts" has 0 entries; it must have 1 to 3'),
        ({"answers": ["yes"]}, '"answers" has 1 entries for 2 points'),
        ({"more": {"weight": 2}}, '"more": "weight" is 2; it must be from 0 to 1'),
    ],
)
def test_other_replies_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(Unreadable) as error:
        read_reply(FIELDS, {**GOOD, **change}, LISTS)
    assert message in str(error.value)


def test_fields_describe_themselves() -> None:
    assert "- `score`, a whole number from 1 to 5: 1 means bad; 5 means good." in describe_fields(FIELDS)
    assert "- `why`: one sentence" in describe_fields(FIELDS)
    assert example_reply(FIELDS)["answers"] == [True]


def outcomes(values: dict[str, Any], *rules: dict[str, Any]) -> list[tuple[str, str, str]]:
    made = apply_rules([Rule.model_validate(rule) for rule in rules], values)
    return [(outcome.action, outcome.reason, outcome.detail) for outcome in made]


def test_rules_drop_warn_wait_and_keep() -> None:
    body = {
        "n": 2,
        "ok": True,
        "words": "one two",
        "list": [],
        "sure": 4,
        "why": "so",
        "marks": {"a": True, "b_c": False},
    }
    assert outcomes(body, {"field": "n", "at_least": 3, "drop": "few", "because": "why"}) == [
        ("drop", "few", "2 of at least 3: so")
    ]
    assert outcomes(body, {"field": "words", "range": [3, 9], "wait": "short"}) == [
        ("wait", "short", "2 of at least 3")
    ]
    warned = {"field": "list", "required": True, "warn": "empty"}
    assert outcomes(body, warned, warned) == [("warn", "empty", "")] * 2
    assert outcomes(body, {"field": "ok", "equals": True, "keep": True}, warned) == []
    assert outcomes(body, {"field": "ok", "equals": False, "keep": True}, warned) == [("warn", "empty", "")]
    assert outcomes(body, {"field": "marks.*", "equals": True, "drop": "not *"}, warned) == [("drop", "not b c", "")]
    unsure = {"field": "n", "at_least": 3, "drop": "few", "when": {"sure": {"at_least": 5}}}
    assert outcomes(body, unsure, warned) == [("warn", "empty", "")]
    assert outcomes(body, {"field": "n", "share_of": "words", "at_most": 0.5, "drop": "many"}) == [
        ("drop", "many", "2 of 2")
    ]
    assert outcomes(body, {"field": "n", "none_of": [1, 2], "drop": "it"}) == [("drop", "it", "it is 2")]
    assert outcomes(body, {"field": "missing", "equals": True, "drop": "no"}) == [("drop", "no", "")]


@pytest.mark.parametrize(
    "rule",
    [{"field": "a", "drop": "x"}, {"field": "a", "equals": 1}, {"field": "a", "equals": 1, "drop": "x", "warn": "y"}],
)
def test_rule_needs_one_test_and_one_action(rule: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"a test is missing|a rule needs"):
        Rule.model_validate(rule)


def test_field_has_only_keys_of_its_kind() -> None:
    for wrong in (
        {"kind": "text", "low": 1},
        {"kind": "choice"},
        {"kind": "group"},
        {"kind": "scale", "low": 3, "high": 2},
    ):
        with pytest.raises(ValidationError):
            ReplyField.model_validate(wrong)
