"""Which characters a font file has: its character map, read without loading the font."""

from __future__ import annotations

import struct
from functools import lru_cache
from pathlib import Path

_MOST = 8 * 2**20
"""Bytes of one character map; larger ones are no real font's."""


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
                    if tag == b"cmap" and length <= _MOST:
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
