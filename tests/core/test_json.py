"""JSON: replies read tolerantly in form and strictly in content, quick as slow, and values by path."""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limner.core.asks import Unreadable
from limner.core.json_text import MAX_CHARS, ReplyReader, fill, first_value_at_path, loads, set_at_path, value_at

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=8
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4)
PROSE = st.sampled_from(
    [
        "",
        "Here it is:\n",
        "The set {x, y}, the range [0, 1) and $\\frac{a}{b}$.\n",
        'It\'s "quoted"; see [1].\n\n',
        '<think>Is it {"a": 1}? Or { </think>\n',
        'so it\'s {"a": \n</think>\n\n',
        "\ufeff",
    ]
)
AFTER = st.sampled_from(["", "\n", "\nThat is {all}, don't you think?", " // done", "\n{}\n", "\n[2]"])


@dataclass(frozen=True)
class Dress:
    """One way of writing a value down."""

    quotes: str
    words: tuple[str, str, str]
    comma: str
    gap: str
    raw: bool
    tuples: bool

    def write(self, value: Any) -> str:
        if value is None or isinstance(value, bool):
            return self.words[{True: 0, False: 1, None: 2}[value]]
        if isinstance(value, str):
            return self.quotes[0] + "".join(map(self._char, value)) + self.quotes[1]
        if isinstance(value, list):
            opened, closed = "()" if self.tuples and value else "[]"
            comma = self.comma or ("," if opened == "(" else "")
            return self._join(opened, [self.write(v) for v in value], comma, closed)
        if isinstance(value, dict):
            return self._join("{", [f"{self.write(k)}: {self.write(v)}" for k, v in value.items()], self.comma, "}")
        return repr(value)

    def _join(self, opened: str, items: list[str], comma: str, closed: str) -> str:
        body = f",{self.gap}".join(items) + (comma if items else "")
        return f"{opened}{self.gap}{body}{self.gap}{closed}"

    def _char(self, char: str) -> str:
        if char in self.quotes + "\\":
            return "\\" + char
        return char if char in "\n\t" and self.raw else json.dumps(char)[1:-1] if char < " " else char


DRESSES = st.builds(
    Dress,
    quotes=st.sampled_from(['""', "''", "“”", "‘’"]),
    words=st.sampled_from([("true", "false", "null"), ("True", "False", "None")]),
    comma=st.sampled_from(["", ",", " ,\n"]),
    gap=st.sampled_from(["", " ", "\n  ", ' // it\'s a "note", {\n', " # [more]\n"]),
    raw=st.booleans(),
    tuples=st.booleans(),
)


def same(found: object, meant: object) -> bool:
    return repr(found) == repr(meant)  # tells 1 from True and 1.0, which == does not


@given(OBJECTS)
@settings(deadline=None)
def test_strict_json_and_python_literals_round_trip(value: dict[str, Any]) -> None:
    assert same(loads(json.dumps(value)), value)
    assert same(loads(json.dumps(value, ensure_ascii=False, indent=1)), value)
    assert same(loads(repr(value)), value)


@given(OBJECTS, DRESSES, PROSE, AFTER)
def test_any_json_style_round_trips(value: dict[str, Any], dress: Dress, before: str, after: str) -> None:
    assert same(loads(before + dress.write(value) + after), value)


@given(OBJECTS, OBJECTS, DRESSES, PROSE, st.sampled_from(["json", "JSON", "python", "", " json"]))
@settings(deadline=None)
def test_last_fenced_object_wins(
    draft: dict[str, Any], value: dict[str, Any], dress: Dress, prose: str, language: str
) -> None:
    answer = f"```{language}\n{dress.write(value)}\n```\n"
    assert same(loads(prose + answer), value)
    assert same(loads(f"{prose}```json\n{json.dumps(draft)}\n```\n\n{answer}"), value)
    assert same(loads(f"{prose}{answer}\nIn code:\n```python\nprint(answer['a'])\n```\nDone: {{\"b\": 1}}"), value)
    assert same(loads(f'{prose}```json\n{{"a": <a number>}}\n```\n{answer}'.rstrip("`\n")), value)


@given(OBJECTS, DRESSES, PROSE, st.data())
def test_truncated_object_is_never_repaired(
    value: dict[str, Any], dress: Dress, before: str, data: st.DataObject
) -> None:
    written = dress.write(value)
    cut = data.draw(st.integers(0, len(written) - 1))
    fence = data.draw(st.sampled_from(["", '```json\n{"score": 0}\n```\n```json\n']))
    if cut or not fence:
        with pytest.raises(Unreadable):
            loads(before + fence + written[:cut])


SHARDS = st.sampled_from(
    [
        *("{", "}", "[", "]", "(", ")", '"', "'", "“", "‘", "\\", "```", "~~~", "\n", "#", "//", ",", ":", " ", "x"),
        *("<think>", "</think>", '{"a":', "1", "-", "1e9", "true", "None", "NaN", "\\u", "\\ud800", "\ud800", "\0"),
    ]
)


@given(st.lists(SHARDS | st.text(max_size=3), max_size=60).map("".join) | st.text())
def test_any_text_parses_or_raises_unreadable(text: str) -> None:
    with contextlib.suppress(Unreadable):
        json.dumps(loads(text), ensure_ascii=False, allow_nan=False).encode()


