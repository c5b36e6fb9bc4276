"""Content keys: the same request has the same key, in whatever order, on every machine, in every version."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from limner.calls import Attempt, Calls, Fault, Request, Result, canonical, purpose
from limner.calls.keys import current
from limner.store import Store
from limner.store.schema import calls

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.none() | st.booleans() | st.integers() | FLOATS | st.text(max_size=8)
NAMES = st.text(max_size=4)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=6
)
BODIES = st.dictionaries(NAMES, JSON, max_size=4)

# The text is what is hashed, written by hand; the key is its sha256. Neither may ever change: a changed key makes
# every stored call of every store unfindable, and all of them would be paid for again.
FIXED = [
    (
        Request("chat", "openai/gpt-5"),
        '["limner-call-1","chat","openai/gpt-5",{},0]',
        "5696eda10372c78fdc7ae7ad136cfc8e2290f41e7129efe16975fe3e1f5ecfee",
    ),
    (
        Request(
            "chat",
            "openai/gpt-5",
            {
                "model": "gpt-5",
                "messages": [{"role": "user", "content": [{"type": "text", "text": "Mark it."}]}],
                "args": {"temperature": 0.7, "max_completion_tokens": 16384.0},
            },
        ),
        '["limner-call-1","chat","openai/gpt-5",{"args":{"max_completion_tokens":16384,"temperature":0.7},'
        '"messages":[{"content":[{"text":"Mark it.","type":"text"}],"role":"user"}],"model":"gpt-5"},0]',
        "c1903bfd4de66419347ad4fcd0b27a3ee237a36d215bcaa58a76227039c9a312",
    ),
    (
        Request("chat", "openai/gpt-5", {"text": 'Zeichne einen Kühlturm — 冷却塔 😀\n"zwei" \\ Zeilen'}),
        '["limner-call-1","chat","openai/gpt-5",'
        '{"text":"Zeichne einen Kühlturm — 冷却塔 😀\\n\\"zwei\\" \\\\ Zeilen"},0]',
        "3f2b289a2a4bf0bdeb3dba9a1d69aaa7ff5c25357555544338f0fa2cc43f4b67",
    ),
    (
        Request("paint", "a/b", {"size": "1024x1024", "deep": (1, [2.0, {"x": None}], True)}, repeat=3),
        '["limner-call-1","paint","a/b",{"deep":[1,[2,{"x":null}],true],"size":"1024x1024"},3]',
        "e911e7fdf28cfdbbb81425e7efba4e3b2da562fba2273fa95647f7d72e949d7b",
    ),
    (
        Request("probe", "ocr/rapidocr/3.10", {"image": "00ff"}, round=2),
        '["limner-call-1","probe","ocr/rapidocr/3.10",{"image":"00ff"},0,2]',
        "7c85195c0b82f2ed7f9c092f7d3f5816d62570d9b6d7da3fbc429bf78868c8ed",
    ),
    (
        Request("chat", "t", {"third": 0.1, "small": 1e-7, "huge": 1e20, "negative": -0.0}),
        '["limner-call-1","chat","t",{"huge":100000000000000000000,"negative":0,"small":1e-07,"third":0.1},0]',
        "27527a8ebdf06875a24e452327506a4d1b365c58cbc02ddc436b2ce333c32cbe",
    ),
]


@pytest.mark.parametrize(("request_", "text", "key"), FIXED)
def test_keys_never_change(request_: Request, text: str, key: str) -> None:
    assert hashlib.sha256(text.encode()).hexdigest() == key
    assert request_.key == key


def turned(value: Any, order: random.Random) -> Any:
    """The same value with the entries of every mapping in another order."""
    if isinstance(value, dict):
        names = list(value)
        order.shuffle(names)
        return {name: turned(value[name], order) for name in names}
    if isinstance(value, list):
        return [turned(item, order) for item in value]
    return value


def floated(value: Any) -> Any:
    """The same value with every whole number that a float can hold written as a float, lists as tuples."""
    if isinstance(value, dict):
        return {name: floated(item) for name, item in value.items()}
    if isinstance(value, list):
        return tuple(floated(item) for item in value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**53:
        return float(value)
    return value


@given(BODIES, st.randoms(use_true_random=False))
def test_key_does_not_depend_on_order_of_entries(body: dict[str, Any], order: random.Random) -> None:
    assert Request("chat", "t", body).key == Request("chat", "t", turned(body, order)).key


@given(BODIES)
def test_whole_floats_and_integers_have_same_key(body: dict[str, Any]) -> None:
    assert Request("chat", "t", body).key == Request("chat", "t", floated(body)).key


@given(BODIES)
def test_json_round_trip_keeps_key(body: dict[str, Any]) -> None:
    assert Request("chat", "t", json.loads(json.dumps(body))).key == Request("chat", "t", body).key


def comparable(value: Any) -> Any:
    """Equal for two values exactly when they mean the same request: 1 is 1.0, but not True."""
    if isinstance(value, dict):
        return {name: comparable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [comparable(item) for item in value]
    return (isinstance(value, bool), value)


@given(JSON, JSON)
def test_different_values_have_different_canonical_json(one: Any, other: Any) -> None:
    assert (canonical(one) == canonical(other)) == (comparable(one) == comparable(other))


@given(JSON)
def test_canonical_json_parses_to_same_value(value: Any) -> None:
    assert comparable(json.loads(canonical(value))) == comparable(value)


def test_every_field_of_request_changes_key() -> None:
    request = Request("chat", "t", {"a": 1})
    others = [
        replace(request, kind="paint"),
        replace(request, target="u"),
        replace(request, body={"a": 2}),
        replace(request, repeat=1),
        replace(request, round=1),
        replace(request, repeat=1, round=1),
    ]
    assert len({one.key for one in [request, *others]}) == 7


def test_text_not_encodable_in_utf8_has_key() -> None:
    assert Request("chat", "t", {"text": "\ud800"}).key != Request("chat", "t", {"text": "\ud801"}).key


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1: "a"}, b"bytes", {"a": {2: 3}}, object()])
def test_values_not_representable_in_json_are_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        canonical(value)


async def good(_attempt: Attempt) -> Result:
    return Result({})


def stored(store: Store) -> dict[str, tuple[str | None, str | None]]:
    with store.reading() as connection:
        rows = connection.execute(sa.select(calls.c.target, calls.c.exam, calls.c.painter))
        return {row.target: (row.exam, row.painter) for row in rows}


def test_purpose_applies_only_inside_its_block() -> None:
    assert current() == (None, None)
    with purpose("genexam", "mine"):
        assert current() == ("genexam", "mine")
        with purpose("mmmg", None):
            assert current() == ("mmmg", None)
        assert current() == ("genexam", "mine")
    assert current() == (None, None)
    with pytest.raises(ValueError), purpose("genexam", "mine"):
        raise ValueError
    assert current() == (None, None)


def test_concurrent_tasks_keep_their_own_purpose(store: Store) -> None:
    async def one(journal: Calls, n: int, together: asyncio.Barrier) -> None:
        with purpose(f"exam {n}", f"painter {n}"):
            await together.wait()
            # A task started inside is for the same.
            await asyncio.create_task(journal.do(Request("chat", f"service/{n}"), good))

    async def run() -> None:
        together = asyncio.Barrier(5)
        await asyncio.gather(*(one(journal, n, together) for n in range(5)))

    journal = Calls(store)
    asyncio.run(run())
    assert stored(store) == {f"service/{n}": (f"exam {n}", f"painter {n}") for n in range(5)}


def test_call_keeps_its_first_purpose(store: Store) -> None:
    """Later callers get the stored outcome, and the cost stays booked on the first purpose."""
    asked = 0

    async def perform(_attempt: Attempt) -> Result:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise Fault("interrupted", "at first", cost=None)
        return Result({"text": "yes"})

    async def run(exam: str) -> Result | Fault:
        with purpose(exam, "mine"):
            try:
                return Result((await Calls(store).do(Request("chat", "service/model"), perform)).payload)
            except Fault as fault:
                return fault

    outcomes = [asyncio.run(run(exam)) for exam in ("one", "two", "three")]
    assert [type(one) for one in outcomes] == [Fault, Result, Result]
    assert (asked, stored(store)) == (2, {"service/model": ("one", "mine")})
