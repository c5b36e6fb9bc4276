from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
import time
from typing import Any, get_args

import pytest

from limner.calls import PASSING, Fault
from limner.core.errors import UsageError
from limner.core.faults import RETRIED_NEXT_RUN
from limner.painters.base import Aspect, Painting
from limner.painters.services.openai_images import SIZES, OpenAIImages
from limner.store import Store
from tests.fakes import request_key
from tests.fakes.images_client import OUTPUT_TOKENS, ImageServer, picture, revised
from tests.painters.studio import FAULTS, KEY, KEY_VARIABLE, LINK_FAULTS, PRICES, Studio, request

PROMPT = "Draw a plant cell; label the nucleus. Zellkern – 细胞核."


@pytest.fixture
def gpt(images: ImageServer, store: Store) -> Studio:
    return Studio(OpenAIImages, images, store, "gpt-image-2")


@pytest.fixture
def open_model(images: ImageServer, store: Store) -> Studio:
    """A server of open models: it takes seeds, and gives links where asked to."""
    return Studio(OpenAIImages, images, store, "Qwen/Qwen-Image", seeds=True)


def linked(images: ImageServer, store: Store, **more: Any) -> Studio:
    return Studio(
        OpenAIImages, images, store, "Qwen/Qwen-Image", options={"response_format": "url"}, seeds=True, **more
    )


