from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from limner.core.json_paths import fill, find, find_first, gaps, put

NAMES = st.text("abc_", min_size=1, max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(NAMES, JSON, max_size=3), st.lists(NAMES, min_size=1, max_size=4), st.integers())
def test_what_is_put_is_found(body: dict[str, Any], way: list[str], item: int) -> None:
    put(body, ".".join(way), item)
    assert find(body, ".".join(way)) == item


@given(JSON, st.text("ab0*.", max_size=8))
def test_no_path_and_no_value_breaks_it(value: Any, path: str) -> None:
    find(value, path)


@given(JSON)
def test_a_template_without_gaps_loses_only_what_is_nothing(value: Any) -> None:
    def without(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: without(inner) for key, inner in item.items() if inner is not None}
        return [without(inner) for inner in item if inner is not None] if isinstance(item, list) else item

    assert not list(gaps(value))
    assert fill(value, lambda name: None) == without(value)


def test_every_item_is_tried_until_one_leads_on() -> None:
    reply = {"number": 3, "id": {"outputs": {"1": {"text": []}, "9": {"images": [{"filename": "a"}]}}}}
    assert find(reply, "*.outputs.*.images.0.filename") == "a"
    assert find_first({"b": 0}, ("a", "b")) == 0


def test_words_go_in_as_they_are_or_as_text() -> None:
    words = {"n": 7, "x": "a/b"}
    assert fill(["{n}", "n is {n}", {"x": "{x}"}, "{no}", "a {no}"], words.get) == [7, "n is 7", {"x": "a/b"}]
    assert fill("{a|b} {}", words.get) == "{a|b} {}"
