"""SVG to PNG with resvg: always cleaned first, in a process of its own, with bounded time and memory."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from .cleaning import Cleaned, cleaned
from .fonts import MONOSPACE, SANS, SERIF, choose
from .limits import LIMITS, BadSvg, Limits

SIDE = 1024
"""Pixels of the longer side where nothing else is asked for."""

_CHILD = Path(__file__).with_name("child.py")
_PATIENCE = 10
"""The clock runs this many times longer than the processor may: a busy machine makes no picture bad."""


def render(
    svg: str | bytes,
    width: int | None = None,
    height: int | None = None,
    *,
    background: str | None = "#ffffff",
    limits: Limits = LIMITS,
) -> bytes:
    """The picture as PNG bytes.

    The proportions stay: with both sides given it fits inside them, with none the longer side has `SIDE` pixels.

    Args:
        svg: The file; it is cleaned here, whether it has been before or not.
        width: Pixels from left to right.
        height: Pixels from top to bottom.
        background: What lies under the picture; nothing leaves it transparent.
        limits: What it may hold and use.

    Raises:
        BadSvg: It cannot be cleaned, the renderer refuses it, or it needs too much time or memory.
    """
    found = cleaned(svg, limits)
    wide, high = _pixels(found, width, height, limits)
    sans = ("font_family", "sans_serif_family", "cursive_family", "fantasy_family")
    options: dict[str, object] = {
        "background": background,
        "dpi": 96.0,
        "skip_system_fonts": True,
        "font_files": [str(path) for path in choose(found.words)[0]],
        **dict.fromkeys(sans, SANS),
        "serif_family": SERIF,
        "monospace_family": MONOSPACE,
    }
    return _in_child(_sized(found.svg, wide, high), options, limits)


def _pixels(found: Cleaned, width: int | None, height: int | None, limits: Limits) -> tuple[int, int]:
    for side in (width, height):
        if side is not None and not 1 <= side <= limits.rendered_side:
            raise ValueError(f"{side} pixels: a side has from 1 to {limits.rendered_side:,}")
    if width is None and height is None:
        width = height = min(SIDE, limits.rendered_side)
    scales = [side / own for side, own in ((width, found.width), (height, found.height)) if side is not None]
    wide, high = (max(1, round(own * min(scales))) for own in (found.width, found.height))
    if max(wide, high) > limits.rendered_side:
        raise BadSvg(f"{wide} x {high} pixels; at most {limits.rendered_side:,} a side")
    return wide, high


def _sized(svg: str, wide: int, high: int) -> str:
    """The file with these sides: asked for another size, the renderer would round first and scale afterwards."""
    sides = {"width": wide, "height": high}
    head, end, rest = svg.partition(">")
    head = re.sub(r' (width|height)="[^"]*"', lambda side: f' {side[1]}="{sides[side[1]]}"', head)
    return head + end + rest


def _in_child(svg: str, options: dict[str, object], limits: Limits) -> bytes:
    library = find_spec("resvg_py")
    if library is None or library.origin is None:
        raise ModuleNotFoundError("resvg-py is not installed: pip install resvg-py")
    task = {
        "memory": limits.memory,
        "seconds": limits.seconds,
        "library": str(Path(library.origin).parents[1]),
        "options": options,
    }
    kept = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(_CHILD)],
            input=json.dumps(task).encode() + b"\n" + svg.encode(),
            capture_output=True,
            env={**kept, "RUST_BACKTRACE": "0"},
            timeout=limits.seconds * _PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BadSvg(f"it takes longer than {limits.seconds * _PATIENCE} seconds to render: make it simpler") from None
    if done.returncode == 0:
        return done.stdout
    raise BadSvg(_reason(done.returncode, done.stderr.decode("utf-8", "replace"), limits))


def _reason(code: int, said: str, limits: Limits) -> str:
    if code == 3:
        return f"the renderer refuses it: {said.strip()[:300]}"
    if -code in (getattr(signal, "SIGXCPU", 0), getattr(signal, "SIGKILL", 0)):
        return f"it takes more than {limits.seconds} seconds of processor time to render: make it simpler"
    if "allocation" in said or "MemoryError" in said:
        return f"it takes more than {limits.memory // 2**20:,} MiB of memory to render: make it simpler"
    return f"the renderer broke down (exit code {code}): make it simpler"
