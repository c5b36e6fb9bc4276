"""DashScope: bodies of its three endpoints, its codes as kinds, its rewritten prompts, images without a job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from limner.core.settings import PainterFacts
from limner.painters.services.dashscope import endpoint_of
from limner.store import Store
from tests.fakes.jobs_client import JobServer, picture, request_key, revised
from tests.painters.job_support import KEY, KEY_VARIABLE, ask, fail, make, paid, paint, progress, tries

OLD, NEW, SYNC = "dashscope/qwen-image-plus", "dashscope/wan2.6-t2i", "dashscope/qwen-image-max"
SIZES = PainterFacts(image_price=0.05, sizes={"square": "1328*1328", "landscape": "1664*928", "portrait": "928*1664"})
PROMPT = "A cell with its parts."
MESSAGE = {"role": "user", "content": [{"text": PROMPT}]}


@pytest.fixture(scope="module")
def service() -> Iterator[JobServer]:
    with JobServer() as server:
        yield server


@pytest.fixture
def server(service: JobServer, monkeypatch: pytest.MonkeyPatch) -> JobServer:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    service.reset()
    service.configure(api_key=KEY)
    return service


def submitted(server: JobServer) -> list[Any]:
    return [body for body in server.requests() if "poll" not in body]


@pytest.mark.slow
def test_a_job_by_prompt(server: JobServer, store: Store) -> None:
    painter = make(server.root, store, OLD, {"negative_prompt": "blur"}, facts=SIZES)
    assert paint(painter, store).image == picture("A cell with its parts.", 7, "1328x1328")
    body = {
        "model": "qwen-image-plus",
        "input": {"prompt": "A cell with its parts.", "negative_prompt": "blur"},
        "parameters": {"n": 1, "prompt_extend": False, "watermark": False, "seed": 7, "size": "1328*1328"},
    }
    assert submitted(server) == [{"endpoint": "text2image/image-synthesis", **body}]
    assert server.counts()["paid"] == {request_key(body): 1}


def test_a_job_by_message(server: JobServer, store: Store) -> None:
    painter = make(server.root, store, NEW, {"negative_prompt": "blur", "service_rewrite": "on", "size": "960x1280"})
    assert paint(painter, store).image == picture("A cell with its parts.", 7, "960x1280")
    parameters = {"n": 1, "prompt_extend": True, "watermark": False, "seed": 7, "size": "960*1280"}
    body = {
        "model": "wan2.6-t2i",
        "input": {"messages": [MESSAGE]},
        "parameters": {**parameters, "negative_prompt": "blur"},
    }
    assert submitted(server) == [{"endpoint": "image-generation/generation", **body}]


def test_an_image_without_a_job(server: JobServer, store: Store) -> None:
    painter = make(server.root, store, SYNC, {"watermark": True}, facts=SIZES)
    painting = paint(painter, store)
    assert painting.image == picture("A cell with its parts.", 7, "1328x1328")
    assert painting.cost == 0.05
    body = {
        "model": "qwen-image-max",
        "input": {"messages": [MESSAGE]},
        "parameters": {"n": 1, "prompt_extend": False, "watermark": True, "seed": 7, "size": "1328*1328"},
    }
    assert submitted(server) == [{"endpoint": "multimodal-generation/generation", **body}]
    assert server.counts()["polls"] == 0


@pytest.mark.parametrize("slip", ["http_500", "drop"])
def test_an_image_without_a_job_is_not_paid_twice_for_its_link(server: JobServer, store: Store, slip: str) -> None:
    server.configure(api_key=KEY, faults={f"link:{slip}": 1.0})
    paint(make(server.root, store, SYNC), store)
    assert (paid(server), server.counts()["fetched"]) == ([1], 2)


def test_a_first_reply_that_says_nothing_is_tried_again(server: JobServer, store: Store) -> None:
    server.configure(api_key=KEY, faults={"submit:odd": 1.0}, fault_first=1)
    paint(make(server.root, store, SYNC), store)
    assert [fault for fault, _ in tries(store)] == ["server", None]


@pytest.mark.parametrize(
    ("model", "endpoint"),
    [
        ("wanx2.1-t2i-turbo", "text2image/image-synthesis"),
        ("wan2.5-t2i-preview", "text2image/image-synthesis"),
        ("qwen-image", "text2image/image-synthesis"),
        ("qwen-image-plus-2026-01-09", "text2image/image-synthesis"),
        ("wan2.6-t2i", "image-generation/generation"),
        ("wan2.7-image", "image-generation/generation"),
        ("qwen-image-3.0-pro", "image-generation/generation"),
        ("qwen-image-2.0", "multimodal-generation/generation"),
        ("qwen-image-max-2025-12-30", "multimodal-generation/generation"),
    ],
)
def test_the_endpoint_goes_by_the_model(server: JobServer, store: Store, model: str, endpoint: str) -> None:
    assert endpoint_of(model) == endpoint
    paint(make(server.root, store, f"dashscope/{model}"), store)
    assert submitted(server)[0]["endpoint"] == endpoint


def test_the_endpoint_can_be_chosen(server: JobServer, store: Store) -> None:
    options = {"endpoint": "multimodal-generation/generation"}
    paint(make(server.root, store, NEW, options), store)
    assert submitted(server)[0]["endpoint"] == "multimodal-generation/generation"


def test_sizes_go_by_aspect_and_seeds_by_drawing(server: JobServer, store: Store) -> None:
    painter = make(server.root, store, OLD, facts=SIZES)
    for aspect, size in SIZES.sizes.items():
        painting = paint(painter, store, ask(seed=2, aspect=aspect))
        assert painting.image == picture("A cell with its parts.", 2, size.replace("*", "x"))
    own = make(server.root, store, OLD, {"size": "1140*1472"}, facts=SIZES)
    paint(own, store, ask(aspect="landscape"))
    sizes = [body["parameters"]["size"] for body in submitted(server)]
    assert sizes == ["1328*1328", "1664*928", "928*1664", "1140*1472"]


def test_without_seeds_a_further_drawing_is_the_same_request_once_more(server: JobServer, store: Store) -> None:
    painter = make(server.root, store, OLD, seeds=False)
    images = {paint(painter, store, ask(seed=n)).image for n in range(3)}
    assert len(images) == 3
    assert paid(server) == [3]
    assert all("seed" not in body["parameters"] for body in submitted(server))


def test_a_rewritten_prompt_is_the_one_sent(server: JobServer, store: Store) -> None:
    server.configure(api_key=KEY, revise=True)
    painter = make(server.root, store, OLD)
    assert paint(painter, store).prompt_sent == revised("A cell with its parts.")
    assert paint(painter, store).prompt_sent == revised("A cell with its parts.")


@pytest.mark.parametrize("endpoint", [OLD, NEW])
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("submit:http_401", "auth"),
        ("submit:credits", "credits"),
        ("submit:quota", "credits"),
        ("submit:http_429", "rate_limit"),
        ("submit:http_500", "server"),
        ("submit:refusal", "refusal"),
        ("submit:bad_request", "bad_request"),
        ("submit:wordy", "bad_request"),
        ("submit:drop", "network"),
        ("job:throttled", "rate_limit"),
        ("job:invalid", "bad_request"),
        ("job:moderated", "refusal"),
        ("job:partly_failed", "refusal"),
    ],
)
def test_codes_are_kinds(server: JobServer, store: Store, endpoint: str, fault: str, kind: str) -> None:
    server.configure(api_key=KEY, faults={fault: 1.0})
    found = fail(make(server.root, store, endpoint), store, tries=1)
    assert found.kind == kind
    assert not progress(store)
    # A job that failed is not charged; a lost connection may be.
    assert tries(store) == [(kind, None if kind == "network" else 0.0)]


def test_a_model_of_another_endpoint_is_a_wrong_setup(server: JobServer, store: Store) -> None:
    fault = fail(make(server.root, store, NEW, {"endpoint": "text2image/image-synthesis"}), store)
    assert fault.kind == "setup"
    assert "wan2.6-t2i does not exist" in fault.detail


@pytest.mark.parametrize("over", ["cut", None])
def test_a_prompt_over_any_other_limit_is_sent_whole(server: JobServer, store: Store, over: Any) -> None:
    facts = PainterFacts(prompt_limit=10, over_limit=over)
    painting = paint(make(server.root, store, OLD, facts=facts), store)
    assert painting.notes["body"]["input"]["prompt"] == PROMPT
    told = {"sent": len(PROMPT), "read": 10} if over == "cut" else None
    assert painting.notes.get("prompt_cut") == told


def test_a_prompt_within_the_limit_is_not_called_cut(server: JobServer, store: Store) -> None:
    facts = PainterFacts(prompt_limit=len(PROMPT), over_limit="cut")
    assert "prompt_cut" not in paint(make(server.root, store, OLD, facts=facts), store).notes
