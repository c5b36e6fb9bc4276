"""Black Forest Labs: bodies by model, its job states and statuses as kinds, where it is polled, what it charges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from limner.core.errors import UsageError
from limner.core.settings import PainterFacts
from limner.store import Store
from tests.fakes.jobs_client import JobServer, picture, request_key, revised
from tests.painters.job_support import KEY, KEY_VARIABLE, PRICE, ask, fail, make, paid, paint, progress, tries

PRO, ULTRA, FLEX = "bfl/flux-2-pro", "bfl/flux-pro-1.1-ultra", "bfl/flux-2-flex"


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
def test_a_body_by_width_and_height(server: JobServer, store: Store) -> None:
    facts = PainterFacts(sizes={"square": "1024x1024", "landscape": "1536x1024", "portrait": "1024x1536"})
    painter = make(server.root, store, PRO, {"safety_tolerance": 5}, facts=facts)
    painting = paint(painter, store, ask(aspect="landscape"))
    assert painting.image == picture("A cell with its parts.", 7, "1536x1024")
    body = {
        "prompt": "A cell with its parts.",
        "output_format": "png",
        "safety_tolerance": 5,
        "seed": 7,
        "width": 1536,
        "height": 1024,
        "disable_pup": True,
    }
    assert submitted(server) == [{"model": "flux-2-pro", **body}]
    assert server.counts()["paid"] == {request_key(body): 1}


def test_a_body_by_aspect(server: JobServer, store: Store) -> None:
    facts = PainterFacts(sizes={"square": "1:1", "landscape": "16:9", "portrait": "9:16"})
    painter = make(server.root, store, ULTRA, {"raw": True}, facts=facts)
    for aspect, size in facts.sizes.items():
        assert paint(painter, store, ask(aspect=aspect)).image == picture("A cell with its parts.", 7, size)
    first = submitted(server)[0]
    assert first == {
        "model": "flux-pro-1.1-ultra",
        "prompt": "A cell with its parts.",
        "output_format": "png",
        "prompt_upsampling": False,
        "raw": True,
        "seed": 7,
        "aspect_ratio": "1:1",
    }


def test_options_only_some_models_take(server: JobServer, store: Store) -> None:
    options = {"steps": 28, "guidance": 4.5, "service_rewrite": "on", "output_format": "jpeg", "size": "512x768"}
    painting = paint(make(server.root, store, FLEX, options), store)
    assert painting.image == picture("A cell with its parts.", 7, "512x768", "jpeg")
    fault = fail(make(server.root, store, PRO, {"steps": 28}), store)
    assert fault.kind == "bad_request"
    assert "steps" in fault.detail


def test_a_size_that_is_none_is_refused_before_anything_is_sent(server: JobServer, store: Store) -> None:
    with pytest.raises(UsageError, match="takes a size such as 1024x768, or an aspect such as 4:3, not 'large'"):
        paint(make(server.root, store, PRO, {"size": "large"}), store)
    assert server.counts()["total"] == 0


def test_without_a_size_or_seed_the_service_chooses(server: JobServer, store: Store) -> None:
    paint(make(server.root, store, PRO, seeds=False), store)
    body = {"prompt": "A cell with its parts.", "output_format": "png", "disable_pup": True}
    assert submitted(server) == [{"model": "flux-2-pro", **body}]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("submit:http_401", "auth"),
        ("submit:credits", "credits"),
        ("submit:http_429", "rate_limit"),
        ("submit:http_500", "server"),
        ("submit:http_502", "server"),
        ("submit:bad_request", "bad_request"),
        ("submit:wordy", "bad_request"),
        ("submit:drop", "network"),
        ("submit:odd", "server"),
        ("job:failed", "server"),
        ("job:moderated", "refusal"),
        ("job:moderated_image", "refusal"),
        ("job:unknown", "missing"),
        ("link:expired", "missing"),
    ],
)
def test_statuses_and_states_are_kinds(server: JobServer, store: Store, fault: str, kind: str) -> None:
    server.configure(api_key=KEY, faults={fault: 1.0})
    found = fail(make(server.root, store, PRO), store, tries=1)
    assert found.kind == kind
    assert not progress(store)


def test_a_refusal_says_why_and_keeps_the_reply(server: JobServer, store: Store) -> None:
    server.configure(api_key=KEY, faults={"job:moderated_image": 1.0})
    found = fail(make(server.root, store, PRO), store)
    assert found.detail == "Content Moderated: {'Moderation Reasons': ['Derivative Works Filter']}"
    # Whether it is charged is not documented.
    assert tries(store) == [("refusal", None)]


def test_without_a_polling_url_the_service_itself_is_polled(server: JobServer, store: Store) -> None:
    server.configure(api_key=KEY, polling="nowhere")
    paint(make(server.root, store, PRO), store)
    assert paid(server) == [1]


def test_the_key_goes_to_no_host_that_is_not_allowed(server: JobServer, store: Store) -> None:
    server.configure(api_key=KEY, polling="elsewhere")
    fault = fail(make(server.root, store, PRO), store)
    assert fault.kind == "image"
    assert "localhost" in fault.detail
    assert server.counts()["polls"] == 0
    allowed = make(server.root, store, PRO, link_hosts=("localhost",), poll_hosts=("localhost",))
    assert paint(allowed, store, retry_failed=True).image == picture("A cell with its parts.", 7, "1024x1024")
    assert paid(server) == [1]


def test_what_the_service_charges_goes_before_the_list_price(server: JobServer, store: Store) -> None:
    server.configure(api_key=KEY, credits=4.5)
    painter = make(server.root, store, PRO)
    assert painter.bound == PRICE
    assert paint(painter, store).cost == pytest.approx(0.045)


def test_a_rewritten_prompt_is_the_one_sent(server: JobServer, store: Store) -> None:
    server.configure(api_key=KEY, revise=True)
    assert paint(make(server.root, store, PRO), store).prompt_sent == revised("A cell with its parts.")
