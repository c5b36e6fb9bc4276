from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.errors import UsageError
from limner.exams import kind
from limner.painters.base import Aspect
from limner.painters.diffusers.options import EXECUTION, READERS, SIZES, parse

SPEC = "diffusers/lab/model"
ASPECTS: tuple[Aspect, ...] = ("square", "landscape", "portrait")


def test_execution_options_are_separate_from_drawing_options() -> None:
    options = parse({"steps": 20, "batch_size": 4, "devices": "0,1", "offload": "model", "dtype": "fp16"}, SPEC)
    assert options.drawing == {"steps": 20, "dtype": "float16"}
    assert (options.batch_size, options.devices, options.offload) == (4, ("cuda:0", "cuda:1"), "model")
    more = parse({"timeout_s": 90, "env": "A_DEVICE, ANOTHER"}, SPEC)
    assert (more.drawing, more.timeout_s, more.env) == ({}, 90.0, ("A_DEVICE", "ANOTHER"))
    usual = parse({}, SPEC)
    assert (usual.drawing, usual.batch_size, usual.devices, usual.dtype) == ({}, 1, (None,), "bfloat16")


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (0, ("cuda:0",)),
        ("0, 1", ("cuda:0", "cuda:1")),
        ([0, 3], ("cuda:0", "cuda:3")),
        ("cuda:1,cuda:0", ("cuda:1", "cuda:0")),
    ],
)
def test_all_device_spellings_are_parsed(given: Any, names: tuple[str, ...]) -> None:
    assert parse({"devices": given}, SPEC).devices == names
    assert parse({"device": given}, SPEC).devices == names


def test_size_follows_aspect() -> None:
    for aspect in ASPECTS:
        wide, high = parse({}, SPEC).size(aspect)
        assert (wide > high, wide < high) == (aspect == "landscape", aspect == "portrait")
        assert wide % 64 == high % 64 == 0
        assert parse({"size": "640x384"}, SPEC).size(aspect) == (640, 384)
        assert parse({"width": 512, "height": 768}, SPEC).size(aspect) == (512, 768)
    some = parse({"size": {"landscape": "1920x1080"}}, SPEC)
    assert (some.size("landscape"), some.size("square")) == ((1920, 1080), (1024, 1024))
    known = {"square": "1328*1328"}
    assert parse({}, SPEC).size("square", known) == (1328, 1328)
    assert parse({"size": "64x64"}, SPEC).size("square", known) == (64, 64)
    with pytest.raises(UsageError, match=r"the size '1:1' in limner\.toml is not valid"):
        parse({}, SPEC).size("square", {"square": "1:1"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"hue": 1}, f"{SPEC} has no option 'hue'; it has: batch_size, "),
        ({"steps": 0}, "steps=0 is not valid; it is a whole number from 1"),
        ({"guidance": -1}, "guidance=-1 is not valid; it is a number from 0"),
        ({"dtype": "int8"}, "dtype=int8 is not valid; it is bfloat16, float16 or float32"),
        ({"size": "big"}, "size=big is not valid; it is WIDTHxHEIGHT"),
        ({"devices": "0,0"}, "devices=0,0 is not valid"),
        ({"timeout_s": 0}, "timeout_s=0 is not valid; it is a number of seconds above 0"),
        ({"env": "MY_DEVICE,HF_TOKEN"}, "keys are not passed on"),
        ({"width": 512}, "give width and height together, or size alone"),
        ({"steps": 4, "num_inference_steps": 5}, "steps is given twice"),
    ],
)
def test_invalid_options_are_reported(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse(given, SPEC)
    assert message in str(raised.value)


def test_presets_of_papers_are_valid_options() -> None:
    preset = kind("fepbench").preset("paper-open")["painter_args"]
    options = parse(preset, SPEC)
    assert (options.drawing["steps"], options.drawing["guidance"]) == (50, 5.0)
    assert options.size("landscape") == (1920, 1080)
    assert parse(kind("mmmg").preset("paper-diffusion")["painter_args"], SPEC).drawing == {"guidance": 3.5}


@given(
    st.dictionaries(st.sampled_from(sorted(READERS)), st.none() | st.booleans() | st.integers() | st.text(max_size=9))
)
def test_any_option_values_are_accepted_or_refused(given: dict[str, Any]) -> None:
    try:
        options = parse(given, SPEC)
    except UsageError:
        return
    assert set(options.drawing).isdisjoint(EXECUTION)
    assert options.batch_size >= 1
    assert all(side > 0 for aspect in SIZES for side in options.size(aspect))
