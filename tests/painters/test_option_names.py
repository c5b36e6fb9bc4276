from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core import settings
from limner.core.settings import PainterFacts
from limner.exams import kind
from limner.painters import painter_args
from limner.painters.base import OPTION_NAMES, option_meaning, translate_options

PRESET = {"guidance": 3.5}
OPEN = {"num_inference_steps": 50, "guidance_scale": 5.0, "size": {"square": "1920x1920"}}
NAMES = [name for names in OPTION_NAMES.values() for name in names] + ["size", "quality"]
OPTIONS = st.dictionaries(st.sampled_from(NAMES), st.integers(), max_size=5)


@pytest.mark.parametrize(
    ("word", "preset", "options"),
    [
        ("mine=diffusers/lab/model", OPEN, {"steps": 50, "guidance": 5.0, "size": OPEN["size"]}),
        ("bfl/flux-dev", PRESET, PRESET),
        ("local/black-forest-labs/FLUX.1-dev", PRESET, {"guidance_scale": 3.5}),
        ("local/Qwen/Qwen-Image", PRESET, {"true_cfg_scale": 3.5}),
        ("gemini/gemini-2.5-flash-image", PRESET, PRESET),
    ],
)
def test_options_are_translated_to_names_of_painter(word: str, preset: Any, options: Any) -> None:
    known = settings.load()
    facts = PainterFacts(option_names={"guidance": "true_cfg_scale"})
    known = known.model_copy(update={"painters": {**known.painters, "local/Qwen/Qwen-Image": facts}})
    assert painter_args(word, preset, {}, known) == options


def test_options_are_translated_to_function_parameters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_brush.py").write_text("def draw(prompt, seed, true_cfg_scale=1.0): ...\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert painter_args("python/own_brush:draw", PRESET, {}, settings.load()) == {"true_cfg_scale": 3.5}


@pytest.mark.parametrize("name", OPTION_NAMES["guidance"])
def test_given_option_overrides_preset_under_any_name(name: str) -> None:
    args = kind("mmmg").preset("paper-diffusion")["painter_args"]
    for word in ("diffusers/lab/model", "local/lab/model"):
        assert painter_args(word, args, {name: 7}, settings.load()) == {name: 7}


@given(OPTIONS, OPTIONS, st.none() | st.sets(st.sampled_from(NAMES)))
def test_translation_keeps_every_option_once(preset: Any, given: Any, takes: set[str] | None) -> None:
    found = translate_options(preset, given, takes, {})
    assert {name: found[name] for name in given} == given
    assert {option_meaning(name) for name in found} == {option_meaning(name) for name in (*preset, *given)}
    for name in found.keys() - given.keys():
        assert takes is None or name in takes or not takes & set(OPTION_NAMES.get(option_meaning(name), ()))
