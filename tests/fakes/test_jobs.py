"""The fake job services are as strict as the real ones, so that what passes them is right."""

from __future__ import annotations

import copy
import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.fakes.jobs_client import JobServer, picture

KEY = "sk-test-0123456789abcdef"
DASHSCOPE, ASYNC = {"Authorization": f"Bearer {KEY}"}, {"X-DashScope-Async": "enable"}
SYNTHESIS = "/api/v1/services/aigc/text2image/image-synthesis"
PROMPT: dict[str, Any] = {
    "model": "wan2.5-t2i-preview",
    "input": {"prompt": "A cell."},
    "parameters": {"n": 1, "size": "1024*1024", "seed": 1, "prompt_extend": False, "watermark": False},
}
FLUX: dict[str, Any] = {"prompt": "A cell.", "width": 1024, "height": 768, "seed": 1, "output_format": "png"}


@pytest.fixture(scope="module")
def service() -> Iterator[JobServer]:
    with JobServer() as server:
        yield server


@pytest.fixture
def server(service: JobServer) -> JobServer:
    service.reset()
    service.configure(api_key=KEY, polls=1)
    return service


def call(server: JobServer, method: str, path: str, headers: dict[str, str], body: Any = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def local(server: JobServer, url: str) -> str:
    assert url.startswith(server.root + "/")
    return url.removeprefix(server.root)


@pytest.mark.slow
def test_both_services_draw_the_truth(server: JobServer) -> None:
    status, reply = call(server, "POST", SYNTHESIS, DASHSCOPE | ASYNC, PROMPT)
    task = json.loads(reply)["output"]
    assert (status, task["task_status"]) == (200, "PENDING")
    states = [json.loads(call(server, "GET", f"/api/v1/tasks/{task['task_id']}", DASHSCOPE)[1]) for _ in range(2)]
    assert [state["output"]["task_status"] for state in states] == ["PENDING", "SUCCEEDED"]
    link = states[1]["output"]["results"][0]["url"]
    assert call(server, "GET", local(server, link), {}) == (200, picture("A cell.", 1, "1024x1024"))
    status, reply = call(server, "POST", "/v1/flux-2-pro", {"x-key": KEY}, FLUX)
    poll = local(server, json.loads(reply)["polling_url"])
    states = [json.loads(call(server, "GET", poll, {"x-key": KEY})[1]) for _ in range(2)]
    assert [state["status"] for state in states] == ["Pending", "Ready"]
    link = states[1]["result"]["sample"]
    assert call(server, "GET", local(server, link), {}) == (200, picture("A cell.", 1, "1024x768"))
    assert sorted(server.counts()["paid"].values()) == [1, 1]


WRONG: list[Callable[[dict[str, Any]], Any]] = [
    lambda body: body.update(prompt="twice"),
    lambda body: body.update(model="wan2.6-t2i"),
    lambda body: body["input"].update(messages=[]),
    lambda body: body["input"].pop("prompt"),
    lambda body: body["parameters"].update(size="1024x1024"),
    lambda body: body["parameters"].update(n=2),
    lambda body: body["parameters"].update(seed=-1),
    lambda body: body["parameters"].update(seed="1"),
    lambda body: body["parameters"].update(prompt_extend="false"),
    lambda body: body["parameters"].update(negative_prompt="blur"),
    lambda body: body["parameters"].pop("watermark"),
]


@pytest.mark.parametrize("change", WRONG)
def test_dashscope_refuses_wrong_bodies(server: JobServer, change: Callable[[dict[str, Any]], Any]) -> None:
    body = copy.deepcopy(PROMPT)
    change(body)
    status, reply = call(server, "POST", SYNTHESIS, DASHSCOPE | ASYNC, body)
    assert status in (400, 404), reply
    assert server.counts()["paid"] == {}


@pytest.mark.parametrize(
    "change",
    [
        {"width": 1000},
        {"height": "768"},
        {"aspect_ratio": "4:3"},
        {"steps": 20},
        {"prompt_upsampling": True},
        {"safety_tolerance": 7},
        {"output_format": "webp"},
        {"seed": 1.5},
        {"model": "flux-2-pro"},
        {"prompt": None},
    ],
)
def test_bfl_refuses_wrong_bodies(server: JobServer, change: dict[str, Any]) -> None:
    status, reply = call(server, "POST", "/v1/flux-2-pro", {"x-key": KEY}, FLUX | change)
    assert status == 422
    assert json.loads(reply)["detail"][0]["loc"] == ["body", *change]
    assert server.counts()["paid"] == {}


@pytest.mark.parametrize(
    ("path", "headers", "body"),
    [
        (SYNTHESIS, DASHSCOPE, PROMPT),
        (SYNTHESIS, ASYNC, PROMPT),
        (SYNTHESIS, DASHSCOPE | ASYNC | {"x-key": KEY}, PROMPT),
        (SYNTHESIS, {"x-key": KEY} | ASYNC, PROMPT),
        ("/api/v1/services/aigc/multimodal-generation/generation", DASHSCOPE | ASYNC, PROMPT),
        ("/v1/flux-2-pro", {"x-key": "sk-another"}, FLUX),
        ("/v1/flux-2-pro", DASHSCOPE, FLUX),
        ("/v1/flux-2-pro", {}, FLUX),
    ],
)
def test_wrong_headers_are_refused(server: JobServer, path: str, headers: dict[str, str], body: Any) -> None:
    status, _ = call(server, "POST", path, headers, body)
    assert status in (400, 401, 403)
    assert server.counts()["paid"] == {}


def test_a_poll_needs_the_key_and_a_job(server: JobServer) -> None:
    assert call(server, "GET", "/v1/get_result?id=none", {})[0] == 403
    assert call(server, "GET", "/v1/get_result?id=none", {"x-key": KEY})[0] == 404
    assert call(server, "GET", "/api/v1/tasks/none", DASHSCOPE)[0] == 404
    assert call(server, "GET", "/api/v1/tasks/none", DASHSCOPE | ASYNC)[0] == 400


def test_wrong_plans_are_refused(server: JobServer) -> None:
    for plan in ({"faults": {"http_500": 1}}, {"faults": {"poll:lost": 1}}, {"poll": 3}):
        with pytest.raises(ValueError, match="plan: "):
            server.configure(**plan)
