from __future__ import annotations

import json

import openai
import pytest

from tests.fakes.asking import PROMPT, ask, ask_all, body, content, fail, picture, readable
from tests.fakes.client import ChatServer
from tests.fakes.faults import MALFORMED
from tests.fakes.truth import request_key, verdict


def test_a_conversation_is_malformed_until_the_turn_it_is_not(server: ChatServer) -> None:
    server.configure(seed=4, malformed_until_turn=2)
    request, image = body(PROMPT, picture(5)), picture(5)
    seen = []
    for _ in range(3):
        text = content(ask(server, request))
        seen.append(text)
        turns = [{"role": "assistant", "content": text}, {"role": "user", "content": "Again, as JSON."}]
        request = {**request, "messages": [*request["messages"], *turns]}
    assert [readable(text, 3) for text in seen] == [False, False, True]
    assert json.loads(seen[2]) == verdict(PROMPT, image, 3, 4)
    assert server.counts()["answered"] == 1


@pytest.mark.parametrize(
    ("kind", "exception", "code"),
    [
        ("http_401", openai.AuthenticationError, "invalid_api_key"),
        ("http_402", openai.APIStatusError, "402"),
        ("http_403", openai.PermissionDeniedError, "403"),
        ("http_429", openai.RateLimitError, "rate_limit_exceeded"),
        ("http_429_quota", openai.RateLimitError, "insufficient_quota"),
        ("http_500", openai.InternalServerError, None),
        ("http_502", openai.InternalServerError, None),
        ("http_503", openai.InternalServerError, None),
        ("content_policy", openai.BadRequestError, "content_policy_violation"),
        ("drop", openai.APIConnectionError, None),
    ],
)
def test_faults_raise_what_a_real_service_raises(
    server: ChatServer, kind: str, exception: type[openai.APIError], code: object
) -> None:
    server.configure(faults={kind: 1.0}, fault_first=1)
    error = fail(server, body())
    assert type(error) is exception
    assert error.code == code
    if isinstance(error, openai.APIStatusError):
        assert "retry-after" not in error.response.headers
        assert kind == "content_policy" or kind.startswith(f"http_{error.status_code}")
    assert readable(content(ask(server, body())), 3)
    counts = server.counts()
    assert (counts["faults"], counts["answered"], counts["total"]) == ({kind: 1}, 1, 2)


@pytest.mark.parametrize("value", [2, "Wed, 21 Oct 2037 07:28:00 GMT"])
def test_retry_after_is_sent(server: ChatServer, value: object) -> None:
    server.configure(faults={"http_429_retry_after": 1.0}, retry_after=value)
    error = fail(server, body())
    assert isinstance(error, openai.RateLimitError)
    assert error.response.headers["Retry-After"] == str(value)


def test_a_hanging_request_times_out(server: ChatServer) -> None:
    server.configure(faults={"hang": 1.0}, fault_first=1)
    assert isinstance(fail(server, body(), timeout=2), openai.APITimeoutError)
    ask(server, body())
    assert server.counts()["by_key"] == {request_key(body()): 2}


def test_an_error_can_hide_in_a_200(server: ChatServer) -> None:
    server.configure(faults={"error_in_200": 1.0})
    reply = ask(server, body())
    assert not reply.choices
    assert (reply.model_extra or {})["error"]["code"] == 502


def test_a_refusal_has_no_content(server: ChatServer) -> None:
    server.configure(faults={"refusal": 1.0})
    message = ask(server, body()).choices[0].message
    assert message.content is None
    assert message.refusal


@pytest.mark.parametrize("kind", [*MALFORMED, "length"])
def test_malformed_content_cannot_be_read(server: ChatServer, kind: str) -> None:
    server.configure(faults={kind: 1.0})
    choice = ask(server, body(PROMPT, picture(6))).choices[0]
    assert choice.message.content is not None
    assert not readable(choice.message.content, 3)
    assert choice.finish_reason == ("length" if kind == "length" else "stop")
    if kind in ("wrong_count", "out_of_range"):
        assert json.loads(choice.message.content)["global_evaluation"]


@pytest.mark.slow
def test_faults_depend_on_the_request_not_on_its_order(server: ChatServer) -> None:
    plan = {"seed": 3, "faults": {"http_500": 0.2, "prose": 0.2}, "latency_s": [0.0, 0.01]}
    requests = [body(f"{i}: {PROMPT}") for i in range(60)]
    outcomes = []
    for order in (requests, requests[::-1]):
        server.reset()
        server.configure(**plan)
        ask_all(server, *order)
        outcomes.append({record["key"]: record["outcome"] for record in server.records()})
        counts = server.counts()
        assert counts["total"] == 60 == counts["answered"] + sum(counts["faults"].values())
        assert counts["in_flight"] == counts["rejected"] == counts["abandoned"] == 0
    assert outcomes[0] == outcomes[1]
    assert set(outcomes[0].values()) == {"answered", "http_500", "prose"}


@pytest.mark.parametrize(("fault_by", "same"), [("key", True), ("ordinal", False), ("attempt", False)])
def test_what_a_fault_is_drawn_by(server: ChatServer, fault_by: str, same: bool) -> None:
    server.configure(faults={"prose": 0.5}, fault_by=fault_by)
    ask_all(server, *[body()] * 20)
    assert (len({record["outcome"] for record in server.records()}) == 1) is same
