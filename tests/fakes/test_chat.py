from __future__ import annotations

import asyncio
import json

import openai
import pytest

from tests.fakes.asking import KEY, PROMPT, Body, ask, body, connect, content, data_url, fail, image_body, picture
from tests.fakes.client import ChatServer
from tests.fakes.truth import RATINGS, count_points, verdict


def test_a_good_reply_says_the_truth(server: ChatServer) -> None:
    server.configure(seed=9)
    drawn, reference = picture(1), picture(2)
    request = body(PROMPT, drawn, reference, reasoning_effort="low", max_completion_tokens=16384)
    reply = ask(server, request)
    assert json.loads(content(reply)) == verdict(PROMPT, drawn, 3, 9)
    assert (reply.object, reply.model, reply.choices[0].finish_reason) == ("chat.completion", "judge", "stop")
    assert reply.choices[0].message.refusal is None
    usage = reply.usage
    assert usage is not None
    assert usage.completion_tokens_details is not None
    assert usage.completion_tokens_details.reasoning_tokens == 64 < usage.completion_tokens
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert verdict(PROMPT, reference, 3, 9) != verdict(PROMPT, drawn, 3, 9) != verdict(PROMPT, drawn, 3, 8)


def test_truth_covers_all_marks() -> None:
    truths = [verdict(PROMPT, picture(i), 5, 1) for i in range(300)]
    marks = {a["answer"] for t in truths for a in t["answers"]}
    scores = {t["global_evaluation"][r]["score"] for t in truths for r in RATINGS}
    perfect = [t for t in truths if all(a["answer"] for a in t["answers"])]
    assert (marks, scores) == ({0, 1}, {0, 1, 2})
    assert 60 < len(perfect) < 180
    assert len(verdict(PROMPT, b"", 70, 1)["answers"]) == 70


def test_points_are_counted_under_their_heading() -> None:
    assert count_points(PROMPT) == 3
    assert count_points("1. a\n## scoring points to answer\n 1. a\n 2. b") == 2
    assert count_points("1. a") == 0
    assert count_points("- a\n- b", r"^- ", None) == 2


def test_the_token_limit_is_kept(server: ChatServer) -> None:
    reply = ask(server, body(max_completion_tokens=20))
    assert reply.choices[0].finish_reason == "length"
    assert reply.usage is not None
    assert reply.usage.completion_tokens == 20
    assert server.counts()["faults"] == {"length": 1}


@pytest.mark.parametrize(
    ("request_body", "code", "param"),
    [
        (body(extra_body={"top_k": 1}), None, None),
        (body(temperature=3), "decimal_out_of_range", "temperature"),
        (body(verbosity="loud"), "invalid_value", "verbosity"),
        (body("Mark it.", response_format={"type": "json_object"}), None, "messages"),
        ({"model": 5, "messages": [{"role": "user", "content": "x"}]}, None, None),
        ({"model": "judge", "messages": []}, "empty_array", "messages"),
        (
            {"model": "judge", "messages": [{"role": "boss", "content": "x"}]},
            "invalid_value",
            "messages[0].role",
        ),
        (image_body("https://example.org/a.png"), "invalid_image_url", None),
        (image_body("data:image/png;base64,@@@@"), "invalid_base64", None),
        (image_body(data_url(b"no image at all")), "invalid_image_format", None),
        (image_body(data_url(picture(1), "image/jpeg")), "invalid_image_format", None),
        (image_body(data_url(picture(1)[:-20])), "invalid_image_format", None),
    ],
)
def test_wrong_requests_are_refused(server: ChatServer, request_body: Body, code: object, param: object) -> None:
    error = fail(server, request_body)
    assert isinstance(error, openai.BadRequestError)
    assert (error.type, error.code, error.param) == ("invalid_request_error", code, param)
    assert (server.counts()["rejected"], server.counts()["answered"]) == (1, 0)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_images_in_all_formats_are_taken(server: ChatServer, kind: str) -> None:
    ask(server, image_body(data_url(picture(1, kind), f"image/{kind.lower()}")))


def test_unsupported_fields_and_models_are_refused(server: ChatServer) -> None:
    server.configure(unsupported=["response_format"], models=["judge"])
    error = fail(server, body(response_format={"type": "json_object"}))
    assert (error.code, error.param) == ("unsupported_parameter", "response_format")
    assert isinstance(fail(server, {**body(), "model": "other"}), openai.NotFoundError)
    ask(server, body())


def test_only_the_right_key_is_let_in(server: ChatServer) -> None:
    server.configure(api_key=KEY)
    ask(server, body())
    error = fail(server, body(), api_key="sk-wrong-0123456789abcdef")
    assert isinstance(error, openai.AuthenticationError)
    assert error.code == "invalid_api_key"
    assert f"sk-wrong{'*' * 13}cdef" in error.message


def test_keyless_lets_anything_in(server: ChatServer) -> None:
    ask(server, body(), api_key="anything")

    async def names() -> list[str]:
        async with connect(server, api_key="none") as sdk:
            return [model.id async for model in sdk.models.list()]

    assert asyncio.run(names()) == ["fake-judge"]


def test_a_fixed_reply_replaces_the_verdict(server: ChatServer) -> None:
    server.configure(reply="a plan")
    assert content(ask(server, body())) == "a plan"
