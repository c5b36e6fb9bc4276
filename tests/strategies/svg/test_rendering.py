"""SVG to PNG: sizes, grounds, limits."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from limner.core.images import inspect
from limner.strategies.svg import BadSvg, SvgLimits, render, rendering
from limner.strategies.svg.document import LIMITS
from limner.workers import once
from tests.strategies.svg.hostile import HEAD
from tests.workers import plain

WIDE = '<svg viewBox="0 0 200 100"><rect width="100" height="100" fill="red"/></svg>'


def opened(png: bytes) -> Image.Image:
    return Image.open(io.BytesIO(png)).convert("RGBA")


@pytest.mark.parametrize(
    ("side", "wanted"),
    [(1024, (1024, 512)), (300, (300, 150)), (1, (1, 1)), (333, (333, 166)), (335, (335, 168))],
)
def test_rendered_size(side: int, wanted: tuple[int, int]) -> None:
    info = inspect(render(WIDE, side))
    assert (info.format, info.width, info.height) == ("PNG", *wanted)


def test_rendered_pixels() -> None:
    image = opened(render(WIDE, 20))
    assert image.getpixel((4, 4)) == (255, 0, 0, 255)
    assert image.getpixel((15, 4)) == (255, 255, 255, 255)


def test_svg_is_cleaned_before_rendering() -> None:
    with pytest.raises(BadSvg, match="image"):
        render(f'{HEAD}<image href="/etc/hostname" width="9" height="9"/></svg>')


def test_lengths_with_units_are_rendered() -> None:
    image = opened(render('<svg viewBox="0 0 96 96"><rect width="36pt" height="0.5in"/></svg>', 96))
    assert image.getpixel((46, 46)) == (0, 0, 0, 255)
    assert image.getpixel((50, 20)) == (255, 255, 255, 255)
    assert image.getpixel((20, 50)) == (255, 255, 255, 255)


def test_memory_is_limited() -> None:
    with pytest.raises(BadSvg, match="128 MiB of memory"):
        render(
            f'{HEAD}<g opacity=".5"><rect width="100" height="100"/></g></svg>', 4096, limits=SvgLimits(memory=2**27)
        )


@pytest.mark.slow
def test_time_is_limited() -> None:
    heavy = HEAD + '<g opacity=".5"><rect width="100" height="100"/></g>' * 2000 + "</svg>"
    with pytest.raises(BadSvg, match="seconds"):
        render(heavy, limits=SvgLimits(seconds=1))


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Puts another program in the renderer's place."""

    def put(code: str) -> None:
        path = tmp_path / "renderer.py"
        path.write_text(
            f"def renderer(**_):\n    def render(svg, options):\n        {code}\n    return render\n", "utf-8"
        )
        monkeypatch.setattr(rendering, "_FACTORY", f"{path}:renderer")

    return put


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("return 'no such thing'", "refuses it: no such thing"),
        ("import sys; sys.exit(3)", "broke down"),
        ("import os; os.abort()", "broke down"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "broke down"),
        ("raise MemoryError", "memory"),
        ("1 / 0", "broke down"),
    ],
)
def test_crashed_renderer_is_reported(child: Callable[[str], None], code: str, message: str) -> None:
    child(code)
    with pytest.raises(BadSvg, match=message):
        render(WIDE)


@pytest.mark.slow
def test_hanging_renderer_is_stopped(child: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    child("import threading; threading.Event().wait()")
    monkeypatch.setattr(rendering, "_PATIENCE", 0.5)
    with pytest.raises(BadSvg, match=r"longer than 0\.5 seconds"):
        render(WIDE, limits=SvgLimits(seconds=1))


def test_worker_does_not_inherit_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-0123456789abcdef")
    monkeypatch.setattr(rendering, "_FACTORY", f"{plain.__file__}:environ")
    found = once(rendering.recipe(LIMITS), {}, (), 60.0).value
    assert set(found) <= {"LC_CTYPE"}  # Which Python sets itself.


def test_worker_sets_limits_before_reading_picture() -> None:
    place, name = rendering._FACTORY.rsplit(":", 1)
    code = "import runpy, sys; runpy.run_path(sys.argv[1])[sys.argv[2]]('/none', 2**30, 4); import resource as r; "
    code += "print(*(r.getrlimit(w)[0] for w in (r.RLIMIT_AS, r.RLIMIT_CPU, r.RLIMIT_CORE, r.RLIMIT_FSIZE)))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, place, name], stdout=subprocess.PIPE, check=True)
    assert done.stdout.split() == [b"1073741824", b"4", b"0", b"0"]
