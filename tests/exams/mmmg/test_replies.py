"""What a judge's reply says: structured, in free text, and as the released parser reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.asks import Unreadable
from limner.core.protocol import READINGS, Reading
from limner.exams.mmmg.replies import (
    FREE,
    MISSING,
    SCHEMA,
    STRUCTURED,
    read_answers,
    read_free_text,
    read_released,
    require_complete,
    require_some,
)
from tests.exams.mmmg.cases import body, checklist, structured

ITEMS = {"entity/1": "cell", "entity/2": "Cell Wall", "dependency/1": "Contains(cell, wall)"}


def answers(text: str, reading: Reading = "release", ask: str = FREE, items: Mapping[str, str] = ITEMS) -> list[Any]:
    return [mark.value for mark in read_answers(items, ask, text, reading)]


def only(text: str) -> list[Any]:
    """Whether the released parser finds a yes for the first entity, and the careful reader one."""
    return [
        read_released(ITEMS, text).get("entity/1", [(None, "")])[-1][0],
        read_free_text(ITEMS, text).get("entity/1", [(None, "")])[-1][0],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "cell: yes", "CELL: YES", "- cell: yes", "* cell: yes", "• cell: yes", "12. cell: yes", "`cell`: yes",
        "- `cell` : yes", "**cell**: yes", "cell: [yes]", "**cell: yes**", "cell： yes", "cell:\nyes", "cell:yes.",
        "  -  cell  :  Yes, it is there", "Some words.\ncell: yes", "cell: yes - clearly shown",
    ],
)  # fmt: skip
def test_plain_forms_are_accepted_by_both_readers(text: str) -> None:
    assert only(text) == [1, 1]


@pytest.mark.parametrize(
    "text",
    [
        '"cell": yes', "[cell]: yes", "1) cell: yes", "(1) cell: yes", "cell - yes", "cell — yes", "cell -> yes",
        "cell → yes", "cell = yes", "cell: true", "cell: `yes`", "cell: *yes*", "cell: 'yes'", 'cell: "yes"',
        "| cell | yes | seen |", "cell: [Yes]", "# cell: yes", "> cell: yes", "1. “cell”: Yes",
    ],
)  # fmt: skip
def test_released_parser_misses_some_accepted_forms(text: str) -> None:
    assert only(text) == [None, 1]


@pytest.mark.parametrize(
    "text", ["the cell: yes", "cell yes", "cell", "cells: yes", "cell: yesterday", "cell wall: yes"]
)
def test_invalid_forms_are_rejected_by_both_readers(text: str) -> None:
    assert only(text) == [None, None]


def test_ambiguous_answers_are_read_differently() -> None:
    assert only("cell: yes/no") == [1, None]
    for letter in "yesno":
        assert only(f"cell: {letter}") == [0, None], "a lone letter is a no to the released parser"
    assert only("cell: no") == only("cell: NO") == [0, 0]


def test_differently_spaced_dependency_is_read_only_carefully() -> None:
    for text in ("Contains(cell,wall): yes", "Contains (cell, wall): yes", "contains( cell , wall ): yes"):
        assert answers(text) == [0, 0, 0]
        assert answers(text, "careful") == [None, None, 1]


def test_release_takes_last_answer_and_missing_as_no() -> None:
    text = "cell: yes\nCell Wall: no\ncell: no\ncell wall: yes"
    assert answers(text) == answers(text, "paper") == [0, 1, 0]
    assert [mark.source for mark in read_answers(ITEMS, FREE, text, "release")] == ["", "", MISSING]
    marks = read_answers(ITEMS, FREE, text, "careful")
    assert [mark.value for mark in marks] == [None, None, None]
    assert [mark.reason for mark in marks] == ["answered both yes and no"] * 2 + ["not answered"]
    assert all(mark.verdict == "unread" for mark in marks)


def test_reply_without_match_is_all_no_in_release_reading() -> None:
    assert answers("I cannot see this picture.") == [0, 0, 0]
    assert answers("I cannot see this picture.", "careful") == [None, None, None]
    with pytest.raises(Unreadable, match="a colon and yes or no"):
        require_some(ITEMS, "I cannot see this picture.")


def test_case_distinguishes_items_differing_only_in_case() -> None:
    items = {"entity/1": "Cell", "entity/2": "cell"}
    assert answers("cell: yes", items=items) == [0, 1]
    assert answers("CELL: yes", items=items) == [1, 0], "the first of them"
    assert answers("CELL: yes", "careful", items=items) == [1, 1], "they are one node"


def test_reasons_are_kept() -> None:
    text = "- cell: yes, in the middle\n- Contains(cell, wall): no. No wall is drawn."
    for reading in READINGS:
        marks = read_answers(ITEMS, FREE, text, reading)
        assert marks[0].reason.endswith("cell: yes, in the middle")
        assert marks[2].reason.endswith("No wall is drawn.")


def test_structured_reply_is_read() -> None:
    text = structured([True, False], [True])
    for reading in READINGS:
        marks = read_answers(ITEMS, STRUCTURED, text, reading)
        assert [(mark.criterion, mark.value, mark.reason) for mark in marks] == [
            ("entity/1", 1, "seen 1"),
            ("entity/2", 0, "seen 2"),
            ("dependency/1", 1, "seen 1"),
        ]
    assert require_complete(ITEMS, f"Here it is:\n```json\n{text}\n```")


def changed(change: Any) -> str:
    given = body([True, False], [True])
    change(given)
    return json.dumps(given)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (changed(lambda b: b["entities"].pop()), r"entity/2 \(not answered\)"),
        (changed(lambda b: b.pop("dependencies")), r"dependency/1 \(not answered\)"),
        (changed(lambda b: b.update(dependencies="all of them")), r"dependency/1 \(not answered\)"),
        (changed(lambda b: b["entities"][0].update(answer="partly")), r"entity/1 \(not answered\)"),
        (changed(lambda b: b["entities"][0].update(item=7)), r"entity/1 \(not answered\)"),
        (changed(lambda b: b["entities"].append({"item": 1, "reason": "", "answer": "no"})), "both yes and no"),
        ("[]", "no JSON object"),
        ("", "no JSON object"),
    ],
)
def test_incomplete_reply_is_reported_to_judge(text: str, message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        require_complete(ITEMS, text)


def test_schema_is_strict() -> None:
    def walk(node: Any) -> None:
        if isinstance(node, dict):
            if node.get("type") == "object":
                assert node["additionalProperties"] is False
                assert list(node["properties"]) == node["required"]
            for inner in node.values():
                walk(inner)

    walk(SCHEMA)
    assert next(iter(SCHEMA["properties"])) == "description", "the description comes first"
    assert SCHEMA["properties"]["entities"]["items"]["required"] == ["item", "reason", "answer"]


@given(chosen=st.lists(st.booleans(), min_size=3, max_size=3))
def test_every_reading_agrees_on_release_form(chosen: list[bool]) -> None:
    text = checklist(dict(zip(ITEMS.values(), chosen, strict=True)))
    for reading in READINGS:
        assert answers(text, reading) == [int(yes) for yes in chosen]


@pytest.mark.parametrize("text", ["\n" * 150_000, "- " * 75_000, "cell" + " " * 150_000, "`" * 150_000, "1" * 150_000])
def test_long_replies_are_read_quickly(text: str) -> None:
    for reading in READINGS:
        assert set(answers(text, reading)) <= {0, None}
    with pytest.raises(Unreadable, match="longer than"):
        read_answers(ITEMS, FREE, text * 10, "release")
