"""Pipelines as training teams use them: LoRA weights, schedulers, quantised parts, code of one's own."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.errors import UsageError
from limner.painters.batched import DrawItem, RawDrawing
from limner.painters.diffusers import DrawSettings, PipelineSetup, options, weights
from limner.workers import WorkerUnfit
from tests.needs import need

HOW = DrawSettings(32, 32, steps=2)


def lora(pipe: Any, folder: Path, seed: int = 1, name: str = "pytorch_lora_weights.safetensors") -> Path:
    """LoRA weights for a tiny FLUX, far from naught, saved as a trainer saves them."""
    import torch

    peft: Any = import_module("peft")
    diffusers: Any = import_module("diffusers")
    pipe.transformer.add_adapter(peft.LoraConfig(r=2, lora_alpha=2, target_modules=["to_q", "to_k", "to_v"]))
    torch.manual_seed(seed)
    for key, value in pipe.transformer.named_parameters():
        if "lora_" in key:
            torch.nn.init.normal_(value, std=3.0)
    layers = peft.get_peft_model_state_dict(pipe.transformer)
    diffusers.FluxPipeline.save_lora_weights(folder, transformer_lora_layers=layers, weight_name=name)
    return folder / name


@pytest.fixture
def flux(pipeline: Callable[[str], Path]) -> Path:
    return pipeline("flux")


def drawn(load: PipelineSetup, prompt: str = "A cell.") -> Any:
    from limner.painters.diffusers.pipeline import Pipeline

    (found,) = Pipeline.open(load).draw(HOW, [DrawItem(prompt, 7)])
    assert isinstance(found, RawDrawing), found
    return np.frombuffer(found.pixels, np.uint8)


def setup(folder: Path, **more: Any) -> PipelineSetup:
    return PipelineSetup(str(folder), dtype="float32", device="cpu", **more)


@pytest.mark.slow
def test_lora_weights_change_the_drawing_by_their_scale(flux: Path, tmp_path: Path) -> None:
    from tests.painters.diffusers import tiny

    one, two = (lora(tiny.flux(), tmp_path / str(seed), seed) for seed in (1, 2))
    plain = drawn(setup(flux))
    assert (drawn(setup(flux, loras=((str(one), 0.0),))) == plain).all()
    whole, half = (drawn(setup(flux, loras=((str(one), scale),))) for scale in (1.0, 0.5))
    both = drawn(setup(flux, loras=((str(one), 1.0), (str(two), 1.0))))
    found = [plain, whole, half, both]
    assert all((a != b).any() for place, a in enumerate(found) for b in found[place + 1 :])
    assert (drawn(setup(flux, loras=[[str(one), 1.0]])) == whole).all()


@pytest.mark.slow
def test_different_scheduler_changes_drawing(pipeline: Callable[[str], Path]) -> None:
    folder = pipeline("sdxl")
    assert (drawn(setup(folder, scheduler="DDIMScheduler")) != drawn(setup(folder))).any()


@pytest.mark.slow
def test_a_quantised_pipeline_draws_nearly_the_same(flux: Path) -> None:
    need("torch", find_spec("torchao") is not None, "torchao is not installed; pip install 'limner[quantize]'")
    plain, quantised = drawn(setup(flux)), drawn(setup(flux, quantize="torchao-int8"))
    assert (plain != quantised).any()
    assert np.abs(plain.astype(int) - quantised.astype(int)).mean() < 4


def test_unknown_or_unsuitable_scheduler_is_reported(flux: Path, tmp_path: Path) -> None:
    from limner.painters.diffusers.pipeline import Pipeline

    with pytest.raises(WorkerUnfit, match="diffusers has no scheduler NobodyScheduler"):
        Pipeline.open(setup(flux, scheduler="NobodyScheduler"))
    with pytest.raises(WorkerUnfit, match=r"DDPMScheduler does not fit FluxPipeline; these do: .*FlowMatchEuler"):
        Pipeline.open(setup(flux, scheduler="DDPMScheduler"))


def test_missing_quantisation_package_is_reported(monkeypatch: pytest.MonkeyPatch, flux: Path) -> None:
    from limner.painters.diffusers import pipeline as loading

    monkeypatch.setattr(loading, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    with pytest.raises(WorkerUnfit, match=r"needs bitsandbytes: .*limner\[quantize\]"):
        loading.quantization("bitsandbytes-4bit", "bfloat16")


@pytest.mark.slow
def test_loading_arguments_of_pipeline(monkeypatch: pytest.MonkeyPatch, flux: Path) -> None:
    """Splitting and remote code need GPUs or a hub: check the arguments passed to diffusers instead."""
    from limner.painters.diffusers import pipeline as loading

    arguments: dict[str, Any] = {}
    diffusers: Any = import_module("diffusers")
    monkeypatch.setattr(diffusers.DiffusionPipeline, "from_pretrained", lambda source, **how: arguments.update(how))
    loading.load_pipeline(setup(flux, split=True, custom_pipeline="mine.py", trusted=True))
    assert (arguments["device_map"], arguments["custom_pipeline"], arguments["trust_remote_code"]) == (
        "balanced",
        "mine.py",
        True,
    )
    arguments.clear()
    loading.load_pipeline(setup(flux))
    assert set(arguments) == {"torch_dtype"}


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("a.safetensors", [("a.safetensors", 1.0)]),
        ("a.safetensors:0.8,b/c:1.5", [("a.safetensors", 0.8), ("b/c", 1.5)]),
        (["C:/x/y.safetensors", "z:-0.5"], [("C:/x/y.safetensors", 1.0), ("z", -0.5)]),
    ],
)
def test_lora_paths_and_scales_are_parsed(given: Any, read: list[tuple[str, float]]) -> None:
    assert options.parse({"lora": given}, "diffusers/x").loras == read


@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[A-Za-z./_-][\w./ -]*[\w./-]", fullmatch=True),
            st.sampled_from([1.0, 0.5, -1.25, 0.0, 3.0]),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_lora_path_and_scale_is_parsed_back(loras: list[tuple[str, float]]) -> None:
    word = ",".join(f"{path}:{scale:g}" for path, scale in loras)
    assert options.parse({"lora": word}, "diffusers/x").loras == loras


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lora": ":0.5"}, "PATH or PATH:SCALE"),
        ({"scheduler": "a b"}, "DPMSolverMultistep"),
        ({"quantize": "int3"}, "bitsandbytes-4bit"),
        ({"custom_pipeline": "x.py"}, "to trust it, add trust_remote_code=true"),
        ({"split": True, "devices": "0,1"}, "CUDA_VISIBLE_DEVICES"),
    ],
)
def test_invalid_options_are_reported(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        options.parse(given, "diffusers/x")


def test_lora_is_identified_by_contents_not_path(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    file = tmp_path / "one" / "w.safetensors"
    file.write_bytes(b"weights")
    (tmp_path / "two.safetensors").write_bytes(b"weights")
    path, sha256 = weights.find_lora(str(tmp_path / "one"))
    assert (path, sha256) == (file, weights.find_lora(str(tmp_path / "two.safetensors"))[1])
    file.write_bytes(b"further trained")
    assert weights.find_lora(str(file))[1] != sha256
    (tmp_path / "one" / "v.safetensors").write_bytes(b"")
    with pytest.raises(UsageError, match=r"2 \.safetensors files; name one of them"):
        weights.find_lora(str(tmp_path / "one"))
    with pytest.raises(UsageError, match="no such file"):
        weights.find_lora(str(tmp_path / "nowhere.safetensors"))
    with pytest.raises(UsageError, match="no such file or folder"):
        weights.find_lora("nobody/nothing")


def test_custom_code_is_identified_by_contents(tmp_path: Path) -> None:
    (file := tmp_path / "mine.py").write_text("a = 1")
    before = weights.code_identity(str(file))
    file.write_text("a = 2")
    assert weights.code_identity(str(file)) != before
    assert weights.code_identity("lpw_stable_diffusion") == "lpw_stable_diffusion"
