"""Every wire format of image services keeps the same promises: a table of requests, a table of faults, one of links."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from limner.calls import STOPPING, TRANSIENT, Budget, BudgetReached, Calls, Fault
from limner.calls.journal import ClaimedCall
from limner.core import images
from limner.core.errors import StoreError, UsageError
from limner.core.exam import Exam
from limner.core.faults import RETRIED_NEXT_RUN
from limner.core.settings import Settings
from limner.painters import service_calls
from limner.painters.base import Painting
from limner.painters.controls.painter import ControlPainter
from limner.painters.folder import FolderPainter
from limner.painters.service import without_image_data
from limner.painters.services.chat_images import why_no_image
from limner.running.plan import Arm
from limner.running.steps import draw
from limner.store import Store, blobs
from limner.store.records import Drawing
from tests.fakes import request_key
from tests.fakes.gemini_replies import IMAGE_TOKENS, THOUGHT_TOKENS
from tests.fakes.gemini_replies import PICTURE_TOKENS as GEMINI_PICTURE_TOKENS
from tests.fakes.images import outline
from tests.fakes.images_client import DOLLARS, OUTPUT_TOKENS, PICTURE_TOKENS, picture, revised
from tests.painters.inputs import inputs
from tests.painters.studio import (
    JOBS,
    KEY_VARIABLE,
    KINDS,
    PRICE,
    PRICES,
    PROMPT,
    Make,
    files_with_key,
    killed,
    request,
)
from tests.support import picture as small

FILES = (small(1), small(2, "JPEG"))
SHOWN = [outline(data, media) for data, media in zip(FILES, ("image/png", "image/jpeg"), strict=True)]
"""Two pictures to start from, as the fake services record them."""
NOTHING: Mapping[str, Any] = MappingProxyType({})
every_kind = pytest.mark.parametrize("name", KINDS)


@pytest.fixture
def pictures(store: Store) -> tuple[str, ...]:
    """The hashes of `FILES` in the store."""
    return tuple(store.blobs.put(data)[0] for data in FILES)


class Case(NamedTuple):
    """A painter, a request, and the body that must come of it; `size` and `kind` are those of the image."""

    service: str
    body: dict[str, Any]
    model: str = ""
    options: Mapping[str, Any] = NOTHING
    facts: Mapping[str, Any] = NOTHING
    provider: Mapping[str, Any] = NOTHING
    request: Mapping[str, Any] = NOTHING
    edits: bool = False
    size: str = ""
    kind: str = "png"


def openai_body(model: str = "gpt-image-2", **more: Any) -> dict[str, Any]:
    return {"model": model, "prompt": PROMPT, "n": 1, "size": "1024x1024", **more}


def chat_body(content: Any = PROMPT, ratio: str = "1:1", **more: Any) -> dict[str, Any]:
    usual = {"modalities": ["image", "text"], "image_config": {"aspect_ratio": ratio}}
    return {"model": "google/gemini-image", "messages": [{"role": "user", "content": content}], **usual, **more}


def gemini_body(*shown: Any, **config: Any) -> dict[str, Any]:
    whole = {"responseModalities": ["TEXT", "IMAGE"], "imageConfig": {"aspectRatio": "1:1"}, "seed": 0} | config
    kept = {name: value for name, value in whole.items() if value is not None}
    return {"contents": [{"role": "user", "parts": [*shown, {"text": PROMPT}]}], "generationConfig": kept}


def dashscope_body(endpoint: str, model: str, given: dict[str, Any], **more: Any) -> dict[str, Any]:
    usual = {"n": 1, "prompt_extend": False, "watermark": False, "seed": 0}
    return {"endpoint": endpoint, "model": model, "input": given, "parameters": usual | more}


def bfl_body(model: str, **more: Any) -> dict[str, Any]:
    return {"model": model, "prompt": PROMPT, "output_format": "png", **more}


GPT: dict[str, Any] = {"quality": "high", "background": "opaque", "output_format": "jpeg", "output_compression": 90}
DALL_E: dict[str, Any] = {"style": "natural", "quality": "hd", "response_format": "b64_json"}
OPEN: dict[str, Any] = {"negative_prompt": "blur", "num_inference_steps": 9, "guidance_scale": 3.5, "true_cfg_scale": 4}
SIZES = {"square": "512x512", "landscape": "768x512", "portrait": "512x768"}
RATIOS = {"square": "1:1", "landscape": "16:9", "portrait": "9:16"}
STARS = {"square": "1328*1328", "landscape": "1664*928", "portrait": "928*1664"}
CONFIG: dict[str, Any] = {"image_size": "2K", "quality": "high", "output_format": "webp", "output_compression": 80}
NATIVE: dict[str, Any] = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 4096, "reasoning": {"effort": "low"}}
WORDS = {"messages": [{"role": "user", "content": [{"text": PROMPT}]}]}
BY_PROMPT, BY_MESSAGE = "text2image/image-synthesis", "image-generation/generation"
AT_ONCE = "multimodal-generation/generation"
LANDSCAPE, PORTRAIT = {"aspect": "landscape"}, {"aspect": "portrait"}

CASES = [
    Case("openai", openai_body()),
    Case("openai", openai_body(size="1024x1536"), request=PORTRAIT, size="1024x1536"),
    Case("openai", openai_body(size="768x512"), facts={"sizes": SIZES}, request=LANDSCAPE, size="768x512"),
    Case(
        "openai",
        openai_body(size="2048x1024"),
        options={"size": "2048x1024"},
        facts={"sizes": SIZES},
        size="2048x1024",
    ),
    Case("openai", openai_body(moderation="low", **GPT), options={"moderation": "low", **GPT}, kind="jpeg"),
    Case("openai", openai_body("dall-e-3", **DALL_E), "dall-e-3", DALL_E),
    Case("openai", openai_body("local", seed=4, **OPEN), "local", OPEN, provider={"seeds": True}, request={"seed": 4}),
    # A form, of text alone; what only drawing takes is left out.
    Case(
        "openai",
        openai_body(input_fidelity="high", **GPT) | {"n": "1", "output_compression": "90", "image[]": SHOWN},
        options={"moderation": "low", "input_fidelity": "high", **GPT},
        edits=True,
        kind="jpeg",
    ),
    Case("chat", chat_body()),
    Case(
        "chat", chat_body(ratio="3:2", seed=4), provider={"seeds": True}, request={"seed": 4, **LANDSCAPE}, size="3:2"
    ),
    Case("chat", chat_body(ratio="9:16"), facts={"sizes": RATIOS}, request=PORTRAIT, size="9:16"),
    Case(
        "chat",
        chat_body(**NATIVE, modalities=["image"]) | {"image_config": {"aspect_ratio": "4:5", **CONFIG}},
        options={**CONFIG, **NATIVE, "modalities": "image", "size": "4:5"},
        size="4:5",
        kind="webp",
    ),
    Case(
        "chat",
        chat_body([{"type": "text", "text": PROMPT}, *({"type": "image_url", "image_url": {"url": s}} for s in SHOWN)]),
        edits=True,
    ),
    Case("gemini", gemini_body(seed=7), request={"seed": 7}),
    Case("gemini", gemini_body(imageConfig={"aspectRatio": "2:3"}), request=PORTRAIT, size="2:3"),
    Case(
        "gemini",
        gemini_body(imageConfig={"aspectRatio": "16:9"}),
        facts={"sizes": RATIOS},
        request=LANDSCAPE,
        size="16:9",
    ),
    Case(
        "gemini",
        gemini_body(
            imageConfig={"aspectRatio": "16:9", "imageSize": "2K"},
            temperature=0.5,
            thinkingConfig={"thinkingLevel": "high"},
        ),
        options={"size": "16:9", "image_size": "2K", "temperature": 0.5, "thinking_level": "high"},
        size="16:9",
    ),
    Case(
        "gemini",
        gemini_body(imageConfig=None, thinkingConfig={"thinkingBudget": 512}),
        options={"size": "auto", "thinking_budget": 512},
    ),
    Case("gemini", gemini_body(*({"inlineData": each} for each in SHOWN)), edits=True),
    Case(
        "dashscope",
        dashscope_body(BY_PROMPT, "qwen-image", {"prompt": PROMPT, "negative_prompt": "blur"}, size="928*1664"),
        "qwen-image",
        {"negative_prompt": "blur"},
        {"sizes": STARS},
        request=PORTRAIT,
        size="928x1664",
    ),
    Case(
        "dashscope",
        dashscope_body(BY_MESSAGE, "wan2.6-t2i", WORDS, size="960*1280", prompt_extend=True, negative_prompt="blur"),
        "wan2.6-t2i",
        {"negative_prompt": "blur", "service_rewrite": "on", "size": "960x1280"},
        size="960x1280",
    ),
    Case(
        "dashscope",
        dashscope_body(AT_ONCE, "qwen-image-max", WORDS, watermark=True),
        "qwen-image-max",
        {"watermark": True},
    ),
    Case("dashscope", dashscope_body(AT_ONCE, "wan2.6-t2i", WORDS), "wan2.6-t2i", {"endpoint": AT_ONCE}),
    Case(
        "dashscope",
        dashscope_body(
            AT_ONCE,
            "qwen-image-edit-plus",
            {"messages": [{"role": "user", "content": [*({"image": each} for each in SHOWN), {"text": PROMPT}]}]},
        ),
        "qwen-image-edit-plus",
        edits=True,
    ),
    Case(
        "dashscope",
        dashscope_body(BY_MESSAGE, "qwen-image-3.0", WORDS, prompt_extend=True, prompt_extend_mode="agent"),
        "qwen-image-3.0",
        {"service_rewrite": "on", "prompt_extend_mode": "agent"},
    ),
    Case(
        "bfl",
        {"model": "flux-3-image", "prompt": PROMPT, "resolution": "1k", "grounding": False, "aspect_ratio": "16:9"},
        "flux-3-image",
        {"resolution": "1k"},
        {"sizes": RATIOS},
        request=LANDSCAPE,
        size="16:9",
        kind="jpeg",
    ),
    Case(
        "bfl",
        bfl_body("flux-2-pro", safety_tolerance=5, seed=7, width=768, height=512, disable_pup=True),
        options={"safety_tolerance": 5},
        facts={"sizes": SIZES},
        request={"seed": 7, **LANDSCAPE},
        size="768x512",
    ),
    Case("bfl", bfl_body("flux-2-pro", disable_pup=True), provider={"seeds": False}),
    Case(
        "bfl",
        bfl_body("flux-pro-1.1-ultra", prompt_upsampling=False, raw=True, seed=0, aspect_ratio="16:9"),
        "flux-pro-1.1-ultra",
        {"raw": True},
        {"sizes": RATIOS},
        request=LANDSCAPE,
        size="16:9",
    ),
    Case(
        "bfl",
        bfl_body("flux-2-flex", steps=28, guidance=4.5, prompt_upsampling=True, seed=0, width=512, height=768)
        | {"output_format": "jpeg"},
        "flux-2-flex",
        {"steps": 28, "guidance": 4.5, "service_rewrite": "on", "output_format": "jpeg", "size": "512x768"},
        size="512x768",
        kind="jpeg",
    ),
    Case(
        "bfl",
        bfl_body("flux-2-pro", seed=0, disable_pup=True, input_image=SHOWN[0], input_image_2=SHOWN[1]),
        edits=True,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.service}-{case.model}")
def test_request_is_sent_and_image_returned(make: Make, pictures: tuple[str, ...], case: Case) -> None:
    studio = make(case.service, case.model, options=case.options, facts=case.facts, **case.provider)
    shown = pictures if case.edits else ()
    # A strategy's picture comes before the question's own.
    given: dict[str, Any] = {"images": shown[:1], "inputs": shown[1:]}
    painting = studio.paint(**case.request, **given)
    assert studio.sent() == [case.body]
    seed = case.request.get("seed", 0)
    assert painting.image == studio.truth(size=case.size, seed=seed, kind=case.kind, shown=shown)
    assert painting.prompt_sent == PROMPT
    assert "prompt_rewritten" not in painting.notes
    # Pictures are kept by hash, and the image is not kept a second time beside the reply.
    assert all(sha256 in str(painting.notes) for sha256 in shown)
    assert "base64" not in str(painting.notes)
    (attempt,) = studio.attempts()
    assert attempt.result["image"] == hashlib.sha256(painting.image).hexdigest()
    assert base64.b64encode(painting.image[:30]).decode() not in json.dumps(attempt.result)
    # What is stored is not asked for again.
    assert studio.paint(**case.request, **given) == painting
    assert len(studio.sent()) == 1


@every_kind
def test_service_without_seeds_repeats_request_for_next_drawing(make: Make, name: str) -> None:
    studio = make(name, seeds=False)
    first, second = studio.paint(seed=0), studio.paint(seed=1)
    assert (first.image, second.image) == (studio.truth(), studio.truth(nth=1))
    assert first.calls != second.calls
    one, other = studio.sent()
    assert one == other
    assert "seed" not in str(one)


@every_kind
def test_an_unknown_option_is_refused_before_any_call(make: Make, name: str) -> None:
    with pytest.raises(UsageError, match=f"{name}/{KINDS[name].model} has no option 'hue'; it has: "):
        make(name, options={"hue": 1})


@pytest.mark.parametrize(
    ("name", "options", "detail"),
    [
        ("openai", {"style": "vivid"}, "400: Unknown parameter: 'style'."),
        ("chat", {"moderation": "none"}, "Invalid value: 'none'"),
        ("gemini", {"size": "7:5"}, "aspect_ratio must be one of"),
        ("gemini", {"thinking_level": "low", "thinking_budget": 1}, "only one of"),
        ("bfl", {"steps": 28}, "steps"),
    ],
)
def test_request_refused_by_model_is_bad_request(make: Make, name: str, options: dict[str, Any], detail: str) -> None:
    studio = make(name, options=options)
    fault = studio.fail()
    assert (fault.kind, detail in fault.detail) == ("bad_request", True), fault.detail
    assert studio.server.counts()["rejected"] == 1


def test_an_error_about_the_moderation_field_is_not_a_refusal(make: Make) -> None:
    studio = make("openai", options={"moderation": "low"})
    studio.plan(unsupported=["moderation"])
    assert studio.fail().kind == "bad_request"


def test_unknown_model_is_setup_fault(make: Make) -> None:
    fault = make("dashscope", "wan2.6-t2i", options={"endpoint": BY_PROMPT}).fail()
    assert (fault.kind, "wan2.6-t2i does not exist" in fault.detail) == ("setup", True)
    studio = make("gemini")
    studio.plan(models=["other"])
    assert "404 NOT_FOUND: models/draws-1 is not found" in studio.fail().detail


def test_invalid_size_is_refused_before_sending(make: Make) -> None:
    studio = make("bfl", options={"size": "large"})
    with pytest.raises(UsageError, match="takes a size such as 1024x768, or an aspect such as 4:3, not 'large'"):
        studio.paint()
    assert not studio.sent()


@pytest.mark.parametrize("over", ["refused", "cut", None])
def test_prompt_over_limit_is_refused_or_noted_as_cut(make: Make, over: str | None) -> None:
    studio = make("openai", facts={"prompt_limit": 10, "over_limit": over})
    if over == "refused":
        assert (studio.fail().kind, studio.sent()) == ("bad_request", [])
        return
    painting = studio.paint()
    assert painting.notes["body"]["prompt"] == PROMPT
    assert painting.notes.get("prompt_cut") == ({"sent": len(PROMPT), "read": 10} if over else None)
    assert "prompt_cut" not in studio.paint("Ten words.").notes


@pytest.mark.parametrize(("name", "model"), [("openai", "dall-e-3"), ("dashscope", ""), ("bfl", "")])
def test_rewritten_prompt_is_recorded_as_sent(make: Make, name: str, model: str) -> None:
    studio = make(name, model, options=DALL_E if model else {})
    studio.plan(revise=True)
    for painting in (studio.paint(), studio.paint()):
        assert (painting.prompt_sent, painting.notes["prompt_rewritten"]) == (revised(PROMPT), True)
    assert len(studio.sent()) == 1


def by_tokens(sent: float, written: float) -> float:
    return (sent * PRICES[0] + written * PRICES[1]) / 1e6


WORD_TOKENS = len(PROMPT) // 4 + 1
PAID = by_tokens(WORD_TOKENS, OUTPUT_TOKENS)
GEMINI_WORDS = -(-len(PROMPT) // 4)


@pytest.mark.parametrize(
    ("name", "plan", "facts", "edits", "cost"),
    [
        ("openai", {}, {}, False, PAID),
        ("openai", {}, {"image_price": 0.04}, False, 0.04),
        ("openai", {}, {}, True, by_tokens(WORD_TOKENS + 2 * PICTURE_TOKENS, OUTPUT_TOKENS)),
        ("chat", {}, {}, False, PAID),
        ("chat", {"billed": True}, {}, True, DOLLARS),
        ("gemini", {}, {}, False, by_tokens(GEMINI_WORDS, IMAGE_TOKENS)),
        ("gemini", {}, {}, True, by_tokens(GEMINI_WORDS + 2 * GEMINI_PICTURE_TOKENS, IMAGE_TOKENS)),
        # Thoughts are paid but not taken for the drawing.
        (
            "gemini",
            {"thoughts": 2, "images": 2},
            {},
            False,
            by_tokens(GEMINI_WORDS, 2 * (IMAGE_TOKENS + THOUGHT_TOKENS)),
        ),
        ("dashscope", {}, {}, False, PRICE),
        ("bfl", {}, {}, False, PRICE),
        ("bfl", {"credits": 4.5}, {}, True, 0.045),
    ],
)
def test_cost_of_a_drawing(
    make: Make,
    pictures: tuple[str, ...],
    name: str,
    plan: dict[str, Any],
    facts: dict[str, Any],
    edits: bool,
    cost: float,
) -> None:
    studio = make(name, facts=facts)
    studio.plan(**plan)
    shown = pictures if edits else ()
    painting = studio.paint(images=shown)
    assert painting.cost == pytest.approx(cost)
    assert painting.image == studio.truth(shown=shown)


OF_IMAGES = {
    "auth": "http_401 unverified",
    "setup": "http_404",
    "credits": "http_402 http_429_quota billing",
    "refusal": "http_403 content_policy moderation_blocked filtered refusal_in_200 flagged_in_200",
    "bad_request": "user_error",
    "rate_limit": "http_429 http_429_retry_after rate_in_200",
    "server": "http_500 http_502 error_in_200 word_in_200 malformed_json html empty odd_shape",
    "network": "drop",
    "image": "truncated_base64 truncated_image not_an_image",
}
OF_JOBS = {
    "auth": "submit:http_401",
    "credits": "submit:credits submit:quota",
    "rate_limit": "submit:http_429",
    "server": "submit:http_500 submit:http_502 submit:odd submit:malformed job:failed job:no_image",
    "bad_request": "submit:bad_request submit:wordy",
    "network": "submit:drop",
    "refusal": "job:moderated job:moderated_image",
    "missing": "job:unknown poll:gone link:expired",
}
FAULTS: dict[str, dict[str, str]] = {
    "openai": OF_IMAGES | {"timeout": "hang"},
    "chat": {
        **OF_IMAGES,
        "refusal": "http_403 refusal_in_200 refusal refusal_text content_filter image_safety",
        "unreadable": "text_only",
        "image": "truncated_base64 no_image",
        "truncated": "length",
        "server": "http_500 html empty odd_shape choice_error",
    },
    "gemini": {
        "rate_limit": "minute minute_retry_info busy",
        "server": "http_500 http_502 error_in_200 malformed_json not_json odd_shape empty finish_OTHER",
        "timeout": "http_504",
        "network": "drop",
        "credits": "day quota no_free_tier prepaid cap billing",
        "auth": "bad_key denied unauthenticated location",
        "image": "truncated_base64 truncated_image not_an_image finish_NO_IMAGE",
        "unreadable": "text",
        "truncated": "finish_MAX_TOKENS",
        "refusal": "finish_IMAGE_SAFETY finish_RECITATION block_PROHIBITED_CONTENT block_OTHER",
    },
    "dashscope": OF_JOBS
    | {
        "refusal": "submit:refusal job:moderated job:partly_failed",
        "rate_limit": "submit:http_429 job:throttled",
        "bad_request": "submit:bad_request submit:wordy job:invalid",
    },
    "bfl": OF_JOBS,
}
"""The faults of each service by the kind that they must come out as."""


@pytest.mark.parametrize(
    ("name", "kind", "fault"),
    [
        pytest.param(name, kind, fault, marks=[pytest.mark.slow] if fault == "hang" else [])
        for name, kinds in FAULTS.items()
        for kind, faults in kinds.items()
        for fault in faults.split()
    ],
)
def test_each_fault_is_classified(make: Make, name: str, kind: str, fault: str) -> None:
    studio = make(name, timeout_s=3 if fault == "hang" else 20)
    studio.plan(faults={fault: 1.0})
    failure = studio.fail(tries=2)
    assert failure.kind == kind, failure.detail
    # Only what passes is tried again within the run; a first call that shows the service unusable is not stored.
    tries = 2 if kind in TRANSIENT else 0 if kind in STOPPING and failure.cost == 0 else 1
    assert bool(failure.calls) == bool(tries)
    assert [row.fault for row in studio.attempts()] == [kind] * tries
    studio.plan()
    (again,) = studio.paint_all(request())
    assert isinstance(again, Painting if kind in RETRIED_NEXT_RUN else Fault)
    assert studio.paint(retry_failed=True).image == studio.truth()


@every_kind
def test_transient_faults_are_retried_in_run(make: Make, name: str) -> None:
    studio = make(name)
    studio.plan(faults={"submit:http_500" if name in JOBS else "http_500": 1.0}, fault_first=2)
    assert studio.paint().image == studio.truth(nth=2)
    assert [row.fault for row in studio.attempts()] == ["server", "server", None]


@pytest.mark.parametrize(
    ("name", "fault", "detail", "cost"),
    [
        ("openai", "truncated_image", "is not an image", PAID),
        ("openai", "truncated_base64", "is not valid base64", PAID),
        ("openai", "http_500", "500", 0.0),
        ("openai", "drop", "", None),
        ("chat", "text_only", "Here is the picture you asked for", PAID),
        ("chat", "refusal", "This request cannot be fulfilled.", PAID),
        (
            "gemini",
            "finish_IMAGE_SAFETY",
            "IMAGE_SAFETY: Unable to show the generated image.",
            by_tokens(GEMINI_WORDS, 6),
        ),
        ("gemini", "text", "text in place of an image: Here is your image.", by_tokens(GEMINI_WORDS, 6)),
        ("gemini", "block_SAFETY", "the prompt is blocked (SAFETY)", by_tokens(GEMINI_WORDS, 0)),
        ("gemini", "error_in_200", "503 UNAVAILABLE: The model is overloaded. Please try again later.", None),
        ("gemini", "bad_key", "400 INVALID_ARGUMENT: API key not valid. Please pass a valid API key.", 0.0),
        ("dashscope", "job:moderated", "DataInspectionFailed", 0.0),
        ("dashscope", "submit:drop", "", None),
        # Whether it is charged is not documented.
        ("bfl", "job:moderated_image", "Content Moderated: {'Moderation Reasons': ['Derivative Works Filter']}", None),
    ],
)
def test_fault_has_service_message_and_cost(make: Make, name: str, fault: str, detail: str, cost: float | None) -> None:
    studio = make(name)
    studio.plan(faults={fault: 1.0})
    failure = studio.fail(tries=1)
    assert detail in failure.detail
    assert failure.cost == (cost if cost is None else pytest.approx(cost))
    if failure.kind not in STOPPING:
        (attempt,) = studio.attempts()
        assert (attempt.cost, attempt.detail) == (failure.cost, failure.detail)


def test_reply_with_drafts_only_is_unreadable(make: Make) -> None:
    studio = make("gemini")
    studio.plan(thoughts=2, images=0)
    assert studio.fail().kind == "unreadable"


@pytest.mark.parametrize(
    ("name", "fault", "plan"),
    [
        ("openai", "http_429_retry_after", {"retry_after": 0.3}),
        ("gemini", "minute_retry_info", {"retry_delay": "0.3s"}),
        ("bfl", "poll:http_429_retry_after", {"retry_after": 0.3}),
    ],
)
def test_retry_waits_as_long_as_service_asks(make: Make, name: str, fault: str, plan: dict[str, Any]) -> None:
    studio = make(name)
    studio.server.configure(faults={fault: 1.0}, fault_first=1, **plan)
    began = time.monotonic()
    studio.paint()
    assert time.monotonic() - began >= 0.3


@every_kind
def test_key_is_sent_to_service_only(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    studio = make(name)
    studio.paint()
    studio.server.configure(api_key="another key")
    assert studio.fail("Another prompt.").kind == "auth"
    studio.store.close()
    assert files_with_key(tmp_path) == []
    monkeypatch.delenv(KEY_VARIABLE)
    with pytest.raises(UsageError, match=KEY_VARIABLE):
        studio.painter.check()


def test_service_without_key_is_sent_none(make: Make) -> None:
    studio = make("openai", "local", key_env=None)
    studio.server.configure()
    studio.painter.check()
    assert studio.paint().image == studio.truth()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I’m sorry, I am unable to help with that.", "refusal"),
        ("This request violates our usage policies.", "refusal"),
        ("抱歉，我无法生成这张图片。", "refusal"),
        ("Arrow A shows water that cannot evaporate; make the sea blue.", "unreadable"),
        ("", "image"),
    ],
)
def test_chat_replies_are_classified_as_refusals(text: str, kind: str) -> None:
    assert why_no_image({"finish_reason": "stop"}, {"content": text})[0] == kind
    choice = {"finish_reason": "stop", "native_finish_reason": "IMAGE_PROHIBITED_CONTENT"}
    assert why_no_image(choice, {"content": text})[0] == "refusal"


LINKED: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "openai": ("openai", "Qwen/Qwen-Image", {"options": {"response_format": "url"}, "seeds": True}, {}),
    "chat": ("chat", "", {}, {"links": True}),
    "dashscope": ("dashscope", "", {}, {}),
    "dashscope at once": ("dashscope", "qwen-image-max", {}, {}),
    "bfl": ("bfl", "", {}, {}),
}
"""Services that send links: the service, the model, how its painter is made, and the plan that brings links."""
every_link = pytest.mark.parametrize("row", LINKED.values(), ids=LINKED)


def drawn(studio: Any) -> int:
    """How many drawings the service has made and charged."""
    return len(studio.sent())


@every_link
@pytest.mark.parametrize("slip", ["http_500", "drop"])
def test_failed_link_is_retried_without_key_or_new_charge(make: Make, row: Any, slip: str) -> None:
    name, model, how, plan = row
    studio = make(name, model, **how)
    studio.plan(faults={f"link:{slip}": 1.0}, **plan)
    assert studio.fail(tries=1).kind in TRANSIENT
    painting = studio.paint()
    assert painting.image == studio.truth()
    counts = studio.server.counts()
    assert (drawn(studio), counts["fetched"], counts["fetched_with_key"]) == (1, 2, 0)
    # Counted by the try that asked for the image, also when no later one ever gets at it.
    assert [row.cost for row in studio.attempts()] == [pytest.approx(painting.cost), 0.0]


@every_link
def test_image_that_cannot_be_stored_stops_run_and_is_fetched_by_next(
    make: Make, store: Store, monkeypatch: pytest.MonkeyPatch, row: Any
) -> None:
    name, model, how, plan = row
    studio = make(name, model, **how)
    studio.plan(**plan)
    with monkeypatch.context() as patch:
        patch.setattr(store.blobs._files, "free_bytes", lambda: 0)
        assert (studio.fail().kind, drawn(studio)) == ("setup", 0)
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", lambda _handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(StoreError, match="its disk is full"):
            studio.paint()
    assert studio.paint().image == studio.truth()
    assert drawn(studio) == 1


@every_link
@pytest.mark.parametrize(
    ("fault", "kind", "fetched"),
    [
        ("wrong_host", "image", 0),
        ("html", "image", 1),
        ("junk", "image", 1),
        ("moved", "image", 1),
        ("expired", "missing", 1),
        ("oversize", "image", 1),
    ],
)
def test_result_links_are_limited(make: Make, store: Store, row: Any, fault: str, kind: str, fetched: int) -> None:
    name, model, how, plan = row
    studio = make(name, model, **how)
    studio.plan(faults={f"link:{fault}": 1.0}, fault_first=1, **plan)
    failure = studio.fail()
    assert (failure.kind, studio.server.counts()["fetched"]) == (kind, fetched), failure.detail
    # Drawn and paid once, whatever became of the link.
    assert drawn(studio) == 1
    assert not list(Path(store.blobs.root).rglob("*.*"))
    if fault == "wrong_host":
        assert "which is not among 127.0.0.1" in failure.detail
        allowed = make(name, model, link_hosts=["localhost"], **how)
        assert allowed.paint(retry_failed=True).image == studio.truth()
        assert drawn(studio) == 1
    if fault == "expired":
        # Asked for by the next run, without a word.
        assert studio.paint().image == studio.truth(nth=1)
        assert drawn(studio) == 2
    if fault in ("html", "junk"):
        # Looked at once more, then given up.
        assert (studio.fail(retry_failed=True).kind, drawn(studio)) == ("image", 1)
        assert studio.paint(retry_failed=True).image == studio.truth(nth=1)
        assert drawn(studio) == 2


@pytest.mark.parametrize("name", ["openai", "chat"])
@pytest.mark.parametrize(
    "inside",
    [
        None,
        "text",
        [7],
        [{"b64_json": 7}],
        [{"url": "http://[::1"}],
        [{"url": "file:///etc/passwd"}],
        [{"message": None}],
        [{"message": {"images": [{"image_url": {"url": None}}]}}],
        [{"message": {"images": {"image_url": "x"}, "content": 7}}],
    ],
)
def test_malformed_replies_do_not_break_run(
    make: Make, monkeypatch: pytest.MonkeyPatch, name: str, inside: Any
) -> None:
    async def exchange(*words: Any, **more: Any) -> dict[str, Any]:
        usage = {"input_tokens": "12", "output_tokens": [], "prompt_tokens": True, "completion_tokens": {}, "cost": "1"}
        return {"data": inside, "choices": inside, "usage": usage}

    monkeypatch.setattr(service_calls, "exchange", exchange)
    assert make(name).fail(tries=1).kind in ("server", "image", "unreadable")


def test_reply_is_stored_without_bulky_data() -> None:
    reply = {"data": [{"b64_json": "aGk=", "url": None}], "seal": "x" * 30_000, "u": ["data:image/png;base64,aGk="]}
    kept = {"data": [{"b64_json": "(4 characters)", "url": None}], "seal": "(30000 characters)"}
    assert without_image_data(reply) == kept | {"u": ["(26 characters)"]}
    assert without_image_data({"data": "https://image.example/1"}) == {"data": "https://image.example/1"}


EDITORS = [("openai", ""), ("chat", ""), ("gemini", ""), ("dashscope", "qwen-image-edit-plus"), ("bfl", "")]
every_editor = pytest.mark.parametrize(("name", "model"), EDITORS)


@every_editor
def test_changed_picture_order_or_limit_changes_request(
    make: Make, pictures: tuple[str, ...], name: str, model: str
) -> None:
    shown = [(), pictures[:1], pictures[1:], pictures, pictures[::-1]]
    paintings = [make(name, model).paint(images=each) for each in shown]
    paintings.append(make(name, model, max_image_side=16).paint(images=pictures[:1]))
    assert len({painting.calls for painting in paintings}) == len(make(name, model).sent()) == 6


@every_editor
def test_pictures_are_scaled_and_converted_for_service(make: Make, store: Store, name: str, model: str) -> None:
    wide, odd = store.blobs.put(small(4, size=(64, 32)))[0], store.blobs.put(small(5, "BMP"))[0]
    studio = make(name, model, max_image_side=16)
    studio.paint(images=(wide, odd))
    body = str(studio.sent()[0])
    # Scaled down or of a format that no service takes: sent as a PNG, which has another hash.
    assert body.count("image/png") == 2
    assert wide not in body
    assert odd not in body


@every_editor
def test_unsendable_pictures_make_no_call(make: Make, pictures: tuple[str, ...], name: str, model: str) -> None:
    studio = make(name, model)
    most = studio.painter.most_pictures
    assert studio.fail(images=("ab" * 32,), tries=1).kind == "missing"
    many = studio.fail(images=pictures[:1] * (most + 1))
    assert (many.kind, f"at most {most} pictures" in many.detail) == ("bad_request", True)
    blind = make(name, model, image_input=False)
    assert studio.painter.most_pictures > 0 == blind.painter.most_pictures
    assert make(name, model, image_input=False, facts={"image_input": True}).painter.most_pictures
    assert not make(name, model, facts={"image_input": False}).painter.most_pictures
    assert "it cannot start from a picture" in blind.fail(images=pictures[:1]).detail
    assert not studio.sent()


@pytest.mark.parametrize("kind", ["folder", "control"])
def test_folder_and_control_painters_refuse_pictures(store: Store, tmp_path: Path, kind: str) -> None:
    exam: Exam[Any] = Exam("none", "genexam", ())
    (tmp_path / "q.png").write_bytes(FILES[0])
    folder = FolderPainter("f", "folder/x", tmp_path)
    control = ControlPainter(inputs("c", "control/blank", store.blobs, {}, exam=exam), "blank")
    painter = folder if kind == "folder" else control

    async def run() -> None:
        async with Calls(store) as calls:
            await painter.paint(request(images=("ab" * 32,)), calls)

    assert not painter.most_pictures
    with pytest.raises(Fault, match="draws from text alone; it cannot start from a picture"):
        asyncio.run(run())


@pytest.mark.parametrize(
    ("name", "model", "most"),
    [
        ("bfl", "flux-2-max", 8),
        ("bfl", "flux-2-klein-4b", 4),
        ("bfl", "flux-pro-1.1", 0),
        ("dashscope", "qwen-image-edit", 3),
        ("dashscope", "wan2.6-image", 4),
        ("dashscope", "qwen-image", 0),
    ],
)
def test_maximum_number_of_pictures_depends_on_model(make: Make, name: str, model: str, most: int) -> None:
    painter = make(name, model).painter
    assert painter.most_pictures == most


def test_input_pictures_can_have_separate_price() -> None:
    settings = Settings.model_validate(
        {"providers": {}, "models": {"a/b": {"input_price": 5, "output_price": 40, "image_input_price": 10}}}
    )
    assert settings.price("a/b", 1_000_000, 0) == 5
    assert settings.price("a/b", 1_000_000, 1_000_000, of_pictures=500_000) == 47.5


def test_cost_bound_includes_input_pictures(make: Make, pictures: tuple[str, ...]) -> None:
    studio = make("openai", facts={"image_bound": 0.05})
    each = 3000 * PRICES[0] / 1e6
    assert studio.painter.prices.bound_for(2) == pytest.approx(0.05 + 2 * each)
    assert make("openai", facts={"image_price": 0.05}).painter.prices.bound_for(2) == 0.05
    with pytest.raises(BudgetReached):
        studio.paint_all(request(images=pictures[:1]), budget=Budget(0.06))
    assert studio.paint_all(request(), budget=Budget(0.06))


@pytest.mark.slow
def test_killed_run_resumes_without_paying_again(make: Make) -> None:
    prompts = [f"figure {n}" for n in range(12)]
    studio = make("openai", "open", seeds=True)
    killed(studio, prompts, 7, model="open", together=4, seeds=True)
    truth = [picture(prompt) for prompt in prompts]
    stored = {attempt.result["image"] for attempt in studio.attempts()}
    done = [n for n in range(12) if hashlib.sha256(truth[n]).hexdigest() in stored]
    assert 4 <= len(done) < 8
    studio.plan()
    paintings = studio.paint_all(*map(request, prompts))
    assert [painting.image for painting in paintings if isinstance(painting, Painting)] == truth
    by_key = studio.server.counts()["by_key"]
    plain = {"model": "open", "n": 1, "size": "1024x1024", "seed": 0}
    assert [by_key[request_key({**plain, "prompt": prompts[n]})] for n in done] == [1] * len(done)
    assert len(by_key) == 12


@every_kind
def test_a_paid_image_is_stored_once_and_decoded_once(name: str, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the reply to the record of the drawing; and it is stored before the journal calls the call done."""
    studio = make(name)
    events: list[str] = []

    def count(owner: Any, function: str) -> None:
        original = getattr(owner, function)

        def counted(*given: Any, **how: Any) -> Any:
            events.append(function)
            return original(*given, **how)

        monkeypatch.setattr(owner, function, counted)

    count(blobs.LocalFiles, "write")
    count(blobs.LocalFiles, "read")
    count(images, "inspect")
    count(images, "_open_upright")
    count(blobs, "check_rows")
    count(ClaimedCall, "settle")
    asked = request()
    blank = Drawing("id", "exam", asked.question, "hash", "mine", studio.painter.spec, "direct", 0, "failed")

    async def draw_one() -> Drawing:
        async with Calls(studio.store) as journal:
            return await draw(blank, Arm(studio.painter), asked, studio.store.blobs, journal)

    drawing = asyncio.run(draw_one())
    assert (drawing.status, drawing.image) == ("done", hashlib.sha256(studio.truth()).hexdigest())
    assert events == ["inspect", "_open_upright", "write", "settle"]
