"""The fonts for a picture: the bundled ones, and the machine's for characters that these lack."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path

from ...core.images import FONT_PATH

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
    from .clean import clean_with_notes

    return choose(clean_with_notes(svg).words)[1]


def choose(words: str) -> tuple[list[Path], set[str]]:
    """Return the font files for drawing `words`, in order, and the characters that none of them has.

    The machine's own fonts are added only if a character needs them, so that all other pictures look equal on every
    machine.
    """
    lacking = {ord(char) for char in words if _is_drawn(char)} - characters(FACES[0]) - characters(FONT_PATH)
    chosen = list(BUNDLED)
    for path in _others() if lacking else ():
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


def _others() -> tuple[Path, ...]:
    own = os.environ.get("LIMNER_FONTS", "")
    return _find(tuple(part for part in own.split(os.pathsep) if part))


@lru_cache(maxsize=4)
def _find(own: tuple[str, ...]) -> tuple[Path, ...]:
    """Return font files in the order in which to try them: the user's own, the preferred ones, all others by name."""
    first = sorted(file for place in own for file in _files(Path(place).expanduser()))
    others = {file for place in _FOLDERS for file in _files(Path(place).expanduser())} - set(first)
    return (*first, *sorted(others, key=_rank))


def _files(place: Path) -> Iterator[Path]:
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
