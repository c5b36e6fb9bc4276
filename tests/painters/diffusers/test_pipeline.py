"""The pipeline's side, on tiny pipelines of four families with random weights, on the CPU."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from limner.painters.batched import DrawFailure, DrawItem, RawDrawing
from limner.painters.diffusers import DrawSettings, PipelineSetup

pytestmark = pytest.mark.slow
FAMILIES = ("flux", "sd3", "sdxl", "qwen")
HOW = DrawSettings(32, 32, steps=2)
PROMPTS = ("A cell.", "The water cycle with all of its arrows", "x", "Leaf 7")
ITEMS = tuple(DrawItem(prompt, seed) for seed, prompt in enumerate(PROMPTS))
_open: dict[str, Any] = {}
OpenPipeline = Callable[..., Any]


@pytest.fixture
def open_pipeline(pipeline: Callable[[str], Path]) -> OpenPipeline:
    def opened(family: str, dtype: str = "float32", **load: Any) -> Any:
        folder = pipeline(family)
        from limner.painters.diffusers.pipeline import Pipeline

        return Pipeline.open(PipelineSetup(str(folder), dtype=dtype, device="cpu", **load))

    return opened


@pytest.fixture
def loaded(open_pipeline: OpenPipeline, request: pytest.FixtureRequest) -> Any:
    if request.param not in _open:
        _open[request.param] = open_pipeline(request.param)
    return _open[request.param]


every_family = pytest.mark.parametrize("loaded", FAMILIES, indirect=True)
one_family = pytest.mark.parametrize("loaded", ["sdxl"], indirect=True)


def draw(loaded: Any, items: tuple[DrawItem, ...] = ITEMS, how: DrawSettings = HOW) -> list[NDArray[np.int16]]:
    found = list(loaded.draw(how, items))
    assert [type(each) for each in found] == [RawDrawing] * len(items), found
    assert [each.place for each in found] == list(range(len(items)))
    return [pixels(each) for each in found]


def pixels(drawn: RawDrawing) -> NDArray[np.int16]:
    wide, high = drawn.size
    return np.frombuffer(drawn.pixels, np.uint8).reshape(high, wide, 3).astype(np.int16)


def png(shade: int, size: tuple[int, int] = (40, 24)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, (shade, 255 - shade, 0)).save(buffer, "PNG")
    return buffer.getvalue()


class Short:
    """A pipeline with memory for so many images at once."""

    def __init__(self, pipe: Any, room: int, error: Exception) -> None:
        self._pipe, self._room, self._error = pipe, room, error
        self.batches: list[int] = []
        self.__class__.__name__ = type(pipe).__name__

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pipe, name)

    def __call__(self, prompt: list[str], num_inference_steps: int = 2, width: int = 32, height: int = 32, **more: Any):  # type: ignore[no-untyped-def]
        self.batches.append(len(prompt))
        if len(prompt) > self._room:
            raise self._error
        return self._pipe(prompt=prompt, num_inference_steps=num_inference_steps, width=width, height=height, **more)


@every_family
def test_seed_determines_drawing(loaded: Any) -> None:
    first, again = draw(loaded, ITEMS[:1]), draw(loaded, ITEMS[:1])
    assert np.array_equal(first[0], again[0])
    assert first[0].shape == (32, 32, 3)
    assert first[0].std() > 5
    other_seed, other_prompt = draw(loaded, (DrawItem(PROMPTS[0], 9),)), draw(loaded, (DrawItem("Quite another", 0),))
    assert not np.array_equal(first[0], other_seed[0])
    assert not np.array_equal(first[0], other_prompt[0])


@every_family
def test_batch_draws_same_as_single_items(loaded: Any) -> None:
    """Not to the last bit: sums are taken in another order, which may tip a value to the next of 256 levels."""
    together = draw(loaded)
    alone = [draw(loaded, (item,))[0] for item in ITEMS]
    for one, other in zip(together, alone, strict=True):
        assert np.abs(one - other).max() <= 1
        assert (one != other).mean() < 0.01
    assert np.abs(together[0] - together[1]).max() > 10


@every_family
def test_editing_starts_from_picture_by_strength(loaded: Any) -> None:
    how = DrawSettings(32, 32, steps=4, strength=0.5, editing=True)
    items = tuple(DrawItem(PROMPTS[0], 0, (png(shade),)) for shade in (0, 250))
    dark, light = draw(loaded, items, how)
    assert dark.shape == (32, 32, 3)
    assert np.abs(dark - light).max() > 4
    assert np.abs(draw(loaded, items[1:], how)[0] - light).max() <= 1
    # Little strength leaves more of the picture than much does: noise alone would know nothing of it.
    weak, strong = (draw(loaded, items, DrawSettings(32, 32, steps=8, strength=s, editing=True)) for s in (0.2, 1.0))
    assert np.abs(weak[0] - weak[1]).mean() > np.abs(strong[0] - strong[1]).mean()


@one_family
def test_intervening_edit_does_not_change_drawing(loaded: Any) -> None:
    before = draw(loaded, ITEMS[:1])
    draw(loaded, (DrawItem(PROMPTS[0], 0, (png(9),)),), DrawSettings(32, 32, steps=4, strength=0.5, editing=True))
    assert np.array_equal(draw(loaded, ITEMS[:1])[0], before[0])


@every_family
def test_options_reach_the_pipeline(loaded: Any) -> None:
    usual = draw(loaded, ITEMS[:1])[0]
    assert not np.array_equal(usual, draw(loaded, ITEMS[:1], DrawSettings(32, 32, steps=3))[0])
    assert not np.array_equal(usual, draw(loaded, ITEMS[:1], DrawSettings(32, 32, steps=2, guidance=60))[0])
    assert draw(loaded, ITEMS[:1], DrawSettings(48, 32, steps=2))[0].shape == (32, 48, 3)
    (drawn,) = loaded.draw(DrawSettings(35, 33, steps=2, guidance=2.0), ITEMS[:1])
    expected: dict[str, Any] = {"width": 32, "height": 32, "num_inference_steps": 2}
    # Qwen-Image calls it something else, and leaves it out where there is no negative prompt.
    by_family = {"QwenImagePipeline": {"true_cfg_scale": 2.0, "negative_prompt": " "}}
    expected |= by_family.get(type(loaded.pipe).__name__, {"guidance_scale": 2.0})
    assert (drawn.size, drawn.about["arguments"]) == ((32, 32), expected)
    assert drawn.about["pipeline"] == type(loaded.pipe).__name__
    assert set(drawn.about) == {"pipeline", "arguments", "device", "diffusers", "torch", "batch"}


@pytest.mark.parametrize("loaded", ["sdxl", "qwen"], indirect=True)
def test_negative_prompt_applies_to_each_item_of_batch(loaded: Any) -> None:
    plain, avoiding = (
        draw(loaded, ITEMS, DrawSettings(32, 32, steps=2, guidance=60)),
        draw(loaded, ITEMS, DrawSettings(32, 32, steps=2, guidance=60, negative_prompt="blurred")),
    )
    assert not any(np.array_equal(one, other) for one, other in zip(plain, avoiding, strict=True))


@one_family
def test_option_the_pipeline_lacks_is_reported(loaded: Any) -> None:
    from limner.workers import WorkerUnfit

    with pytest.raises(WorkerUnfit, match="StableDiffusionXLPipeline takes no max_sequence_length"):
        list(loaded.draw(DrawSettings(32, 32, max_sequence_length=99), ITEMS))


@one_family
def test_image_too_large_for_memory_is_fault_with_advice(loaded: Any) -> None:
    import torch

    from limner.painters.diffusers.pipeline import Pipeline

    short = Pipeline(
        Short(loaded.pipe, 0, torch.OutOfMemoryError("CUDA out of memory.")), PipelineSetup("", device="cpu")
    )
    found: list[Any] = list(short.draw(HOW, ITEMS[:2]))
    assert [(each.kind, each.place) for each in found] == [("local", 0), ("local", 1)]
    assert found[0].detail == "out of memory on cpu for one image of 32 x 32; try offload=model or another size"


@one_family
def test_undrawable_item_does_not_affect_its_batch(loaded: Any) -> None:
    how = DrawSettings(32, 32, steps=4, strength=0.5, editing=True)
    items = (DrawItem("a", 0, (png(3),)), DrawItem("b", 1, (b"no image",)), DrawItem("c", 2, (png(3), png(4))))
    found = list(loaded.draw(how, items))
    assert [type(each) for each in found] == [RawDrawing, DrawFailure, DrawFailure]
    assert [(each.place, each.kind) for each in found[1:]] == [(1, "image"), (2, "local")]
    assert "starts from one picture, not from 2" in found[2].detail


def output(images: Any, unsafe: Any = None) -> Any:
    return SimpleNamespace(images=np.asarray(images), nsfw_content_detected=unsafe)


class Fixed:
    """A pipeline that gives what it is told to."""

    vae_scale_factor = 8

    def __init__(self, found: Any) -> None:
        self.found: Any = found
        self.given: Any = None

    def set_progress_bar_config(self, **_: Any) -> None: ...

    def to(self, _: str) -> None: ...

    def __call__(
        self, prompt: Any, generator: Any, output_type: str, negative_prompt: Any = None, true_cfg_scale: float = 4.0
    ) -> Any:
        self.given = {"negative_prompt": negative_prompt, "true_cfg_scale": true_cfg_scale}
        return self.found


def fixed(found: Any) -> Any:
    from limner.painters.diffusers.pipeline import Pipeline

    return Pipeline(Fixed(found), PipelineSetup("", dtype="float16", device="cpu"))


def test_nan_pixels_are_a_fault_and_not_a_black_image(pipeline: Any) -> None:
    blank = np.zeros((2, 8, 8, 3))
    blank[1, 4, 4, 0] = np.nan
    good, bad = fixed(output(blank)).draw(HOW_PLAIN, ITEMS[:2])
    assert isinstance(good, RawDrawing)
    assert (bad.kind, bad.detail) == ("image", "float16 overflowed; try dtype=float32")


def test_image_withheld_by_the_pipeline_is_a_refusal(pipeline: Any) -> None:
    good, bad = fixed(output(np.zeros((2, 8, 8, 3)), [False, True])).draw(HOW_PLAIN, ITEMS[:2])
    assert isinstance(good, RawDrawing)
    assert bad.kind == "refusal"


HOW_PLAIN = DrawSettings(8, 8)


def test_guidance_is_passed_under_pipeline_parameter_name(pipeline: Any) -> None:
    """Qwen-Image calls it ``true_cfg_scale``, and leaves it out where there is no negative prompt."""
    loaded = fixed(output(np.zeros((1, 8, 8, 3))))
    list(loaded.draw(DrawSettings(8, 8, guidance=5.0), ITEMS[:1]))
    assert loaded.pipe.given == {"negative_prompt": [" "], "true_cfg_scale": 5.0}
    list(loaded.draw(DrawSettings(8, 8, negative_prompt="blur"), ITEMS[:1]))
    assert loaded.pipe.given == {"negative_prompt": ["blur"], "true_cfg_scale": 4.0}


def test_pipeline_without_image_input_is_reported(pipeline: Any) -> None:
    loaded = fixed(output(np.zeros((1, 8, 8, 3))))
    (failed,) = loaded.draw(DrawSettings(8, 8, editing=True), (DrawItem("a", 0, (png(1),)),))
    assert failed.kind == "bad_request"
    assert failed.detail.startswith("Fixed has no image-to-image form: ")


class Editor(Fixed):
    """An editor by nature: all its pictures belong to one drawing."""

    def __call__(self, prompt: Any, generator: Any, output_type: str, image: Any = None) -> Any:  # type: ignore[override]
        self.given = {"prompt": prompt, "image": image}
        return self.found


def test_an_editor_takes_all_pictures_of_one_drawing(pipeline: Any) -> None:
    from limner.painters.diffusers.pipeline import Pipeline

    loaded = Pipeline(Editor(output(np.zeros((1, 8, 8, 3)))), PipelineSetup("", device="cpu"))
    items = (DrawItem("one", 0, (png(1),)), DrawItem("two", 1, (png(1), png(2))))
    assert [type(each) for each in loaded.draw(DrawSettings(8, 8, editing=True), items)] == [RawDrawing, RawDrawing]
    assert loaded.pipe.given["prompt"] == ["two"]
    assert [picture.size for picture in loaded.pipe.given["image"]] == [(40, 24), (40, 24)]
    list(loaded.draw(DrawSettings(8, 8, editing=True), items[:1]))
    assert loaded.pipe.given["image"].size == (40, 24)


def test_image_to_image_pipeline_also_draws_from_text(pipeline: Callable[[str], Path], tmp_path: Path) -> None:
    folder = pipeline("sdxl")
    from importlib import import_module

    from limner.painters.diffusers.pipeline import Pipeline

    diffusers: Any = import_module("diffusers")
    diffusers.StableDiffusionXLImg2ImgPipeline.from_pretrained(folder).save_pretrained(tmp_path / "other")
    loaded = Pipeline.open(PipelineSetup(str(tmp_path / "other"), dtype="float32", device="cpu"))
    assert type(loaded.pipe).__name__ == "StableDiffusionXLImg2ImgPipeline"
    plain = Pipeline.open(PipelineSetup(str(folder), dtype="float32", device="cpu"))
    assert np.array_equal(draw(loaded)[1], draw(plain)[1])


@pytest.mark.parametrize("offload", ["model"])
def test_offloading_has_no_effect_on_cpu(open_pipeline: OpenPipeline, offload: str) -> None:
    assert np.array_equal(draw(open_pipeline("sdxl", offload=offload))[0], draw(open_pipeline("sdxl"))[0])


def test_dtype_of_weights_is_kept_when_editing(open_pipeline: OpenPipeline) -> None:
    import torch

    loaded = open_pipeline("sdxl", dtype="bfloat16")
    draw(loaded, (DrawItem("a", 0, (png(1),)),), DrawSettings(32, 32, steps=4, strength=0.5, editing=True))
    assert {loaded.pipe.unet.dtype, loaded.pipe.vae.dtype, loaded.form(editing=True).unet.dtype} == {torch.bfloat16}
    assert not np.array_equal(draw(loaded)[0], draw(open_pipeline("sdxl"))[0])


@pytest.mark.parametrize("loaded", ["flux"], indirect=True)
def test_editing_pipeline_draws_and_edits(loaded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import import_module

    from limner.painters.diffusers.pipeline import Pipeline

    module = import_module("diffusers.pipelines.flux.pipeline_flux_kontext")
    # It would scale pictures to a million pixels, for which this takes too long.
    monkeypatch.setattr(module, "PREFERRED_KONTEXT_RESOLUTIONS", [(64, 64)])
    kontext = Pipeline(module.FluxKontextPipeline(**loaded.pipe.components), PipelineSetup("", device="cpu"))
    items = tuple(DrawItem("Mend it.", 0, (png(shade),)) for shade in (0, 250))
    dark, light = draw(kontext, items, DrawSettings(64, 64, steps=2, editing=True))
    assert dark.shape == (64, 64, 3)
    assert not np.array_equal(dark, light)
    assert draw(kontext, ITEMS[:1], DrawSettings(64, 64, steps=2))[0].shape == (64, 64, 3)
