"""Painters that start from pictures: what goes over the wire, what stands in the key, what it costs."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from limner.calls import Budget, BudgetReached, Calls, Fault
from limner.core.exam import Exam
from limner.core.settings import Settings, load
from limner.evidence.probe import OcrProbe
from limner.painters import open_painter
from limner.painters.base import Painting
from limner.painters.controls.painter import ControlPainter
from limner.painters.folder import FolderPainter
from limner.painters.service import ApiPainter
from limner.painters.services.bfl import BflPainter
from limner.painters.services.chat_images import ChatImages
from limner.painters.services.dashscope import DashScopePainter
from limner.painters.services.gemini import Gemini
from limner.painters.services.openai_images import OpenAIImages
from limner.store import Store
from tests.fakes.client import Server
from tests.fakes.gemini_client import GeminiServer
from tests.fakes.gemini_replies import IMAGE_TOKENS, painted
from tests.fakes.gemini_replies import PICTURE_TOKENS as GEMINI_PICTURE_TOKENS
from tests.fakes.images_client import DOLLARS, OUTPUT_TOKENS, PICTURE_TOKENS, ImageServer, picture
from tests.painters.studio import KEY, KEY_VARIABLE, PRICES, Studio, request
from tests.support import picture as small

PROMPT = "Write “nucleus” under the dark spot. Zellkern – 细胞核."
GPT, CHAT, GEMINI = "gpt-image-2", "google/gemini-image", "draws-1"


@pytest.fixture(scope="module")
def gemini_service() -> Iterator[GeminiServer]:
    with GeminiServer() as server:
        yield server


@pytest.fixture
def gemini(gemini_service: GeminiServer, monkeypatch: pytest.MonkeyPatch) -> GeminiServer:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    gemini_service.reset()
    gemini_service.configure(api_key=KEY)
    return gemini_service


@pytest.fixture
def pictures(store: Store) -> list[str]:
    """The hashes of three pictures in the store: a PNG, a JPEG, and one in a format that services do not take."""
    files = [small(1), small(2, "JPEG"), small(3, "BMP")]
    return [store.blobs.put(data)[0] for data in files]


def studio(kind: type[ApiPainter], server: Server, store: Store, model: str, **more: Any) -> Studio:
    return Studio(kind, server, store, model, **more)  # type: ignore[arg-type]


def seen(*files: bytes) -> list[dict[str, Any]]:
    """Files as the fake services record them."""
    kinds = {b"\x89P": "image/png", b"\xff\xd8": "image/jpeg"}
    return [
        {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), "media": kinds[data[:2]]} for data in files
    ]


def test_openai_gets_a_form_with_the_files(images: ImageServer, store: Store, pictures: list[str]) -> None:
    gpt = studio(
        OpenAIImages, images, store, GPT, options={"quality": "high", "output_compression": 80, "output_format": "jpeg"}
    )
    painting = gpt.paint(PROMPT, images=tuple(pictures[:2]))
    (sent,) = images.requests()
    assert sent == {
        "model": GPT,
        "prompt": PROMPT,
        "n": "1",
        "size": "1024x1024",
        "quality": "high",
        "output_compression": "80",
        "output_format": "jpeg",
        "image[]": seen(small(1), small(2, "JPEG")),
    }
    assert painting.image == picture(PROMPT, kind="jpeg", shown=pictures[:2])
    assert painting.notes["body"]["image"] == [{"sha256": sha256, "format": "native"} for sha256 in pictures[:2]]


def test_chats_get_the_pictures_after_the_words(images: ImageServer, store: Store, pictures: list[str]) -> None:
    painting = studio(ChatImages, images, store, CHAT).paint(PROMPT, images=tuple(pictures[:2]))
    (sent,) = images.requests()
    shown = [{"type": "image_url", "image_url": {"url": each}} for each in seen(small(1), small(2, "JPEG"))]
    assert sent == {
        "model": CHAT,
        "messages": [{"role": "user", "content": [{"type": "text", "text": PROMPT}, *shown]}],
        "modalities": ["image", "text"],
        "image_config": {"aspect_ratio": "1:1"},
    }
    assert painting.image == picture(PROMPT, size="1:1", shown=pictures[:2])


@pytest.mark.slow
def test_gemini_gets_the_pictures_before_the_words(gemini: GeminiServer, store: Store, pictures: list[str]) -> None:
    painting = studio(Gemini, gemini, store, GEMINI, seeds=True).paint(PROMPT, images=tuple(pictures[:2]), seed=5)
    (sent,) = gemini.requests()
    shown = [{"inlineData": each} for each in seen(small(1), small(2, "JPEG"))]
    assert sent == {
        "contents": [{"role": "user", "parts": [*shown, {"text": PROMPT}]}],
        "generationConfig": {
            "responseModalities": ["TEXT", "IMAGE"],
            "seed": 5,
            "imageConfig": {"aspectRatio": "1:1"},
        },
    }
    assert painting.image == painted(PROMPT, 5, 1, shown=tuple(pictures[:2]))


SHAPES: dict[str, tuple[type[ApiPainter], str]] = {
    "openai": (OpenAIImages, GPT),
    "chat": (ChatImages, CHAT),
    "gemini": (Gemini, GEMINI),
}
every_shape = pytest.mark.parametrize("shape", SHAPES)


@pytest.fixture
def make(images: ImageServer, gemini: GeminiServer, store: Store) -> Any:
    def made(shape: str, **more: Any) -> Studio:
        kind, model = SHAPES[shape]
        return studio(kind, gemini if shape == "gemini" else images, store, model, **more)

    return made


@pytest.mark.slow
@every_shape
def test_the_same_edit_is_paid_once_and_another_picture_is_another(make: Any, pictures: list[str], shape: str) -> None:
    first, again = (make(shape).paint(PROMPT, images=(pictures[0],)) for _ in range(2))
    other = make(shape).paint(PROMPT, images=(pictures[1],))
    both, turned = (make(shape).paint(PROMPT, images=order) for order in (tuple(pictures[:2]), tuple(pictures[1::-1])))
    plain = make(shape).paint(PROMPT)
    assert (first.image, first.calls) == (again.image, again.calls)
    assert len({each.calls for each in (first, other, both, turned, plain)}) == 5
    assert make(shape).asked() == 5


@every_shape
def test_pictures_are_kept_by_hash_only(make: Any, store: Store, pictures: list[str], shape: str) -> None:
    painting = make(shape).paint(PROMPT, images=(pictures[0],))
    assert pictures[0] in str(painting.notes)
    assert "base64" not in str(painting.notes)


@pytest.mark.slow
@every_shape
def test_pictures_are_made_to_fit(make: Any, store: Store, shape: str) -> None:
    wide, odd = store.blobs.put(small(4, size=(64, 32)))[0], store.blobs.put(small(5, "BMP"))[0]
    made = make(shape, max_image_side=16)
    made.paint(PROMPT, images=(wide, odd))
    body = str(made.server.requests()[0])
    # Scaled down or of a format that no service takes: sent as a PNG, which has another hash.
    assert body.count("image/png") == 2
    assert wide not in body
    assert odd not in body
    # The limit is part of what was asked for.
    assert made.paint(PROMPT, images=(wide,)).calls != make(shape).paint(PROMPT, images=(wide,)).calls


@every_shape
def test_a_picture_that_is_not_there_costs_no_call(make: Any, shape: str) -> None:
    made = make(shape)
    fault = made.fail(PROMPT, images=("ab" * 32,), tries=1)
    assert (fault.kind, made.asked()) == ("missing", 0)


@pytest.mark.slow
@every_shape
def test_faults_are_those_of_drawing(make: Any, pictures: list[str], shape: str) -> None:
    made = make(shape)
    kind = {"openai": "moderation_blocked", "chat": "refusal", "gemini": "finish_IMAGE_SAFETY"}[shape]
    made.server.configure(api_key=KEY, faults={kind: 1.0})
    assert made.fail(PROMPT, images=(pictures[0],)).kind == "refusal"


def test_edits_are_paid_by_what_was_sent_and_drawn(make: Any, pictures: list[str], store: Store) -> None:
    text, out = len(PROMPT) // 4 + 1, OUTPUT_TOKENS * PRICES[1]
    paid = make("openai").paint(PROMPT, images=tuple(pictures[:2])).cost
    assert paid == pytest.approx(((text + 2 * PICTURE_TOKENS) * PRICES[0] + out) / 1e6)
    make("chat").server.configure(api_key=KEY, billed=True)
    assert make("chat").paint(PROMPT, images=(pictures[0],)).cost == DOLLARS
    paid = make("gemini").paint(PROMPT, images=(pictures[0],)).cost
    sent = -(-len(PROMPT) // 4) + GEMINI_PICTURE_TOKENS
    assert paid == pytest.approx((sent * PRICES[0] + IMAGE_TOKENS * PRICES[1]) / 1e6)


def test_pictures_may_have_a_price_of_their_own() -> None:
    settings = Settings.model_validate(
        {"providers": {}, "models": {"a/b": {"input_price": 5, "output_price": 40, "image_input_price": 10}}}
    )
    assert settings.price("a/b", 1_000_000, 0) == 5
    assert settings.price("a/b", 1_000_000, 0, of_pictures=1_000_000) == 10
    assert settings.price("a/b", 1_000_000, 1_000_000, of_pictures=500_000) == 47.5


def test_the_bound_counts_the_pictures(make: Any, pictures: list[str], store: Store) -> None:
    facts = {"image_bound": 0.05}
    gpt = make("openai", facts=facts).painter
    each = 3000 * PRICES[0] / 1e6
    assert (gpt.prices.bound_for(0), gpt.prices.bound_for(2)) == (0.05, pytest.approx(0.05 + 2 * each))
    assert make("openai", facts={"image_price": 0.05}).painter.prices.bound_for(2) == 0.05

    async def run(limit: float, *shown: str) -> Painting:
        async with Calls(store, budget=Budget(limit)) as calls:
            painting: Painting = await gpt.paint(request(PROMPT, images=shown), calls)
            return painting

    with pytest.raises(BudgetReached):
        asyncio.run(run(0.06, pictures[0]))
    assert asyncio.run(run(0.06)).cost


def test_what_only_one_endpoint_takes_goes_only_there(make: Any, pictures: list[str]) -> None:
    made = make("openai", options={"moderation": "low", "input_fidelity": "high", "background": "opaque"})
    made.paint(PROMPT)
    made.paint(PROMPT, images=(pictures[0],))
    drawn, edited = made.server.requests()
    assert (drawn["moderation"], drawn["background"], "input_fidelity" in drawn) == ("low", "opaque", False)
    assert (edited["input_fidelity"], edited["background"], "moderation" in edited) == ("high", "opaque", False)


def test_seeds_reach_servers_that_take_them(images: ImageServer, store: Store, pictures: list[str]) -> None:
    options = {"num_inference_steps": 9, "guidance_scale": 3.5}
    local = studio(OpenAIImages, images, store, "Qwen/Qwen-Image-Edit", seeds=True, options=options)
    assert local.paint(PROMPT, seed=4, images=(pictures[0],)).image == picture(PROMPT, 4, shown=pictures[:1])
    (sent,) = images.requests()
    assert (sent["seed"], sent["num_inference_steps"], sent["guidance_scale"]) == ("4", "9", "3.5")


@every_shape
def test_too_many_pictures_are_refused_before_any_call(make: Any, pictures: list[str], shape: str) -> None:
    made = make(shape)
    most = made.painter.most_pictures
    fault = made.fail(PROMPT, images=(pictures[0],) * (most + 1))
    assert (fault.kind, made.asked()) == ("bad_request", 0)
    assert f"at most {most} pictures" in fault.detail


def test_who_edits_is_told_by_the_settings(make: Any, store: Store) -> None:
    for shape in SHAPES:
        assert make(shape).painter.edits
        assert not make(shape, image_input=False).painter.edits
        assert make(shape, image_input=False, facts={"image_input": True}).painter.edits
        assert not make(shape, facts={"image_input": False}).painter.edits
    shipped = load()
    exam: Exam[Any] = Exam("none", "genexam", ())
    edits = {
        name: open_painter(name, exam, store.blobs, OcrProbe(), shipped, {}).edits
        for name in ("openai/gpt-image-1", "gemini/gemini-2.5-flash-image", "bfl/flux-2-max", "dashscope/qwen-image")
    }
    assert list(edits.values()) == [True, True, True, False]


@pytest.mark.parametrize("kind", ["folder", "control", "dashscope", "bfl", "openai"])
def test_a_painter_that_cannot_edit_says_so(
    images: ImageServer, store: Store, tmp_path: Path, pictures: list[str], kind: str
) -> None:
    exam: Exam[Any] = Exam("none", "genexam", ())
    painters: dict[str, Any] = {
        "folder": lambda: FolderPainter("f", "folder/x", tmp_path),
        "control": lambda: ControlPainter("c", "control/blank", "blank", exam, store.blobs, OcrProbe()),
        "dashscope": lambda: studio(DashScopePainter, images, store, "wan").painter,
        "bfl": lambda: studio(BflPainter, images, store, "flux").painter,
        "openai": lambda: studio(OpenAIImages, images, store, GPT, image_input=False).painter,
    }
    painter = painters[kind]()
    assert not painter.edits

    async def run() -> None:
        async with Calls(store) as calls:
            await painter.paint(request(PROMPT, images=(pictures[0],)), calls)

    with pytest.raises(Fault, match="draws from words alone; it cannot start from a picture") as raised:
        asyncio.run(run())
    assert raised.value.kind == "bad_request"
    assert images.counts()["total"] == 0
