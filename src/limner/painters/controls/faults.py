"""Faults of known effect in a picture's labels: erased, exchanged, misspelt, a number changed, mirrored.

Pure functions of images: equal arguments give equal pixels. Each says which labels stand as they stood.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageOps

from ...core.evidence import TextLine
from ...core.images import flatten, font
from .images import erase, ground_colour, swap
from .swaps import SURE, Colour, Rect, rect

DOSES = (1, 2, 3)
"""How grave a fault is; each kind says what that means."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Faulted:
    """A picture with a fault.

    Attributes:
        left: Lines of text that certainly stand as they stood.
        unsure: Lines of which nobody can say; the others are touched.
        said: What was done, in words.
    """

    image: Image.Image
    left: tuple[TextLine, ...]
    said: str
    unsure: tuple[TextLine, ...] = ()


MakeFault = Callable[[Image.Image, Sequence[TextLine], int, int], Faulted | None]
"""Picture, its lines of text, dose and seed -> the picture with the fault; None where it cannot be made."""


def erase_labels(image: Image.Image, lines: Sequence[TextLine], dose: int, seed: int) -> Faulted | None:
    """One label erased, half of them, all."""
    chosen = _some(lines, dose, seed)
    return Faulted(erase(image, chosen), _without(lines, chosen), f"erased: {_listed(chosen)}") if chosen else None


def swap_labels(image: Image.Image, lines: Sequence[TextLine], dose: int, seed: int) -> Faulted | None:
    """One pair of labels exchanged, two, four."""
    altered, left, moved = flatten(image), list(lines), list[TextLine]()
    for turn in range(2 ** (dose - 1)):
        found = swap(altered, left, seed + turn)
        if found is None:
            return None
        altered, pair = found
        left = [line for line in left if line not in pair]
        moved += pair
    return Faulted(altered, tuple(left), f"exchanged: {_listed(moved)}")


def misspell(image: Image.Image, lines: Sequence[TextLine], dose: int, seed: int) -> Faulted | None:
    """One letter of a label replaced, two, half of them."""
    able = [line for line in _plain(lines, image.size) if sum(char.isalpha() for char in line.text) >= 5]
    if not able:
        return None
    rng = random.Random(seed)
    line = rng.choice(able)
    places = [n for n, char in enumerate(line.text) if char.isalpha()]
    count = dose if dose < 3 else max(3, len(places) // 2)
    letters = list(line.text)
    # The first letter stays: a wrong one is seen at once, whatever the dose.
    for place in rng.sample(places[1:], min(count, len(places) - 1)):
        letters[place] = _another(letters[place], LETTERS, rng)
    return _rewritten(image, lines, {line: "".join(letters)}, "misspelt")


def change_number(image: Image.Image, lines: Sequence[TextLine], dose: int, seed: int) -> Faulted | None:
    """The last digit of a number changed, the first one, every digit of every number."""
    able = [line for line in _plain(lines, image.size) if any(char.isdigit() for char in line.text)]
    if not able:
        return None
    rng = random.Random(seed)
    changed = {}
    for line in able if dose == 3 else [rng.choice(able)]:
        places = [n for n, char in enumerate(line.text) if char.isdigit()]
        letters = list(line.text)
        for place in places if dose == 3 else [places[-1 if dose == 1 else 0]]:
            letters[place] = _another(letters[place], "123456789", rng)
        changed[line] = "".join(letters)
    return _rewritten(image, lines, changed, "number changed")


def mirror(image: Image.Image, lines: Sequence[TextLine], dose: int, seed: int) -> Faulted | None:
    """One label in mirror writing, half of them, the whole picture."""
    flat = flatten(image).copy()
    if dose == 3:
        return Faulted(ImageOps.mirror(flat), (), "the whole picture mirrored")
    able = _plain(lines, flat.size)
    chosen = _some(able, dose, seed)
    for line in chosen:
        box = rect(line)
        flat.paste(ImageOps.mirror(flat.crop(box)), box[:2])
    return Faulted(flat, _without(lines, chosen), f"mirrored: {_listed(chosen)}") if chosen else None


def _rewritten(
    image: Image.Image, lines: Sequence[TextLine], changed: dict[TextLine, str], what: str
) -> Faulted | None:
    """Lines set in type anew, in their places and colours."""
    flat = flatten(image)
    altered = erase(flat, list(changed))
    for line, text in changed.items():
        write(altered, text, rect(line), _ink(flat, line))
    said = "; ".join(f"{line.text!r} to {text!r}" for line, text in changed.items())
    return Faulted(altered, _without(lines, list(changed)), f"{what}: {said}")


def write(image: Image.Image, text: str, box: Rect, colour: Colour) -> None:
    """Set a line of text into a box, as large as it fits."""
    left, top, right, bottom = box
    for points in range(max(6, bottom - top), 5, -1):
        x0, y0, x1, y1 = font(points).getbbox(text)
        if x1 - x0 <= right - left and y1 - y0 <= bottom - top:
            break
    place = left + (right - left - (x1 - x0)) / 2 - x0, top + (bottom - top - (y1 - y0)) / 2 - y0
    ImageDraw.Draw(image).text(place, text, fill=colour, font=font(points))


def _ink(image: Image.Image, line: TextLine) -> Colour:
    """The colour that a label is written in: the most common one that is far from its ground."""
    pixels = np.asarray(image.crop(rect(line))).reshape(-1, 3).astype(np.int64)
    far = np.abs(pixels - ground_colour(image, line)).max(axis=1)
    inked = pixels[far >= 0.7 * far.max()]
    families = (inked >> 5) @ (64, 8, 1)
    r, g, b = (int(value) for value in np.median(inked[families == np.bincount(families).argmax()], axis=0))
    return r, g, b


def _some(lines: Sequence[TextLine], dose: int, seed: int) -> list[TextLine]:
    """One of the lines, half of them, all; a single label is preferred where it has some length."""
    if dose == 3 or not lines:
        return list(lines)
    rng = random.Random(seed)
    if dose == 2:
        return rng.sample(list(lines), (len(lines) + 1) // 2)
    long = [line for line in lines if len(line.text) >= 5 and line.confidence >= SURE]
    return [rng.choice(long or list(lines))]


def _plain(lines: Sequence[TextLine], size: tuple[int, int]) -> list[TextLine]:
    """Lines that are surely read, level and inside the picture."""
    found = []
    for line in lines:
        (ax, ay), (bx, by), _, _ = line.box
        left, top, right, bottom = rect(line)
        inside = left >= 0 and top >= 0 and right <= size[0] and bottom <= size[1]
        if inside and line.confidence >= SURE and bx > ax and abs(by - ay) <= 0.05 * (bx - ax) and bottom - top >= 6:
            found.append(line)
    return found


def _without(lines: Sequence[TextLine], chosen: Sequence[TextLine]) -> tuple[TextLine, ...]:
    return tuple(line for line in lines if line not in chosen)


def _another(char: str, among: str, rng: random.Random) -> str:
    found = rng.choice([other for other in among if other != char.lower()])
    return found.upper() if char.isupper() else found


def _listed(lines: Sequence[TextLine]) -> str:
    shown = ", ".join(repr(line.text) for line in lines[:4])
    return shown + (f" and {len(lines) - 4} more" if len(lines) > 4 else "")
