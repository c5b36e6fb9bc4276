"""Rendering of SVG to PNG with resvg, after cleaning, in a separate worker with limited time and memory; its fonts."""

from __future__ import annotations

import json
import os
import re
import signal
import unicodedata
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from ...core.images import FONT_PATH, MAX_BYTES
from ...workers import JobFailure, Recipe, WorkerDeath, WorkerUnfit, once
from .clean import clean_with_notes
from .document import LIMITS, BadSvg, SvgLimits

SIDE = 1024
"""The default length of the longer side in pixels."""

_FACTORY = f"{Path(__file__).with_name('worker.py')}:renderer"
_PATIENCE = 10
"""Wall-clock seconds allowed per second of processor time, so that rendering does not fail on a busy machine."""


def render(svg: str | bytes, side: int = SIDE, limits: SvgLimits = LIMITS) -> bytes:
    """Return the picture on white as PNG bytes.

    Args:
        svg: The file, which need not be cleaned yet.
        side: The pixels of the longer side.
        limits: The limits of the file and its rendering.

    Raises:
        BadSvg: It cannot be cleaned, the renderer refuses it, or it needs too much time or memory.
    """
    picture = clean_with_notes(svg, limits)
    scale = side / max(picture.width, picture.height)
    wide, high = (max(1, round(own * scale)) for own in (picture.width, picture.height))
    sans = ("font_family", "sans_serif_family", "cursive_family", "fantasy_family")
    options: dict[str, object] = {
        "background": "#ffffff",
        "dpi": 96.0,
        "skip_system_fonts": True,
        "font_files": [str(path) for path in choose(picture.words)[0]],
        **dict.fromkeys(sans, SANS),
        "serif_family": SERIF,
        "monospace_family": MONOSPACE,
    }
    return _in_worker(_sized(picture.svg, wide, high), options, limits)


def _sized(svg: str, wide: int, high: int) -> str:
    """Return the file with this width and height; if the renderer changed the size, it would round before scaling."""
    sides = {"width": wide, "height": high}
    head, end, rest = svg.partition(">")
    head = re.sub(r' (width|height)="[^"]*"', lambda side: f' {side[1]}="{sides[side[1]]}"', head)
    return head + end + rest


def recipe(limits: SvgLimits) -> Recipe:
    """Return the recipe of a worker that renders one picture, without an environment, in limited time and memory."""
    library = find_spec("resvg_py")
    if library is None or library.origin is None:
        raise ModuleNotFoundError("resvg-py is not installed: pip install resvg-py")
    args = {"library": str(Path(library.origin).parents[1]), "memory": limits.memory, "seconds": limits.seconds}
    patience = limits.seconds * _PATIENCE
    return Recipe("resvg", _FACTORY, json.dumps(args), start_s=patience, isolated=True, most=MAX_BYTES)


def _in_worker(svg: str, options: dict[str, object], limits: SvgLimits) -> bytes:
    patience = limits.seconds * _PATIENCE
    try:
        result = once(recipe(limits), {"options": options}, (svg.encode(),), patience)
    except WorkerDeath as death:
        if death.late:
            raise BadSvg(f"it takes longer than {patience} seconds to render: make it simpler") from None
        raise BadSvg(_reason(death.code, death.heard, limits)) from None
    except (JobFailure, WorkerUnfit) as error:
        raise BadSvg(_reason(None, str(error), limits)) from None
    if not result.bodies:
        raise BadSvg(f"the renderer refuses it: {str(result.value).strip()[:300]}")
    return result.bodies[0]


def _reason(code: int | None, message: str, limits: SvgLimits) -> str:
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"it takes more than {limits.seconds} seconds of processor time to render: make it simpler"
    if any(word in message for word in ("allocation", "MemoryError", "out of memory")):
        return f"it takes more than {limits.memory // 2**20:,} MiB of memory to render: make it simpler"
    how = "" if code is None else f" (exit code {code})"
    return f"the renderer broke down{how}: make it simpler"


