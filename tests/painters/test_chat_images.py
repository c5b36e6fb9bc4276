from __future__ import annotations

import hashlib
from typing import Any, get_args

import pytest

from limner.calls import PASSING, Fault
from limner.core.faults import RETRIED_NEXT_RUN
from limner.painters.base import Aspect, Painting
from limner.painters.services.chat_images import RATIOS, ChatImages, why_no_image
from limner.store import Store
from tests.fakes.images_client import DOLLARS, OUTPUT_TOKENS, ImageServer, picture
from tests.painters.studio import FAULTS, KEY, PRICES, Studio, request

MODEL = "google/gemini-image"
PROMPT = "Draw the water cycle with its four arrows. Kreislauf – 水循环."
PAID = ((len(PROMPT) // 4 + 1) * PRICES[0] + OUTPUT_TOKENS * PRICES[1]) / 1e6

TALK = {
    "refusal": "refusal",
    "refusal_text": "refusal",
    "content_filter": "refusal",
    "image_safety": "refusal",
    "text_only": "unreadable",
    "no_image": "image",
    "length": "truncated",
    "choice_error": "server",
}


@pytest.fixture
def studio(images: ImageServer, store: Store) -> Studio:
    return Studio(ChatImages, images, store, MODEL)


def test_the_body_and_the_image(studio: Studio) -> None:
    painting = studio.paint(PROMPT)
    body = {
        "model": MODEL,
        "messages": [{"role": "user", "content": PROMPT}],
        "modalities": ["image", "text"],
        "image_config": {"aspect_ratio": "1:1"},
    }
    assert studio.server.requests() == [body]
    assert painting.image == picture(PROMPT, size="1:1")
    assert painting.prompt_sent == PROMPT
    assert painting.cost == pytest.approx(PAID)
    (attempt,) = studio.attempts()
    assert attempt.result["image"] == hashlib.sha256(painting.image).hexdigest()
    message = attempt.result["raw"]["choices"][0]["message"]
    assert message["content"] == "Here it is."
    # The image itself is not kept a second time beside the reply.
    assert message["images"][0]["image_url"]["url"].endswith(" characters)")


@pytest.mark.parametrize("aspect", get_args(Aspect))
def test_ratios_by_aspect(images: ImageServer, store: Store, aspect: Aspect) -> None:
    known = {"square": "1:1", "landscape": "16:9", "portrait": "9:16"}
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({}, {}, RATIOS[aspect]),
        ({"sizes": known}, {}, known[aspect]),
        ({"sizes": known}, {"size": "4:5"}, "4:5"),
    ]
    for facts, options, ratio in cases:
        studio = Studio(ChatImages, images, store, MODEL, facts=facts, options=options)
        assert studio.paint(PROMPT, aspect=aspect).image == picture(PROMPT, size=ratio)
    sent = [body["image_config"]["aspect_ratio"] for body in images.requests()]
    assert list(dict.fromkeys(sent)) == list(dict.fromkeys(ratio for _, _, ratio in cases))


def test_the_choice_of_shape_can_be_left_to_the_model(images: ImageServer, store: Store) -> None:
    Studio(ChatImages, images, store, MODEL, options={"size": "auto"}).paint(PROMPT, aspect="landscape")
    assert "image_config" not in images.requests()[0]


def test_a_seed_is_sent_where_the_service_takes_one(images: ImageServer, store: Store) -> None:
    studio = Studio(ChatImages, images, store, MODEL, seeds=True)
    found = studio.paint_all(*(request(PROMPT, seed=seed) for seed in range(3)))
    assert [painting.image for painting in found if isinstance(painting, Painting)] == [
        picture(PROMPT, seed, "1:1") for seed in range(3)
    ]
    assert sorted(body["seed"] for body in images.requests()) == [0, 1, 2]


def test_options_go_into_the_body_and_the_key(images: ImageServer, store: Store) -> None:
    config = {
        "image_size": "2K",
        "quality": "high",
        "background": "opaque",
        "moderation": "low",
        "output_format": "webp",
        "output_compression": 80,
    }
    native = {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 4096,
        "reasoning": {"effort": "low"},
        "provider": {"order": ["x"]},
    }
    chosen = Studio(ChatImages, images, store, MODEL, options={**config, **native, "modalities": "image"})
    painting = chosen.paint(PROMPT)
    assert images.requests() == [
        {
            "model": MODEL,
            "messages": [{"role": "user", "content": PROMPT}],
            "modalities": ["image"],
            "image_config": {"aspect_ratio": "1:1", **config},
            **native,
        }
    ]
    assert painting.image == picture(PROMPT, size="1:1", kind="webp")
    assert painting.calls != Studio(ChatImages, images, store, MODEL).paint(PROMPT).calls


@pytest.mark.parametrize(
    ("value", "sent"),
    [("image", ["image"]), ("image, text", ["image", "text"]), (["text", "image"], ["text", "image"])],
)
def test_modalities_as_a_word_or_a_list(images: ImageServer, store: Store, value: object, sent: list[str]) -> None:
    Studio(ChatImages, images, store, MODEL, options={"modalities": value}).paint(PROMPT)
    assert images.requests()[0]["modalities"] == sent


def test_a_value_the_service_does_not_take_is_a_bad_request(images: ImageServer, store: Store) -> None:
    fault = Studio(ChatImages, images, store, MODEL, options={"moderation": "none"}).fail(PROMPT)
    assert fault.kind == "bad_request"
    assert images.counts()["rejected"] == 1


@pytest.mark.parametrize(
    ("name", "kind"),
    [pytest.param(*fault, marks=[pytest.mark.slow] if "hang" in fault else []) for fault in {**FAULTS, **TALK}.items()],
)
def test_each_fault_has_its_kind(images: ImageServer, store: Store, name: str, kind: str) -> None:
    studio = Studio(ChatImages, images, store, MODEL, timeout_s=3 if name == "hang" else 20)
    images.configure(api_key=KEY, faults={name: 1.0}, retry_after=0.01)
    fault = studio.fail(PROMPT, tries=2)
    assert fault.kind == kind, fault.detail
    # A model that only talked is not asked again at once.
    assert studio.asked() == (2 if kind in PASSING else 1)
    images.configure(api_key=KEY)
    (again,) = studio.paint_all(request(PROMPT))
    assert isinstance(again, Painting if kind in RETRIED_NEXT_RUN else Fault)
    assert studio.paint(PROMPT, retry_failed=True).image == picture(PROMPT, size="1:1")


@pytest.mark.parametrize("name", ["text_only", "refusal"])
def test_talk_is_kept_and_paid(studio: Studio, name: str) -> None:
    studio.server.configure(api_key=KEY, faults={name: 1.0})
    fault = studio.fail(PROMPT)
    assert fault.cost == pytest.approx(PAID)
    (attempt,) = studio.attempts()
    message = attempt.result["choices"][0]["message"]
    assert message["content" if name == "text_only" else "refusal"] in attempt.detail


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I cannot create images of real people.", "refusal"),
        ("I’m sorry, I am unable to help with that.", "refusal"),
        ("Sorry, but we won't draw this.", "refusal"),
        ("This request violates our usage policies.", "refusal"),
        ("抱歉，我无法生成这张图片。", "refusal"),
        ("Arrow A shows water that cannot evaporate; make the sea blue.", "unreadable"),
        ("Here is your image!", "unreadable"),
        ("", "image"),
    ],
)
def test_what_the_words_say(text: str, kind: str) -> None:
    assert why_no_image({"finish_reason": "stop"}, {"content": text})[0] == kind