def paid(prompt: str) -> float:
    return ((len(prompt) // 4 + 1) * PRICES[0] + OUTPUT_TOKENS * PRICES[1]) / 1e6


def test_the_body_and_the_image(gpt: Studio) -> None:
    painting = gpt.paint(PROMPT)
    body = {"model": "gpt-image-2", "prompt": PROMPT, "n": 1, "size": "1024x1024"}
    assert gpt.server.requests() == [body]
    assert painting.image == picture(PROMPT)
    assert painting.prompt_sent == PROMPT
    assert painting.cost == pytest.approx(paid(PROMPT))
    assert painting.notes == {"body": body}
    (attempt,) = gpt.attempts()
    assert attempt.result["image"] == hashlib.sha256(painting.image).hexdigest()
    # The image itself is not kept a second time beside the reply.
    assert set(attempt.result["raw"]["data"][0]) == {"b64_json"}
    assert attempt.result["raw"]["data"][0]["b64_json"].endswith(" characters)")
    assert attempt.result["raw"]["usage"]["output_tokens"] == OUTPUT_TOKENS


@pytest.mark.parametrize("aspect", get_args(Aspect))
def test_sizes_by_aspect(images: ImageServer, store: Store, aspect: Aspect) -> None:
    known = {"square": "512x512", "landscape": "768x512", "portrait": "512x768"}
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({}, {}, SIZES[aspect]),
        ({"sizes": known}, {}, known[aspect]),
        ({"sizes": known}, {"size": "2048x1024"}, "2048x1024"),
    ]
    for facts, options, size in cases:
        studio = Studio(OpenAIImages, images, store, "gpt-image-2", facts=facts, options=options)
        assert studio.paint(PROMPT, aspect=aspect).image == picture(PROMPT, size=size)
        assert images.requests(1)[0]["size"] == size


def test_a_seed_is_sent_where_the_service_takes_one(open_model: Studio) -> None:
    found = open_model.paint_all(*(request(PROMPT, seed=seed) for seed in range(4)))
    assert [painting.image for painting in found if isinstance(painting, Painting)] == [
        picture(PROMPT, seed) for seed in range(4)
    ]
    assert sorted(body["seed"] for body in open_model.server.requests()) == [0, 1, 2, 3]


def test_without_seeds_the_same_request_is_made_again(gpt: Studio) -> None:
    first, second = gpt.paint(PROMPT, seed=0), gpt.paint(PROMPT, seed=1)
    assert (first.image, second.image) == (picture(PROMPT, 0), picture(PROMPT, 1))
    assert first.calls != second.calls
    bodies = gpt.server.requests()
    assert bodies[0] == bodies[1]
    assert "seed" not in bodies[0]


def test_options_go_into_the_body_and_the_key(images: ImageServer, store: Store) -> None:
    chosen: dict[str, dict[str, Any]] = {
        "gpt-image-2": {
            "quality": "high",
            "background": "opaque",
            "moderation": "low",
            "complexity": "low",
            "output_format": "jpeg",
            "output_compression": 90,
        },
        "dall-e-3": {"style": "natural", "quality": "hd", "response_format": "b64_json"},
        "local": {"negative_prompt": "blur", "num_inference_steps": 9, "guidance_scale": 3.5, "true_cfg_scale": 4},
    }
    for model, options in chosen.items():
        studio = Studio(OpenAIImages, images, store, model, options=options)
        painting = studio.paint(PROMPT)
        plain = {"model": model, "prompt": PROMPT, "n": 1, "size": "1024x1024"}
        assert images.requests(1) == [plain | options]
        assert painting.image == picture(PROMPT, kind=str(options.get("output_format", "png")))
        if model != "dall-e-3":
            assert painting.calls != Studio(OpenAIImages, images, store, model).paint(PROMPT).calls


def test_an_unknown_option_is_refused_before_any_call(images: ImageServer, store: Store) -> None:
    with pytest.raises(UsageError, match="fake/gpt-image-2 has no option 'hue'; there is: background, "):
        Studio(OpenAIImages, images, store, "gpt-image-2", options={"hue": 1})


@pytest.mark.parametrize(("option", "value"), [("response_format", "b64_json"), ("style", "vivid")])
def test_a_field_the_model_does_not_take_is_a_bad_request(
    images: ImageServer, store: Store, option: str, value: str
) -> None:
    fault = Studio(OpenAIImages, images, store, "gpt-image-2", options={option: value}).fail(PROMPT)
    assert (fault.kind, fault.detail) == ("bad_request", f"400: Unknown parameter: '{option}'.")
    assert images.counts()["rejected"] == 1


def test_an_error_about_the_moderation_field_is_no_refusal(images: ImageServer, store: Store) -> None:
    images.configure(api_key=KEY, unsupported=["moderation"])
    fault = Studio(OpenAIImages, images, store, "gpt-image-2", options={"moderation": "low"}).fail(PROMPT)
    assert (fault.kind, fault.detail) == ("bad_request", "400: Unknown parameter: 'moderation'.")


def test_a_prompt_beyond_the_limit_costs_no_call(images: ImageServer, store: Store) -> None:
    studio = Studio(OpenAIImages, images, store, "gpt-image-2", facts={"prompt_limit": 20, "over_limit": "refused"})
    assert studio.fail(PROMPT).kind == "bad_request"
    assert studio.asked() == 0


@pytest.mark.parametrize(
    ("name", "kind"),
    [pytest.param(*fault, marks=[pytest.mark.slow] if "hang" in fault else []) for fault in FAULTS.items()],
)
def test_each_fault_has_its_kind(images: ImageServer, store: Store, name: str, kind: str) -> None:
    studio = Studio(OpenAIImages, images, store, "gpt-image-2", timeout_s=3 if name == "hang" else 20)
    images.configure(api_key=KEY, faults={name: 1.0}, retry_after=0.01)
    fault = studio.fail(PROMPT, tries=2)
    assert fault.kind == kind, fault.detail
    assert fault.calls
    # Only what passes is tried again within the run.
    assert studio.asked() == (2 if kind in PASSING else 1)
    images.configure(api_key=KEY)
    again = studio.paint_all(request(PROMPT))
    if kind in RETRIED_NEXT_RUN:
        assert isinstance(again[0], Painting)
    else:
        assert isinstance(again[0], Fault)
        assert studio.paint(PROMPT, retry_failed=True).image == picture(PROMPT)


@pytest.mark.parametrize(
    ("name", "cost"),
    [("truncated_image", paid(PROMPT)), ("truncated_base64", paid(PROMPT)), ("http_500", 0.0), ("drop", None)],
)
def test_what_a_fault_cost(gpt: Studio, name: str, cost: float | None) -> None:
    gpt.server.configure(api_key=KEY, faults={name: 1.0})
    fault = gpt.fail(PROMPT, tries=1)
    assert fault.cost == (cost if cost is None else pytest.approx(cost))
    assert gpt.attempts()[0].cost == fault.cost


def test_passing_faults_are_tried_again_in_the_run(gpt: Studio) -> None:
    gpt.server.configure(api_key=KEY, faults={"http_503": 1.0}, fault_first=2)
    assert gpt.paint(PROMPT).image == picture(PROMPT, 2)
    assert [attempt.fault for attempt in gpt.attempts()] == ["server", "server", None]


def test_the_service_is_given_the_time_it_asks_for(gpt: Studio) -> None:
    gpt.server.configure(api_key=KEY, faults={"http_429_retry_after": 1.0}, fault_first=1, retry_after=0.3)
    began = time.monotonic()
    assert gpt.paint(PROMPT).image == picture(PROMPT, 1)
    assert time.monotonic() - began >= 0.3


def test_a_revised_prompt_is_the_one_that_was_drawn(images: ImageServer, store: Store) -> None:
    images.configure(api_key=KEY, revise=True)
    studio = Studio(OpenAIImages, images, store, "dall-e-3", options={"response_format": "b64_json"})
    first, again = studio.paint(PROMPT), studio.paint(PROMPT)
    assert (first.prompt_sent, again.prompt_sent) == (revised(PROMPT), revised(PROMPT))
    assert (first.notes["prompt_rewritten"], again.notes["prompt_rewritten"]) == (True, True)
    assert studio.asked() == 1


def test_a_prompt_drawn_as_it_was_sent_is_not_called_rewritten(gpt: Studio) -> None:
    assert "prompt_rewritten" not in gpt.paint(PROMPT).notes


def test_a_price_per_image_goes_before_tokens(images: ImageServer, store: Store) -> None:
    studio = Studio(OpenAIImages, images, store, "gpt-image-2", facts={"image_price": 0.04})
    assert studio.paint(PROMPT).cost == 0.04


def test_a_drawing_made_is_not_asked_for_again(gpt: Studio) -> None:
    first, again = gpt.paint(PROMPT), gpt.paint(PROMPT)
    assert gpt.asked() == 1
    assert first == again


def test_links_are_followed_at_once_and_without_the_key(images: ImageServer, store: Store) -> None:
    studio = linked(images, store)
    assert studio.paint(PROMPT, seed=3).image == picture(PROMPT, 3)
    counts = images.counts()
    assert (counts["total"], counts["fetched"], counts["fetched_with_key"]) == (1, 1, 0)


@pytest.mark.parametrize("name", LINK_FAULTS)
def test_links_have_limits(images: ImageServer, store: Store, name: str) -> None:
    kind, followed = LINK_FAULTS[name]
    images.configure(api_key=KEY, faults={name: 1.0})
    studio = linked(images, store)
    fault = studio.fail(PROMPT)
    assert (fault.kind, images.counts()["fetched"]) == (kind, followed), fault.detail
    # Drawn and paid once, whatever became of the link.
    assert studio.asked() == 1
    assert sum(attempt.cost for attempt in studio.attempts()) == pytest.approx(paid(PROMPT))


@pytest.mark.parametrize("name", ["link_500", "link_drop"])
def test_a_link_that_fails_is_followed_again_not_paid_again(images: ImageServer, store: Store, name: str) -> None:
    images.configure(api_key=KEY, faults={name: 1.0})
    studio = linked(images, store)
    painting = studio.paint(PROMPT)
    assert painting.image == picture(PROMPT)
    assert painting.cost == pytest.approx(paid(PROMPT))
    counts = images.counts()
    assert (counts["total"], counts["fetched"]) == (1, 2)
    # Counted by the try that asked for the image, also when no later one ever gets at it.
    assert [attempt.cost for attempt in studio.attempts()] == [pytest.approx(paid(PROMPT)), 0.0]


def test_a_later_run_follows_a_link_that_failed_before(images: ImageServer, store: Store) -> None:
    images.configure(api_key=KEY, faults={"link_500": 1.0})
    studio = linked(images, store)
    assert studio.fail(PROMPT, tries=1).kind == "server"
    assert studio.paint(PROMPT).image == picture(PROMPT)
    assert studio.asked() == 1


def test_a_host_allowed_later_saves_what_was_paid(images: ImageServer, store: Store) -> None:
    images.configure(api_key=KEY, faults={"wrong_host": 1.0})
    assert linked(images, store).fail(PROMPT).detail.endswith("which is not among 127.0.0.1")
    allowed = linked(images, store, link_hosts=["localhost"])
    assert allowed.fail(PROMPT).kind == "image"
    assert allowed.paint(PROMPT, retry_failed=True).image == picture(PROMPT)
    assert allowed.asked() == 1


@pytest.mark.parametrize("name", ["html_link", "junk_link"])
def test_a_link_that_leads_nowhere_is_given_up(images: ImageServer, store: Store, name: str) -> None:
    images.configure(api_key=KEY, faults={name: 1.0}, fault_first=1)
    studio = linked(images, store)
    for asked in (1, 1):
        assert studio.fail(PROMPT, retry_failed=True).kind == "image"
        assert studio.asked() == asked
    assert studio.paint(PROMPT, retry_failed=True).image == picture(PROMPT)
    assert studio.asked() == 2


def test_an_expired_link_is_asked_for_anew_by_the_next_run(images: ImageServer, store: Store) -> None:
    images.configure(api_key=KEY, faults={"expired_link": 1.0}, fault_first=1)
    studio = linked(images, store)
    assert studio.fail(PROMPT).kind == "missing"
    assert studio.paint(PROMPT).image == picture(PROMPT)
    assert studio.asked() == 2


def test_without_its_key_nothing_is_sent(gpt: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE)
    with pytest.raises(UsageError, match=KEY_VARIABLE):
        gpt.painter.check()


def test_a_service_without_a_key_gets_none(images: ImageServer, store: Store) -> None:
    images.configure()
    studio = Studio(OpenAIImages, images, store, "local", key_env=None)
    studio.painter.check()
    assert studio.paint(PROMPT).image == picture(PROMPT)


CHILD = """
import sys
from limner.painters.services.openai_images import OpenAIImages
from limner.store import Store
from tests.fakes.images_client import ImageServer
from tests.painters.studio import Studio, request
server = ImageServer()
server.port = int(sys.argv[1])
studio = Studio(OpenAIImages, server, Store(sys.argv[2]), "open", seeds=True)
input()
for start in range(0, 12, 4):
    studio.paint_all(*(request(f"figure {n}") for n in range(start, start + 4)))
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_without_paying_again(images: ImageServer, store: Store) -> None:
    words = [sys.executable, "-c", CHILD, str(images.port), store.url]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        images.configure(api_key=KEY, kill={"pid": child.pid, "at_request": 7})
        child.communicate(b"go\n")
        assert child.returncode == -signal.SIGKILL
    studio = Studio(OpenAIImages, images, store, "open", seeds=True)
    truth = [picture(f"figure {n}", 0) for n in range(12)]
    stored = {attempt.result["image"] for attempt in studio.attempts()}
    done = [n for n in range(12) if hashlib.sha256(truth[n]).hexdigest() in stored]
    assert 4 <= len(done) < 8
    images.configure(api_key=KEY)
    found = studio.paint_all(*(request(f"figure {n}") for n in range(12)))
    assert [painting.image for painting in found if isinstance(painting, Painting)] == truth
    by_key = images.counts()["by_key"]
    plain = {"model": "open", "n": 1, "size": "1024x1024", "seed": 0}
    assert [by_key[request_key({**plain, "prompt": f"figure {n}"})] for n in done] == [1] * len(done)
    assert len(by_key) == 12
