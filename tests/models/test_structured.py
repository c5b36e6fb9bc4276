"""Response formats: what is sent, and the one retry without it if the service does not support it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
import sqlalchemy as sa

from limner.calls import Calls, Fault
from limner.core.asks import Contract, Text, Unreadable
from limner.core.images import Preparer
from limner.core.settings import Settings
from limner.models import ChatModel, Context, complete
from limner.models.base import Answer
from limner.models.chat import response_format
from limner.store import Store
from limner.store.schema import attempts, calls
from tests.fakes import ChatServer

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "integer", "enum": [0, 1]}},
    "required": ["answer"],
    "additionalProperties": False,
}
DESCRIBED = {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True}}
GOOD = '{"answer": 1}'
PRICES = (2.0, 8.0)


def parse(text: str) -> int:
    try:
        return int(json.loads(text)["answer"])
    except (ValueError, KeyError, TypeError) as error:
        raise Unreadable("no answer in it") from error


SHAPED = Contract(parse, SCHEMA)


def model(store: Store, base_url: str, structured: str = "json_schema", **args: Any) -> ChatModel:
    provider = {"base_url": base_url, "timeout_s": 20, "structured": structured}
    priced = {"fake/judge": {"input_price": PRICES[0], "output_price": PRICES[1]}}
    settings = Settings.model_validate({"providers": {"fake": provider}, "models": priced})
    return ChatModel("fake", "judge", args, settings, Preparer(store.blobs.get))


def ask(
    chosen: ChatModel, store: Store, *words: str, contract: Contract[Any] = SHAPED, together: bool = False, **how: Any
) -> list[Answer]:
    """One run that asks for each of the words, one after another or all at once."""

    async def one(word: str, journal: Calls) -> Answer:
        context = Context("genexam", "q1", "mine", "mark")
        return await complete(chosen, (Text(f"Mark {word}. Reply in JSON."),), contract, context, journal)

    async def run() -> list[Answer]:
        async with Calls(store, **how) as journal:
            journal._wait = lambda _tries: 0.0
            if together:
                return list(await asyncio.gather(*(one(word, journal) for word in words)))
            return [await one(word, journal) for word in words]

    return asyncio.run(run())


def journalled(store: Store) -> list[tuple[str, str | None, bool]]:
    """Status and fault of each call, and whether a shape was described in it, oldest first."""
    with store.reading() as connection:
        rows = connection.execute(sa.select(calls).order_by(calls.c.created)).all()
    return [(row.status, row.fault, "response_format" in row.request["body"]["args"]) for row in rows]


REFUSED, DONE, DONE_SHAPED = ("failed", "bad_request", True), ("done", None, False), ("done", None, True)


@pytest.mark.parametrize(
    ("structured", "sent"),
    [("json_schema", DESCRIBED), ("json_object", {"type": "json_object"}), ("none", None)],
)
def test_response_format_is_sent_as_far_as_service_supports_it(
    chat: ChatServer, store: Store, structured: str, sent: Any
) -> None:
    chat.configure(reply=GOOD)
    (answer,) = ask(model(store, chat.base_url, structured, temperature=0), store, "it")
    assert (answer.reply.text, answer.turns) == (GOOD, 1)
    (body,) = chat.requests()
    assert body.pop("response_format", None) == sent
    words = {"role": "user", "content": [{"type": "text", "text": "Mark it. Reply in JSON."}]}
    assert body == {"model": "judge", "messages": [words], "temperature": 0, "max_tokens": 4 * 2500 + 8192}
    assert response_format(structured, SCHEMA) == sent


@pytest.mark.parametrize("structured", ["json_schema", "json_object", "none"])
def test_contract_without_schema_sends_no_response_format(chat: ChatServer, store: Store, structured: str) -> None:
    chat.configure(reply=GOOD)
    ask(model(store, chat.base_url, structured), store, "it", contract=Contract(parse))
    (body,) = chat.requests()
    assert "response_format" not in body
    assert response_format(structured, None) is None


def test_well_formed_reply_refused_by_parser_is_asked_for_again(chat: ChatServer, store: Store) -> None:
    """A reply of the right shape may still be refused: it is asked for again with the same response format."""
    chat.configure(reply='{"answer": "maybe"}')
    with pytest.raises(Fault, match="unreadable: try 1"):
        ask(model(store, chat.base_url), store, "it")
    bodies = chat.requests()
    assert [(len(body["messages"]), body["response_format"]) for body in bodies] == [
        (turns, DESCRIBED) for turns in (1, 3, 5)
    ]


@pytest.mark.parametrize("structured", ["json_schema", "json_object"])
def test_unsupported_response_format_is_left_out_after_one_refusal(
    chat: ChatServer, store: Store, structured: str
) -> None:
    chat.configure(reply=GOOD, unsupported=["response_format"])
    answers = ask(model(store, chat.base_url, structured), store, "one", "two", "three")
    assert [answer.reply.text for answer in answers] == [GOOD] * 3
    counts = chat.counts()
    assert (counts["rejected"], counts["answered"], counts["total"]) == (1, 3, 4)
    # Both calls are kept: the one that was refused, and the one in its place.
    assert journalled(store) == [REFUSED, DONE, DONE, DONE]
    with store.reading() as connection:
        refused = connection.execute(sa.select(attempts).where(attempts.c.fault.is_not(None))).one()
    assert (refused.n, refused.cost) == (1, 0.0)
    assert "'response_format' is not supported with this model" in refused.detail
    # What was asked is the same but for the shape.
    first, second, *_ = chat.requests()
    assert {**second, "response_format": first["response_format"]} == first


def test_concurrent_calls_send_no_response_format_after_refusal(chat: ChatServer, store: Store) -> None:
    chat.configure(reply=GOOD, unsupported=["response_format"], hold=4)
    chosen = model(store, chat.base_url)
    assert len(ask(chosen, store, *"abcd", together=True)) == 4
    counts = chat.counts()
    assert counts["answered"] == 4
    assert 1 <= counts["rejected"] <= 4
    chat.configure(reply=GOOD, unsupported=["response_format"])
    ask(chosen, store, *"efgh", together=True)
    assert (chat.counts()["answered"], chat.counts()["rejected"]) == (8, counts["rejected"])


def test_later_run_reuses_stored_replies_and_refusal(chat: ChatServer, store: Store) -> None:
    chat.configure(reply=GOOD, unsupported=["response_format"])
    before = ask(model(store, chat.base_url), store, "one", "two")
    asked = chat.counts()["total"]
    # It sees from the journal that the shape is not taken, so that new words go without it too.
    after = ask(model(store, chat.base_url), store, "one", "two", "three")
    assert [answer.reply for answer in after[:2]] == [answer.reply for answer in before]
    assert (chat.counts()["total"], chat.counts()["rejected"]) == (asked + 1, 1)
    # Told to try again what failed, it tries the shape once more.
    ask(model(store, chat.base_url), store, "one", "two", "three", retry_failed=True)
    assert (chat.counts()["total"], chat.counts()["rejected"]) == (asked + 2, 2)


def test_later_run_resumes_after_refusal_and_server_fault(chat: ChatServer, store: Store) -> None:
    """The request was refused with a response format; without it, the service was unavailable."""
    chat.configure(reply=GOOD, unsupported=["response_format"], faults={"http_503": 1.0})
    with pytest.raises(Fault, match="server"):
        ask(model(store, chat.base_url), store, "one", tries=2)
    assert journalled(store) == [REFUSED, ("failed", "server", False)]
    chat.configure(reply=GOOD, unsupported=["response_format"])
    (answer,) = ask(model(store, chat.base_url), store, "one")
    assert answer.reply.text == GOOD
    assert journalled(store) == [REFUSED, DONE]
    assert chat.counts()["rejected"] == 1


def test_service_requiring_word_json_is_asked_without_response_format(chat: ChatServer, store: Store) -> None:
    chat.configure(reply=GOOD)

    async def run() -> Answer:
        context = Context("genexam", "q1", "mine", "mark")
        chosen = model(store, chat.base_url, "json_object")
        return await complete(chosen, (Text("Mark it."),), SHAPED, context, Calls(store))

    assert asyncio.run(run()).reply.text == GOOD
    assert journalled(store) == [REFUSED, DONE]


def test_request_refused_for_other_reason_is_not_sent_again(chat: ChatServer, store: Store) -> None:
    chat.configure(reply=GOOD)
    with pytest.raises(Fault, match="bad_request: 400: Unrecognized request argument supplied: colour"):
        ask(model(store, chat.base_url, colour="blue"), store, "it")
    assert (chat.counts()["total"], journalled(store)) == (1, [REFUSED])


def test_transient_fault_keeps_response_format(chat: ChatServer, store: Store) -> None:
    chat.configure(reply=GOOD, faults={"http_500": 1.0}, fault_first=2)
    ask(model(store, chat.base_url), store, "it")
    assert (chat.counts()["total"], journalled(store)) == (3, [DONE_SHAPED])
    assert all("response_format" in body for body in chat.requests())


def test_response_format_of_user_takes_precedence_and_is_kept(chat: ChatServer, store: Store) -> None:
    own = {"type": "text"}
    chat.configure(reply=GOOD)
    ask(model(store, chat.base_url, response_format=own), store, "it")
    assert [body["response_format"] for body in chat.requests()] == [own]
    chat.configure(reply=GOOD, unsupported=["response_format"])
    with pytest.raises(Fault, match="'response_format' is not supported"):
        ask(model(store, chat.base_url, response_format=own), store, "another")
    assert chat.counts()["rejected"] == 1


def test_response_format_counts_in_cost_bound(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Services charge for the response format as for any other input."""
    bounds: list[float] = []

    async def do(self: Calls, request: Any, perform: Any, *, bound: float, **_more: Any) -> Any:
        bounds.append(bound)
        raise Fault("refusal", "enough is seen")

    monkeypatch.setattr(Calls, "do", do)
    for args in ({"max_tokens": 100}, {"max_completion_tokens": 100, "n": 3}):
        for structured in ("none", "json_schema"):
            with pytest.raises(Fault, match="enough"):
                ask(model(store, "http://127.0.0.1:9", structured, **args), store, "it")
    plain, shaped, thrice, _ = bounds
    words = len(b"Mark it. Reply in JSON.") + 16
    assert plain == pytest.approx((words * PRICES[0] + 100 * PRICES[1]) / 1e6)
    assert shaped == pytest.approx(plain + len(json.dumps(DESCRIBED)) * PRICES[0] / 1e6)
    assert thrice == pytest.approx(plain + 200 * PRICES[1] / 1e6)
