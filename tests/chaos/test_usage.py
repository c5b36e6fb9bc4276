"""Implausible usage: the reply counts at its bound and is flagged, and the budget holds."""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from limner.calls import Budget, BudgetReached, Calls, Fault
from limner.calls.turns import Limits
from limner.calls.usage import bill, reported_dollars, reported_tokens
from limner.core.asks import Text
from limner.running.estimate import mean_use, spent
from limner.store import Store
from limner.store.schema import attempts
from tests.chaos.asking import CONTEXT, ask, chat, paint
from tests.fakes.misbehaving import Answer, Misbehaving, chat_reply, says
from tests.fakes.misbehaving import chat as chat_service
from tests.support import picture

BAD: list[Any] = [
    {"prompt_tokens": -1_000_000, "completion_tokens": 5},
    {"prompt_tokens": 12, "completion_tokens": -3_000_000},
    {"prompt_tokens": 10**15, "completion_tokens": 5},
    {"prompt_tokens": 2.5, "completion_tokens": 5},
    {"prompt_tokens": 0, "completion_tokens": 0},
    {"prompt_tokens": 12, "completion_tokens": 5_000_000},
    {"prompt_tokens": 12, "completion_tokens": 5, "cost": -240.0},
    {"prompt_tokens": 12, "completion_tokens": 5, "cost": 1e12},
    {"prompt_tokens": float("nan"), "completion_tokens": float("inf")},
    "lots",
]


def rows(store: Store) -> list[Any]:
    with store.reading() as connection:
        return list(connection.execute(sa.select(attempts)))


@pytest.mark.parametrize("usage", BAD, ids=lambda usage: json.dumps(usage)[:40])
def test_reply_with_implausible_usage_is_priced_at_bound_and_flagged(store: Store, usage: Any) -> None:
    with Misbehaving(chat_service("fine", usage)) as server:
        assert ask(store, server.url) == "fine"
    (row,) = rows(store)
    assert row.doubt.startswith("usage not credible: ")
    assert row.cost == pytest.approx((16 + len("Mark it.") + 100) * 1000 / 1e6)
    (one,) = spent(store)
    assert (one.doubted, one.dollars, one.unpriced) == (1, row.cost, 0)
    assert (one.tokens_in, one.tokens_out) == (0, 0)
    assert mean_use(store, "fake/m") is None


def test_plausible_usage_is_not_flagged(store: Store) -> None:
    with Misbehaving(chat_service("fine", {"prompt_tokens": 12, "completion_tokens": 3.0})) as server:
        ask(store, server.url)
    (row,) = rows(store)
    assert (row.doubt, row.cost) == (None, pytest.approx(0.015))


@pytest.mark.parametrize("usage", BAD[:3])
def test_budget_holds_despite_implausible_usage(store: Store, usage: Any) -> None:
    """Each call is bound at 0.125 dollars; the service reports a negative or an enormous usage."""

    async def spend(base_url: str, limit: float) -> Budget:
        model, budget = chat(store, base_url), Budget(limit)
        calls = Calls(store, tries=1, budget=budget)
        for number in range(80):
            try:
                await model.turn((Text(f"{number:09}"),), (), CONTEXT, calls)
            except BudgetReached:
                return budget
        raise AssertionError("80 calls were made")

    with Misbehaving(chat_service("fine", usage)) as server:
        budget = asyncio.run(spend(server.url, 1.0))
        assert len(server.seen) == 8
    assert budget.spent == pytest.approx(1.0)


@pytest.mark.parametrize(("cost", "counted"), [(0.9, 0.9), (5.0, 0.125)])
def test_cost_above_the_price_list_stops_run_with_budget(store: Store, cost: float, counted: float) -> None:
    """Far above it, the amount is not believed, but the service may charge it."""
    usage = {"prompt_tokens": 12, "completion_tokens": 5, "cost": cost}
    with Misbehaving(chat_service("fine", usage)) as server:
        calls = Calls(store, tries=1, budget=Budget(100.0))
        with pytest.raises(BudgetReached, match=rf"fake/m reports \${cost:g}.* \$0\.1250 at most .*Stopped"):
            asyncio.run(chat(store, server.url).turn((Text("123456789"),), (), CONTEXT, calls))
    assert calls.budget.spent == pytest.approx(counted)


