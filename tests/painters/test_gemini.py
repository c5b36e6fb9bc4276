"""Gemini's native image output: what is sent, how each reply and each fault is read, what is kept."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from limner.calls import Calls, Fault
from limner.core.settings import ModelFacts, PainterFacts, Provider, Settings
from limner.painters import Painting, PaintRequest
from limner.painters.services.gemini import Gemini
from limner.store import Store
from limner.store.schema import attempts
from tests.fakes.gemini_client import GeminiServer
from tests.fakes.gemini_errors import HTTP
from tests.fakes.gemini_replies import BLOCKS, IMAGE_TOKENS, REFUSALS, SIGNATURE, THOUGHT_TOKENS, painted

CANARY = "AIza-canary-0123456789-never-written"
KEY_ENV = "FAKE_GEMINI_KEY"
SPEC = "google/draws-1"
PROMPT = "Draw the water cycle with its labels."
Make = Callable[..., Gemini]
# A loop of its own for each test would be a client of its own, which takes longer to make than most tests.
RUNNER = asyncio.Runner()


@pytest.fixture(scope="module", autouse=True)
def _one_loop() -> Iterator[None]:
    with RUNNER:
        yield


@pytest.fixture(scope="module")
def service() -> Iterator[GeminiServer]:
    with GeminiServer() as server:
        yield server


@pytest.fixture
def server(service: GeminiServer, monkeypatch: pytest.MonkeyPatch) -> GeminiServer:
    monkeypatch.setenv(KEY_ENV, CANARY)
    service.reset()
    return service


@pytest.fixture
def make(server: GeminiServer, store: Store) -> Make:
    """Makes a painter at the fake service."""

    def painter(
        options: dict[str, Any] | None = None,
        facts: PainterFacts | None = None,
        prices: ModelFacts | None = None,
        **provider: Any,
    ) -> Gemini:
        about: dict[str, Any] = {"base_url": "http://nobody.invalid", "image_url": server.base_url, "timeout_s": 10}
        about |= {"key_env": KEY_ENV, "seeds": True} | provider
        settings = Settings(
            providers={"google": Provider(**about)},
            models={SPEC: prices} if prices else {},
            painters={SPEC: facts} if facts else {},
        )
        return Gemini("mine", SPEC, "draws-1", options or {}, settings, store.blobs)

    return painter


def ask(seed: int = 0, prompt: str = PROMPT, **more: Any) -> PaintRequest:
    return PaintRequest("q1", prompt, seed, **more)


def paint(painter: Gemini, store: Store, *requests: PaintRequest, tries: int = 1, **more: Any) -> list[Painting]:
    async def run() -> list[Painting]:
        async with Calls(store, tries=tries, **more) as calls:
            return await asyncio.gather(*(painter.paint(request, calls) for request in requests))

    return RUNNER.run(run())


def fail(painter: Gemini, store: Store, **more: Any) -> Fault:
    with pytest.raises(Fault) as raised:
        paint(painter, store, ask(), **more)
    return raised.value


def stored(store: Store) -> list[Any]:
    with store.reading() as connection:
        return list(connection.execute(sa.select(attempts).order_by(attempts.c.n)))


def body(prompt: str = PROMPT, **config: Any) -> dict[str, Any]:
    whole = {"responseModalities": ["TEXT", "IMAGE"], "imageConfig": {"aspectRatio": "1:1"}, "seed": 0} | config
    return {"contents": [{"role": "user", "parts": [{"text": prompt}]}], "generationConfig": whole}


@pytest.mark.slow
def test_the_body_field_by_field(make: Make, server: GeminiServer, store: Store) -> None:
    server.configure(models=["draws-1"], api_key=CANARY)
    paint(make(), store, ask(7))
    paint(make(), store, ask(aspect="landscape"))
    paint(make(), store, ask(aspect="portrait"))
    paint(make({"size": "16:9", "image_size": "2K", "temperature": 0.5, "thinking_level": "high"}), store, ask())
    paint(make({"size": "auto", "thinking_budget": 512}), store, ask())
    paint(make(facts=PainterFacts(sizes={"landscape": "4:3"})), store, ask(aspect="landscape"))
    free = body(thinkingConfig={"thinkingBudget": 512})
    del free["generationConfig"]["imageConfig"]
    assert server.requests() == [
        body(seed=7),
        body(imageConfig={"aspectRatio": "3:2"}),
        body(imageConfig={"aspectRatio": "2:3"}),
        body(
            imageConfig={"aspectRatio": "16:9", "imageSize": "2K"},
            temperature=0.5,
            thinkingConfig={"thinkingLevel": "high"},
        ),
        free,
        body(imageConfig={"aspectRatio": "4:3"}),
    ]


def test_the_image_kept_is_the_one_drawn(make: Make, server: GeminiServer, store: Store) -> None:
    prices = ModelFacts(input_price=0.3, output_price=30.0)
    (painting,) = paint(make(prices=prices), store, ask(3, aspect="landscape"))
    assert painting.image == painted(PROMPT, 3, 1, "3:2")
    assert painting.prompt_sent == PROMPT
    assert painting.cost == pytest.approx((10 * 0.3 + IMAGE_TOKENS * 30.0) / 1e6)
    (attempt,) = stored(store)
    assert attempt.result["raw"]["modelVersion"] == "fake-image-1"
    assert store.blobs.get(attempt.result["image"]) == painting.image
    assert base64.b64encode(painting.image[:30]).decode() not in json.dumps(attempt.result)
    assert SIGNATURE not in json.dumps(attempt.result)


def test_thoughts_are_paid_but_not_taken_for_the_drawing(make: Make, server: GeminiServer, store: Store) -> None:
    server.configure(thoughts=2, images=2)
    prices = ModelFacts(input_price=0.0, output_price=10.0)
    (painting,) = paint(make(prices=prices), store, ask())
    assert painting.image == painted(PROMPT, 0, 1)
    assert painting.cost == pytest.approx((2 * IMAGE_TOKENS + 2 * THOUGHT_TOKENS) * 10.0 / 1e6)


def test_drafts_alone_are_no_drawing(make: Make, server: GeminiServer, store: Store) -> None:
    server.configure(thoughts=2, images=0)
    assert fail(make(), store).kind == "unreadable"


def test_without_seeds_every_drawing_is_a_request_of_its_own(make: Make, server: GeminiServer, store: Store) -> None:
    painter = make(seeds=False)
    images = {p.image for seed in (0, 1) for p in paint(painter, store, ask(seed))}
    assert images == {painted(PROMPT, None, 1), painted(PROMPT, None, 2)}
    assert all("seed" not in request["generationConfig"] for request in server.requests())
    paint(painter, store, ask(0), ask(1))
    assert server.counts()["total"] == 2


PASSING = {
    "minute": "rate_limit",
    "minute_retry_info": "rate_limit",
    "busy": "rate_limit",
    "http_500": "server",
    "http_502": "server",
    "http_503": "server",
    "http_504": "timeout",
    "error_in_200": "server",
    "drop": "network",
    "malformed_json": "server",
    "not_json": "server",
    "odd_shape": "server",
    "empty": "server",
    "finish_OTHER": "server",
    "finish_IMAGE_OTHER": "server",
}
LASTING = {
    "day": "credits",
    "quota": "credits",
    "no_free_tier": "credits",
    "prepaid": "credits",
    "cap": "credits",
    "billing": "credits",
    "bad_key": "auth",
    "denied": "auth",
    "unauthenticated": "auth",
    "location": "auth",
    "truncated_base64": "image",
    "truncated_image": "image",
    "not_an_image": "image",
    "text": "unreadable",
    "finish_MAX_TOKENS": "truncated",
    "finish_NO_IMAGE": "image",
    **{f"finish_{reason}": "refusal" for reason in REFUSALS},
    **{f"block_{reason}": "refusal" for reason in BLOCKS},
}


@pytest.mark.parametrize(("fault", "kind"), PASSING.items())
def test_faults_that_pass_are_tried_again(
    make: Make, server: GeminiServer, store: Store, monkeypatch: pytest.MonkeyPatch, fault: str, kind: str
) -> None:
    monkeypatch.setattr("limner.calls.journal.back_off", lambda _: 0.0)
    server.configure(faults={fault: 1.0}, fault_first=1)
    (painting,) = paint(make(), store, ask(), tries=2)
    assert painting.image == painted(PROMPT, 0, 2)
    first, second = stored(store)
    assert (first.fault, second.fault) == (kind, None)
    assert (server.counts()["faults"], server.counts()["answered"]) == ({fault: 1}, 1)


@pytest.mark.parametrize(("fault", "kind"), LASTING.items())
def test_lasting_faults_are_stored_by_kind(
    make: Make, server: GeminiServer, store: Store, fault: str, kind: str
) -> None:
    server.configure(faults={fault: 1.0}, fault_first=1)
    assert fail(make(), store, tries=3).kind == kind
    (attempt,) = stored(store)
    assert attempt.fault == kind
    if fault in HTTP:
        assert attempt.result == HTTP[fault][1] or fault == "day"
    assert server.counts()["total"] == 1


@pytest.mark.slow
def test_the_delay_google_asks_for_is_kept(
    make: Make, server: GeminiServer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limner.calls.journal.back_off", lambda _: 0.0)
    server.configure(faults={"minute_retry_info": 1.0}, fault_first=1, retry_delay="0.6s")
    clock = time.monotonic()
    paint(make(), store, ask(), tries=2)
    assert time.monotonic() - clock >= 0.6


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("block_PROHIBITED_CONTENT", "the prompt is blocked (PROHIBITED_CONTENT)"),
        ("finish_IMAGE_SAFETY", "IMAGE_SAFETY: Unable to show the generated image."),
        ("finish_NO_IMAGE", "the model drew nothing (NO_IMAGE)"),
        ("text", "text in place of an image: Here is your image."),
        ("error_in_200", "503 UNAVAILABLE: The model is overloaded. Please try again later."),
        ("empty", "no image in the reply (no word why)"),
        ("bad_key", "400 INVALID_ARGUMENT: API key not valid. Please pass a valid API key."),
    ],
)
def test_faults_say_what_google_said(make: Make, server: GeminiServer, store: Store, fault: str, words: str) -> None:
    server.configure(faults={fault: 1.0})
    assert fail(make(), store).detail == words


@pytest.mark.parametrize(("fault", "tokens"), [("finish_IMAGE_SAFETY", 6), ("text", 6), ("block_SAFETY", 0)])
def test_a_refusal_has_its_price(make: Make, server: GeminiServer, store: Store, fault: str, tokens: int) -> None:
    server.configure(faults={fault: 1.0}, fault_first=1)
    prices = ModelFacts(input_price=1.0, output_price=10.0)
    assert fail(make(prices=prices), store).cost == pytest.approx((10 * 1.0 + tokens * 10.0) / 1e6)
    # Asked for by hand, the same request is made once more.
    time.sleep(0.01)
    (painting,) = paint(make(prices=prices), store, ask(), retry_failed=True)
    assert painting.image == painted(PROMPT, 0, 2)


def test_the_key_goes_into_a_header_and_nowhere_else(
    make: Make, server: GeminiServer, store: Store, tmp_path: Path
) -> None:
    server.configure(api_key=CANARY)
    paint(make(), store, ask())
    server.configure(api_key="another key")
    fault = fail(make({"size": "3:2"}), store)
    assert (fault.kind, CANARY in str(fault)) == ("auth", False)
    store.close()
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) >= 2
    assert not [file for file in files if CANARY.encode() in file.read_bytes()]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": "7:5"}, "aspect_ratio"),
        ({"image_size": "8K"}, "image_size"),
        ({"temperature": 3}, "temperature"),
        ({"thinking_level": "wild"}, "thinking_level"),
        ({"thinking_level": "low", "thinking_budget": 1}, "only one of"),
    ],
)
def test_wrong_values_are_the_services_to_refuse(
    make: Make, server: GeminiServer, store: Store, options: dict[str, Any], words: str
) -> None:
    fault = fail(make(options), store)
    assert fault.kind == "bad_request"
    assert words in fault.detail
    assert server.counts()["rejected"] == 1


def test_fields_and_models_the_service_lacks_are_bad_requests(make: Make, server: GeminiServer, store: Store) -> None:
    server.configure(unsupported=["seed"])
    fault = fail(make(), store)
    assert fault.kind == "bad_request"
    assert "Unknown name \"seed\" at 'generation_config': Cannot find field." in fault.detail
    server.configure(models=["other"])
    assert "404 NOT_FOUND: models/draws-1 is not found" in fail(make({"size": "3:2"}), store).detail
