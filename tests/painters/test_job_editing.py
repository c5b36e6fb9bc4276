"""Editing through services of jobs: how pictures go over the wire, and which models take them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from limner.core.settings import Settings
from limner.painters.jobs import JobPainter
from limner.painters.services.bfl import BflPainter
from limner.painters.services.dashscope import DashScopePainter
from limner.store import Store
from tests.fakes.wire_server import Answer, Asked, WireServer, wire_server
from tests.painters.job_support import KEY, KEY_VARIABLE, QUICK, ask, paint
from tests.support import picture

KINDS: dict[str, type[JobPainter]] = {"bfl": BflPainter, "dashscope": DashScopePainter}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)


def made(root: str, store: Store, spec: str) -> JobPainter:
    service, _, model = spec.partition("/")
    provider = {"base_url": root, "key_env": KEY_VARIABLE, "seeds": True}
    settings = Settings.model_validate({"providers": {service: provider}, "painters": {spec: {"image_price": 0.04}}})
    return KINDS[service](spec, spec, model, QUICK, settings, store.blobs)


def answer(service: WireServer, asked: Asked) -> Answer:
    if asked.path == "/i.png":
        return 200, picture(7)
    link = f"{service.root}/i.png"
    if "/aigc/" in asked.path:
        message = {"role": "assistant", "content": [{"image": link}]}
        return 200, {"request_id": "r", "output": {"choices": [{"finish_reason": "stop", "message": message}]}}
    if asked.method == "POST":
        return 200, {"id": "j", "polling_url": f"{service.root}/v1/get_result?id=j", "cost": 4.5}
    return 200, {"id": "j", "status": "Ready", "result": {"sample": link}}


def edited(store: Store, spec: str, many: int) -> tuple[WireServer, list[bytes], Any]:
    files = [picture(n) for n in range(1, many + 1)]
    shown = tuple(store.blobs.put(data)[0] for data in files)
    with wire_server(answer) as service:
        painter = made(service.root, store, spec)
        painting = paint(painter, store, ask("Make it blue.", images=shown))
        again = paint(painter, store, ask("Make it blue.", images=shown))
        assert (painting.image, painting.calls) == (picture(7), again.calls)
        assert len(service.sent()) == 1
        assert all(sha256 in str(painting.notes) for sha256 in shown)
    return service, files, painting


def test_flux_2_gets_pictures_as_base64(store: Store) -> None:
    service, files, painting = edited(store, "bfl/flux-2-pro", 3)
    (body,) = service.sent()
    assert body == {
        "prompt": "Make it blue.",
        "output_format": "png",
        "seed": 7,
        "input_image": base64.b64encode(files[0]).decode(),
        "input_image_2": base64.b64encode(files[1]).decode(),
        "input_image_3": base64.b64encode(files[2]).decode(),
    }
    assert painting.cost == pytest.approx(0.045)


def test_qwen_gets_pictures_before_the_words(store: Store) -> None:
    service, files, _ = edited(store, "dashscope/qwen-image-edit-plus", 2)
    (body,) = service.sent()
    urls = [f"data:image/png;base64,{base64.b64encode(data).decode()}" for data in files]
    content = [{"image": urls[0]}, {"image": urls[1]}, {"text": "Make it blue."}]
    assert body["input"] == {"messages": [{"role": "user", "content": content}]}
    assert service.asked[0].path == "/api/v1/services/aigc/multimodal-generation/generation"


@pytest.mark.parametrize(
    ("spec", "most"),
    [
        ("bfl/flux-2-max", 8),
        ("bfl/flux-2-klein-4b", 4),
        ("bfl/flux-kontext-max", 4),
        ("bfl/flux-pro-1.1", 0),
        ("dashscope/qwen-image-edit", 3),
        ("dashscope/qwen-image-3.0-pro", 3),
        ("dashscope/wan2.6-image", 4),
        ("dashscope/wan2.6-t2i", 0),
        ("dashscope/qwen-image", 0),
    ],
)
def test_the_model_decides_how_many(store: Store, spec: str, most: int) -> None:
    painter = made("http://127.0.0.1:9", store, spec)
    assert (painter.most_pictures, painter.edits) == (most, most > 0)
