"""Pictures made or altered by rules, for controls: blank, typeset, with labels erased or exchanged.

Pure functions of images: they read and write no files, and equal arguments give equal pixels.
"""

from __future__ import annotations

import math
import random
import unicodedata
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from PIL.ImageFont import FreeTypeFont

from ...core.evidence import Position, TextLine
from ...core.images import flatten, font

MAX_POINTS, MIN_POINTS = 40, 12
MAX_ENLARGEMENT = 1.3


def blank(size: tuple[int, int]) -> Image.Image:
    """Return a white picture."""
    return Image.new("RGB", size, "white")


def typeset(text: str, size: tuple[int, int]) -> Image.Image:
    """Return a picture of a text in black on white, as large as possible.

    If even small type does not fit, the picture is made higher.

    Args:
        text: Any text; line breaks are kept, long lines are wrapped, words too long for a line are broken.
        size: Width and minimum height in pixels.
    """
    width, height = size
    margin = min(width, height) // 20
    column = max(1, width - 2 * margin)
    text = "\n".join(_printable(line) for line in text.strip().splitlines())
    for points in range(MAX_POINTS, MIN_POINTS - 1, -1):
        step = math.ceil(points * 1.3)
        room = max(0, height - 2 * margin) // step
        lines = list(islice(_wrapped(text, font(points), column), room + 1 if points > MIN_POINTS else None))
        if len(lines) <= room:
            break
    image = blank((width, max(height, len(lines) * step + 2 * margin)))
    draw = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        draw.text((margin, margin + number * step), line, fill="black", font=font(points))
    return image


def _printable(line: str) -> str:
    """Return a line without invisible characters; lone surrogates, which would stop the typesetting, are replaced."""
    kinds = ((char, unicodedata.category(char)) for char in line.replace("\t", " "))
    return "".join("\ufffd" if kind == "Cs" else char for char, kind in kinds if kind not in ("Cc", "Cf"))


def _wrapped(text: str, type: FreeTypeFont, width: int) -> Iterator[str]:
    def fits(piece: str) -> bool:
        return len(piece) <= width and type.getlength(piece) <= width

    for paragraph in text.splitlines():
        line = ""
        for word in paragraph.split():
            if fits(longer := f"{line} {word}".lstrip()):
                line = longer
                continue
            if line:
                yield line
            while len(word) > 1 and not fits(word):
                cut = bisect(range(2, min(len(word), width + 2)), 0, key=lambda n: not fits(word[:n])) + 1
                yield word[:cut]
                word = word[cut:]
            line = word
        yield line


def erase(image: Image.Image, lines: Sequence[TextLine]) -> Image.Image:
    """Fill each line's box, slightly padded, with the colour of its background."""
    flat = flatten(image).copy()
    labels = Image.new("1", flat.size)
    for line in lines:
        ImageDraw.Draw(labels).polygon(outset(line, padding(line)), fill=1)
    pixels, taken = np.asarray(flat), np.asarray(labels)
    draw = ImageDraw.Draw(flat)
    for line in lines:
        draw.polygon(outset(line, padding(line)), fill=_ground(pixels, line, taken).colour)
    return flat


def swap(
    image: Image.Image, lines: Sequence[TextLine], seed: int
) -> tuple[Image.Image, tuple[TextLine, TextLine]] | None:
    """Return the image with two of its labels exchanged, each fitted into the other's box.

    Args:
        image: The image, of any mode.
        lines: Its lines of text.
        seed: Chooses among the pairs that fit each other about equally well.

    Returns:
        The altered image and the two original lines; None if no two labels can be exchanged.
    """
    flat = flatten(image).copy()
    pixels = np.asarray(flat)
    pair = choose_pair(lines, flat.size, lambda line: _ground(pixels, line), seed)
    if pair is None:
        return None
    altered = flat.copy()
    grounds = [_ground(pixels, line).colour for line in pair]
    boxes = [_trimmed(pixels, rect(line), ground) for line, ground in zip(pair, grounds, strict=True)]
    for own, other in ((0, 1), (1, 0)):
        altered.paste(grounds[own], boxes[own])
        _paste(altered, _on_ground(flat.crop(boxes[other]), grounds[other], grounds[own]), boxes[own])
    return altered, pair


