"""Where labels lie in a picture, and which two of them can change places."""

from __future__ import annotations

import math
import random
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from ...core.evidence import Position, TextLine

SURE = 0.8
MOST_LABELS = 200
LEAST_SCALE = 0.55
LOOKALIKES = str.maketrans("01i", "oll")

Rect = tuple[int, int, int, int]
Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Ground:
    """What a label stands on: its colour, and the share of the ring around the label that has it."""

    colour: Colour
    share: float


def padding(line: TextLine) -> float:
    """How far a line's ink may reach beyond its box."""
    a, b, _, d = line.box
    return max(1.0, 0.03 * min(math.dist(a, b), math.dist(a, d)))


def outset(line: TextLine, by: float) -> list[Position]:
    """The corners of the box moved outwards by so many pixels, along the box's own axes."""
    a, b, c, d = line.box
    along = _unit(b[0] - a[0] + c[0] - d[0], b[1] - a[1] + c[1] - d[1])
    across = _unit(d[0] - a[0] + c[0] - b[0], d[1] - a[1] + c[1] - b[1])
    signs = ((a, -1, -1), (b, 1, -1), (c, 1, 1), (d, -1, 1))
    return [
        (x + by * (u * along[0] + v * across[0]), y + by * (u * along[1] + v * across[1])) for (x, y), u, v in signs
    ]


def rect(line: TextLine) -> Rect:
    """Left, top, right and bottom of the padded upright box in whole pixels; right and bottom lie outside."""
    left, top, right, bottom = line.bounds
    pad = padding(line)
    return math.floor(left - pad), math.floor(top - pad), math.ceil(right + pad), math.ceil(bottom + pad)


def choose_pair(
    lines: Sequence[TextLine], size: tuple[int, int], ground: Callable[[TextLine], Ground], seed: int
) -> tuple[TextLine, TextLine] | None:
    """Two labels that can change places, chosen by the seed among the pairs that suit each other best.

    Args:
        lines: All lines of the picture.
        size: The picture's width and height.
        ground: The colour a label stands on.
        seed: Equal seeds choose equal pairs.

    Returns:
        Two upright, surely read, different labels apart from each other and of like size; None without such.
    """
    rects = [rect(line) for line in lines]
    blocks = _blocks(rects)
    lines_in = Counter(blocks)
    able = [i for i, line in enumerate(lines) if _exchangeable(line, rects[i], size)]
    able = sorted(able, key=lambda i: -lines[i].confidence)[:MOST_LABELS]
    grounds = {i: ground(lines[i]) for i in able}
    texts = {i: _compared(lines[i].text) for i in able}
    ranked: list[tuple[tuple[int, ...], tuple[TextLine, TextLine]]] = []
    for a, b in combinations(able, 2):
        misfit = _misfit(rects[a], rects[b])
        if texts[a] == texts[b] or _near(rects[a], rects[b], 0) or misfit > -math.log(LEAST_SCALE):
            continue
        oddness = (
            round(10 * (1 - min(grounds[a].share, grounds[b].share)))  # drawn lines run into the label
            + 3 * (math.dist(grounds[a].colour, grounds[b].colour) > 30)
            + 2 * (lines_in[blocks[a]] > 1 or lines_in[blocks[b]] > 1)
            + int(misfit / 0.2)
        )
        # The lines of one label say much the same in any order, so they come last.
        flaws = (blocks[a] == blocks[b], not (_has_letters(lines[a]) and _has_letters(lines[b])), oddness)
        ranked.append((flaws, (lines[a], lines[b])))
    if not ranked:
        return None
    best = min(flaws for flaws, _ in ranked)
    return random.Random(seed).choice([pair for flaws, pair in ranked if flaws == best])


def _unit(x: float, y: float) -> Position:
    length = math.hypot(x, y) or 1
    return x / length, y / length


def _exchangeable(line: TextLine, box: Rect, size: tuple[int, int]) -> bool:
    """Whether the label is surely read, has letters or digits, lies inside the picture and is written upright."""
    (ax, ay), (bx, by), _, _ = line.box
    left, top, right, bottom = box
    inside = left >= 0 and top >= 0 and right <= size[0] and bottom <= size[1]
    text = _compared(line.text)
    level = bx > ax and abs(by - ay) <= 0.05 * (bx - ax)
    upright = level and bottom - top <= (3 if len(text) == 1 else 1.3) * (right - left)
    return upright and inside and line.confidence >= SURE and text != ""


def _compared(text: str) -> str:
    """What counts when texts are compared: no case, no marks, no letters that OCR takes for one another."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if char.isalnum()).translate(LOOKALIKES)


def _near(a: Rect, b: Rect, gap: float = 0.6) -> bool:
    """Whether two boxes stand within so many line heights, as the lines or words of one label do."""
    gap *= min(a[3] - a[1], b[3] - b[1])
    return a[0] < b[2] + gap and b[0] < a[2] + gap and a[1] < b[3] + gap and b[1] < a[3] + gap


def _blocks(rects: Sequence[Rect]) -> list[int]:
    """For each box the number of its block: boxes near each other, directly or by others between them."""
    blocks = list(range(len(rects)))
    for i, j in combinations(blocks[:], 2):
        if blocks[i] != blocks[j] and _near(rects[i], rects[j]):
            blocks = [blocks[i] if block == blocks[j] else block for block in blocks]
    return blocks


def _misfit(a: Rect, b: Rect) -> float:
    """How much smaller one of the two becomes, as a logarithm."""
    widths, heights = sorted((a[2] - a[0], b[2] - b[0])), sorted((a[3] - a[1], b[3] - b[1]))
    return math.log(max(widths[1] / widths[0], heights[1] / heights[0]))


def _has_letters(line: TextLine) -> bool:
    return any(char.isalpha() for char in line.text)
