"""The fonts of a picture: the bundled ones first, then the machine's for missing characters only."""

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
"""As wide as Arial, Times New Roman and Courier New, which most files are laid out for."""
BUNDLED = (*FACES, FONT_PATH)
"""The last one, DejaVu Sans, has most letters and signs that the others lack."""

PREFERRED = (
    "NotoSansCJK-Regular*", "NotoSansCJK*Regular*", "NotoSansSC-Regular*", "NotoSansSC*", "SourceHanSans*Regular*",
    "wqy-microhei*", "wqy-zenhei*", "DroidSansFallback*", "PingFang*", "Hiragino Sans GB*", "STHeiti*", "msyh.*",
    "simsun.*", "NotoSansMath*", "NotoSansSymbols*", "DejaVu*", "NotoColorEmoji*", "Noto*-Regular*",
)  # fmt: skip
"""Fonts of the machine that are tried first, in this order: those for Chinese, Japanese and Korean, then symbols."""

_FOLDERS = (
    "/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts", "/System/Library/Fonts",
    "/Library/Fonts", "~/Library/Fonts", "C:/Windows/Fonts",
)  # fmt: skip
_SUFFIXES = frozenset((".ttf", ".otf", ".ttc", ".otc"))
_MOST_FILES = 5000


def missing_glyphs(svg: str) -> set[str]:
    """Return the characters in the picture's text that no font here can show: blanks or boxes are drawn.

    Raises:
        BadSvg: The picture itself is not taken.
    """
    from .clean import clean_with_notes

    return choose(clean_with_notes(svg).words)[1]


def choose(words: str) -> tuple[list[Path], set[str]]:
    """Return the font files to write `words` with, in order, and the characters that none of them has.

    Files beyond the bundled ones come only where a character needs them, so that a picture without such characters
    looks the same on every machine.
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
    """Return whether the character is drawn at all: not blanks, controls, joiners and the like."""
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp") and not (
        0xFE00 <= ord(char) <= 0xFE0F or 0xE0100 <= ord(char) <= 0xE01EF
    )


def _others() -> tuple[Path, ...]:
    own = os.environ.get("LIMNER_FONTS", "")
    return _find(tuple(part for part in own.split(os.pathsep) if part))


@lru_cache(maxsize=4)
def _find(own: tuple[str, ...]) -> tuple[Path, ...]:
    """Return font files in the order they are tried: one's own, the preferred ones, then all by name."""
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
    """Return the code points that a font file has letters for; none where it cannot be read as a font.

    Of a collection the first font is read: the others differ in the shapes of letters.
    """
    from fontTools.ttLib import TTFont

    try:
        with TTFont(path, fontNumber=0, lazy=True) as font:
            return frozenset(font.getBestCmap() or ())
    except Exception:  # Broken fonts raise errors of every kind; one on the machine must not stop a drawing.
        return frozenset()
