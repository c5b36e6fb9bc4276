"""The length of replies is limited, the limit is what is reserved, and a reply that it cuts off is asked for again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from limner.calls import Budget, Calls, Fault
from limner.core.asks import Text
from limner.core.images import Preparer
from limner.core.settings import Settings
from limner.models import ChatModel, Context
from limner.store import Store
from tests.cli.invoke import limner
from tests.fakes import ChatServer
from tests.fakes.misbehaving import Misbehaving, Seen, says
from tests.support import JUDGE, SmallExam, write_settings


def model(store: Store, url: str, facts: dict[str, Any], **args: Any) -> ChatModel:
    settings = Settings.model_validate({"providers": {"fake": {"base_url": url}}, "models": {"fake/judge": facts}})
    return ChatModel("fake", "judge", args, settings, Preparer(store.blobs.get))


PRICED = {"input_price": 1.0, "output_price": 10.0}


def ask(
    chat: ChatModel, store: Store, usual: int = 3000, budget: Budget | None = None
) -> tuple[str, str, float | None]:
    async def run() -> tuple[str, str, float | None]:
        async with Calls(store, budget=budget) as calls:
            return await chat.turn(
                (Text("Mark it. Reply in JSON."),), (), Context("e", "q", "p", "mark", usual=usual), calls
            )

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("facts", "args", "sent"),
    [
        ({**PRICED, "max_output_tokens": 16_384}, {}, {"max_tokens": 12_000}),
        ({**PRICED, "max_output_tokens": 128_000}, {}, {"max_tokens": 12_000 + 8192}),
        ({**PRICED, "max_output_tokens": 128_000}, {"reasoning_effort": "low"}, {"max_tokens": 12_000 + 1024}),
        ({**PRICED, "max_output_tokens": 8000}, {}, {"max_tokens": 8000}),
        (PRICED, {"max_completion_tokens": 500}, {"max_completion_tokens": 500}),
        ({}, {}, {}),
        ({"input_price": 0, "output_price": 0}, {}, {}),
    ],
)
def test_limit_follows_usual_reply_and_model(
    chat: ChatServer, store: Store, facts: dict[str, Any], args: dict[str, Any], sent: dict[str, int]
) -> None:
    ask(model(store, chat.base_url, facts, **args), store)
    (body,) = chat.requests()
    assert {name: value for name, value in body.items() if name.startswith("max_")} == sent


def replies(seen: Seen) -> Any:
    asked = seen.json.get("max_tokens", 0)
    usage = {"prompt_tokens": 10, "completion_tokens": asked}
    reason = "length" if asked < 100_000 else "stop"
    return says({"choices": [{"message": {"content": "fine"}, "finish_reason": reason}], "usage": usage})


def test_cut_off_reply_is_asked_for_once_more_in_full(store: Store) -> None:
    with Misbehaving(replies) as server:
        chat = model(store, server.url, {**PRICED, "max_output_tokens": 128_000})
        text, _, cost = ask(chat, store)
        assert text == "fine"
        assert cost == pytest.approx((20 + 10 * (20_192 + 128_000)) / 1e6)
        # A later run finds both in the store.
        assert ask(chat, store)[0] == "fine"
        assert [seen.json["max_tokens"] for seen in server.seen] == [20_192, 128_000]
        short = model(store, server.url, {**PRICED, "max_output_tokens": 50_000})
        with pytest.raises(Fault, match="token limit"):
            ask(short, store)
        own = model(store, server.url, PRICED, max_tokens=70)
        with pytest.raises(Fault, match="token limit"):
            ask(own, store)
        assert [seen.json["max_tokens"] for seen in server.seen[2:]] == [50_000, 70], "the first is stored"


def test_limit_is_what_is_reserved(chat: ChatServer, store: Store) -> None:
    budget = Budget(1.0)
    seen: list[float] = []
    chat_model = model(store, chat.base_url, {**PRICED, "max_output_tokens": 128_000})
    original = budget.reserve

    async def reserve(bound: float | None, target: str) -> float:
        seen.append(bound or 0.0)
        return await original(bound, target)

    budget.reserve = reserve  # type: ignore[method-assign]
    ask(chat_model, store, budget=budget)
    assert seen == [pytest.approx(20_192 * 10 / 1e6, rel=0.01)]


def test_presets_send_no_limit_of_ours(
    chat: ChatServer, small_exam: SmallExam, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_settings(tmp_path, chat.base_url)
    words = ["run", "genexam", "--data", str(small_exam.data), "--painter", f"mine=folder/{small_exam.drawings}"]
    limner(*words, "--judge", JUDGE, "--limit", "1", "--store", "own", code=None)
    (own,) = chat.requests()
    assert own["max_tokens"] == 20_192
    chat.reset()
    limner(*words, "--judge", JUDGE, "--limit", "1", "--preset", "release", "--store", "preset", code=None)
    assert chat.requests()[0]["max_completion_tokens"] == 16_384
    assert "max_tokens" not in chat.requests()[0]