def _trimmed(pixels: NDArray[np.uint8], box: Rect, ground: Colour) -> Rect:
    """Return the box without rows at its top and bottom that contain the edge of a neighbouring line."""
    left, top, right, bottom = box
    inked = (np.abs(pixels[top:bottom, left:right].astype(int) - ground).max(axis=2) > 60).any(axis=1)
    reach = max(1, len(inked) // 4)
    head, foot = (int(rows[:reach].argmin()) for rows in (inked, inked[::-1]))  # inked rows before the first bare one
    return left, top + head, right, bottom - foot


def _on_ground(label: Image.Image, old: Colour, new: Colour) -> Image.Image:
    """Return the label as it would look on another background; unchanged if it would hardly be visible there."""
    values = np.asarray(label).astype(float)
    depth = np.abs(values - old).max(axis=2, keepdims=True)
    ink = values.reshape(-1, 3)[depth.argmax()]
    if np.abs(ink - new).max() < 100:
        return label
    moved = values + (1 - depth / max(1, depth.max())) * np.subtract(new, old)
    return Image.fromarray(moved.round().clip(0, 255).astype(np.uint8))


def _paste(image: Image.Image, label: Image.Image, target: Rect) -> None:
    """Paste a label into the middle of a box, as large as possible but hardly larger than it was."""
    left, top, right, bottom = target
    width, height = right - left, bottom - top
    scale = min(width / label.width, height / label.height, MAX_ENLARGEMENT)
    if not 1 <= scale < 1.15:  # near its own size, a label is left unscaled to stay sharp
        size = max(1, int(label.width * scale)), max(1, int(label.height * scale))
        label = label.resize(size, Image.Resampling.LANCZOS)
    image.paste(label, (left + (width - label.width) // 2, top + (height - label.height) // 2))


def _ground(pixels: NDArray[np.uint8], line: TextLine, taken: NDArray[np.bool_] | None = None) -> Ground:
    """Return a label's background: the colour most common both inside its padded box and in a thin ring around it.

    With only the inside, bold type could outweigh the background; with only the ring, the area outside a tight frame.

    Args:
        pixels: The picture.
        line: The label.
        taken: The area of all labels; the ring excludes the other ones.
    """
    pad = padding(line)
    outer, edge, inner = (outset(line, by) for by in (pad + 3, pad, -2))
    left, top = (max(0, math.floor(min(point[axis] for point in outer))) for axis in (0, 1))
    right, bottom = (max(0, math.ceil(max(point[axis] for point in outer)) + 1) for axis in (0, 1))
    part = pixels[top:bottom, left:right]
    ring, inside, core = (_mask(part, corners, (left, top)) for corners in (outer, edge, inner))
    if taken is not None:
        ring &= inside | ~taken[top:bottom, left:right]
    ring = ring & ~core if (ring & ~core).any() else inside
    if not ring.any():
        return Ground((255, 255, 255), 1.0)
    families = (part >> 4).astype(np.int64) @ (256, 16, 1)  # similar colours count as one: backgrounds can be noisy
    around, within = (np.bincount(families[mask], minlength=4096) for mask in (ring, inside))
    both = around * within
    family = int((both if both.any() else around).argmax())
    colour = _most_common(part[(families == family) & (ring | inside)])
    return Ground(colour, float(around[family] / max(1, around.sum())))


def ground_colour(image: Image.Image, line: TextLine) -> Colour:
    """Return the colour of a label's background."""
    return _ground(np.asarray(flatten(image)), line).colour


def common_colour(image: Image.Image) -> Colour:
    """Return a picture's most common colour, usually that of the paper; similar colours are counted together."""
    pixels = np.asarray(flatten(image)).reshape(-1, 3)
    families = (pixels >> 4).astype(np.int64) @ (256, 16, 1)
    return _most_common(pixels[families == np.bincount(families).argmax()])


def _most_common(pixels: NDArray[np.uint8]) -> Colour:
    codes, counts = np.unique(pixels.astype(np.int64) @ (1 << 16, 1 << 8, 1), return_counts=True)
    code = int(codes[counts.argmax()])
    return code >> 16, code >> 8 & 255, code & 255


def _mask(part: NDArray[np.uint8], corners: Sequence[Position], origin: Position) -> NDArray[np.bool_]:
    mask = Image.new("1", (part.shape[1], part.shape[0]))
    ImageDraw.Draw(mask).polygon([(x - origin[0], y - origin[1]) for x, y in corners], fill=1)
    return np.array(mask)


CONFIDENT = 0.8
"""The minimum confidence of a line that counts as read reliably."""
MAX_LABELS = 200
MIN_SCALE = 0.55
LOOKALIKES = str.maketrans("01i", "oll")
Rect = tuple[int, int, int, int]
Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Ground:
    """A label's background: its colour, and the share of the ring around the label that has it."""

    colour: Colour
    share: float


def padding(line: TextLine) -> float:
    """Return how far a line's ink may reach beyond its box."""
    a, b, _, d = line.box
    return max(1.0, 0.03 * min(math.dist(a, b), math.dist(a, d)))


def outset(line: TextLine, by: float) -> list[Position]:
    """Return the box's corners moved outwards by `by` pixels along its own axes."""
    a, b, c, d = line.box
    along = _unit(b[0] - a[0] + c[0] - d[0], b[1] - a[1] + c[1] - d[1])
    across = _unit(d[0] - a[0] + c[0] - b[0], d[1] - a[1] + c[1] - b[1])
    signs = ((a, -1, -1), (b, 1, -1), (c, 1, 1), (d, -1, 1))
    return [
        (x + by * (u * along[0] + v * across[0]), y + by * (u * along[1] + v * across[1])) for (x, y), u, v in signs
    ]


def rect(line: TextLine) -> Rect:
    """Return left, top, right and bottom of the padded bounding box in whole pixels; right and bottom are exclusive."""
    left, top, right, bottom = line.bounds
    pad = padding(line)
    return math.floor(left - pad), math.floor(top - pad), math.ceil(right + pad), math.ceil(bottom + pad)


def choose_pair(
    lines: Sequence[TextLine], size: tuple[int, int], ground: Callable[[TextLine], Ground], seed: int
) -> tuple[TextLine, TextLine] | None:
    """Choose two labels that can be exchanged; the seed decides among the pairs that fit each other best.

    Args:
        lines: All lines of the picture.
        size: The picture's width and height.
        ground: Returns the background of a label.
        seed: Equal seeds choose equal pairs.

    Returns:
        Two horizontal, legible, different labels of similar size that do not touch; None if there are none.
    """
    rects = [rect(line) for line in lines]
    blocks = _blocks(rects)
    lines_in = Counter(blocks)
    able = [i for i, line in enumerate(lines) if _exchangeable(line, rects[i], size)]
    able = sorted(able, key=lambda i: -lines[i].confidence)[:MAX_LABELS]
    grounds = {i: ground(lines[i]) for i in able}
    texts = {i: _comparable_text(lines[i].text) for i in able}
    ranked: list[tuple[tuple[int, ...], tuple[TextLine, TextLine]]] = []
    for a, b in combinations(able, 2):
        misfit = _misfit(rects[a], rects[b])
        if texts[a] == texts[b] or _near(rects[a], rects[b], 0) or misfit > -math.log(MIN_SCALE):
            continue
        oddness = (
            round(10 * (1 - min(grounds[a].share, grounds[b].share)))  # lines of the drawing cross the label
            + 3 * (math.dist(grounds[a].colour, grounds[b].colour) > 30)
            + 2 * (lines_in[blocks[a]] > 1 or lines_in[blocks[b]] > 1)
            + int(misfit / 0.2)
        )
        # Exchanging the lines of one label hardly changes its meaning, so such pairs come last.
        flaws = (blocks[a] == blocks[b], not (_has_letters(lines[a]) and _has_letters(lines[b])), oddness)
        ranked.append((flaws, (lines[a], lines[b])))
    if not ranked:
        return None
    best = min(flaws for flaws, _ in ranked)
    return random.Random(seed).choice([pair for flaws, pair in ranked if flaws == best])


def _unit(x: float, y: float) -> Position:
    length = math.hypot(x, y) or 1
    return x / length, y / length


def is_legible(line: TextLine, size: tuple[int, int]) -> bool:
    """Return whether a line was read with confidence, is level and lies inside the picture."""
    (ax, ay), (bx, by), _, _ = line.box
    left, top, right, bottom = rect(line)
    inside = left >= 0 and top >= 0 and right <= size[0] and bottom <= size[1]
    return inside and line.confidence >= CONFIDENT and bx > ax and abs(by - ay) <= 0.05 * (bx - ax)


def _exchangeable(line: TextLine, box: Rect, size: tuple[int, int]) -> bool:
    """Return whether a label is legible, has letters or digits, and is horizontal."""
    left, top, right, bottom = box
    text = _comparable_text(line.text)
    upright = bottom - top <= (3 if len(text) == 1 else 1.3) * (right - left)
    return is_legible(line, size) and upright and text != ""


def _comparable_text(text: str) -> str:
    """Return a text for comparison: only letters and digits, ignoring case, with those that OCR confuses unified."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if char.isalnum()).translate(LOOKALIKES)


def _near(a: Rect, b: Rect, gap: float = 0.6) -> bool:
    """Return whether two boxes are within `gap` line heights of each other, like the lines of one label."""
    gap *= min(a[3] - a[1], b[3] - b[1])
    return a[0] < b[2] + gap and b[0] < a[2] + gap and a[1] < b[3] + gap and b[1] < a[3] + gap


def _blocks(rects: Sequence[Rect]) -> list[int]:
    """Return the block number of each box; boxes near each other, directly or through others, share a block."""
    blocks = list(range(len(rects)))
    for i, j in combinations(blocks[:], 2):
        if blocks[i] != blocks[j] and _near(rects[i], rects[j]):
            blocks = [blocks[i] if block == blocks[j] else block for block in blocks]
    return blocks


def _misfit(a: Rect, b: Rect) -> float:
    """Return how much one of two labels must shrink to fit the other's place, as a logarithm."""
    widths, heights = sorted((a[2] - a[0], b[2] - b[0])), sorted((a[3] - a[1], b[3] - b[1]))
    return math.log(max(widths[1] / widths[0], heights[1] / heights[0]))


def _has_letters(line: TextLine) -> bool:
    return any(char.isalpha() for char in line.text)
