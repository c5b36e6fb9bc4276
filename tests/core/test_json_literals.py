"""Strict JSON is read at once, and means what the slow reading makes of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from limner.core.asks import Unreadable
from limner.core.json_literals import Reader

BITS = (
    st.sampled_from(["{", "}", "[", "]", ",", ":", '"a"', '"b"', '"a":', '"b":', " ", "\n", "é", "x"])
    | st.sampled_from(
        [
            "1",
            "-0",
            "1.5",
            "1e400",
            "NaN",
            "null",
            "True",
            '"\\n"',
            '"\\u00e9"',
            '"\\ud800"',
            '"\\q"',
            '"\t"',
            "// note\n",
        ]
    )
    | st.sampled_from(["9" * 501, "[" * 51])
)
TEXTS = st.builds(lambda first, rest: first + "".join(rest), st.sampled_from("{["), st.lists(BITS, max_size=12))


def outcome(text: str, quick: bool) -> tuple[object, ...]:
    """What a reading gives: the value or the fault, where it ended, and for faults whether a key was met."""
    reader = Reader(text)
    reader._plain &= quick
    try:
        return repr(reader.read(0)), reader.at
    except Unreadable as error:
        return str(error), reader.at, reader.keyed


@given(TEXTS)
def test_the_quick_reading_is_the_slow_one(text: str) -> None:
    assert outcome(text, quick=True) == outcome(text, quick=False)


def test_strict_json_is_read_quickly() -> None:
    reader = Reader('{"a": [1, 2.5, "é"], "b": {"c": null}} and more')
    reader._value = None  # type: ignore[assignment, method-assign]
    assert reader.read(0) == {"a": [1, 2.5, "é"], "b": {"c": None}}
    assert reader.text[reader.at :] == " and more"
