"""Near-duplicate pictures: a perceptual hash of what is drawn, and an index of hashes a few bits apart. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image

SIDE, LOW, BANDS = 64, 16, 16
"""The picture is brought to SIDE x SIDE; its LOW x LOW lowest frequencies make 256 bits, in bands of 16."""
WIDTH = LOW * LOW // BANDS


def picture_hashes(image: Image) -> list[str]:
    """Two hashes: of what is drawn without its margins, and of all with them; a copy keeps one or the other."""
    grey = image.convert("L")
    return [_hash(_without_margins(grey)), _hash(grey)]


def _hash(grey: Image) -> str:
    """64 hexadecimal digits: which low frequencies are above their median."""
    from PIL import Image as Module
    from scipy.fft import dctn

    small = grey.resize((SIDE, SIDE), Module.Resampling.BOX)
    waves: Any = dctn(np.asarray(small, dtype=np.float64), norm="ortho")[: LOW + 1, : LOW + 1]
    # Without the first row and column: they say how bright the margins are, not what is drawn.
    low = waves[1:, 1:].ravel()
    bits = low > np.median(low)
    return np.packbits(bits).tobytes().hex()


def _without_margins(grey: Image) -> Image:
    small = grey.copy()
    small.thumbnail((512, 512))
    values = np.asarray(small, dtype=np.int16)
    ground = int(np.median(np.concatenate([values[0], values[-1], values[:, 0], values[:, -1]])))
    drawn = np.abs(values - ground) > 40
    rows, columns = np.flatnonzero(drawn.any(axis=1)), np.flatnonzero(drawn.any(axis=0))
    if rows.size < 8 or columns.size < 8:
        return grey
    x, y = grey.width / small.width, grey.height / small.height
    box = (int(columns[0] * x), int(rows[0] * y), int((columns[-1] + 1) * x), int((rows[-1] + 1) * y))
    return grey.crop(box)


def distance(one: str, other: str) -> int:
    """By how many bits two hashes differ.

    >>> distance("ff", "0f")
    4
    """
    return (int(one, 16) ^ int(other, 16)).bit_count()


class NearIndex:
    """Finds hashes within so many bits, by multi-index hashing: some band of 16 bits must then differ little.

    Two hashes at most `bits` apart agree in one of the bands but for `bits // BANDS` bits, so only the buckets around
    each band are looked at.
    """

    def __init__(self, bits: int) -> None:
        self.bits = bits
        masks = [0]
        for n in range(1, bits // BANDS + 1):
            masks += [sum(1 << bit for bit in chosen) for chosen in combinations(range(WIDTH), n)]
        self._masks = masks
        self._buckets: list[dict[int, list[str]]] = [{} for _ in range(BANDS)]
        self._hashes: dict[str, int] = {}

    def add(self, id: str, hash: str) -> None:
        """Put a hash in."""
        self._hashes[id] = int(hash, 16)
        for band, value in enumerate(_bands(int(hash, 16))):
            self._buckets[band].setdefault(value, []).append(id)

    def near(self, hash: str) -> list[tuple[int, str]]:
        """Distance and id of all that are within reach, nearest first."""
        value = int(hash, 16)
        seen = {
            id
            for band, part in enumerate(_bands(value))
            for mask in self._masks
            for id in self._buckets[band].get(part ^ mask, ())
        }
        found = ((((self._hashes[id] ^ value).bit_count()), id) for id in seen)
        return sorted(one for one in found if one[0] <= self.bits)


def _bands(value: int) -> Iterator[int]:
    for _ in range(BANDS):
        yield value & ((1 << WIDTH) - 1)
        value >>= WIDTH


def first_of_each(ranked: Sequence[tuple[str, Sequence[str]]], bits: int) -> dict[str, tuple[str, int]]:
    """Of pictures in order of merit (id, hashes), those that are near one before them: id -> (that one, distance)."""
    indexes, found = [NearIndex(bits) for _ in ranked[0][1]] if ranked else [], dict[str, tuple[str, int]]()
    for id, hashes in ranked:
        near = sorted(one for index, hash in zip(indexes, hashes, strict=True) for one in index.near(hash))
        if near:
            found[id] = near[0][1], near[0][0]
            continue
        for index, hash in zip(indexes, hashes, strict=True):
            index.add(id, hash)
    return found
