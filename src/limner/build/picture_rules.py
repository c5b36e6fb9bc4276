"""Rules on pictures: detail, watermarks, cut edges, labels, near duplicates. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.evidence import TextLine

if TYPE_CHECKING:
    from PIL.Image import Image

OWNERS = (
    "shutterstock", "alamy", "dreamstime", "istock", "istockphoto", "gettyimages", "depositphotos", "adobestock",
    "bigstock", "freepik", "vecteezy", "pngtree", "canstockphoto", "vectorstock", "stockphoto", "watermark",
    "sampleonly", "previewonly", "previewcopy", "donotcopy", "unlicensed", "proofonly",
)  # fmt: skip
"""Names of agencies and other words in watermarks; OCR may read a letter or two of them wrongly."""
ALIKE = 80
"""The similarity (0-100) from which two readings count as the same word."""
SIGNS = re.compile(
    r"©|\(c\)\s*(?:19|20)\d\d|\bcopyright\b|all\s+rights\s+reserved|www\.\w|\b[\w-]{3,}\.(?:com|net|org)\b", re.I
)
SHARES = (0.2, 0.3, 0.4, 0.5, 0.65, 0.8)
"""The fractions of its side to which a picture is shrunk and restored."""
TILED, READINGS = 3, 3
"""The number of times that a word must occur in the light tones to count as a pattern over the picture, if labels with
it are fewer; a word that occurs more often counts if it is read in so many ways, since labels are read alike."""
MARKED, CUT = 5, 75
"""The fewest letters of such a word, and the similarity (0-100) of its parts, which the edges cut off."""
EDGE_SIDE, DRAWN, DEEP, FRAME, WIDE = 512, 40, 0.02, 0.6, 0.3
"""For cut edges: the side in pixels to which a picture is shrunk; the difference from the background that counts as
drawn; the depth that a stroke must reach, as a share of the side; the share of an edge above which it is covered by a
frame; the largest share of an edge that one stroke may cover."""


def detail(image: Image) -> float:
    """Return the share of its side (0 to 1) to which a picture can be shrunk and restored without loss.

    An enlarged picture has no more detail than the original.
    """
    from PIL import Image as Module

    grey = image.convert("L")
    if max(grey.size) > 1024:
        grey.thumbnail((1024, 1024), Module.Resampling.LANCZOS)
    whole = np.asarray(grey, dtype=np.float32)
    edges = float(whole.std())
    if edges < 1.0:
        return 0.0  # The picture is blank.

    def lossless(share: float) -> bool:
        size = (max(1, round(grey.width * share)), max(1, round(grey.height * share)))
        back = grey.resize(size, Module.Resampling.LANCZOS).resize(grey.size, Module.Resampling.BICUBIC)
        return float(np.sqrt(np.mean((np.asarray(back, dtype=np.float32) - whole) ** 2))) < 0.06 * edges

    low, high = 0, len(SHARES)  # If one share is lossless, so are all larger ones.
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if lossless(SHARES[middle]) else (middle + 1, high)
    return SHARES[low] if low < len(SHARES) else 1.0


def find_watermark(lines: Sequence[str], faint: Sequence[str]) -> str | None:
    """Return the words of a watermark among lines of text, or None.

    Args:
        lines: The text that OCR reads in the picture.
        faint: The text that OCR reads in the picture's light tones; see `light_tones`.
    """
    for some, least in ((lines, ALIKE + 5), (faint, ALIKE - 5)):
        for line in some:
            if owner := _owner(line, least):
                return owner
    for line in lines:
        if sign := SIGNS.search(line):
            return sign[0]
    return _pattern([_letters(line) for line in faint], [_letters(line) for line in lines])


def _owner(line: str, alike: int) -> str | None:
    """Return the owner that a word of a line, or two words in a row, names; labels of a drawing are seldom faint."""
    from rapidfuzz import fuzz

    words = [_letters(word) for word in line.split()]
    for owner in OWNERS:
        like = _letters(owner)
        # A short name with a wrong letter could be any word.
        least = alike if len(like) > 7 else 100
        pairs = [first + second for first, second in pairwise(words)] if len(like) > 7 else []
        for word in (*words, *pairs):
            if abs(len(word) - len(like)) <= 2 and fuzz.ratio(like, word, score_cutoff=least):
                return owner
    return None


def _pattern(faint: Sequence[str], plain: Sequence[str]) -> str | None:
    """Return a word that is repeated in the light tones, possibly cut off, and is not just a repeated label."""
    words, labels = ([word for word in some if len(word) >= MARKED - 1] for some in (faint, plain))
    for word in words:
        alike = [other for other in words if _is_part(word, other) and 0.5 <= len(other) / len(word) < 1.5]
        if len(word) < MARKED or len(alike) < TILED:
            continue
        if len(alike) > sum(_is_part(word, other) for other in labels):
            return word
        if len(alike) > TILED and len(set(alike)) >= READINGS:
            return word
    return None


def _is_part(word: str, other: str) -> bool:
    from rapidfuzz import fuzz

    return fuzz.partial_ratio(word, other, score_cutoff=CUT) > 0


def _letters(line: str) -> str:
    # OCR confuses m and rn.
    return "".join(ch for ch in line.casefold() if ch.isalpha()).replace("m", "rn")


STROKE, INK, FAINT = 1 / 60, 110, 60
"""For faint print: the widest stroke as a share of the longer side, the contrast from which a stroke is ink, and that
which is shown as black."""


def light_tones(image: Image) -> Image:
    """Return only the faint strokes of a picture, in black on white, so that OCR reads print laid over the drawing.

    A stroke is darker than its surroundings in some colour, whatever it lies on.
    """
    from PIL import Image as Module
    from scipy import ndimage

    values = np.asarray(image.convert("RGB"), dtype=np.int16)
    width = max(5, round(max(image.size) * STROKE)) | 1
    ground = ndimage.grey_closing(values, size=(width, width, 1))
    contrast = (ground - values).max(axis=2)
    # Ink is erased with its grey outlines, so that the drawing itself is not read again.
    ink = ndimage.binary_dilation(contrast > INK, iterations=1)
    shown = 255 - np.clip(np.where(ink, 0, contrast) * 255 // FAINT, 0, 255)
    return Module.fromarray(shown.astype(np.uint8)).convert("RGB")


UNREAD = 3.0
"""The ratio of sides from which a region is a line of text; OCR also skips icons and single signs."""


def unread_lines(regions: Sequence[Sequence[float]], lines: Sequence[TextLine]) -> int:
    """Return the number of lines of text that OCR sees but cannot read, for example in a script that it does not know.

    >>> unread_lines([(0, 0, 90, 10), (0, 40, 12, 50)], [])
    1
    """
    count = 0
    for left, top, right, bottom in regions:
        x, y, sides = (left + right) / 2, (top + bottom) / 2, sorted((right - left, bottom - top))
        known = any(line.bounds[0] <= x <= line.bounds[2] and line.bounds[1] <= y <= line.bounds[3] for line in lines)
        count += not known and sides[1] >= UNREAD * max(1.0, sides[0])
    return count


def text_labels(lines: Sequence[str]) -> list[str]:
    """Return the lines with a word of three letters or more, in lower case and without repetitions."""
    return list(dict.fromkeys(line.casefold() for line in lines if re.search(r"[^\W\d_]{3}", line)))


def cut_edges(image: Image) -> list[int]:
    """Return how often the drawing crosses each edge: top, bottom, left, right.

    Anything along most of an edge is a frame or the background; a mark that does not reach inside was not cut off.
    """
    from PIL import Image as Module

    grey = image.convert("L")
    if max(grey.size) > EDGE_SIDE:
        grey.thumbnail((EDGE_SIDE, EDGE_SIDE), Module.Resampling.BOX)
    values = np.asarray(grey, dtype=np.int16)
    ground = int(np.median(np.concatenate([values[0], values[-1], values[:, 0], values[:, -1]])))
    drawn = np.abs(values - ground) > DRAWN
    return [_crossings(side) for side in (drawn, drawn[::-1], drawn.T, drawn.T[::-1])]


def _crossings(drawn: Any) -> int:
    """Return the number of runs of drawn pixels in the first row that continue inside."""
    first, deep = drawn[0], max(2, round(DEEP * drawn.shape[0]))
    if len(drawn) <= deep or first.mean() > FRAME:
        return 0
    steps = np.flatnonzero(np.diff(np.concatenate([[0], first.astype(np.int8), [0]])))
    inside = drawn[deep - 1]
    return sum(
        end - start < WIDE * len(first) and bool(inside[max(0, start - deep) : end + deep].any())
        for start, end in zip(steps[::2], steps[1::2], strict=True)
    )


SIDE, LOW = 64, 16
"""A picture is scaled to SIDE x SIDE; its LOW x LOW lowest frequencies give 256 bits."""


def picture_hashes(image: Image) -> list[str]:
    """Return two hashes, without and with margins; a copy of the picture shares at least one of them."""
    grey = image.convert("L")
    return [_hash(_without_margins(grey)), _hash(grey)]


def _hash(grey: Image) -> str:
    """Return 64 hexadecimal digits whose bits say which low frequencies are above their median."""
    from PIL import Image as Module
    from scipy.fft import dctn

    small = grey.resize((SIDE, SIDE), Module.Resampling.BOX)
    waves: Any = dctn(np.asarray(small, dtype=np.float64), norm="ortho")[: LOW + 1, : LOW + 1]
    # Without the first row and column, which depend on the brightness of the margins, not on the drawing.
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


def distance(first: str, second: str) -> int:
    """Return the number of bits in which two hashes differ.

    >>> distance("ff", "0f")
    4
    """
    return (int(first, 16) ^ int(second, 16)).bit_count()


def near_duplicates(ranked: Sequence[tuple[str, Sequence[str]]], bits: int) -> dict[str, tuple[str, int]]:
    """Return id -> (id of a better picture, distance) of near duplicates; `ranked` has the best pictures first."""
    duplicates = dict[str, tuple[str, int]]()
    kept, words = list[str](), np.zeros((len(ranked), len(ranked[0][1]) if ranked else 0, 4), np.uint64)
    for id, hashes in ranked:
        own = np.array([np.frombuffer(bytes.fromhex(hash), np.uint64) for hash in hashes])
        distances = np.bitwise_count(words[: len(kept)] ^ own).sum(axis=2).min(axis=1)
        if kept and (least := int(distances.min())) <= bits:
            duplicates[id] = min(kept[n] for n in np.flatnonzero(distances == least)), least
        else:
            words[len(kept)] = own
            kept.append(id)
    return duplicates
