"""Rewriting of prompts by services: off in what is sent unless asked for, and in the row's name where it is on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from limner.core.errors import UsageError
from limner.core.evaluator import label
from limner.core.json_text import value_at
from limner.core.settings import Settings, load
from limner.painters import ApiPainter, PaintRequest, open_service
from limner.store import Store

SWITCHES = [
    ("dashscope/qwen-image-3.0-pro", "parameters.prompt_extend", False, True),
    ("dashscope/wan2.7-image-pro", "parameters.thinking_mode", False, True),
    ("bfl/flux-pro-1.1", "prompt_upsampling", False, True),
    ("bfl/flux-2-max", "disable_pup", True, False),
    ("bfl/flux-2-flex", "prompt_upsampling", False, True),
    ("bfl/flux-3-image", "grounding", False, True),
    ("byteplus/seedream-5-5-261028", "optimize_prompt_options.thinking", "disabled", "enabled"),
    ("ark/doubao-seedream-4-5-251128", "optimize_prompt_options.thinking", "disabled", "enabled"),
    ("ideogram/v3", "magic_prompt", "OFF", "ON"),
    ("replicate/black-forest-labs/flux-1.1-pro", "input.prompt_upsampling", False, True),
    ("replicate/ideogram-ai/ideogram-v3-turbo", "input.magic_prompt_option", "Off", "On"),
    ("fal/fal-ai/flux-pro/v1.1", "enhance_prompt", False, True),
    ("fal/fal-ai/ideogram/v3", "expand_prompt", False, True),
]
WITHOUT = [
    "dashscope/qwen-image-edit", "bfl/flux-2-klein-9b", "ark/doubao-seedream-3-0-t2i-250415", "fal/fal-ai/flux/dev",
]  # fmt: skip
FIELDS = [
    ("dashscope/qwen-image", "prompt_extend"), ("bfl/flux-2-pro", "disable_pup"), ("bfl/flux-dev", "prompt_upsampling"),
    ("ark/doubao-seedream-4-5-251128", "optimize_prompt_options"), ("ideogram/v3", "magic_prompt"),
    ("replicate/minimax/image-01", "prompt_optimizer"), ("fal/fal-ai/ideogram/v3", "expand_prompt"),
]  # fmt: skip


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(tmp_path)
    return load()


def body(painter: ApiPainter, *images: str) -> dict[str, Any]:
    return painter.request_body(PaintRequest("q1", "A cell.", images=images))


def row(painter: ApiPainter) -> str:
    return label(painter.name, painter.options)


@pytest.mark.parametrize(("spec", "path", "off", "on"), SWITCHES)
def test_service_rewrite_is_off_by_default(
    shipped: Settings, store: Store, spec: str, path: str, off: Any, on: Any
) -> None:
    silent = open_service(spec, shipped, store.blobs)
    switched_off = [open_service(spec, shipped, store.blobs, {"service_rewrite": value}) for value in ("off", False)]
    for painter in (silent, *switched_off):
        assert (value_at(body(painter), path), row(painter)) == (off, spec)
        assert "service_rewrite" not in str(body(painter))
    for value in ("on", True):
        painter = open_service(spec, shipped, store.blobs, {"service_rewrite": value})
        assert (value_at(body(painter), path), row(painter)) == (on, f"{spec} · service rewrite")
        assert "service_rewrite" not in str(body(painter))


def test_every_service_with_rewrite_field_is_tested(shipped: Settings) -> None:
    switched = {name for name, rows in shipped.rewrites.items() if any(switch.on for switch in rows.values())}
    assert {spec.partition("/")[0] for spec, *_ in SWITCHES} == switched


@pytest.mark.parametrize("spec", WITHOUT)
def test_models_without_rewrite_field_are_not_sent_one(shipped: Settings, store: Store, spec: str) -> None:
    sent = str(body(open_service(spec, shipped, store.blobs)))
    assert not any(field in sent for field in shipped.rewrite_fields())
    with pytest.raises(UsageError, match="is not known to rewrite prompts"):
        open_service(spec, shipped, store.blobs, {"service_rewrite": "on"})


def test_edit_requests_omit_drawing_only_rewrite_field(shipped: Settings, store: Store) -> None:
    painter = open_service("ark/doubao-seedream-4-5-251128", shipped, store.blobs)
    assert "optimize_prompt_options" not in body(painter, "ab" * 32)


@pytest.mark.parametrize(("spec", "field"), FIELDS)
def test_native_rewrite_field_is_refused_naming_option(shipped: Settings, store: Store, spec: str, field: str) -> None:
    with pytest.raises(UsageError, match=f"has no option '{field}': ask for rewriting with service_rewrite=on"):
        open_service(spec, shipped, store.blobs, {field: True})


def test_undescribed_rewrite_field_is_refused_with_advice(shipped: Settings, store: Store) -> None:
    with pytest.raises(UsageError, match=r'describe its field under \[rewrites.fal."fal-ai/new"\] in limner.toml'):
        open_service("fal/fal-ai/new", shipped, store.blobs, {"enhance_prompt": True})


def test_user_file_can_describe_rewrite_field(tmp_path: Path, store: Store) -> None:
    file = tmp_path / "limner.toml"
    file.write_text('[rewrites.fal."fal-ai/new"]\noff = { polish = 0 }\non = { polish = 1 }\n', "utf-8")
    settings = load(file)
    assert body(open_service("fal/fal-ai/new", settings, store.blobs))["polish"] == 0
    assert body(open_service("fal/fal-ai/new", settings, store.blobs, {"service_rewrite": "on"}))["polish"] == 1


def test_rewriting_cannot_be_disabled_if_service_always_rewrites(shipped: Settings, store: Store) -> None:
    with pytest.raises(UsageError, match="ideogram/v4 always rewrites prompts"):
        open_service("ideogram/v4", shipped, store.blobs, {"service_rewrite": "off"})
    assert row(open_service("ideogram/v4", shipped, store.blobs)) == "ideogram/v4"


def test_service_that_never_rewrites_has_no_rewrite_option(shipped: Settings, store: Store) -> None:
    with pytest.raises(UsageError, match="has no option 'service_rewrite'"):
        open_service("gemini/gemini-2.5-flash-image", shipped, store.blobs, {"service_rewrite": "on"})


def test_invalid_rewrite_value_is_refused(shipped: Settings, store: Store) -> None:
    with pytest.raises(UsageError, match="service_rewrite of dashscope/qwen-image is on or off, not 'auto'"):
        open_service("dashscope/qwen-image", shipped, store.blobs, {"service_rewrite": "auto"})