LONG = "Mark the drawing by every point of the rubric, and give a reason for each mark. " * 5
LOW: list[Any] = [
    {"prompt_tokens": 1, "completion_tokens": 0},
    {"prompt_tokens": 90, "completion_tokens": 0},
    {"prompt_tokens": 90, "completion_tokens": 90, "cost": 0},
    {"prompt_tokens": 90, "completion_tokens": 90, "cost": 0.01},
]


@pytest.mark.parametrize("error", [None, {"code": 500, "message": "try again"}])
@pytest.mark.parametrize("usage", LOW, ids=lambda usage: json.dumps(usage)[:60])
def test_usage_below_what_was_sent_and_received_is_priced_at_bound(store: Store, usage: Any, error: Any) -> None:
    """An error inside a reply with status 200 has no text, so only its prompt is checked."""
    reply = chat_reply(LONG, usage) if error is None else {"error": error, "usage": usage}
    with Misbehaving(lambda _seen: says(reply)) as server, suppress(Fault):
        ask(store, server.url, LONG)
    (row,) = rows(store)
    believed = error is not None and usage == LOW[1]
    assert row.cost == pytest.approx(0.09 if believed else (16 + len(LONG) + 100) * 1000 / 1e6)
    assert bool(row.doubt) is not believed


def test_painter_that_reports_no_tokens_is_priced_at_bound(store: Store) -> None:
    image = base64.b64encode(picture(3)).decode()
    usage = {"input_tokens": 40, "output_tokens": 0}
    with Misbehaving(lambda _seen: says({"data": [{"b64_json": image}], "usage": usage})) as server:
        paint(store, server.url, "openai-images")
    (row,) = rows(store)
    assert (row.cost, bool(row.doubt)) == (0.5, True)


@pytest.mark.parametrize(
    "usage", [{"input_tokens": -5, "output_tokens": 9}, {"input_tokens": 5, "output_tokens": 1e300}]
)
def test_painter_with_implausible_usage_is_priced_at_bound(store: Store, usage: Any) -> None:
    image = base64.b64encode(picture(3)).decode()
    with Misbehaving(lambda _seen: says({"data": [{"b64_json": image}], "usage": usage})) as server:
        paint(store, server.url, "openai-images")
    (row,) = rows(store)
    assert (row.cost, bool(row.doubt)) == (0.5, True)


def test_fault_with_implausible_usage_is_flagged(store: Store) -> None:
    reply = chat_reply("x", {"prompt_tokens": -1, "completion_tokens": 5})
    reply["choices"][0]["finish_reason"] = "length"
    with Misbehaving(lambda _seen: says(reply)) as server, pytest.raises(Exception, match="token limit"):
        ask(store, server.url)
    (row,) = rows(store)
    assert (row.fault, bool(row.doubt)) == ("truncated", True)
    assert row.cost > 0


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.integers())))
def test_any_reported_value_gives_plausible_cost_or_none(value: Any) -> None:
    reported = {"tokens": value, "cost": value}
    for price in (lambda: reported_dollars(reported, "cost"), lambda: reported_tokens(reported, "tokens")):
        billed = bill(price, 0.1)
        assert (billed.cost is None) or (billed.doubt is None and 0 <= billed.cost <= 2.0)


def test_spend_reports_number_of_implausible_replies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from limner.report.tables.status import spend_table
    from limner.report.tables.text import plain

    with Store(tmp_path / "s") as store, Misbehaving(chat_service("fine", BAD[0])) as server:
        ask(store, server.url)
        output = plain(spend_table("s", ("kind",), spent(store, ("kind",))))
    assert "1 reply reports a usage that is not credible: counted at the most it can have cost" in output


def test_request_with_unknown_outcome_is_repeated_under_same_key(store: Store) -> None:
    """The first reply is lost, the second is an error: only the third request may be answered anew."""
    answers = iter([Answer(b"{", end="reset", declared=9), says({"error": "busy"}, 500), says(chat_reply("fine"))])
    limits = {"fake": Limits(idempotency_header="Idempotency-Key")}

    async def run(url: str) -> None:
        calls = Calls(store, tries=2, limits=limits)
        calls._wait = lambda _tries: 0.0
        await chat(store, url).turn((Text("Mark it."),), (), CONTEXT, calls)

    with Misbehaving(lambda _seen: next(answers)) as server:
        with pytest.raises(Fault):
            asyncio.run(run(server.url))
        asyncio.run(run(server.url))
    first, second, third = (seen.headers["idempotency-key"] for seen in server.seen)
    assert first == second != third
