"""Presets: every setting that a paper names, and what a run says where it cannot keep one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from limner.exams.released import RELEASE
from limner.running.plan import Plan
from limner.running.setup import Asking, make_plan
from limner.store import Store
from tests.exams import clones


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


def planned(store: Store, exam: str, preset: str, *painters: str, **more: Any) -> Plan:
    return make_plan(f"sample/{exam}", store, painters=painters, asking=Asking(preset=preset), **more)


def test_mmmg_counts_regions_as_the_paper_or_says_how_instead(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(store, "mmmg", "paper", "control/blank")
    (note,) = plan.notes
    assert note.startswith("preset paper: regions by classical instead of sam2.1-large: ")
    assert plan.probes[0].name.startswith("classical")

    opened: list[str] = []

    def open_probe(name: str, word: str, *_: object) -> Named:
        opened.append(word)
        return Named()

    monkeypatch.setattr("limner.running.setup.open_probe", open_probe)
    monkeypatch.setattr("limner.running.setup.open_probes", lambda needs, uses, wanted, *_: [wanted.words["regions"]])
    plan = planned(store, "mmmg", "paper", "control/blank")
    assert [opened, *map(list, (plan.probes, plan.notes))] == [["sam2.1-large"], ["sam2.1-large"], []]


class Named:
    name = "sam"


@pytest.mark.parametrize(
    ("preset", "painter", "expected"),
    [
        ("paper", "gemini/gemini-3-pro-image", {"image_size": "2K", "landscape": "16:9"}),
        ("paper", "dashscope/qwen-image-2.0-pro", {"landscape": "1920*1080"}),
        ("paper-open", "HunyuanImage-3.0=local/hunyuan", {"landscape": "1536x1024"}),
        ("paper-open", "flux=local/flux", {"landscape": "1920x1080"}),
    ],
)
def test_fepbench_draws_in_the_sizes_of_table_6(
    preset: str, painter: str, expected: dict[str, str], store: Store
) -> None:
    Path("limner.toml").write_text('[providers.local]\nimage_shape = "openai-images"\n', "utf-8")
    (opened,) = planned(store, "fepbench", preset, painter).painters
    sizes = opened.options["size"]
    assert {**opened.options, **(json.loads(sizes) if isinstance(sizes, str) else sizes)}.items() >= expected.items()


def test_preset_release_uses_the_configured_clone_or_says_so(store: Store, tmp_path: Path) -> None:
    (note,) = planned(store, "genexam", "release", "control/blank").notes
    assert "preset release asks in Limner's words" in note
    assert 'name its folder in limner.toml: [releases] genexam = "FOLDER"' in note
    folder = clones.clone(tmp_path, "genexam")
    Path("limner.toml").write_text(f'[releases]\ngenexam = "{folder}"\n', "utf-8")
    plan = planned(store, "genexam", "release", "control/blank")
    assert plan.notes == ()
    assert plan.judges[0].setup["prompts"] == RELEASE
