"""The fonts a picture is written in: the bundled ones first, then the machine's, and only for what is missing.

Which characters a file has letters for is read from its character map.
"""

from __future__ import annotations

import os
import struct
import unicodedata
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path

from ..core.fonts import PATH

SANS, SERIF, MONOSPACE = "Arimo", "Tinos", "Cousine"
FACES = tuple(
    Path(__file__).parent / "faces" / f"{name}.ttf"
    for name in (
        "Arimo-Regular", "Arimo-Bold", "Arimo-Italic", "Arimo-BoldItalic", "Tinos-Regular", "Tinos-Bold",
        "Tinos-Italic", "Tinos-BoldItalic", "Cousine-Regular",
    )
)  # fmt: skip
"""As wide as Arial, Times New Roman and Courier New, which most files are laid out for."""
BUNDLED = (*FACES, PATH)
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
_MOST_MAP_BYTES = 8 * 2**20
"""Of one character map; larger ones are no real font's."""


def missing_glyphs(svg: str) -> set[str]:
    """The characters in the picture's text that no font here can show; they would be left blank or drawn as boxes.

    Raises:
        BadSvg: The picture itself is not taken.
    """
    from .clean import clean_with_notes

    return choose(clean_with_notes(svg).words)[1]


def choose(words: str) -> tuple[list[Path], set[str]]:
    """The font files to write `words` with, in order, and the characters that none of them has.

    Files beyond the bundled ones come only where a character needs them, so that a picture without such characters
    looks the same on every machine.
    """
    lacking = {ord(char) for char in words if _is_drawn(char)} - characters(FACES[0]) - characters(PATH)
    chosen = list(BUNDLED)
    for path in _others() if lacking else ():
        if has := lacking & characters(path):
            chosen.append(path)
            lacking -= has
            if not lacking:
                break
    return chosen, {chr(code) for code in lacking}


def _is_drawn(char: str) -> bool:
    """Whether the character is drawn at all: not blanks, controls, joiners and the like."""
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp") and not (
        0xFE00 <= ord(char) <= 0xFE0F or 0xE0100 <= ord(char) <= 0xE01EF
    )


def _others() -> tuple[Path, ...]:
    own = os.environ.get("LIMNER_FONTS", "")
    return _find(tuple(part for part in own.split(os.pathsep) if part))


@lru_cache(maxsize=4)
def _find(own: tuple[str, ...]) -> tuple[Path, ...]:
    """Font files in the order they are tried: one's own, the preferred ones, then all by name."""
    first = sorted(file for place in own for file in _files(Path(place).expanduser()))
    found = {file for place in _FOLDERS for file in _files(Path(place).expanduser())} - set(first)
    return (*first, *sorted(found, key=_rank))


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
    """The code points that the file has letters for; none where it cannot be read as a font."""
    found: set[int] = set()
    try:
        with path.open("rb") as file:
            head = file.read(12)
            starts = [0]
            if head[:4] == b"ttcf":
                count = min(struct.unpack(">I", head[8:12])[0], 64)
                starts = list(struct.unpack(f">{count}I", file.read(4 * count)))
            tables = set()
            for start in starts:
                file.seek(start + 4)
                (count,) = struct.unpack(">H6x", file.read(8))
                for tag, _, offset, length in struct.iter_unpack(">4sIII", file.read(16 * count)):
                    if tag == b"cmap" and length <= _MOST_MAP_BYTES:
                        tables.add((offset, length))
            for offset, length in sorted(tables):
                file.seek(offset)
                found |= _table(file.read(length))
    except (OSError, struct.error, IndexError):
        return frozenset()
    return frozenset(found)


def _table(data: bytes) -> set[int]:
    (count,) = struct.unpack_from(">H", data, 2)
    # 3/10 and 0/4 hold all of Unicode, 3/1 and 0/3 its first plane; others are for other codes.
    maps = {}
    for platform, encoding, offset in struct.iter_unpack(">HHI", data[4 : 4 + 8 * count]):
        if (platform, encoding) in ((3, 10), (3, 1)) or (platform == 0 and encoding != 5):
            maps[offset] = struct.unpack_from(">H", data, offset)[0]
    found: set[int] = set()
    for offset, kind in maps.items():
        if kind == 12:
            found |= _ranges(data, offset)
        elif kind == 4:
            found |= _segments(data, offset)
        elif kind == 6:
            first, count = struct.unpack_from(">HH", data, offset + 6)
            letters = struct.unpack_from(f">{count}H", data, offset + 10)
            found |= {first + at for at, letter in enumerate(letters) if letter}
    return found


def _ranges(data: bytes, offset: int) -> set[int]:
    (count,) = struct.unpack_from(">I", data, offset + 12)
    found: set[int] = set()
    for start, end, letter in struct.iter_unpack(">III", data[offset + 16 : offset + 16 + 12 * count]):
        found.update(range(start + (letter == 0), min(end, 0x10FFFF) + 1))
    return found


def _segments(data: bytes, offset: int) -> set[int]:
    count = struct.unpack_from(">H", data, offset + 6)[0] // 2
    at = offset + 14
    ends = struct.unpack_from(f">{count}H", data, at)
    starts = struct.unpack_from(f">{count}H", data, at + 2 * count + 2)
    shifts = struct.unpack_from(f">{count}H", data, at + 4 * count + 2)
    leaps_at = at + 6 * count + 2
    leaps = struct.unpack_from(f">{count}H", data, leaps_at)
    found: set[int] = set()
    for n, (start, end, shift, leap) in enumerate(zip(starts, ends, shifts, leaps, strict=True)):
        for code in range(start, min(end, 0xFFFE) + 1):
            if leap:
                (letter,) = struct.unpack_from(">H", data, leaps_at + 2 * n + leap + 2 * (code - start))
                letter = (letter + shift) & 0xFFFF if letter else 0
            else:
                letter = (code + shift) & 0xFFFF
            if letter:
                found.add(code)
    return found
