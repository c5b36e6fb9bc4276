"""SVG to PNG: sizes, grounds, limits."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from limner.images import inspect
from limner.svg import BadSvg, Limits, render, rendering
from tests.svg.hostile import HEAD

WIDE = '<svg viewBox="0 0 200 100"><rect width="100" height="100" fill="red"/></svg>'


def opened(png: bytes) -> Image.Image:
    return Image.open(io.BytesIO(png)).convert("RGBA")


@pytest.mark.parametrize(
    ("width", "height", "wanted"),
    [
        (None, None, (1024, 512)),
        (300, None, (300, 150)),
        (None, 300, (600, 300)),
        (300, 300, (300, 150)),
        (600, 100, (200, 100)),
        (1, None, (1, 1)),
        (333, None, (333, 166)),
        (335, None, (335, 168)),
    ],
)
def test_size(width: int | None, height: int | None, wanted: tuple[int, int]) -> None:
    info = inspect(render(WIDE, width, height))
    assert (info.format, info.width, info.height) == ("PNG", *wanted)


def test_pixels() -> None:
    image = opened(render(WIDE, 20))
    assert image.getpixel((4, 4)) == (255, 0, 0, 255)
    assert image.getpixel((15, 4)) == (255, 255, 255, 255)
    assert opened(render(WIDE, 20, background=None)).getpixel((15, 4)) == (0, 0, 0, 0)
    assert opened(render(WIDE, 20, background="#00ff00")).getpixel((15, 4)) == (0, 255, 0, 255)


@pytest.mark.parametrize("side", [0, -5, 5000])
def test_sides_out_of_reach(side: int) -> None:
    with pytest.raises(ValueError, match="pixels") as told:
        render(WIDE, side)
    assert not isinstance(told.value, BadSvg)


def test_too_large_by_its_proportions() -> None:
    with pytest.raises(BadSvg, match="8192 x 4096 pixels"):
        render(WIDE, None, 4096)


def test_it_is_always_cleaned() -> None:
    with pytest.raises(BadSvg, match="image"):
        render(f'{HEAD}<image href="/etc/hostname" width="9" height="9"/></svg>')


def test_lengths_in_points_count() -> None:
    image = opened(render('<svg viewBox="0 0 96 96"><rect width="36pt" height="0.5in"/></svg>', 96))
    assert image.getpixel((46, 46)) == (0, 0, 0, 255)
    assert image.getpixel((50, 20)) == (255, 255, 255, 255)
    assert image.getpixel((20, 50)) == (255, 255, 255, 255)


def test_memory_is_limited() -> None:
    with pytest.raises(BadSvg, match="128 MiB of memory"):
        render(f'{HEAD}<g opacity=".5"><rect width="100" height="100"/></g></svg>', 4096, limits=Limits(memory=2**27))


def test_time_is_limited() -> None:
    heavy = HEAD + '<g opacity=".5"><rect width="100" height="100"/></g>' * 2000 + "</svg>"
    with pytest.raises(BadSvg, match="seconds"):
        render(heavy, limits=Limits(seconds=1))


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Puts another program in the renderer's place."""

    def put(code: str) -> None:
        path = tmp_path / "child.py"
        path.write_text(code, "utf-8")
        monkeypatch.setattr(rendering, "_CHILD", path)

    return put


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import sys; sys.stderr.write('no such thing'); sys.exit(3)", "refuses it: no such thing"),
        ("import os; os.abort()", "broke down"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "broke down"),
        ("raise MemoryError", "memory"),
        ("1 / 0", "broke down"),
    ],
)
def test_a_renderer_that_breaks_down(child: Callable[[str], None], code: str, told: str) -> None:
    child(code)
    with pytest.raises(BadSvg, match=told):
        render(WIDE)


def test_a_renderer_that_hangs(child: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    child("import threading; threading.Event().wait()")
    monkeypatch.setattr(rendering, "_PATIENCE", 0.5)
    with pytest.raises(BadSvg, match=r"longer than 0\.5 seconds"):
        render(WIDE, limits=Limits(seconds=1))


def test_the_child_gets_nothing_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    real = subprocess.run

    def run(words: list[str], **options: Any) -> Any:
        seen.update(options, words=words)
        return real(words, **options)

    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setattr(subprocess, "run", run)
    render(WIDE)
    assert set(seen["env"]) <= {"RUST_BACKTRACE", "SYSTEMROOT"}
    assert "-I" in seen["words"]