@pytest.mark.parametrize(
    "reason", ["SAFETY", "IMAGE_PROHIBITED_CONTENT", "PROHIBITED_CONTENT", "BLOCKLIST", "IMAGE_RECITATION", "refusal"]
)
def test_what_the_model_s_own_reason_says(reason: str) -> None:
    choice = {"finish_reason": "stop", "native_finish_reason": reason}
    assert why_no_image(choice, {"content": ""}) == ("refusal", f"stop / {reason}")


def test_the_service_s_own_bill_goes_before_tokens(studio: Studio) -> None:
    studio.server.configure(api_key=KEY, billed=True)
    assert studio.paint(PROMPT).cost == pytest.approx(DOLLARS)
    assert studio.attempts()[0].result["raw"]["usage"]["cost"] == DOLLARS
    studio.server.configure(api_key=KEY, billed=True, faults={"text_only": 1.0})
    assert studio.fail("another prompt").cost == pytest.approx(DOLLARS)


def test_a_link_in_place_of_the_image_is_followed(studio: Studio) -> None:
    studio.server.configure(api_key=KEY, links=True)
    assert studio.paint(PROMPT).image == picture(PROMPT, size="1:1")
    counts = studio.server.counts()
    assert (counts["total"], counts["fetched"], counts["fetched_with_key"]) == (1, 1, 0)
