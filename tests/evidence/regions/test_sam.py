"""SAM 2.1's counter on a tiny model with random weights, beside the released procedure written down step by step."""

from __future__ import annotations

import copy
import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from limner.core.errors import UsageError
from limner.core.evidence import TextLine, is_paper_backend
from limner.evidence.regions import open_counter
from limner.evidence.regions.boxes import MaskSettings
from limner.evidence.regions.sam import FILES, LARGE, ONLY_2_1, SamCounter, model_name, weights_folder
from tests.needs import need

LENIENT = MaskSettings(points=6, iou=0.5, stability=0.8, nms=0.9, crop_nms=0.9)
"""So that many of a random model's masks remain to be compared."""


@pytest.fixture(scope="module")
def torch() -> Iterator[Any]:
    there = find_spec("torch") is not None and find_spec("transformers") is not None
    need("gpu", there, "torch and transformers are not installed: pip install 'limner[gpu]'")
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def model(torch: Any) -> Any:
    from benchmarks.regions_model import make

    return make(tiny=True)


@pytest.fixture(scope="module")
def saved(model: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sam2")
    model.save_pretrained(folder)
    return folder


def drawing(width: int = 160, height: int = 120) -> Image.Image:
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((10, 10, width // 3, height // 2), fill="navy")
    draw.ellipse((width // 2, height // 3, width - 20, height - 8), fill="orange", outline="black", width=3)
    return image


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "size"),
    [
        (LENIENT, (160, 120)),
        (MaskSettings(points=6, iou=0.5, stability=0.7, nms=0.9, layers=0, refine=False), (90, 200)),
    ],
    ids=["as released", "without crops or refinement"],
)
def test_masks_match_released_procedure(model: Any, settings: MaskSettings, size: tuple[int, int]) -> None:
    from benchmarks.regions_port import Port

    from limner.evidence.regions.masks import MaskGenerator

    port = Port(copy.deepcopy(model), settings, "cpu")
    ours = MaskGenerator(copy.deepcopy(model), settings, batch=7)
    wanted = port.boxes(drawing(*size))
    assert ours.boxes(drawing(*size)) == wanted
    assert ours.passed == port.passed >= len(wanted) >= 3


@pytest.mark.slow
def test_compiled_decoder_gives_same_masks_and_is_named(
    torch: Any, model: Any, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from limner.evidence.regions.masks import MaskGenerator

    made: list[Any] = []

    def compile(function: Any, **how: Any) -> Any:
        made.append(how)
        return function

    monkeypatch.setattr(torch, "compile", compile)
    plain, compiled = (MaskGenerator(copy.deepcopy(model), LENIENT, compiled=how) for how in (False, True))
    assert compiled.boxes(drawing()) == plain.boxes(drawing())
    assert made == [{"dynamic": False}, {"dynamic": True}, {"dynamic": False}, {"dynamic": False}]
    assert SamCounter(str(saved), compiled=True).name == f"{SamCounter(str(saved)).name} compiled"
    with pytest.raises(UsageError, match="compiled must be true or false"):
        SamCounter(str(saved), compiled="yes")  # type: ignore[arg-type]


@pytest.mark.slow
def test_counting_works_end_to_end_from_folder(torch: Any, saved: Path) -> None:
    counter = open_counter(f"sam2.1:{saved}", points=6, iou=0.5, stability=0.8, device="cpu", batch=50)
    counter.check()
    first = counter.count(drawing(), [])
    assert first.lines == 0
    assert first.masks == first.count >= 1
    word = TextLine("word", ((0.0, 0.0), (160.0, 0.0), (160.0, 120.0), (0.0, 120.0)), 0.99)
    covered = counter.count(drawing(), [word])
    assert (covered.masks, covered.lines) == (0, 1)
    assert covered.boxes == ((0, 0, 160, 120),)
    model, weights, settings, precision = counter.name.split("/")
    assert (model, len(weights), precision) == ("sam2-other", 12, "float32")
    assert "points=6" in settings
    assert not is_paper_backend("regions", counter.name)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["RGBA", "L", "P", "1"])
def test_images_of_every_mode_and_tiny_size_are_accepted(torch: Any, saved: Path, mode: str) -> None:
    counter = SamCounter(str(saved), MaskSettings(points=2), device="cpu")
    assert counter.count(drawing().convert(mode), []).count >= 0
    assert counter.count(Image.new(mode, (1, 1)), []).count >= 0


def test_video_weights_are_read_completely(torch: Any, tmp_path: Path) -> None:
    from benchmarks.regions_model import TINY
    from transformers import Sam2VideoConfig, Sam2VideoModel

    memory: dict[str, Any] = dict.fromkeys(
        (
            "memory_attention_hidden_size", "memory_encoder_hidden_size", "mask_downsampler_embed_dim",
            "memory_fuser_embed_dim", "memory_attention_feed_forward_hidden_size",
        ),
        32,
    )  # fmt: skip
    config = Sam2VideoConfig(**TINY, **memory, memory_encoder_output_channels=16, image_size=128)
    whole = Sam2VideoModel(config)
    whole.save_pretrained(tmp_path)
    assert model_name(tmp_path) == "sam2.1-other"
    read = SamCounter(str(tmp_path), device="cpu")._load()._model.state_dict()
    assert len(read) > 200
    for name, wanted in whole.state_dict().items():
        assert name not in read or torch.equal(read[name], wanted), name


def test_incomplete_weights_are_rejected(torch: Any, saved: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    parts = load_file(saved / FILES[1])
    del parts["mask_decoder.iou_token.weight"]
    save_file(parts, tmp_path / FILES[1], metadata={"format": "pt"})
    (tmp_path / FILES[0]).write_text((saved / FILES[0]).read_text())
    with pytest.raises(UsageError, match=r"lacks 1 tensors, such as mask_decoder\.iou_token\.weight"):
        SamCounter(str(tmp_path), device="cpu").count(drawing(), [])


def weights_file(path: Path, *names: str) -> None:
    header = json.dumps({name: {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for name in names}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header)


def model_folder(folder: Path, hidden: int, blocks: list[int], *names: str) -> Path:
    folder.mkdir()
    encoder = {"hidden_size": hidden, "blocks_per_stage": blocks}
    (folder / FILES[0]).write_text(json.dumps({"vision_config": {"backbone_config": encoder}}))
    weights_file(folder / FILES[1], *names)
    return folder


def test_only_large_2_1_weights_with_release_settings_match_paper(torch: Any, tmp_path: Path) -> None:
    large = model_folder(tmp_path / "large", 144, [2, 6, 36, 4], ONLY_2_1)
    assert is_paper_backend("regions", SamCounter(str(large), device="cpu").name)
    assert not is_paper_backend("regions", SamCounter(str(large), device="cpu", precision="bfloat16").name)
    assert SamCounter(str(large)).name.startswith("sam2.1-large/")
    assert "/release/" in SamCounter(str(large)).name
    assert not is_paper_backend("regions", SamCounter(str(large), MaskSettings(points=16)).name)
    older = model_folder(tmp_path / "older", 144, [2, 6, 36, 4], "other")
    assert (model_name(older), is_paper_backend("regions", SamCounter(str(older)).name)) == ("sam2-large", False)
    small = model_folder(tmp_path / "small", 96, [1, 2, 11, 2], ONLY_2_1)
    assert (model_name(small), is_paper_backend("regions", SamCounter(str(small)).name)) == ("sam2.1-small", False)


def test_repository_in_hub_cache_is_found(torch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UsageError, match=f"hf download {LARGE} config.json model.safetensors"):
        open_counter("sam2.1-large").check()
    place = tmp_path / f"models--{LARGE.replace('/', '--')}"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text("abc")
    (place / "snapshots").mkdir()
    folder = model_folder(place / "snapshots" / "abc", 144, [2, 6, 36, 4], ONLY_2_1)
    assert weights_folder(LARGE) == folder
    counter = open_counter("sam2.1-large", device="cpu")
    counter.check()
    assert is_paper_backend("regions", counter.name)


def test_missing_file_folder_or_gpu_is_usage_error(torch: Any, tmp_path: Path) -> None:
    (tmp_path / FILES[0]).write_text("{}")
    with pytest.raises(UsageError, match=r"lacks model\.safetensors"):
        open_counter(f"sam2.1:{tmp_path}").check()
    with pytest.raises(UsageError, match="no such folder"):
        open_counter(f"sam2.1:{tmp_path}/none/at all").check()
    if not torch.cuda.is_available():
        with pytest.raises(UsageError, match="finds no GPU"):
            SamCounter(str(model_folder(tmp_path / "there", 1, [1])), device="cuda").check()


def test_message_without_torch_names_extra(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None; sys.modules['transformers'] = None\n"
        "import importlib.util as util; found = util.find_spec\n"
        "util.find_spec = lambda name: None if name in ('torch', 'transformers') else found(name)\n"
        "from limner.evidence.regions import open_counter\n"
        "from limner.core.errors import UsageError\n"
        "try:\n    open_counter('sam2.1-large').check()\nexcept UsageError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "torch and transformers: pip install 'limner[gpu]'" in done.stdout


def test_fast_gelu_is_accurate_enough_for_bfloat16(torch: Any) -> None:
    from limner.evidence.regions.masks import _gelu

    values = torch.linspace(-12, 12, 20001)
    exact = torch.nn.functional.gelu(values.double())
    assert float((_gelu(values) - exact).abs().max()) < 1e-6
    assert _gelu(values.bfloat16()).dtype is torch.bfloat16
