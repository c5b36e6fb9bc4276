"""Asking until a reply keeps its contract: each fault is named in the next turn, and every turn is counted."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from limner.calls import Calls, Fault
from limner.core.asks import Contract, Part, Reply, Text, Unreadable
from limner.models import Answer, Context, complete
from limner.models.base import objection
from limner.store import Store

CONTEXT = Context("genexam", "q1", "mine", "mark")
SHOWN = (Text("How many?"),)
Said = tuple[tuple[str, str], ...]


class Scripted:
    """Says what it was given, turn by turn."""

    name = "scripted"
    settings: dict[str, Any]

    def __init__(self, *lines: str | Fault, cost: float | None = 0.5) -> None:
        self.settings, self.lines, self.cost = {}, lines, cost
        self.heard: list[Said] = []

    async def turn(
        self, shown: tuple[Part, ...], earlier: Said, context: Context, calls: Calls
    ) -> tuple[str, str, float | None]:
        assert (shown, context) == (SHOWN, CONTEXT)
        self.heard.append(earlier)
        line = self.lines[len(self.heard) - 1]
        if isinstance(line, Fault):
            raise line
        return line, f"key{len(self.heard)}", self.cost


def number(text: str) -> int:
    if not text.isdigit():
        raise Unreadable(f"{text!r} is no number")
    return int(text)


def ask(store: Store, model: Scripted) -> Answer:
    return asyncio.run(complete(model, SHOWN, Contract(number), CONTEXT, Calls(store)))


def test_valid_reply_is_accepted_at_once(store: Store) -> None:
    model = Scripted("7")
    assert ask(store, model) == Answer(Reply("mark", "7", "key1"), 1, 0.5, value=7)
    assert model.heard == [()]


def test_heavy_parsing_runs_in_another_thread(store: Store) -> None:
    threads: list[str] = []

    def parse(text: str) -> int:
        threads.append(threading.current_thread().name)
        return int(text)

    answer = asyncio.run(complete(Scripted("7"), SHOWN, Contract(parse, heavy=True), CONTEXT, Calls(store)))
    assert answer.value == 7
    assert threads != [threading.main_thread().name]


def test_bad_reply_is_objected_to_and_asked_for_again(store: Store) -> None:
    model = Scripted("seven", "7 or 8", "7")
    assert ask(store, model) == Answer(Reply("mark", "7", "key3"), 3, 1.5, value=7)
    turns = [("seven", objection("'seven' is no number")), ("7 or 8", objection("'7 or 8' is no number"))]
    assert model.heard == [(), tuple(turns[:1]), tuple(turns)]
    assert "'seven' is no number" in turns[0][1]


def test_third_bad_reply_is_fault(store: Store) -> None:
    model = Scripted("one", "two", "three", "4")
    with pytest.raises(Fault) as caught:
        ask(store, model)
    fault = caught.value
    assert (fault.kind, fault.cost, len(model.heard)) == ("unreadable", 1.5, 3)
    assert fault.calls == ("key1", "key2", "key3")
    for n, word in enumerate(("one", "two", "three"), 1):
        assert f"try {n}: " in fault.detail
        assert f"'{word}' is no number" in fault.detail
    assert "\n" not in fault.detail


def test_unknown_cost_stays_unknown(store: Store) -> None:
    assert ask(store, Scripted("x", "7", cost=None)).cost is None


def test_fault_in_later_turn_includes_calls_and_cost_of_earlier_turns(store: Store) -> None:
    with pytest.raises(Fault) as caught:
        ask(store, Scripted("x", Fault("refusal", "no", calls=("key2",), cost=0.25)))
    assert (caught.value.kind, caught.value.calls, caught.value.cost) == ("refusal", ("key1", "key2"), 0.75)


def test_error_in_parser_is_not_treated_as_bad_reply(store: Store) -> None:
    def slip(text: str) -> int:
        raise KeyError(text)

    with pytest.raises(KeyError):
        asyncio.run(complete(Scripted("7"), SHOWN, Contract(slip), CONTEXT, Calls(store)))
