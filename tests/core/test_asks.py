"""What is taken of replies, and the shapes they are asked for."""

from __future__ import annotations

import pytest

from limner.core.asks import Reply, Unreadable, list_schema, object_schema, only_reply, text_in


def test_the_one_reply_to_an_ask() -> None:
    replies = [Reply("ocr", "words"), Reply("mark", "yes")]
    assert only_reply(replies, {"mark"}).text == "yes"
    for asks, count in (({"caption"}, 0), ({"mark", "ocr"}, 2)):
        with pytest.raises(Unreadable, match=f"{count} replies where one is wanted"):
            only_reply(replies, asks)


def test_shapes_name_every_field_and_allow_no_other() -> None:
    words = {"type": "string"}
    shape = {"type": "object", "properties": {"a": words}, "required": ["a"], "additionalProperties": False}
    assert object_schema({"a": words}) == shape
    assert list_schema({"a": words}) == {"type": "array", "items": shape}


def test_a_reason_is_text_or_nothing() -> None:
    assert [text_in(entry, "reason") for entry in ({"reason": "so"}, {"reason": 3}, {})] == ["so", "", ""]