SANS, SERIF, MONOSPACE = "Arimo", "Tinos", "Cousine"
FACES = tuple(
    Path(__file__).parent / "faces" / f"{name}.ttf"
    for name in (
        "Arimo-Regular", "Arimo-Bold", "Arimo-Italic", "Arimo-BoldItalic", "Tinos-Regular", "Tinos-Bold",
        "Tinos-Italic", "Tinos-BoldItalic", "Cousine-Regular",
    )
)  # fmt: skip
"""Fonts with the widths of Arial, Times New Roman and Courier New, which most files are designed for."""
BUNDLED = (*FACES, FONT_PATH)
"""All bundled fonts; the last one, DejaVu Sans, has most letters and signs that the others lack."""

PREFERRED = (
    "NotoSansCJK-Regular*", "NotoSansCJK*Regular*", "NotoSansSC-Regular*", "NotoSansSC*", "SourceHanSans*Regular*",
    "wqy-microhei*", "wqy-zenhei*", "DroidSansFallback*", "PingFang*", "Hiragino Sans GB*", "STHeiti*", "msyh.*",
    "simsun.*", "NotoSansMath*", "NotoSansSymbols*", "DejaVu*", "NotoColorEmoji*", "Noto*-Regular*",
)  # fmt: skip
"""Patterns of the machine's fonts to try first, in order: Chinese, Japanese and Korean, then symbols."""

_FOLDERS = (
    "/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts", "/System/Library/Fonts",
    "/Library/Fonts", "~/Library/Fonts", "C:/Windows/Fonts",
)  # fmt: skip
_SUFFIXES = frozenset((".ttf", ".otf", ".ttc", ".otc"))
_MOST_FILES = 5000


def missing_glyphs(svg: str) -> set[str]:
    """Return the characters in the picture's text that no font has, so that blanks or boxes are drawn instead.

    Raises:
        BadSvg: The picture cannot be cleaned.
    """
    return choose(clean_with_notes(svg).words)[1]


def choose(words: str) -> tuple[list[Path], set[str]]:
    """Return the font files for drawing `words`, in order, and the characters that none of them has.

    The machine's own fonts are added only if a character needs them, so that all other pictures look equal on every
    machine.
    """
    lacking = {ord(char) for char in words if _is_drawn(char)} - characters(FACES[0]) - characters(FONT_PATH)
    chosen = list(BUNDLED)
    for path in _other_fonts() if lacking else ():
        if has := lacking & characters(path):
            chosen.append(path)
            lacking -= has
            if not lacking:
                break
    return chosen, {chr(code) for code in lacking}


def _is_drawn(char: str) -> bool:
    """Return whether a character is visible, unlike blanks, control characters, joiners and the like."""
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp") and not (
        0xFE00 <= ord(char) <= 0xFE0F or 0xE0100 <= ord(char) <= 0xE01EF
    )


def _other_fonts() -> tuple[Path, ...]:
    own = os.environ.get("LIMNER_FONTS", "")
    return _find_fonts(tuple(part for part in own.split(os.pathsep) if part))


@lru_cache(maxsize=4)
def _find_fonts(own: tuple[str, ...]) -> tuple[Path, ...]:
    """Return font files in the order in which to try them: the user's own, the preferred ones, all others by name."""
    first = sorted(file for place in own for file in _font_files(Path(place).expanduser()))
    others = {file for place in _FOLDERS for file in _font_files(Path(place).expanduser())} - set(first)
    return (*first, *sorted(others, key=_rank))


def _font_files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
        return
    every: Iterable[Path] = place.rglob("*") if place.is_dir() else ()
    for count, file in enumerate(every):
        if count >= _MOST_FILES:
            return
        if file.suffix.lower() in _SUFFIXES:
            yield file


def _rank(file: Path) -> tuple[int, bool, str]:
    place = next((at for at, pattern in enumerate(PREFERRED) if fnmatch(file.name, pattern)), len(PREFERRED))
    lean = any(word in file.stem.lower() for word in ("bold", "italic", "oblique", "light", "black", "thin"))
    return place, lean, str(file)


@lru_cache(maxsize=512)
def characters(path: Path) -> frozenset[int]:
    """Return the code points that a font file has glyphs for; none if it cannot be read as a font.

    Of a font collection, only the first font is read: the others differ only in the shapes of glyphs.
    """
    from fontTools.ttLib import TTFont

    try:
        with TTFont(path, fontNumber=0, lazy=True) as font:
            return frozenset(font.getBestCmap() or ())
    except Exception:  # Broken fonts raise errors of any kind; one on the machine must not stop a drawing.
        return frozenset()