@pytest.mark.parametrize(
    "shard",
    [
        "[",
        "{",
        "[(",
        "[1,",
        "{#}",
        "[#",
        "{“}",
        '{"a":',
        '{"a":1}',
        '{"\\',
        '\n```{"a":"',
        "```#[",
        "<think>",
        "[" * 49 + "x",
    ],
)
def test_parsing_time_is_bounded(shard: str) -> None:
    text = shard * (60_000 // len(shard))
    start = time.process_time()
    with contextlib.suppress(Unreadable):
        loads(text)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': (1, 2), 'b': (1,), 'c': (3), 'd': ()}", {"a": [1, 2], "b": [1], "c": 3, "d": []}),
        ('{"a": "one\ntwo\tthree"}', {"a": "one\ntwo\tthree"}),
        ('{"a": "http://x # no comment"} # a comment', {"a": "http://x # no comment"}),
        (r'{"a": "\alpha \(x\) \u00e9 \ud83d\ude00 it\'s"}', {"a": "\\alpha \\(x\\) é 😀 it's"}),
        ('{“he said”: “it’s "fine"”}', {"he said": 'it’s "fine"'}),
        ('{"a": .5, "b": 5., "c": +1, "d": -2E3}', {"a": 0.5, "b": 5.0, "c": 1, "d": -2000.0}),
        ('{"a": 1}\n<think>{"a": 2}</think>', {"a": 1}),
        ('First {"a": 1}, then rather {"a": 2}.', {"a": 2}),
        ('```json {"a": 1}```', {"a": 1}),
        ('```python\nanswer = {"a": True}\n```', {"a": True}),
        ('{"a": ' + "[" * 49 + "]" * 49 + "}", None),
    ],
)
def test_lenient_forms_are_parsed(text: str, value: object) -> None:
    found = loads(text)
    assert value is None or same(found, value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I cannot tell.", "no JSON object found"),
        ('[{"a": 1}, {"a": 2}]', "no JSON object found"),
        ('As {score: {"a": 1}} says', "no JSON object found"),
        ('{"a": {"b": 1}, "c": ', "the object ends before it is closed"),
        ('Answer: {"a": 1}. No: {"a": 2', "the object ends before it is closed"),
        ('<think>Is it {"a": 1}?', "the reply ends inside its thinking"),
        ('{"a": 1,\n "a": 2}', 'the key "a" is given twice (line 2, column 2)'),
        ('{"a": NaN}', "NaN and Infinity are not allowed (line 1, column 7)"),
        ('{"a": 1e999}', "a number is too large (line 1, column 7)"),
        ('{"a": ' + "9" * 600 + "}", "a number has more than 500 digits (line 1, column 7)"),
        ('{"a": oops, "b": {"c": 1}}', 'a value was expected, not "oops" (line 1, column 7)'),
        ('{"a": 1 "b": 2}', "a comma or } was expected (line 1, column 9)"),
        ('{"a": 1,, "b": 2}', "a key in double quotes was expected (line 1, column 9)"),
        ('{"a", "b"}', "a colon was expected after a key (line 1, column 5)"),
        (r'{"a": "\ud83d"}', "half of a surrogate pair stands in a string (line 1, column 7)"),
        ('{"a": ' + "[" * 50 + "]" * 50 + "}", "nested more than 50 deep (line 1, column 56)"),
        ("x" * (MAX_CHARS + 1), "the reply is longer than 400000 characters"),
        ('```json\n{"a": 1}\n```\n```json\n{"a": two}\n```', 'a value was expected, not "two" (line 5, column 7)'),
    ],
)
def test_unreadable_text_is_reported_with_reason(text: str, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        loads(text)
    assert caught.value.args[0] == reason


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
    reader = ReplyReader(text)
    reader._plain &= quick
    try:
        return repr(reader.read(0)), reader.at
    except Unreadable as error:
        return str(error), reader.at, reader.keyed


@given(TEXTS)
def test_fast_and_slow_parsing_agree(text: str) -> None:
    assert outcome(text, quick=True) == outcome(text, quick=False)


def test_strict_json_takes_fast_path() -> None:
    reader = ReplyReader('{"a": [1, 2.5, "é"], "b": {"c": null}} and more')
    reader._value = None  # type: ignore[assignment, method-assign]
    assert reader.read(0) == {"a": [1, 2.5, "é"], "b": {"c": None}}
    assert reader.text[reader.at :] == " and more"


NAMES = st.text("abc_", min_size=1, max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(NAMES, JSON, max_size=3), st.lists(NAMES, min_size=1, max_size=4), st.integers())
def test_value_set_at_path_is_read_back(body: dict[str, Any], way: list[str], item: int) -> None:
    set_at_path(body, ".".join(way), item)
    assert value_at(body, ".".join(way)) == item


def test_wildcard_path_tries_items_until_one_matches() -> None:
    reply = {"number": 3, "id": {"outputs": {"1": {"text": []}, "9": {"images": [{"filename": "a"}]}}}}
    assert value_at(reply, "*.outputs.*.images.0.filename") == "a"
    assert first_value_at_path({"b": 0}, ("a", "b")) == 0


def test_fill_keeps_types_of_whole_placeholders() -> None:
    words = {"n": 7, "x": "a/b"}
    assert fill(["{n}", "n is {n}", {"x": "{x}"}, "{no}", "a {no}"], words.get) == [7, "n is 7", {"x": "a/b"}]
    assert fill("{a|b} {}", words.get) == "{a|b} {}"
